//! How things look in a terminal. Colours vanish by themselves where nobody would see them.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::door::{Answer, Failure};

pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const QUIET: Style = Style::new().dimmed();
const KEY: Style = AnsiColor::Cyan.on_default();
const TEXT: Style = AnsiColor::Green.on_default();
const NUMBER: Style = AnsiColor::Yellow.on_default();
const WORD: Style = AnsiColor::Magenta.on_default();

/// Writes one line of an answer. A reader that has seen enough, like `head`, is no error.
pub(crate) fn line_out(text: impl Display) {
    let _ = writeln!(anstream::stdout().lock(), "{text}");
}

/// Says what was done, to people; programs read standard output.
pub(crate) fn said(sentence: &str) {
    anstream::eprintln!("{QUIET}{}{QUIET:#}", plain(sentence));
}

/// Rows as aligned columns: the first stands out, the last is as it is, those between are quiet.
pub(crate) fn table<const N: usize>(rows: Vec<[String; N]>) {
    let rows: Vec<[String; N]> =
        rows.into_iter().map(|row| row.map(|cell| line(&cell, usize::MAX))).collect();
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
        line_out(text.trim_end());
    }
}

/// Fields of an object as aligned lines, in their order; lists and objects below their name. Fields that are null,
/// empty or false are left out.
pub(crate) fn record(value: &Value) {
    let is_said = |field: &Value| match field {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    };
    let fields = value.as_object().into_iter().flatten().filter(|(_, field)| is_said(field));
    let fields: Vec<(String, &Value)> = fields.map(|(name, field)| (spaced(name), field)).collect();
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, field) in fields {
        match field {
            Value::String(text) if !text.contains('\n') => {
                line_out(format_args!("{QUIET}{name:width$}{QUIET:#}  {}", plain(&readable(text))));
            }
            Value::String(text) => {
                line_out(format_args!("{QUIET}{name}{QUIET:#}"));
                line_out(plain(text));
            }
            Value::Array(_) | Value::Object(_) => {
                line_out(format_args!("{QUIET}{name}{QUIET:#}"));
                for line in json(field).lines() {
                    line_out(format_args!("  {line}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                line_out(format_args!("{QUIET}{name:width$}{QUIET:#}  {}", json(field)));
            }
        }
    }
}

/// `createdAt` as `created at`.
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

/// A timestamp to the second; any other text as it is.
fn readable(text: &str) -> String {
    let is_time = text.len() >= 20 && text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    match text.get(..19).filter(|_| is_time) {
        Some(time) => format!("{} UTC", time.replace('T', " ")),
        None => text.to_owned(),
    }
}

/// Text from elsewhere, without what could steer the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control() || *character == '\n').collect()
}

/// JSON, indented and coloured, without what could steer the terminal.
pub(crate) fn json(value: &Value) -> String {
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

/// A failure, on standard error: what, and what is known besides.
pub(crate) fn failure(answer: &Answer, failure: &Failure) {
    anstream::eprintln!("{BAD}{}:{BAD:#} {}", failure.kind, plain(&answer.message));
    let known = failure.details.as_object().into_iter().flatten();
    for (name, value) in known.filter(|(name, _)| !["errors", "what", "closest"].contains(&name.as_str())) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        anstream::eprintln!("  {QUIET}{name}: {}{QUIET:#}", plain(&text));
    }
}

/// The first line of a text, cut to a width.
pub(crate) fn line(text: &str, width: usize) -> String {
    let text = plain(text);
    let first = text.lines().next().unwrap_or_default();
    if first.chars().count() <= width {
        return first.to_owned();
    }
    let mut cut: String = first.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
