//! nginx as a hop, with a generated configuration: two workers, keep-alive connections on both sides, no log.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::load::Target;
use crate::scratch::Scratch;

const WORKERS: usize = 2;
const START_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Nginx {
    child: Child,
    binary: PathBuf,
    address: String,
    directory: Scratch,
}

impl Nginx {
    /// Starts nginx in front of an API. Returns `None` if nginx is not installed.
    pub(crate) fn start(upstream: &str) -> anyhow::Result<Option<Self>> {
        let Some(binary) = binary() else { return Ok(None) };
        let directory = Scratch::new("nginx")?;
        // A port that was free a moment ago.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        std::fs::write(file(&directory), configuration(directory.path(), &address, upstream))?;
        let stderr = std::fs::File::create(directory.path().join("stderr.log"))?;
        let child = command(&binary, &directory).stderr(stderr).spawn()?;
        let nginx = Self { child, binary, address, directory };
        nginx.wait()?;
        Ok(Some(nginx))
    }

    /// Returns the target of load, with the worker processes.
    pub(crate) fn target(&self, path: &str) -> anyhow::Result<Target> {
        Ok(Target::new(&self.address, path, children(self.child.id())?))
    }

    fn wait(&self) -> anyhow::Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if children(self.child.id())?.len() == WORKERS && TcpStream::connect(&self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let stderr = std::fs::read_to_string(self.directory.path().join("stderr.log")).unwrap_or_default();
        bail!("nginx did not start: {stderr}")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Stopped, not killed, since its workers would survive.
        let stopped =
            command(&self.binary, &self.directory).args(["-s", "stop"]).stderr(Stdio::null()).status();
        if !stopped.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn binary() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // The directories of system programs are not in the PATH of every user.
    let system_directories = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut files =
        std::env::split_paths(&path).chain(system_directories).map(|directory| directory.join("nginx"));
    files.find(|file| file.is_file())
}

fn file(directory: &Scratch) -> PathBuf {
    directory.path().join("nginx.conf")
}

fn command(binary: &Path, directory: &Scratch) -> Command {
    let mut command = Command::new(binary);
    command.arg("-p").arg(directory.path()).arg("-c").arg(file(directory));
    command
}

/// Returns a configuration that accepts the same request as the other hops, and sends the same request.
fn configuration(directory: &Path, address: &str, upstream: &str) -> String {
    let directory = directory.display();
    format!(
        r#"daemon off;
worker_processes {WORKERS};
pid "{directory}/nginx.pid";
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path "{directory}/client";
    proxy_temp_path "{directory}/proxy";
    fastcgi_temp_path "{directory}/fastcgi";
    uwsgi_temp_path "{directory}/uwsgi";
    scgi_temp_path "{directory}/scgi";
    upstream api {{ server {upstream}; keepalive 128; keepalive_requests 1000000000; }}
    server {{
        listen {address} reuseport;
        keepalive_requests 1000000000;
        location = /execute {{
            proxy_pass http://api/forecast/Tokyo?days=3&units=metric;
            proxy_method GET;
            proxy_pass_request_body off;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Content-Length "";
            proxy_set_header X-Weather-API-Key k-0123456789;
        }}
    }}
}}
"#
    )
}

/// Returns the child processes of a process.
fn children(parent: u32) -> anyhow::Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in std::fs::read_dir("/proc").context("the processes")? {
        let name = entry?.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // The process may have ended since the directory was read.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        // The second field after the name, which may contain spaces.
        let started_by = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if started_by.is_some_and(|id| id.parse::<u32>() == Ok(parent)) {
            children.push(process);
        }
    }
    Ok(children)
}
