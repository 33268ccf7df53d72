//! Reads a response: converts body bytes to deltas, and detects incomplete responses.

use std::collections::VecDeque;

use haft_core::CallError;
use serde_json::Value;

use crate::delta::{Delta, EndReason, MAX_CALLS};
use crate::dialect::{Dialect, Reader};
use crate::failure::Asking;
use crate::framing::{Framing, Misframed};
use crate::masking::Masking;
use crate::sse::Event;

/// The last event of an OpenAI stream.
const DONE: &str = "[DONE]";

pub(crate) struct Reading {
    framing: Framing,
    reader: Box<dyn Reader>,
    masking: Masking,
    asking: Asking,
    /// Deltas that are parsed but not yet returned. An error is always last.
    ready: VecDeque<Result<Delta, CallError>>,
    is_over: bool,
}

impl Reading {
    pub(crate) fn new(dialect: Dialect, asking: Asking) -> Self {
        let (framing, reader) = (Framing::new(dialect.is_lines()), dialect.reader());
        let masking = asking.masking();
        Self { framing, reader, masking, asking, ready: VecDeque::new(), is_over: false }
    }

    /// Takes the next parsed delta.
    pub(crate) fn next(&mut self) -> Option<Result<Delta, CallError>> {
        self.ready.pop_front()
    }

    /// Returns true if nothing more will be read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Number of bytes to process when this number is added.
    pub(crate) fn work(&self, more: usize) -> usize {
        self.framing.pending() + more
    }

    /// Ends with an error, after all deltas received before it.
    pub(crate) fn fail(&mut self, error: CallError) {
        self.is_over = true;
        self.ready.push_back(Err(error));
    }

    /// Processes more bytes of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), CallError> {
        let mut events = Vec::new();
        let fed = self.framing.feed(bytes, &mut events);
        for event in events {
            if self.read(&event)? {
                self.end();
                return Ok(());
            }
        }
        fed.map_err(|misframed| match misframed {
            Misframed::TooLong => self.asking.too_long(),
            Misframed::Page => self.asking.not_understood(),
        })
    }

    /// Processes the end of the body. Returns an error if the response is incomplete.
    pub(crate) fn finish(&mut self) -> Result<(), CallError> {
        let is_document = matches!(self.framing, Framing::Whole(_));
        let rest = std::mem::replace(&mut self.framing, Framing::new(false)).finish();
        if let Some(event) = rest {
            // The last event may be incomplete.
            let is_whole = event.data.trim() == DONE || serde_json::from_str::<Value>(&event.data).is_ok();
            if !is_whole {
                return self.break_off(self.asking.cut());
            }
            let before = self.ready.len();
            if self.read(&event)? {
                self.end();
                return Ok(());
            }
            // A whole document that contains no part of a model response.
            if is_document && self.reader.end().is_none() && self.ready.len() == before {
                return Err(self.asking.not_understood());
            }
        }
        self.break_off(self.asking.cut())
    }

    /// Ends the response early. Returns an error, unless the model had already stopped: then only usage data
    /// may be missing.
    pub(crate) fn break_off(&mut self, error: CallError) -> Result<(), CallError> {
        if self.reader.end().is_none() {
            return Err(error);
        }
        self.end();
        Ok(())
    }

    /// Reads an event. Returns true if it was the last.
    fn read(&mut self, event: &Event) -> Result<bool, CallError> {
        let data = event.data.trim();
        if data == DONE {
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let document: Value = serde_json::from_str(data).map_err(|_| self.asking.not_understood())?;
        if let Some(error) = self.asking.event(&event.name, &document) {
            return Err(error);
        }
        let mut deltas = Vec::new();
        self.reader.read(&document, &mut deltas);
        let is_beyond = |delta: &Delta| match delta {
            Delta::Call { index, .. } | Delta::Arguments { index, .. } => *index >= MAX_CALLS,
            Delta::Text(_)
            | Delta::Reasoning(_)
            | Delta::ReasoningSignature(_)
            | Delta::Logprobs(_)
            | Delta::Usage(_)
            | Delta::End(_) => false,
        };
        for delta in deltas {
            // Calls beyond the limit end the response; the rest is not read.
            if is_beyond(&delta) {
                return Ok(true);
            }
            self.masking.pass(delta, &mut |delta| self.ready.push_back(Ok(delta)));
        }
        Ok(self.reader.is_complete())
    }

    fn end(&mut self) {
        self.is_over = true;
        self.masking.finish(&mut |delta| self.ready.push_back(Ok(delta)));
        self.ready.push_back(Ok(Delta::End(self.reader.end().unwrap_or(EndReason::Other))));
    }
}

#[cfg(test)]
mod tests;
