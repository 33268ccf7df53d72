//! What is said in a conversation, and what is sent to one: plain data, as the journal keeps it.

use haft_core::{CallId, Locale, RunId, TraceParent, TraceState};
use haft_llm::{ModelTool, NamedInstruction};
use haft_runs::RunStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::chat_run::Asking;

/// A message of somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// Which of several participants, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub content: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of whoever asks, after those of the agent.
    System,
    User,
    Assistant,
    /// What came of calls that whoever asks carried out themselves.
    Tool,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Piece {
    Text {
        text: String,
    },
    /// In a `data:` URL, at an address that the provider can fetch, or a file of the user's: `artifact://ID`.
    Image {
        url: String,
        /// How closely it is looked at, where that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// A call that the assistant made of a tool of whoever asks, under an id of theirs.
    Call {
        id: String,
        name: String,
        arguments: String,
        /// Whether the model wrote it into its text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_from_text: bool,
        /// The provider's own data of the call, if a stored run made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<ProviderCall>,
    },
    /// What came of one.
    Result {
        call: String,
        text: String,
    },
}

/// What a provider sends with a call, and gets back unchanged with the next request to the same model.
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

impl Message {
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, name: None, content: vec![Piece::Text { text: text.into() }] }
    }

    /// All words of it.
    pub fn words(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            Piece::Text { text } | Piece::Result { text, .. } => Some(text.as_str()),
            Piece::Image { .. } | Piece::Call { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The content as doors show it: a text where there is nothing but that. Calls stand beside it.
    pub fn shown(&self) -> Value {
        let part = |piece: &Piece| match piece {
            Piece::Text { text } => Some(json!({"type": "text", "text": text})),
            Piece::Image { url, .. } => Some(json!({"type": "image_url", "image_url": {"url": url}})),
            Piece::Result { text, .. } => Some(json!({"type": "text", "text": text})),
            Piece::Call { .. } => None,
        };
        let mut parts: Vec<Value> = self.content.iter().filter_map(part).collect();
        match parts.as_mut_slice() {
            [] => Value::from(""),
            [only] if only["type"] == "text" => only["text"].take(),
            [..] => Value::Array(parts),
        }
    }

    /// The calls in it, as doors show them.
    pub(crate) fn calls_shown(&self) -> Vec<Value> {
        let call = |piece: &Piece| match piece {
            Piece::Call { id, name, arguments, .. } => Some(json!({
                "callId": id, "name": name, "arguments": crate::transcript::arguments(arguments),
            })),
            Piece::Text { .. } | Piece::Image { .. } | Piece::Result { .. } => None,
        };
        self.content.iter().filter_map(call).collect()
    }

    /// The call that it is the result of.
    pub fn call(&self) -> Option<&str> {
        self.content.iter().find_map(|piece| match piece {
            Piece::Result { call, .. } => Some(call.as_str()),
            Piece::Text { .. } | Piece::Image { .. } | Piece::Call { .. } => None,
        })
    }
}

/// Something that is sent to a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Letter {
    Said(Said),
    /// The last turn goes on from where it ended.
    GoOn(GoOn),
    /// What came of calls that whoever asks carries out themselves.
    Returned(Returned),
    /// A task has ended that the conversation began.
    Ended(TaskEnded),
}

/// What a user says, with all that is about this turn alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Said {
    pub id: String,
    pub messages: Vec<Message>,
    /// This turn and all after it are as if they had not been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<u32>,
    /// Tools beside those of the agent, by name or id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    pub asked: Asked,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoOn {
    pub id: String,
    pub asked: Asked,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Returned {
    pub id: String,
    /// The id of a call, and what came of it, in words.
    pub results: Vec<(CallId, String)>,
    /// What the user says besides.
    #[serde(default)]
    pub messages: Vec<Message>,
    pub asked: Asked,
}

/// When and how somebody asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    pub at: Timestamp,
    pub locale: Locale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// In place of what the conversation was begun with, for this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
    /// The trace of the request. Tools that the turn calls pass it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<(TraceParent, Option<TraceState>)>,
}

/// How the model is asked in a turn, where that is said anew with each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Terms {
    pub asking: Asking,
    /// Tools that whoever asks carries out themselves.
    pub client_tools: Vec<ModelTool>,
    /// Instructions of whoever asks, after those of the agent; those from the beginning where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<Instruction>>,
    /// Instructions for this turn alone, before those at the beginning of the conversation.
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

impl From<Message> for Instruction {
    fn from(message: Message) -> Self {
        let text = message.words();
        match message.name {
            Some(name) => Self::Named(NamedInstruction { name, text }),
            None => Self::Text(text),
        }
    }
}

impl From<Instruction> for Message {
    fn from(instruction: Instruction) -> Self {
        match instruction {
            Instruction::Text(text) => Self::text(Role::System, text),
            Instruction::Named(NamedInstruction { name, text }) => {
                Self { name: Some(name), ..Self::text(Role::System, text) }
            }
        }
    }
}

/// As the journal of runs tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnded {
    pub run: RunId,
    /// The id of the call that it is.
    pub name: String,
    pub status: RunStatus,
    pub output: Value,
}

impl Letter {
    /// By which whoever sent it finds the turn that it began.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Said(Said { id, .. })
            | Self::GoOn(GoOn { id, .. })
            | Self::Returned(Returned { id, .. }) => Some(id),
            Self::Ended(_) => None,
        }
    }

    /// Tools that it names beside those of the agent.
    pub fn tools(&self) -> &[String] {
        match self {
            Self::Said(said) => &said.tools,
            Self::GoOn(_) | Self::Returned(_) | Self::Ended(_) => &[],
        }
    }

    /// How whoever sent it asked.
    pub(crate) fn asked(&self) -> Option<&Asked> {
        match self {
            Self::Said(Said { asked, .. })
            | Self::GoOn(GoOn { asked, .. })
            | Self::Returned(Returned { asked, .. }) => Some(asked),
            Self::Ended(_) => None,
        }
    }
}
