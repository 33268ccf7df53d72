//! The commands, one file each, with their shared helpers.

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
mod diff;
mod empty_lists;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod login;
pub(crate) mod logout;
pub(crate) mod open;
pub(crate) mod providers;
mod request_bodies;
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

use crate::client::{ApiClient, ApiResponse};
use crate::{exit, log, output};

/// Starts the log of a command on standard error.
fn log_to_stderr(filter: &str) -> anyhow::Result<()> {
    log::log_of_command(filter)
}

/// Prints the failure of a response and returns the exit code. Returns `None` if the response is a success.
fn report_failure(response: &ApiResponse, json: bool) -> Option<ExitCode> {
    let failure = response.error.as_ref()?;
    if json {
        let error = serde_json::json!({"kind": failure.kind, "message": response.message, "details": failure.details});
        output::print_line(serde_json::json!({"success": false, "error": error}));
    } else {
        output::print_failure(response, failure);
    }
    Some(exit::of_kind(failure.kind).into())
}

/// Prints the result of a change: the failure, the data as JSON, or a sentence. Returns the exit code.
fn report_change(
    response: &ApiResponse,
    json: bool,
    locale: Locale,
    sentence: impl FnOnce(&Value) -> Message,
) -> ExitCode {
    if let Some(code) = report_failure(response, json) {
        return code;
    }
    if json {
        output::print_line(&response.data);
    } else {
        output::print_status(&sentence(&response.data).render(locale));
    }
    ExitCode::SUCCESS
}

/// Returns a function that creates a message with the `name` of the response data.
fn message_with_name(template: &'static Template) -> impl FnOnce(&Value) -> Message {
    move |thing: &Value| Message::new(template).with("name", text(thing, "name"))
}

/// Returns a function that creates a message with the `toolName` of the response data.
fn message_with_tool(template: &'static Template) -> impl FnOnce(&Value) -> Message {
    move |task: &Value| Message::new(template).with("tool", text(task, "toolName"))
}

/// Fetches all pages of a list. Returns the exit code if a failure was printed.
async fn fetch_items(
    client: &ApiClient,
    path: &str,
    json: bool,
) -> anyhow::Result<Result<Vec<Value>, ExitCode>> {
    fetch_items_up_to(client, path, usize::MAX, json).await
}

/// Fetches the first `limit` items of a list. Returns the exit code if a failure was printed.
async fn fetch_items_up_to(
    client: &ApiClient,
    path: &str,
    limit: usize,
    json: bool,
) -> anyhow::Result<Result<Vec<Value>, ExitCode>> {
    let mut items = Vec::new();
    let mut next = path.to_owned();
    loop {
        let mut response = client.get(&next).await?;
        if let Some(code) = report_failure(&response, json) {
            return Ok(Err(code));
        }
        if let Some(Value::Array(page)) = response.data.get_mut("items").map(Value::take) {
            items.extend(page);
        }
        let next_cursor = response.data.get("nextCursor").and_then(Value::as_str);
        let Some(cursor) = next_cursor.filter(|_| items.len() < limit) else {
            items.truncate(limit);
            return Ok(Ok(items));
        };
        let mark = if path.contains('?') { '&' } else { '?' };
        next = format!("{path}{mark}cursor={}", path_segment(cursor));
    }
}

/// Fetches a list and prints it as JSON or as a table.
async fn list<const N: usize>(
    client: &ApiClient,
    path: &str,
    json: bool,
    empty: &'static Template,
    row: impl Fn(&Value) -> [String; N],
) -> anyhow::Result<ExitCode> {
    let items = match fetch_items(client, path, json).await? {
        Ok(items) => items,
        Err(code) => return Ok(code),
    };
    show_list(client, items, json, empty, row);
    Ok(ExitCode::SUCCESS)
}

/// Prints items as JSON or as a table. Without `json`, prints the message `empty` for an empty list.
fn show_list<const N: usize>(
    client: &ApiClient,
    items: Vec<Value>,
    json: bool,
    empty: &'static Template,
    row: impl Fn(&Value) -> [String; N],
) {
    if json {
        output::print_line(Value::Array(items));
    } else if items.is_empty() {
        output::print_status(&client.render(empty));
    } else {
        output::print_table(items.iter().map(row).collect());
    }
}

/// Fetches one resource and prints it as JSON or field by field.
async fn show_record(client: &ApiClient, path: &str, json: bool) -> anyhow::Result<ExitCode> {
    let response = client.get(path).await?;
    if let Some(code) = report_failure(&response, json) {
        return Ok(code);
    }
    if json {
        output::print_line(&response.data);
    } else {
        output::print_record(&response.data);
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats a number of milliseconds, such as `245 ms` or `1.2 s`.
fn format_duration(milliseconds: &Value) -> String {
    match milliseconds.as_f64() {
        None => String::new(),
        Some(time) if time < 10.0 => format!("{time:.1} ms"),
        Some(time) if time < 1_000.0 => format!("{time:.0} ms"),
        Some(time) => format!("{:.1} s", time / 1_000.0),
    }
}

/// Returns a text field, or an empty text if the field is missing or not a text.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Formats a timestamp field to the minute, such as `2026-08-01 09:30`.
fn format_time(value: &Value, field: &str) -> String {
    text(value, field).chars().take(16).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
}

/// Percent-encodes a name as one segment of a URL path.
fn path_segment(name: &str) -> String {
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
