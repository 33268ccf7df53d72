//! Output of a turn: the streamed text, a line for each call, and a summary.
//!
//! The response goes to standard output and everything else to standard error, so that a pipe receives the
//! response only.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use haft_core::ErrorKind;
use serde_json::Value;

use crate::client::Event;
use crate::commands::text;
use crate::exit;
use crate::output::{self, BAD, QUIET};

const GOOD: Style = AnsiColor::Green.on_default();

/// Maximum number of characters that are shown of a call's arguments.
const MAX_ARGUMENT_CHARS: usize = 100;

pub(super) struct Screen<O, E> {
    out: O,
    err: E,
    /// True if each piece of text is printed on arrival; otherwise only the final text is printed.
    is_live: bool,
    line: Line,
    /// The text of this turn that was streamed, by step.
    streamed: BTreeMap<u64, String>,
    usage: Value,
    /// The kind of the last error of this turn.
    failure: Option<ErrorKind>,
}

/// The content of the current, unfinished line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Text,
    Reasoning,
}

impl<O: Write, E: Write> Screen<O, E> {
    pub(super) fn new(out: O, err: E, is_live: bool) -> Self {
        let (line, streamed, usage) = (Line::Empty, BTreeMap::new(), Value::Null);
        Self { out, err, is_live, line, streamed, usage, failure: None }
    }

    /// Prints an event.
    pub(super) fn show(&mut self, event: &Event, took: Duration) {
        let data = &event.data;
        match event.name.as_str() {
            "turn.start" => self.begin(),
            "message.delta" if self.is_live => {
                let delta = text(data, "text");
                self.streamed.entry(data["step"].as_u64().unwrap_or_default()).or_default().push_str(delta);
                self.text_delta(delta);
            }
            "reasoning.delta" if self.is_live => self.reasoning_delta(text(data, "text")),
            "message.reset" => {
                self.streamed.remove(&data["step"].as_u64().unwrap_or_default());
                self.note("retrying…");
            }
            "turn.reset" => {
                self.streamed.clear();
                self.note("retrying…");
            }
            "tool.call" => {
                let arguments = output::first_line(&data["arguments"].to_string(), MAX_ARGUMENT_CHARS);
                self.note(&format!("⚙ {} {arguments}", text(data, "name")));
            }
            "tool.pending" => self.pending(data),
            "tool.result" => self.result(data),
            "warning" => self.note(&format!("! {}", text(data, "message"))),
            "message.done" => self.final_text(text(&data["message"], "content")),
            "usage" => self.usage = data.clone(),
            "error" => self.error(data),
            "done" => self.end(data, took),
            _ => {}
        }
    }

