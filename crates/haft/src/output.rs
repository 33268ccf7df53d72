//! Output to the terminal: styled lines, tables, records, JSON. Output to a file or pipe has no colors.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::client::{ApiFailure, ApiResponse};

pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
const KEY: Style = AnsiColor::Cyan.on_default();
const TEXT: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Yellow.on_default();
const WORD: Style = AnsiColor::Magenta.on_default();

/// Prints one line of the result to standard output. A closed output, as with `head`, is not an error.
pub(crate) fn print_line(text: impl Display) {
    let _ = writeln!(anstream::stdout().lock(), "{text}");
}

/// Prints a status line to standard error, so that it does not mix with the result.
pub(crate) fn print_status(sentence: &str) {
    anstream::eprintln!("{QUIET}{}{QUIET:#}", sanitized(sentence));
}

/// Prints rows as aligned columns: the first in bold, the last unstyled, the others dimmed.
pub(crate) fn print_table<const N: usize>(rows: Vec<[String; N]>) {
    let rows: Vec<[String; N]> =
        rows.into_iter().map(|row| row.map(|cell| first_line(&cell, usize::MAX))).collect();
    let last = N.saturating_sub(1);
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        if column == last { 0 } else { widest }
    };
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let mut text = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let style = match column {
                0 => STRONG,
                column if column == last => Style::new(),
                _ => QUIET,
            };
            let gap = if column == 0 { "" } else { "  " };
            let _ = write!(text, "{gap}{style}{cell:width$}{style:#}");
        }
        print_line(text.trim_end());
    }
}

/// Prints the fields of an object as aligned lines, in their order; lists and objects below their name.
/// Fields that are null, empty or false are omitted.
pub(crate) fn print_record(value: &Value) {
    let has_value = |field: &Value| match field {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    };
    let fields = value.as_object().into_iter().flatten().filter(|(_, field)| has_value(field));
    let fields: Vec<(String, &Value)> = fields.map(|(name, field)| (spaced(name), field)).collect();
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, field) in fields {
        match field {
            Value::String(text) if !text.contains('\n') => {
                print_line(format_args!("{QUIET}{name:width$}{QUIET:#}  {}", sanitized(&readable(text))));
            }
            Value::String(text) => {
                print_line(format_args!("{QUIET}{name}{QUIET:#}"));
                print_line(sanitized(text));
            }
            Value::Array(_) | Value::Object(_) => {
                print_line(format_args!("{QUIET}{name}{QUIET:#}"));
                for line in format_json(field).lines() {
                    print_line(format_args!("  {line}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                print_line(format_args!("{QUIET}{name:width$}{QUIET:#}  {}", format_json(field)));
            }
        }
    }
}

/// Converts `createdAt` to `created at`.
fn spaced(name: &str) -> String {
    let mut spaced = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
    }
    spaced
}

/// Shortens a timestamp to seconds. Returns any other text unchanged.
fn readable(text: &str) -> String {
    let is_time = text.len() >= 20 && text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    match text.get(..19).filter(|_| is_time) {
        Some(time) => format!("{} UTC", time.replace('T', " ")),
        None => text.to_owned(),
    }
}

/// Removes control characters, which could control the terminal, from untrusted text.
pub(crate) fn sanitized(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || *character == '\n').collect()
}

/// Formats JSON, indented and colored. Control characters are escaped.
pub(crate) fn format_json(value: &Value) -> String {
    let mut out = String::new();
    write_json(value, 0, &mut out);
    out
}

fn write_json(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    let _ = match value {
        Value::Null | Value::Bool(_) => write!(out, "{WORD}{value}{WORD:#}"),
        Value::Number(_) => write!(out, "{NUMBER}{value}{NUMBER:#}"),
        Value::String(_) => write!(out, "{TEXT}{value}{TEXT:#}"),
        Value::Array(items) if items.is_empty() => write!(out, "[]"),
        Value::Object(fields) if fields.is_empty() => write!(out, "{{}}"),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "[\n" } else { ",\n" });
                out.push_str(&indent);
                write_json(item, depth + 1, out);
            }
            write!(out, "\n{close}]")
        }
        Value::Object(fields) => {
            for (index, (name, field)) in fields.iter().enumerate() {
                out.push_str(if index == 0 { "{\n" } else { ",\n" });
                let name = Value::from(name.as_str());
                let _ = write!(out, "{indent}{KEY}{name}{KEY:#}: ");
                write_json(field, depth + 1, out);
            }
            write!(out, "\n{close}}}")
        }
    };
}

/// Prints a failure with its details to standard error.
pub(crate) fn print_failure(response: &ApiResponse, failure: &ApiFailure) {
    anstream::eprintln!("{BAD}{}:{BAD:#} {}", failure.kind, sanitized(&response.message));
    let known = failure.details.as_object().into_iter().flatten();
    for (name, value) in known.filter(|(name, _)| !["errors", "what", "closest"].contains(&name.as_str())) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        anstream::eprintln!("  {QUIET}{name}: {}{QUIET:#}", sanitized(&text));
    }
}

/// Returns the first line of a text, truncated to a width in characters.
pub(crate) fn first_line(text: &str, width: usize) -> String {
    let text = sanitized(text);
    let first = text.lines().next().unwrap_or_default();
    if first.chars().count() <= width {
        return first.to_owned();
    }
    let mut cut: String = first.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
