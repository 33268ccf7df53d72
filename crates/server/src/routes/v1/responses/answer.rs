//! A turn as a `response`.

use haft_agent::Turn;
use haft_core::RunId;
use haft_engine::now;
use haft_llm::Usage;
use serde_json::{Value, json};

use super::items;
use crate::routes::v1::completions::finish_reason;
use crate::routes::v1::course::Course;
use crate::routes::v1::error::Failed;
use crate::routes::v1::{ids, warn};

/// What is the same from the beginning of a response to its end.
pub(super) struct Head {
    pub(super) run: RunId,
    pub(super) turn: u32,
    /// The response without what comes of it.
    fields: Value,
}

impl Head {
    pub(super) fn new(course: &Course, body: &Value) -> Self {
        let (run, turn) = (course.run, course.turn().unwrap_or_default());
        let given = |name: &str, otherwise: Value| {
            body.get(name).filter(|value| !value.is_null()).cloned().unwrap_or(otherwise)
        };
        let mut metadata = match &body["metadata"] {
            Value::Object(fields) => Value::Object(fields.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({}),
        };
        if let Some(id) = course.conversation {
            metadata["conversation_id"] = json!(id);
        }
        let mut text = json!({"format": {"type": "text"}});
        for (name, value) in
            body["text"].as_object().into_iter().flatten().filter(|(_, value)| !value.is_null())
        {
            text[name.as_str()] = value.clone();
        }
        let fields = json!({
            "id": ids::response(run, turn),
            "object": "response",
            "created_at": now().as_second(),
            "status": "in_progress",
            "error": null,
            "incomplete_details": null,
            "instructions": body["instructions"],
            "max_output_tokens": body["max_output_tokens"],
            "metadata": metadata,
            "model": body["model"],
            "output": [],
            "parallel_tool_calls": given("parallel_tool_calls", json!(true)),
            "previous_response_id": body["previous_response_id"],
            "reasoning": {"effort": body["reasoning"]["effort"], "summary": null},
            "store": given("store", json!(true)),
            "temperature": given("temperature", json!(1.0)),
            "text": text,
            "tool_choice": given("tool_choice", json!("auto")),
            "tools": given("tools", json!([])),
            "top_p": given("top_p", json!(1.0)),
            "truncation": given("truncation", json!("disabled")),
            "usage": null,
            "user": body["user"],
        });
        Self { run, turn, fields }
    }

    /// Before anything came.
    pub(super) fn begun(&self) -> Value {
        self.fields.clone()
    }

    /// A turn that nobody heard while it happened.
    pub(super) fn whole(&self, turn: &Turn) -> Value {
        self.ended(turn, items::of(self.run, turn))
    }

    /// What it came to.
    pub(super) fn ended(&self, turn: &Turn, output: Vec<Value>) -> Value {
        let mut response = self.fields.clone();
        let mut output = output;
        add_logprobs(&mut output, turn);
        response["output"] = Value::Array(output);
        response["usage"] = usage(turn);
        warn(&mut response, turn);
        let reason = match finish_reason(turn) {
            "length" => Some("max_output_tokens"),
            "content_filter" => Some("content_filter"),
            _ => None,
        };
        response["status"] = json!(if reason.is_some() { "incomplete" } else { "completed" });
        if let Some(reason) = reason {
            response["incomplete_details"] = json!({"reason": reason});
        }
        response
    }

    pub(super) fn failed(&self, failed: &Failed, output: Vec<Value>) -> Value {
        let mut response = self.fields.clone();
        response["output"] = Value::Array(output);
        response["status"] = json!("failed");
        let is_told = failed.status.as_u16() == 429 || failed.has_own_code();
        let code = if is_told { failed.code() } else { json!("server_error") };
        response["error"] = json!({"code": code, "message": failed.message});
        response
    }
}

/// Adds to the last message how likely its tokens were, where that was asked for.
fn add_logprobs(output: &mut [Value], turn: &Turn) {
    let Some(logprobs) = turn.steps.last().map(|step| &step.response.logprobs) else { return };
    let message = output.iter_mut().rfind(|item| item["type"] == "message");
    if let Some(part) = message.and_then(|message| message.pointer_mut("/content/0"))
        && !logprobs.is_empty()
        && part["type"] == "output_text"
    {
        part["logprobs"] = json!(logprobs);
    }
}

fn usage(turn: &Turn) -> Value {
    let Usage { input, output, cached, reasoning } = turn.usage();
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": cached.unwrap_or_default()},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning.unwrap_or_default()},
        "total_tokens": input + output,
    })
}
