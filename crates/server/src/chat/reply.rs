//! What a turn came to, gathered from what was heard of it: the answer of `POST /api/chat`.

use haft_agent::{ChatEvent, Finish};
use haft_core::{CallId, ErrorKind};
use haft_llm::Usage;
use serde_json::{Value, json};

/// A turn, as far as it was heard of.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Usage,
    pub(crate) error: Option<Value>,
    pub(crate) warnings: Vec<String>,
    pub(crate) finish: Option<Finish>,
    pub(crate) steps: u32,
}

#[derive(Debug)]
pub(crate) struct Call {
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

    pub(crate) fn shown(&self, conversation: &str, turn: u32) -> Value {
        let calls = self.calls.iter().map(|call| {
            json!({"callId": call.id, "name": call.name, "arguments": call.arguments, "result": call.result})
        });
        let mut shown = json!({
            "conversationId": conversation,
            "turn": turn,
            "message": {"role": "assistant", "content": self.text},
            "toolCalls": calls.collect::<Vec<_>>(),
            "steps": self.steps,
            "usage": self.usage,
            "finishReason": self.finish.map(Finish::as_str),
        });
        if let Some(error) = &self.error {
            shown["error"] = error.clone();
        }
        if !self.warnings.is_empty() {
            shown["warnings"] = json!(self.warnings);
        }
        shown
    }
}
