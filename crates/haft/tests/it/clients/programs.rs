//! Runs the programs in `tests/clients`: installs their dependencies once, and limits time and environment.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::survival::skipped;

/// Maximum run time of a program, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Returns true if `HAFT_SKIP_CLIENTS` is set, and reports the test as skipped.
pub(super) fn is_skipped() -> bool {
    let is_set = std::env::var_os("HAFT_SKIP_CLIENTS").is_some();
    if is_set {
        skipped("HAFT_SKIP_CLIENTS is set");
    }
    is_set
}

/// Runs a client against a server and returns the facts that it prints.
pub(super) async fn client(program: &str, url: &str, agent: &str) -> Value {
    run_client(program, &python(installed()), url, agent).await
}

/// Runs a client in the separate Python environment of instructor.
pub(super) async fn instructor(program: &str, url: &str, agent: &str) -> Value {
    run_client(program, &python(&installed().join("instructor")), url, agent).await
}

async fn run_client(program: &str, python: &Path, url: &str, agent: &str) -> Value {
    let mut command = command(program, python);
    command
        .envs([("HAFT_URL", url), ("HAFT_TOKEN", crate::TOKEN), ("HAFT_AGENT", agent)])
        .stdin(Stdio::null());
    let output = tokio::time::timeout(TIMEOUT, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{program} takes more than {TIMEOUT:?}"));
    let output = output.expect("it runs");
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {}\n{printed}{errors}", output.status);
    let facts = printed.lines().last().unwrap_or_default();
    serde_json::from_str(facts).unwrap_or_else(|error| panic!("{program}: {error}: {printed}{errors}"))
}

/// A model server in another process. Killed on drop.
pub(super) struct ModelProgram {
    pub(super) url: String,
    _child: Child,
}

impl ModelProgram {
    pub(super) async fn start(program: &str) -> Self {
        Self::start_with(program, &python(installed())).await
    }

    /// Starts a program in a separate Python environment.
    pub(super) async fn start_with(program: &str, python: &Path) -> Self {
        // Standard error is discarded: nothing reads it, and a full pipe would block the program.
        let mut command = command(program, python);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = tokio::time::timeout(TIMEOUT, lines.next_line()).await.expect("it is ready in time");
        let url = line.expect("readable output").expect("the program prints its URL");
        Self { url, _child: child }
    }
}

/// Builds a command that does not inherit the environment of the test.
fn command(program: &str, python: &Path) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(program);
    let interpreter = if program.ends_with(".py") { python } else { Path::new("node") };
    let mut command = Command::new(interpreter);
    command.arg(path).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

/// Runs an install script of the repository. Returns the directory that it prints as its last line.
pub(super) fn install(script: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let output = std::process::Command::new(path).stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success(), "scripts/{script}: {}", output.status);
    let printed = String::from_utf8(output.stdout).expect("text");
    PathBuf::from(printed.lines().last().expect("a directory"))
}

pub(super) fn python(directory: &Path) -> PathBuf {
    directory.join("python/bin/python")
}

/// Installs the clients once per process. Takes a minute, or no time if they are installed already.
fn installed() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| install("clients"))
}
