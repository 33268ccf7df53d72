//! What a model is asked, in no provider's form.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::parameters::Parameters;
use crate::reasoning::Reasoning;

/// How the ids of calls begin that no model made: results that came by themselves are told as such.
pub const TOLD: &str = "haft_told_";

/// One question to a model: the whole conversation so far, and what the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    pub model: String,
    #[serde(default)]
    pub system: Option<String>,
    pub turns: Vec<Turn>,
    #[serde(default)]
    pub tools: Vec<Arc<ToolDefinition>>,
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Whether one answer may hold several calls. Not every provider can be told.
    pub parallel_tool_calls: bool,
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The window to run the model with, where that is ours to say: Ollama cuts a longer conversation silently.
    /// [`OLLAMA_WINDOW`](crate::OLLAMA_WINDOW) where it is not said.
    #[serde(default)]
    pub context_tokens: Option<u32>,
}

impl ModelRequest {
    /// A conversation with nothing else said.
    pub fn new(model: impl Into<String>, turns: Vec<Turn>) -> Self {
        Self {
            model: model.into(),
            system: None,
            turns,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            temperature: None,
            max_tokens: None,
            context_tokens: None,
        }
    }

    /// How many tokens an answer may have, where that is said. None at all is refused, and nobody means it.
    pub(crate) fn longest_answer(&self) -> Option<u32> {
        self.max_tokens.filter(|most| *most > 0)
    }

    /// How often the model has answered before. What was put into its mouth does not count.
    pub fn answers_before(&self) -> usize {
        let is_own = |turn: &&Turn| match turn {
            Turn::Assistant { calls, .. } => {
                calls.is_empty() || !calls.iter().all(|call| call.id.starts_with(TOLD))
            }
            Turn::User { .. } | Turn::ToolResults { .. } => false,
        };
        self.turns.iter().filter(is_own).count()
    }
}

/// What one side said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Turn {
    User {
        parts: Vec<Part>,
    },
    Assistant {
        text: String,
        #[serde(default)]
        reasoning: Option<Reasoning>,
        #[serde(default)]
        calls: Vec<Call>,
    },
    /// The answers to the calls of the turn before, in their order.
    ToolResults {
        results: Vec<ToolResult>,
    },
}

impl Turn {
    /// Words of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![Part::Text { text: text.into() }] }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    Text { text: String },
    Image(Image),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub media_type: String,
    #[serde(flatten)]
    pub source: ImageSource,
}

impl Image {
    /// An image that is in its address, or at one; nothing where there is none.
    pub fn read(url: &str) -> Option<Self> {
        let media_type = Self::media_type(url)?;
        let source = match url.strip_prefix("data:").and_then(|data| data.split_once(',')) {
            Some((_, data)) => ImageSource::Data(data.to_owned()),
            None => ImageSource::Url(url.to_owned()),
        };
        Some(Self { media_type, source })
    }

    /// The type of such an image.
    pub fn media_type(url: &str) -> Option<String> {
        let Some(data) = url.strip_prefix("data:") else {
            let is_address = url.starts_with("https://") || url.starts_with("http://");
            return is_address.then(|| Self::type_at(url));
        };
        let (head, _) = data.split_once(',')?;
        let head = head.strip_suffix(";base64")?;
        let kind = head.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let kind = kind.strip_prefix("image/").filter(|kind| !kind.is_empty())?;
        // What everybody writes, and not everybody takes.
        let kind = if kind == "jpg" { "jpeg" } else { kind };
        Some(format!("image/{kind}"))
    }

    /// Of which type it is, its name says, or else it is what most are: a provider that wants to know takes no
    /// "any".
    fn type_at(url: &str) -> String {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let kind = match ending.as_deref() {
            Some(kind @ ("png" | "gif" | "webp" | "bmp" | "heic" | "heif" | "avif")) => kind,
            Some(_) | None => "jpeg",
        };
        format!("image/{kind}")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageSource {
    /// In base64.
    Data(String),
    /// Where the provider can fetch it.
    Url(String),
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    pub parameters: Parameters,
}

/// Whether tools are called. Taking them away altogether is worse than `None`: some providers refuse
/// a conversation that has calls in it and no tools beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    None,
    /// At least one.
    Required,
    Tool(String),
}

/// A call that a model made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// As the model wrote them, which need not be JSON.
    pub arguments: String,
    /// By which Gemini knows its own call again.
    #[serde(default)]
    pub signature: Option<String>,
}

impl Call {
    /// The arguments as an object, which providers insist on: they read the conversation again with every
    /// turn, and would refuse all of it for one broken call.
    pub(crate) fn arguments_object(&self) -> Map<String, Value> {
        let written = self.arguments.trim();
        if written.is_empty() {
            return Map::new();
        }
        match serde_json::from_str(written) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) | Err(_) => {
                Map::from_iter([("unreadable".to_owned(), Value::from(self.arguments.as_str()))])
            }
        }
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub call_id: String,
    pub name: String,
    /// Text, or JSON as text.
    pub content: String,
    #[serde(default)]
    pub is_error: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_a_type_that_providers_take_or_is_none() {
        for (url, expected) in [
            ("https://a.example/cat.png", Some("image/png")),
            ("https://a.example/cat.JPG?size=2", Some("image/jpeg")),
            ("https://a.example/cat.WebP#top", Some("image/webp")),
            ("https://a.example/v1.png/show?file=cat.gif", Some("image/jpeg")),
            ("https://a.example/cat", Some("image/jpeg")),
            ("http://a.example", Some("image/jpeg")),
            ("https://a.example/page.html", Some("image/jpeg")),
            ("data:image/png;base64,AAAA", Some("image/png")),
            ("data:image/JPG;base64,AAAA", Some("image/jpeg")),
            ("data:image/gif;charset=utf-8;base64,AAAA", Some("image/gif")),
            ("data:application/pdf;base64,AAAA", None),
            ("data:;base64,AAAA", None),
            ("data:image/;base64,AAAA", None),
            ("data:image/png,AAAA", None),
            ("file:///etc/passwd", None),
        ] {
            let media_type = Image::read(url).map(|image| image.media_type);
            assert_eq!(media_type.as_deref(), expected, "{url}");
        }
    }
}
