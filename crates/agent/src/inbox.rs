//! Messages of a conversation, and the inbox messages of its run: plain data, as the journal stores it.

use haft_core::{CallId, Locale, RunId, TraceParent, TraceState};
use haft_llm::{ModelTool, NamedInstruction};
use haft_runs::RunStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::conversation_input::ModelParameters;

/// A message of a participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    /// The name of the participant, if the client set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub content: Vec<MessagePart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// Instructions of the client, which follow those of the agent.
    System,
    User,
    Assistant,
    /// Results of calls that the client executed.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum MessagePart {
    Text {
        text: String,
    },
    /// In a `data:` URL, at an address that the provider can fetch, or a file of the user's: `artifact://ID`.
    Image {
        url: String,
        /// The requested level of detail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A call of a tool of the client, with the client's id.
    Call {
        id: String,
        name: String,
        arguments: String,
        /// True if the model wrote the call as text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_from_text: bool,
        /// The provider's own data of the call, if a stored run made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<ProviderCall>,
    },
    /// The result of a call.
    Result {
        call: String,
        text: String,
    },
}

/// Data that a provider sends with a call, and that is returned unchanged with the next request to the same model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderCall {
    /// `provider/model`.
    pub model: String,
    /// The provider's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Gemini's signature of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ChatMessage {
    pub fn text(role: ChatRole, text: impl Into<String>) -> Self {
        Self { role, name: None, content: vec![MessagePart::Text { text: text.into() }] }
    }

    /// Returns the text parts, joined.
    pub fn text_content(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            MessagePart::Text { text } | MessagePart::Result { text, .. } => Some(text.as_str()),
            MessagePart::Image { .. } | MessagePart::Call { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Returns the content in its API form: a text, or a list of parts. Calls are a separate field.
    pub fn content_json(&self) -> Value {
        let part = |piece: &MessagePart| match piece {
            MessagePart::Text { text } => Some(json!({"type": "text", "text": text})),
            MessagePart::Image { url, .. } => Some(json!({"type": "image_url", "image_url": {"url": url}})),
            MessagePart::Result { text, .. } => Some(json!({"type": "text", "text": text})),
            MessagePart::Call { .. } => None,
        };
        let mut parts: Vec<Value> = self.content.iter().filter_map(part).collect();
        match parts.as_mut_slice() {
            [] => Value::from(""),
            [only] if only["type"] == "text" => only["text"].take(),
            [..] => Value::Array(parts),
        }
    }

    /// Returns the calls of the message in their API form.
    pub(crate) fn calls_json(&self) -> Vec<Value> {
        let call = |piece: &MessagePart| match piece {
            MessagePart::Call { id, name, arguments, .. } => Some(json!({
                "callId": id, "name": name, "arguments": crate::transcript::arguments(arguments),
            })),
            MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Result { .. } => None,
        };
        self.content.iter().filter_map(call).collect()
    }

    /// Returns the id of the call whose result the message is.
    pub fn result_of(&self) -> Option<&str> {
        self.content.iter().find_map(|piece| match piece {
            MessagePart::Result { call, .. } => Some(call.as_str()),
            MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Call { .. } => None,
        })
    }
}

/// A message to the run of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum InboxMessage {
    #[serde(rename = "said")]
    User(UserMessage),
    /// Continues after the last turn without a new message.
    #[serde(rename = "goOn")]
    Continue(ContinueMessage),
    /// Results of calls that the client executed.
    #[serde(rename = "returned")]
    ToolResults(ToolResultsMessage),
    /// A task of the conversation has ended.
    #[serde(rename = "ended")]
    TaskEnded(TaskEnded),
}

/// Messages of a user, with the settings of their turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    pub id: String,
    pub messages: Vec<ChatMessage>,
    /// The number of a turn that this one replaces, together with all later turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u32>,
    /// Tools beside those of the agent, by name or id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    pub asked: TurnRequest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinueMessage {
    pub id: String,
    pub asked: TurnRequest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultsMessage {
    pub id: String,
    /// The ids of the calls with their results as text.
    pub results: Vec<(CallId, String)>,
    /// Further messages of the user.
    #[serde(default)]
    pub messages: Vec<ChatMessage>,
    pub asked: TurnRequest,
}

/// The request that sent an inbox message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRequest {
    pub at: Timestamp,
    pub locale: Locale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Overrides of the conversation's input for this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<TurnTerms>>,
    /// The trace of the request. Tools that the turn calls pass it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<(TraceParent, Option<TraceState>)>,
}

/// Overrides of a conversation's input for one turn, from clients that send them with each request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnTerms {
    pub asking: ModelParameters,
    /// Tools that the client executes.
    pub client_tools: Vec<ModelTool>,
    /// Instructions of the client, which follow those of the agent. `None` keeps those of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<Instruction>>,
    /// Instructions for this turn only, which precede those of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

/// An instruction at the beginning of a conversation: text alone, or with the name of the participant who gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Instruction {
    Text(String),
    Named(NamedInstruction),
}

impl From<ChatMessage> for Instruction {
    fn from(message: ChatMessage) -> Self {
        let text = message.text_content();
        match message.name {
            Some(name) => Self::Named(NamedInstruction { name, text }),
            None => Self::Text(text),
        }
    }
}

impl From<Instruction> for ChatMessage {
    fn from(instruction: Instruction) -> Self {
        match instruction {
            Instruction::Text(text) => Self::text(ChatRole::System, text),
            Instruction::Named(NamedInstruction { name, text }) => {
                Self { name: Some(name), ..Self::text(ChatRole::System, text) }
            }
        }
    }
}

/// The end of a task, as the journal of runs sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnded {
    pub run: RunId,
    /// The id of the call that became the task.
    pub name: String,
    pub status: RunStatus,
    pub output: Value,
}

impl InboxMessage {
    /// Returns the id by which its sender finds the turn that it began.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::User(UserMessage { id, .. })
            | Self::Continue(ContinueMessage { id, .. })
            | Self::ToolResults(ToolResultsMessage { id, .. }) => Some(id),
            Self::TaskEnded(_) => None,
        }
    }

    /// Returns the names of further tools of the turn.
    pub fn tools(&self) -> &[String] {
        match self {
            Self::User(said) => &said.tools,
            Self::Continue(_) | Self::ToolResults(_) | Self::TaskEnded(_) => &[],
        }
    }

    /// Returns the request that sent the message.
    pub(crate) fn turn_request(&self) -> Option<&TurnRequest> {
        match self {
            Self::User(UserMessage { asked, .. })
            | Self::Continue(ContinueMessage { asked, .. })
            | Self::ToolResults(ToolResultsMessage { asked, .. }) => Some(asked),
            Self::TaskEnded(_) => None,
        }
    }
}
