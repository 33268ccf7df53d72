//! What a conversation is begun with: the agent, what the user said first, and how the model is asked.

use std::borrow::Cow;

use haft_core::{AgentId, CallError, ErrorKind, Source};
use haft_llm::ToolDefinition;
use haft_runs::{Halt, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::Wanted;
use crate::said::{Letter, Message, Role, Said};
use crate::transcript::Transcript;

/// A conversation as its run keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatRun {
    /// Nobody in particular: the default model, without tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub first: Said,
    pub source: Source,
    /// In place of what the agent says.
    #[serde(default)]
    pub asking: Asking,
    /// Tools that whoever asks carries out themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ToolDefinition>,
}

/// How the model is asked, where whoever asks says so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asking {
    #[serde(skip_serializing_if = "Wanted::is_any")]
    pub wanted: Wanted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
}

impl ChatRun {
    /// The conversation on the terms of its open turn.
    pub(crate) fn in_turn(&self, transcript: &Transcript) -> Cow<'_, Self> {
        let letters = transcript.open().into_iter().flat_map(|turn| turn.input.iter().rev());
        let Some(terms) = letters.filter_map(Letter::asked).find_map(|asked| asked.terms.as_deref()) else {
            return Cow::Borrowed(self);
        };
        let mut chat = self.clone();
        chat.asking = terms.asking.clone();
        chat.client_tools.clone_from(&terms.client_tools);
        if let Some(system) = &terms.system {
            chat.first.messages.retain(|message| message.role != Role::System);
            chat.first.messages.extend(system.iter().map(|words| Message::text(Role::System, words)));
        }
        Cow::Owned(chat)
    }

    pub fn of(run: &Run) -> Result<Self, Halt> {
        Self::deserialize(&*run.input).map_err(unreadable)
    }
}

pub(crate) fn unreadable(error: serde_json::Error) -> Halt {
    let message = "what is kept of the conversation cannot be read";
    Halt::Failed(CallError::text(ErrorKind::Internal, message).caused_by(error))
}
