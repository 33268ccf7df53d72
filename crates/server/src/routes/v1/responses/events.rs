//! A turn as the events of a response. Clients know these types and no others.

use haft_agent::Turn;
use haft_core::CallError;
use serde_json::{Value, json};

use super::answer::Head;
use super::items;
use crate::routes::v1::completions::client_calls;
use crate::routes::v1::course::Heard;
use crate::routes::v1::error::Failed;
use crate::routes::v1::ids::MessagePlace;
use crate::routes::v1::stream::Telling;
use crate::routes::v1::words::{Said, Words};

/// A response on its way.
pub(super) struct Events {
    head: Head,
    words: Words,
    sequence: u64,
    /// What is whole.
    output: Vec<Value>,
    /// What words are added to.
    open: Option<Open>,
    /// The last step whose words were begun: what is thought after them is not told.
    spoken: u32,
}

struct Open {
    step: u32,
    kind: Kind,
    id: String,
    text: String,
}

/// What an item is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Thought,
}

/// How the parts of an item are told, for each kind.
struct Names {
    added: &'static str,
    delta: &'static str,
    done: &'static str,
    part_done: &'static str,
    /// The number of the part.
    index: &'static str,
}

impl Kind {
    fn names(self) -> Names {
        match self {
            Self::Message => Names {
                added: "response.content_part.added",
                delta: "response.output_text.delta",
                done: "response.output_text.done",
                part_done: "response.content_part.done",
                index: "content_index",
            },
            Self::Thought => Names {
                added: "response.reasoning_summary_part.added",
                delta: "response.reasoning_summary_text.delta",
                done: "response.reasoning_summary_text.done",
                part_done: "response.reasoning_summary_part.done",
                index: "summary_index",
            },
        }
    }

    fn part(self, text: &str) -> Value {
        match self {
            Self::Message => items::text_part(text),
            Self::Thought => items::summary_part(text),
        }
    }

    fn item(self, id: &str, text: &str) -> Value {
        match self {
            Self::Message => items::message(id, text),
            Self::Thought => items::thought(id, text),
        }
    }
}

impl Events {
    pub(super) fn new(head: Head) -> Self {
        Self { head, words: Words::default(), sequence: 0, output: Vec::new(), open: None, spoken: 0 }
    }

    fn event(&mut self, kind: &str, mut data: Value, out: &mut String) {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    }

    fn words(&mut self, kind: Kind, step: u32, text: &str, out: &mut String) {
        if self.open.as_ref().is_some_and(|open| (open.step, open.kind) != (step, kind)) {
            self.close(out);
        }
        let (index, names) = (self.output.len(), kind.names());
        let id = match &self.open {
            Some(open) => open.id.clone(),
            None => {
                let place = MessagePlace { run: self.head.run, turn: self.head.turn, step };
                let (id, begun) = match kind {
                    Kind::Message => (place.id(), items::begun_message(&place.id())),
                    Kind::Thought => (place.thought(), items::begun_thought(&place.thought())),
                };
                self.event("response.output_item.added", json!({"output_index": index, "item": begun}), out);
                let part =
                    json!({"item_id": id, "output_index": index, names.index: 0, "part": kind.part("")});
                self.event(names.added, part, out);
                self.open = Some(Open { step, kind, id: id.clone(), text: String::new() });
                id
            }
        };
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
        let mut delta = json!({"item_id": id, "output_index": index, names.index: 0, "delta": text});
        if kind == Kind::Message {
            self.spoken = step;
            delta["logprobs"] = json!([]);
        }
        self.event(names.delta, delta, out);
    }

    /// Ends the item that is open.
    fn close(&mut self, out: &mut String) {
        let Some(Open { kind, id, text, .. }) = self.open.take() else { return };
        let (index, names) = (self.output.len(), kind.names());
        let mut done = json!({"item_id": id, "output_index": index, names.index: 0, "text": text});
        if kind == Kind::Message {
            done["logprobs"] = json!([]);
        }
        self.event(names.done, done, out);
        let part = json!({"item_id": id, "output_index": index, names.index: 0, "part": kind.part(&text)});
        self.event(names.part_done, part, out);
        let item = kind.item(&id, &text);
        self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
        self.output.push(item);
    }

    /// Tells what is said in place of an answer in the form that was asked for.
    fn refusal(&mut self, turn: &Turn, out: &mut String) {
        let (Some(refusal), Some(last)) = (turn.refusal(), turn.steps.last()) else { return };
        let id = MessagePlace { run: self.head.run, turn: self.head.turn, step: last.step }.id();
        let index = self.output.len();
        let begun = json!({"output_index": index, "item": items::begun_message(&id)});
        self.event("response.output_item.added", begun, out);
        let at = json!({"item_id": id, "output_index": index, "content_index": 0});
        let with = |name: &str, value: Value| {
            let mut data = at.clone();
            data[name] = value;
            data
        };
        self.event("response.content_part.added", with("part", items::refusal_part("")), out);
        self.event("response.refusal.delta", with("delta", json!(refusal)), out);
        self.event("response.refusal.done", with("refusal", json!(refusal)), out);
        self.event("response.content_part.done", with("part", items::refusal_part(refusal)), out);
        let item = items::refusal(&id, refusal);
        self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
        self.output.push(item);
    }

    fn calls(&mut self, turn: &Turn, out: &mut String) {
        for call in client_calls(self.head.run, turn) {
            let (index, id) = (self.output.len(), call.at.item());
            let begun = json!({"output_index": index, "item": items::begun_call(&call)});
            self.event("response.output_item.added", begun, out);
            // Some clients put the arguments together from these alone.
            let delta = json!({"item_id": id, "output_index": index, "delta": call.arguments});
            self.event("response.function_call_arguments.delta", delta, out);
            let done = json!({
                "item_id": id, "output_index": index, "name": call.name, "arguments": call.arguments,
            });
            self.event("response.function_call_arguments.done", done, out);
            let item = items::call(&call);
            self.event("response.output_item.done", json!({"output_index": index, "item": item}), out);
            self.output.push(item);
        }
    }
}

impl Telling for Events {
    fn begin(&mut self, out: &mut String) {
        for kind in ["response.created", "response.in_progress"] {
            let response = json!({"response": self.head.begun()});
            self.event(kind, response, out);
        }
    }

    fn hear(&mut self, heard: &Heard, out: &mut String) -> Result<(), CallError> {
        let Some(event) = heard else {
            self.words.again();
            return Ok(());
        };
        match self.words.hear(event)? {
            Some(Said::Text { step, text }) => self.words(Kind::Message, step, &text, out),
            Some(Said::Thought { step, text }) if step > self.spoken => {
                self.words(Kind::Thought, step, &text, out);
            }
            Some(Said::Thought { .. }) | None => {}
        }
        Ok(())
    }

    fn end(&mut self, turn: &Turn, out: &mut String) {
        self.close(out);
        self.refusal(turn, out);
        self.calls(turn, out);
        let response = self.head.ended(turn, self.output.clone());
        let kind = match response["status"].as_str() {
            Some("incomplete") => "response.incomplete",
            Some(_) | None => "response.completed",
        };
        self.event(kind, json!({"response": response}), out);
    }

    fn fail(&mut self, failed: &Failed, out: &mut String) {
        self.close(out);
        let response = self.head.failed(failed, self.output.clone());
        self.event("response.failed", json!({"response": response}), out);
    }
}
