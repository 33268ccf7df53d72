//! The commands, one file each.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod import;
pub(crate) mod serve;
pub(crate) mod tools;

use std::io::IsTerminal;
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use crate::door::Answer;
use crate::{exit, show};

/// Log lines go to standard error; standard output is for answers.
fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("HAFT_LOG: {filter:?} is not a log filter: {error}"))?;
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    Ok(())
}

/// Shows a failure, if it is one, and gives the code to end with.
fn failed(answer: &Answer, json: bool) -> Option<ExitCode> {
    let failure = answer.error.as_ref()?;
    if json {
        let error =
            serde_json::json!({"kind": failure.kind, "message": answer.message, "details": failure.details});
        show::line_out(serde_json::json!({"success": false, "error": error}));
    } else {
        show::failure(answer, failure);
    }
    Some(exit::code(failure.kind).into())
}

/// A name as one segment of a path.
fn encoded(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => segment.push(char::from(byte)),
            _ => {
                use std::fmt::Write as _;
                let _ = write!(segment, "%{byte:02X}");
            }
        }
    }
    segment
}
