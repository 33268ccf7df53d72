//! What a turn came to, gathered from what was heard of it: the answer of `POST /api/chat`.

use haft_agent::{ChatEvent, FinishReason};
use haft_core::{CallId, ErrorKind, RunId};
use haft_llm::Usage;
use serde::Serialize;
use serde_json::{Value, json};

/// A turn, as far as it was heard of.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) error: Option<Value>,
    pub(crate) warnings: Vec<String>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) steps: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Call {
    #[serde(rename = "callId")]
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) result: Value,
}

impl Reply {
    pub(crate) fn hear(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::TurnStart { .. } => *self = Self::default(),
            ChatEvent::Call { call_id, name, arguments, .. } => self.calls.push(Call {
                id: call_id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
                result: Value::Null,
            }),
            ChatEvent::Pending { call_id, task, .. } => {
                let pending = json!({"status": "pending", "taskId": task.task_id, "callId": call_id});
                self.came(call_id, pending);
            }
            ChatEvent::Result { call_id, result, .. } => self.came(call_id, result.clone()),
            ChatEvent::Warning { message } => self.warnings.push(message.clone()),
            ChatEvent::MessageDone { text } => self.text.clone_from(text),
            ChatEvent::Usage(usage) => self.usage = *usage,
            ChatEvent::Error(error) => self.error = Some(error.clone()),
            ChatEvent::Done { finish, steps } => (self.finish, self.steps) = (Some(*finish), *steps),
            ChatEvent::Text { .. } | ChatEvent::Reasoning { .. } | ChatEvent::MessageReset { .. } => {}
        }
    }

    fn came(&mut self, id: &CallId, result: Value) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
            call.result = result;
        }
    }

    /// The kind of what went wrong.
    pub(crate) fn kind(&self) -> Option<ErrorKind> {
        let kind = self.error.as_ref()?.get("kind")?.clone();
        Some(serde_json::from_value(kind).unwrap_or(ErrorKind::Internal))
    }

    pub(crate) fn shown(&self, conversation_id: RunId, turn: u32) -> Shown<'_> {
        Shown {
            conversation_id,
            turn,
            message: Answer { role: "assistant", content: &self.text },
            tool_calls: &self.calls,
            steps: self.steps,
            usage: self.usage,
            finish_reason: self.finish.map(FinishReason::as_str),
            error: self.error.as_ref(),
            warnings: &self.warnings,
        }
    }
}

/// A turn, as whoever asked is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown<'a> {
    conversation_id: RunId,
    turn: u32,
    message: Answer<'a>,
    tool_calls: &'a [Call],
    steps: u32,
    usage: Usage,
    finish_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Value>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Answer<'a> {
    role: &'static str,
    content: &'a str,
}
