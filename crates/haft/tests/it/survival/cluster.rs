//! A PostgreSQL server for one test, which can stop and start it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::skipped;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Stopped and removed when dropped.
pub(crate) struct Cluster {
    programs: PathBuf,
    home: PathBuf,
    port: u16,
    /// PostgreSQL refuses to run as root.
    is_root: bool,
}

/// The mode of a stop.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stop {
    /// Connections are cut, transactions rolled back, everything written.
    Fast,
    /// Like a crash.
    Immediate,
}

impl Cluster {
    /// Creates and starts a cluster. Returns `None` and reports a skipped test if that is not possible here.
    pub(crate) fn new() -> Option<Self> {
        if std::env::var_os("HAFT_TEST_POSTGRES").is_none() {
            skipped("HAFT_TEST_POSTGRES is not set");
            return None;
        }
        let Some(programs) = programs() else {
            skipped("initdb is not installed");
            return None;
        };
        let id = Command::new("id").arg("-u").output().expect("id runs");
        let is_root = id.stdout.trim_ascii() == b"0";
        // A directory that the user `postgres` can access, too.
        let base = if is_root { PathBuf::from("/var/tmp") } else { std::env::temp_dir() };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let home = base.join(format!("haft-survival-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home).expect("a directory");
        if is_root {
            let owned = Command::new("chown").arg("postgres:postgres").arg(&home).status();
            assert!(owned.expect("chown runs").success());
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let cluster = Self { programs, home, port, is_root };
        let made = ["-U", "haft", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"];
        assert!(cluster.run("initdb", &made), "initdb failed");
        cluster.start();
        Some(cluster)
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://haft@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) fn start(&self) {
        let options = format!("-p {} -h 127.0.0.1 -k '' -c fsync=off", self.port);
        let log = self.home.join("log");
        let log = log.to_str().expect("a path");
        assert!(self.run("pg_ctl", &["-w", "-l", log, "-o", &options, "start"]), "it does not start");
    }

    pub(crate) fn stop(&self, how: Stop) {
        assert!(self.try_stop(how), "it does not stop");
    }

    fn try_stop(&self, how: Stop) -> bool {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        self.run("pg_ctl", &["-w", "-m", mode, "stop"])
    }

    /// Runs a program of PostgreSQL on the cluster.
    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let program = self.programs.join(program);
        let mut command = if self.is_root {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.arg("-D").arg(self.home.join("data")).args(arguments).current_dir(&self.home);
        // Background processes must not keep the pipes of the test open.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().expect("it runs").success()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.try_stop(Stop::Immediate);
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// Returns the directory of the programs of the newest PostgreSQL on this machine.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).find(|directory| directory.join("initdb").exists());
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let number = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
    let installed = versions.map(|entry| entry.path()).max_by_key(|path| number(path));
    named.or_else(|| installed.map(|path| path.join("bin"))).filter(|path| path.join("initdb").exists())
}
