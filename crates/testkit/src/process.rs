//! Runs the `haft` binary: as a server that is started and stopped, and as a command.

use std::process::{Output, Stdio};
use std::time::Duration;

use crate::storage::TestStorage;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

/// Maximum time to wait for the process.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A running server that is ready. Killed on drop.
pub struct HaftProcess {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    /// The base URL of the server.
    pub url: String,
    /// The lines printed before the server was ready.
    pub printed: Vec<String>,
    /// The server's storage, unless the test's environment names one.
    _storage: Option<TestStorage>,
}

impl HaftProcess {
    /// Starts `haft serve` on a free port and waits until it is ready.
    pub async fn start(binary: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let has_storage =
            environment.iter().any(|(name, _)| matches!(*name, "HAFT_DATA_DIR" | "HAFT_DATABASE_URL"));
        let storage = (!has_storage).then(TestStorage::new);
        let mut command = command(binary, environment);
        command.envs(storage.iter().flat_map(TestStorage::variables));
        command.env("HAFT_ADDR", "127.0.0.1:0").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("haft starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut printed = Vec::new();
        let url = loop {
            let line =
                tokio::time::timeout(TIMEOUT, output.next_line()).await.expect("haft is ready in time");
            let line = line.expect("readable output").expect("haft prints its address before it ends");
            if let Some(url) = line.strip_prefix("listening on ") {
                break url.to_owned();
            }
            printed.push(line);
        };
        Self { child, output, url, printed, _storage: storage }
    }

    /// Kills the process (SIGKILL), like a power cut.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Returns true if the process ends by itself within `limit`.
    pub async fn ends_within(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.child.wait()).await.is_ok()
    }

    /// Returns the process id, or `None` if the process has ended.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends SIGTERM, like a service manager.
    pub fn terminate(&self) {
        let id = self.child.id().expect("it runs");
        let status = std::process::Command::new("kill").args(["-TERM", &id.to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits until the process has ended and returns its exit code.
    pub async fn ended(mut self) -> Option<i32> {
        // Reads the output to its end, so that the process does not block on a full pipe.
        while let Ok(Some(_)) = self.output.next_line().await {}
        let status = tokio::time::timeout(TIMEOUT, self.child.wait()).await.expect("haft ends in time");
        status.expect("a status").code()
    }
}

/// The exit code and output of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `haft` with arguments until it ends.
pub async fn run(
    binary: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    input: &str,
) -> CommandOutput {
    let mut command = command(binary, environment);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("haft starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // Ignored: a command that does not read its input closes the pipe.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let output = tokio::time::timeout(TIMEOUT, child.wait_with_output()).await.expect("haft ends in time");
    let Output { status, stdout, stderr } = output.expect("output");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    CommandOutput { code: status.code().expect("a code"), stdout: text(stdout), stderr: text(stderr) }
}

/// Builds a command that does not inherit the environment of the test or settings of the machine.
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
