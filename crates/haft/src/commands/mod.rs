//! The commands, one file each, and what they share.

pub(crate) mod admin;
pub(crate) mod agents;
pub(crate) mod alerts;
pub(crate) mod apply;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod completions;
mod create;
mod diff;
mod empty;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod open;
pub(crate) mod providers;
mod results;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod settings;
pub(crate) mod spaces;
pub(crate) mod stats;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod users;
pub(crate) mod worker;

use std::process::ExitCode;

use haft_core::{Locale, Message, Template};
use serde_json::Value;

use crate::door::{Answer, Door};
use crate::{exit, log, show};

/// What a command logs is for who typed it.
fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    log::log_of_command(filter)
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
fn done(answer: &Answer, json: bool, locale: Locale, sentence: impl FnOnce(&Value) -> Message) -> ExitCode {
    if let Some(code) = failed(answer, json) {
        return code;
    }
    if json {
        show::line_out(&answer.data);
    } else {
        show::said(&sentence(&answer.data).render(locale));
    }
    ExitCode::SUCCESS
}

/// A sentence about the thing in an answer, by its name.
fn named(template: &'static Template) -> impl FnOnce(&Value) -> Message {
    move |thing: &Value| Message::new(template).with("name", text(thing, "name"))
}

/// The same by the name of its tool.
fn of_tool(template: &'static Template) -> impl FnOnce(&Value) -> Message {
    move |task: &Value| Message::new(template).with("tool", text(task, "toolName"))
}

/// All items of a list, page by page; or the code to end with, when a failure was shown.
async fn items(door: &Door, path: &str, json: bool) -> anyhow::Result<Result<Vec<Value>, ExitCode>> {
    items_up_to(door, path, usize::MAX, json).await
}

/// The same for the first items alone.
async fn items_up_to(
    door: &Door,
    path: &str,
    most: usize,
    json: bool,
) -> anyhow::Result<Result<Vec<Value>, ExitCode>> {
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
        let next_cursor = answer.data.get("nextCursor").and_then(Value::as_str);
        let Some(cursor) = next_cursor.filter(|_| items.len() < most) else {
            items.truncate(most);
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
    empty: &'static Template,
    row: impl Fn(&Value) -> [String; N],
) -> anyhow::Result<ExitCode> {
    let items = match items(door, path, json).await? {
        Ok(items) => items,
        Err(code) => return Ok(code),
    };
    show_list(door, items, json, empty, row);
    Ok(ExitCode::SUCCESS)
}

/// Shows items: as JSON, or each as a row. To people it says when there is none.
fn show_list<const N: usize>(
    door: &Door,
    items: Vec<Value>,
    json: bool,
    empty: &'static Template,
    row: impl Fn(&Value) -> [String; N],
) {
    if json {
        show::line_out(Value::Array(items));
    } else if items.is_empty() {
        show::said(&door.words(empty));
    } else {
        show::table(items.iter().map(row).collect());
    }
}

/// Shows one thing: as JSON, or field by field.
async fn show_record(door: &Door, path: &str, json: bool) -> anyhow::Result<ExitCode> {
    let answer = door.get(path).await?;
    if let Some(code) = failed(&answer, json) {
        return Ok(code);
    }
    if json {
        show::line_out(&answer.data);
    } else {
        show::record(&answer.data);
    }
    Ok(ExitCode::SUCCESS)
}

/// A number of milliseconds as people read it.
fn duration(milliseconds: &Value) -> String {
    match milliseconds.as_f64() {
        None => String::new(),
        Some(time) if time < 10.0 => format!("{time:.1} ms"),
        Some(time) if time < 1_000.0 => format!("{time:.0} ms"),
        Some(time) => format!("{:.1} s", time / 1_000.0),
    }
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
