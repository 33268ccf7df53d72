//! The programs in `tests/clients`: what they need is installed once, and each runs with a limit and little else.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::survival::skipped;

/// No program takes longer, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Says so when somebody does not want them.
pub(super) fn is_skipped() -> bool {
    let is_set = std::env::var_os("HAFT_SKIP_CLIENTS").is_some();
    if is_set {
        skipped("HAFT_SKIP_CLIENTS is set");
    }
    is_set
}

/// Runs a client against a server, and gives the facts it prints.
pub(super) async fn client(program: &str, url: &str, agent: &str) -> Value {
    client_of(program, &python(installed()), url, agent).await
}

/// The same with the Python that instructor has for itself.
pub(super) async fn instructor(program: &str, url: &str, agent: &str) -> Value {
    client_of(program, &python(&installed().join("instructor")), url, agent).await
}

async fn client_of(program: &str, python: &Path, url: &str, agent: &str) -> Value {
    let mut command = command(program, python);
    command
        .envs([("HAFT_URL", url), ("HAFT_TOKEN", crate::TOKEN), ("HAFT_AGENT", agent)])
        .stdin(Stdio::null());
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("{program} takes more than {PATIENCE:?}"));
    let output = output.expect("it runs");
    let (printed, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {}\n{printed}{complaints}", output.status);
    let facts = printed.lines().last().unwrap_or_default();
    serde_json::from_str(facts).unwrap_or_else(|error| panic!("{program}: {error}: {printed}{complaints}"))
}

/// A program that serves until it is dropped.
pub(super) struct Beside {
    pub(super) url: String,
    _child: Child,
}

impl Beside {
    pub(super) async fn start(program: &str) -> Self {
        Self::start_with(program, &python(installed())).await
    }

    /// The same with a Python of its own.
    pub(super) async fn start_with(program: &str, python: &Path) -> Self {
        // What it says beside is not read, and must not make it wait.
        let mut command = command(program, python);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("it is ready in time");
        let url = line.expect("readable output").expect("it says where it listens");
        Self { url, _child: child }
    }
}

/// A program with nothing of our own environment that could change what it does.
fn command(program: &str, python: &Path) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(program);
    let interpreter = if program.ends_with(".py") { python } else { Path::new("node") };
    let mut command = Command::new(interpreter);
    command.arg(path).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

/// Where a script of the repository has installed things: the last line that it prints.
pub(super) fn home(script: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let output = std::process::Command::new(path).stderr(Stdio::inherit()).output().expect("it runs");
    assert!(output.status.success(), "scripts/{script}: {}", output.status);
    let printed = String::from_utf8(output.stdout).expect("text");
    PathBuf::from(printed.lines().last().expect("it says where"))
}

pub(super) fn python(home: &Path) -> PathBuf {
    home.join("python/bin/python")
}

/// Asked for once: it is quick when all is there, and takes a minute when not.
fn installed() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| home("clients"))
}
