//! The real `haft` binary: started, waited for, stopped, and run as a command.

use std::process::{Output, Stdio};
use std::time::Duration;

use crate::place::Place;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Nothing a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that is ready. Killed when dropped.
pub struct HaftProcess {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    /// Where it listens.
    pub url: String,
    /// What it printed before it was ready.
    pub printed: Vec<String>,
    /// Where it keeps its things, unless the test said where.
    _place: Option<Place>,
}

impl HaftProcess {
    /// Starts `haft serve` on a free port and waits until it is ready.
    pub async fn start(binary: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let is_placed =
            environment.iter().any(|(name, _)| matches!(*name, "HAFT_DATA_DIR" | "HAFT_DATABASE_URL"));
        let place = (!is_placed).then(Place::new);
        let mut command = command(binary, environment);
        command.envs(place.iter().flat_map(Place::variables));
        command.env("HAFT_ADDR", "127.0.0.1:0").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("haft starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut printed = Vec::new();
        let url = loop {
            let line =
                tokio::time::timeout(PATIENCE, output.next_line()).await.expect("haft is ready in time");
            let line = line.expect("readable output").expect("haft says where it listens before it ends");
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
            printed.push(line);
        };
        Self { child, output, url, printed, _place: place }
    }

    /// Ends it at once, as a power cut would.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Whether it ends by itself within some time.
    pub async fn ends_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.child.wait()).await.is_ok()
    }

    /// The id of its process, as long as it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Asks it to stop, as a service manager would.
    pub fn terminate(&self) {
        let id = self.child.id().expect("it runs");
        let asked = std::process::Command::new("kill").args(["-TERM", &id.to_string()]).status();
        assert!(asked.expect("kill runs").success());
    }

    /// Waits until it has ended, and gives its exit code.
    pub async fn ended(mut self) -> Option<i32> {
        // Its output is read to the end, so that it cannot wait for us.
        while let Ok(Some(_)) = self.output.next_line().await {}
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("haft ends in time");
        status.expect("a status").code()
    }
}

/// How a command ended.
#[derive(Debug)]
pub struct Finished {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `haft` with arguments to its end.
pub async fn run(binary: &str, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> Finished {
    let mut command = command(binary, environment);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("haft starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that does not read its input closes it; that is no failure.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("haft ends in time");
    let Output { status, stdout, stderr } = output.expect("output");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Finished { code: status.code().expect("a code"), stdout: text(stdout), stderr: text(stderr) }
}

/// The binary with nothing of our own environment, or of this machine, that could change what it does.
fn command(binary: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary);
    command
        .env_clear()
        .env("HAFT_FIND_OLLAMA", "false")
        .envs(environment.iter().copied())
        .current_dir(std::env::temp_dir())
        .kill_on_drop(true);
    command
}
