//! The commands, one file each, and what they share.

pub(crate) mod admin;
pub(crate) mod agents;
pub(crate) mod apply;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod completions;
mod diff;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod spaces;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod users;
pub(crate) mod worker;

use std::process::ExitCode;

use serde_json::Value;

use crate::door::{Answer, Door};
use crate::log::LogFormat;
use crate::{exit, log, show};

/// What a command logs is for who typed it.
fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    log::to_stderr(filter, LogFormat::Text)
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

/// Ends a command that changed something: a failure, the data for programs, or a sentence for people.
fn done(answer: &Answer, json: bool, sentence: impl FnOnce(&Value) -> String) -> ExitCode {
    if let Some(code) = failed(answer, json) {
        return code;
    }
    if json {
        show::line_out(&answer.data);
    } else {
        show::said(&sentence(&answer.data));
    }
    ExitCode::SUCCESS
}

/// All items of a list, page by page; or the code to end with, when a failure was shown.
async fn items(door: &Door, path: &str, json: bool) -> anyhow::Result<Result<Vec<Value>, ExitCode>> {
    let mut items = Vec::new();
    let mut next = path.to_owned();
    loop {
        let mut answer = door.get(&next).await?;
        if let Some(code) = failed(&answer, json) {
            return Ok(Err(code));
        }
        if let Some(Value::Array(page)) = answer.data.get_mut("items").map(Value::take) {
            items.extend(page);
        }
        let Some(cursor) = answer.data.get("nextCursor").and_then(Value::as_str) else {
            return Ok(Ok(items));
        };
        let mark = if path.contains('?') { '&' } else { '?' };
        next = format!("{path}{mark}cursor={}", encoded(cursor));
    }
}

/// Shows a whole list: as JSON, or each item as a row.
async fn list<const N: usize>(
    door: &Door,
    path: &str,
    json: bool,
    row: impl Fn(&Value) -> [String; N],
) -> anyhow::Result<ExitCode> {
    let items = match items(door, path, json).await? {
        Ok(items) => items,
        Err(code) => return Ok(code),
    };
    if json {
        show::line_out(Value::Array(items));
    } else {
        show::table(items.iter().map(row).collect());
    }
    Ok(ExitCode::SUCCESS)
}

/// A field that is a text; nothing when it is not.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// A moment to the minute, as `2026-08-01 09:30`.
fn moment(value: &Value, field: &str) -> String {
    text(value, field).chars().take(16).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
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
