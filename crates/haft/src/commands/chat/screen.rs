//! A turn as it is seen: words as they come, a line for each call, and what it took.
//!
//! The answer goes to standard output and everything else to standard error, so that a pipe gets the answer alone.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use haft_core::ErrorKind;
use serde_json::Value;

use crate::commands::text;
use crate::door::Event;
use crate::exit;
use crate::show::{self, BAD, QUIET};

const GOOD: Style = AnsiColor::Green.on_default();

/// So much of the arguments of a call is shown.
const ARGUMENTS: usize = 100;

pub(super) struct Screen<O, E> {
    out: O,
    err: E,
    /// Somebody sees the words as they come; otherwise they come when they are final.
    is_live: bool,
    line: Line,
    /// The words of this turn that were shown as they came, by step.
    told: BTreeMap<u64, String>,
    usage: Value,
    /// What went wrong in this turn.
    failure: Option<ErrorKind>,
}

/// What stands on the line that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Words,
    Thoughts,
}

impl<O: Write, E: Write> Screen<O, E> {
    pub(super) fn new(out: O, err: E, is_live: bool) -> Self {
        let (line, told, usage) = (Line::Empty, BTreeMap::new(), Value::Null);
        Self { out, err, is_live, line, told, usage, failure: None }
    }

    /// Shows what happened.
    pub(super) fn show(&mut self, event: &Event, took: Duration) {
        let data = &event.data;
        match event.name.as_str() {
            "turn.start" => self.begin(),
            "message.delta" if self.is_live => {
                let words = text(data, "text");
                self.told.entry(data["step"].as_u64().unwrap_or_default()).or_default().push_str(words);
                self.words(words);
            }
            "reasoning.delta" if self.is_live => self.thoughts(text(data, "text")),
            "message.reset" => {
                self.told.remove(&data["step"].as_u64().unwrap_or_default());
                self.note("asking again…");
            }
            "turn.reset" => {
                self.told.clear();
                self.note("asking again…");
            }
            "tool.call" => {
                let arguments = show::line(&data["arguments"].to_string(), ARGUMENTS);
                self.note(&format!("⚙ {} {arguments}", text(data, "name")));
            }
            "tool.pending" => self.pending(data),
            "tool.result" => self.result(data),
            "warning" => self.note(&format!("! {}", text(data, "message"))),
            "message.done" => self.final_words(text(&data["message"], "content")),
            "usage" => self.usage = data.clone(),
            "error" => self.error(data),
            "done" => self.end(data, took),
            _ => {}
        }
    }

    /// Keeps in mind what went wrong, without a word.
    pub(super) fn note_failure(&mut self, event: &Event) {
        match event.name.as_str() {
            "turn.start" => self.failure = None,
            "error" => self.failure = Some(kind_of(&event.data)),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.end_line();
        self.told.clear();
        self.usage = Value::Null;
        self.failure = None;
    }

    fn words(&mut self, words: &str) {
        if self.line == Line::Thoughts {
            self.end_line();
        }
        self.line = if words.ends_with('\n') { Line::Empty } else { Line::Words };
        let _ = write!(self.out, "{}", harmless(words));
        let _ = self.out.flush();
    }

    fn thoughts(&mut self, words: &str) {
        if self.line == Line::Words {
            self.end_line();
        }
        self.line = Line::Thoughts;
        let _ = write!(self.err, "{QUIET}{}{QUIET:#}", harmless(words));
        let _ = self.err.flush();
    }

    fn final_words(&mut self, words: &str) {
        // Words that no model wrote, such as those of the tool that ended the turn, were not told as they came.
        let is_told = self.is_live && self.told.values().any(|told| told.ends_with(words));
        if !words.is_empty() && !is_told {
            self.end_line();
            let _ = writeln!(self.out, "{}", harmless(words).trim_end_matches('\n'));
            let _ = self.out.flush();
        }
        self.end_line();
    }

    fn pending(&mut self, data: &Value) {
        let (name, task) = (text(data, "name"), text(data, "taskId"));
        match text(data, "reason") {
            "approval" => self
                .note(&format!("… {name} waits for somebody to approve it: haft approvals approve {task}")),
            "later" => self.note(&format!("… {name} is answered later (task {task})")),
            _ => self.note(&format!("… {name} pending (task {task})")),
        }
    }

    fn result(&mut self, data: &Value) {
        self.end_line();
        let name = show::line(text(data, "name"), ARGUMENTS);
        if data["success"] == true {
            let time = data["executionTime"].as_u64().unwrap_or_default();
            let _ = writeln!(self.err, "{GOOD}✓{GOOD:#} {QUIET}{name} {time} ms{QUIET:#}");
        } else {
            let error = &data["error"];
            let said = format!("{}: {}", text(error, "kind"), show::plain(text(error, "message")));
            let _ = writeln!(self.err, "{BAD}✗{BAD:#} {QUIET}{name} {said}{QUIET:#}");
        }
    }

    fn error(&mut self, data: &Value) {
        self.end_line();
        let kind = text(data, "kind");
        self.failure = Some(kind_of(data));
        let _ =
            writeln!(self.err, "{BAD}{}:{BAD:#} {}", show::plain(kind), show::plain(text(data, "message")));
    }

    fn end(&mut self, data: &Value, took: Duration) {
        match text(data, "finishReason") {
            "cancelled" => self.note("stopped"),
            "max_steps" => self.note("stopped: the agent may take no more steps; /retry goes on"),
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

    /// A quiet line of our own.
    pub(super) fn note(&mut self, words: &str) {
        self.end_line();
        let _ = writeln!(self.err, "{QUIET}{}{QUIET:#}", harmless(words));
    }

    /// Something to be answered on the same line.
    pub(super) fn ask(&mut self, question: &str) {
        self.end_line();
        let _ = write!(self.err, "{question}");
        let _ = self.err.flush();
    }

    /// What somebody said before, and what was answered.
    pub(super) fn words_before(&mut self, asked: &str, answered: &str) {
        let _ = writeln!(self.err, "{QUIET}> {}{QUIET:#}", harmless(asked));
        if !answered.is_empty() {
            let _ = writeln!(self.err, "{}", harmless(answered).trim_end());
        }
    }

    fn end_line(&mut self) {
        match self.line {
            Line::Empty => {}
            Line::Words => {
                let _ = writeln!(self.out);
                let _ = self.out.flush();
            }
            Line::Thoughts => {
                let _ = writeln!(self.err);
            }
        }
        self.line = Line::Empty;
    }

    /// The code to end with after a turn that ended so.
    pub(super) fn code(&self, finish: &str) -> u8 {
        match (finish, self.failure) {
            ("stop" | "tool_stop", _) => 0,
            ("cancelled", _) => exit::code(ErrorKind::Cancelled),
            (_, Some(kind)) => exit::code(kind),
            (_, None) => exit::FAILURE,
        }
    }
}

fn kind_of(error: &Value) -> ErrorKind {
    serde_json::from_value(error["kind"].clone()).unwrap_or(ErrorKind::Execution)
}

/// Text from elsewhere, without what could steer the terminal; code keeps its tabs.
fn harmless(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests;
