//! What is said in a conversation, and what is sent to one: plain data, as the journal keeps it.

use haft_core::{CallId, Locale, RunId};
use haft_runs::RunStatus;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A message of somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of whoever asks, after those of the agent.
    System,
    User,
    Assistant,
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
    },
}

impl Message {
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: vec![Piece::Text { text: text.into() }] }
    }

    /// All words of it.
    pub fn words(&self) -> String {
        let texts = self.content.iter().filter_map(|piece| match piece {
            Piece::Text { text } => Some(text.as_str()),
            Piece::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The content as doors show it: a text where there is nothing but that.
    pub fn shown(&self) -> Value {
        if let [Piece::Text { text }] = self.content.as_slice() {
            return Value::from(text.as_str());
        }
        let part = |piece: &Piece| match piece {
            Piece::Text { text } => json!({"type": "text", "text": text}),
            Piece::Image { url } => json!({"type": "image_url", "image_url": {"url": url}}),
        };
        self.content.iter().map(part).collect()
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