    /// Remembers the error of an event without printing it.
    pub(super) fn note_failure(&mut self, event: &Event) {
        match event.name.as_str() {
            "turn.start" => self.failure = None,
            "error" => self.failure = Some(kind_of(&event.data)),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.end_line();
        self.streamed.clear();
        self.usage = Value::Null;
        self.failure = None;
    }

    fn text_delta(&mut self, delta: &str) {
        if self.line == Line::Reasoning {
            self.end_line();
        }
        self.line = if delta.ends_with('\n') { Line::Empty } else { Line::Text };
        let _ = write!(self.out, "{}", without_control_characters(delta));
        let _ = self.out.flush();
    }

    fn reasoning_delta(&mut self, delta: &str) {
        if self.line == Line::Text {
            self.end_line();
        }
        self.line = Line::Reasoning;
        let _ = write!(self.err, "{QUIET}{}{QUIET:#}", without_control_characters(delta));
        let _ = self.err.flush();
    }

    fn final_text(&mut self, text: &str) {
        // Text that is not written by a model, such as that of a tool that ends the turn, is not streamed.
        let is_streamed = self.is_live && self.streamed.values().any(|streamed| streamed.ends_with(text));
        if !text.is_empty() && !is_streamed {
            self.end_line();
            let _ = writeln!(self.out, "{}", without_control_characters(text).trim_end_matches('\n'));
            let _ = self.out.flush();
        }
        self.end_line();
    }

    fn pending(&mut self, data: &Value) {
        let (name, task) = (text(data, "name"), text(data, "taskId"));
        match text(data, "reason") {
            "approval" => self.note(&format!("… {name} waits for approval: haft approvals approve {task}")),
            "later" => self.note(&format!("… {name} waits for its result (task {task})")),
            _ => self.note(&format!("… {name} pending (task {task})")),
        }
    }

    fn result(&mut self, data: &Value) {
        self.end_line();
        let name = output::first_line(text(data, "name"), MAX_ARGUMENT_CHARS);
        if data["success"] == true {
            let time = data["executionTime"].as_u64().unwrap_or_default();
            let _ = writeln!(self.err, "{GOOD}✓{GOOD:#} {QUIET}{name} {time} ms{QUIET:#}");
        } else {
            let error = &data["error"];
            let message = format!("{}: {}", text(error, "kind"), output::sanitized(text(error, "message")));
            let _ = writeln!(self.err, "{BAD}✗{BAD:#} {QUIET}{name} {message}{QUIET:#}");
        }
    }

    fn error(&mut self, data: &Value) {
        self.end_line();
        let kind = text(data, "kind");
        self.failure = Some(kind_of(data));
        let _ = writeln!(
            self.err,
            "{BAD}{}:{BAD:#} {}",
            output::sanitized(kind),
            output::sanitized(text(data, "message"))
        );
    }

    fn end(&mut self, data: &Value, took: Duration) {
        match text(data, "finishReason") {
            "cancelled" => self.note("stopped"),
            "max_steps" => {
                self.note("stopped: the agent reached its maximum number of steps; /retry continues")
            }
            _ => {}
        }
        let steps = data["steps"].as_u64().unwrap_or_default();
        let tokens = |name: &str| self.usage[name].as_u64().unwrap_or_default();
        let plural = if steps == 1 { "step" } else { "steps" };
        let sum = format!(
            "{steps} {plural}, {} + {} tokens, {} ms",
            tokens("input"),
            tokens("output"),
            took.as_millis()
        );
        self.note(&sum);
    }

    /// Prints a dimmed line to standard error.
    pub(super) fn note(&mut self, line: &str) {
        self.end_line();
        let _ = writeln!(self.err, "{QUIET}{}{QUIET:#}", without_control_characters(line));
    }

    /// Prints a question without a line break, so that the input follows on the same line.
    pub(super) fn ask(&mut self, question: &str) {
        self.end_line();
        let _ = write!(self.err, "{question}");
        let _ = self.err.flush();
    }

    /// Prints the message and the response of a past turn.
    pub(super) fn past_turn(&mut self, question: &str, response: &str) {
        let _ = writeln!(self.err, "{QUIET}> {}{QUIET:#}", without_control_characters(question));
        if !response.is_empty() {
            let _ = writeln!(self.err, "{}", without_control_characters(response).trim_end());
        }
    }

    fn end_line(&mut self) {
        match self.line {
            Line::Empty => {}
            Line::Text => {
                let _ = writeln!(self.out);
                let _ = self.out.flush();
            }
            Line::Reasoning => {
                let _ = writeln!(self.err);
            }
        }
        self.line = Line::Empty;
    }

    /// Returns the exit code of a turn with this finish reason.
    pub(super) fn exit_code(&self, finish: &str) -> u8 {
        match (finish, self.failure) {
            ("stop" | "tool_stop", _) => 0,
            ("cancelled", _) => exit::of_kind(ErrorKind::Cancelled),
            (_, Some(kind)) => exit::of_kind(kind),
            (_, None) => exit::FAILURE,
        }
    }
}

fn kind_of(error: &Value) -> ErrorKind {
    serde_json::from_value(error["kind"].clone()).unwrap_or(ErrorKind::Execution)
}

/// Removes control characters, except line breaks and tabs, from untrusted text.
fn without_control_characters(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests;
