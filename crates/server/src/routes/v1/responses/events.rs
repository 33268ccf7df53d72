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
    /// The message that words are added to.
    open: Option<Open>,
}

struct Open {
    step: u32,
    id: String,
    text: String,
}

impl Events {
    pub(super) fn new(head: Head) -> Self {
        Self { head, words: Words::default(), sequence: 0, output: Vec::new(), open: None }
    }

    fn event(&mut self, kind: &str, mut data: Value, out: &mut String) {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    }

    fn text(&mut self, step: u32, text: &str, out: &mut String) {
        if self.open.as_ref().is_some_and(|open| open.step != step) {
            self.close(out);
        }
        let index = self.output.len();
        let id = match &self.open {
            Some(open) => open.id.clone(),
            None => {
                let id = MessagePlace { run: self.head.run, turn: self.head.turn, step }.id();
                let item = json!({"output_index": index, "item": items::begun_message(&id)});
                self.event("response.output_item.added", item, out);
                let part = json!({
                    "item_id": id, "output_index": index, "content_index": 0, "part": items::text_part(""),
                });
                self.event("response.content_part.added", part, out);
                self.open = Some(Open { step, id: id.clone(), text: String::new() });
                id
            }
        };
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
        let delta = json!({
            "item_id": id, "output_index": index, "content_index": 0, "delta": text, "logprobs": [],
        });
        self.event("response.output_text.delta", delta, out);
    }

    /// Ends the message that is open.
    fn close(&mut self, out: &mut String) {
        let Some(Open { id, text, .. }) = self.open.take() else { return };
        let index = self.output.len();
        let done = json!({
            "item_id": id, "output_index": index, "content_index": 0, "text": text, "logprobs": [],
        });
        self.event("response.output_text.done", done, out);
        let part = json!({
            "item_id": id, "output_index": index, "content_index": 0, "part": items::text_part(&text),
        });
        self.event("response.content_part.done", part, out);
        let item = items::message(&id, &text);
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
            Some(Said::Text { step, text }) => self.text(step, &text, out),
            Some(Said::Thought(_)) | None => {}
        }
        Ok(())
    }

    fn end(&mut self, turn: &Turn, out: &mut String) {
        self.close(out);
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
