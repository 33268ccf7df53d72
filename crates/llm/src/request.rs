//! What a model is asked, in no provider's form.

use std::sync::Arc;

use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{ModelOptions, ResponseFormat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::is_placeholder;
use crate::parameters::Parameters;
use crate::reasoning::Reasoning;

/// How the ids of calls begin that no model made: results that came by themselves are told as such.
pub const TOLD: &str = "haft_told_";

/// How the ids of calls begin that a client told of.
pub const SAID: &str = "haft_said_";

/// One question to a model: the whole conversation so far, and what the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    pub model: String,
    #[serde(default)]
    pub system: Option<String>,
    /// Further instructions at the beginning, of participants with names. Only OpenAI's form has the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_system: Vec<NamedInstruction>,
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
    /// The response format; plain text if it is `None`. JSON in an answer is then the answer, and never a call.
    #[serde(default)]
    pub response_format: Option<ResponseFormat>,
    /// Whether the response format is requested in the instructions, because the provider refused its field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub format_in_instructions: bool,
    /// Further options, each in the dialect's own spelling where it has them.
    #[serde(default)]
    pub options: ModelOptions,
    /// The window to run the model with, where that is ours to say: Ollama cuts a longer conversation silently.
    /// [`OLLAMA_WINDOW`](crate::OLLAMA_WINDOW) where it is not said.
    #[serde(default)]
    pub context_tokens: Option<u32>,
    /// Whether the model has no native calls, and writes them at the end of its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_tool_calls: bool,
}

impl ModelRequest {
    /// A conversation with nothing else said.
    pub fn new(model: impl Into<String>, turns: Vec<Turn>) -> Self {
        Self {
            model: model.into(),
            system: None,
            named_system: Vec::new(),
            turns,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            temperature: None,
            max_tokens: None,
            response_format: None,
            format_in_instructions: false,
            options: ModelOptions::default(),
            context_tokens: None,
            text_tool_calls: false,
        }
    }

    /// Leaves out an option that the provider refused, by its name in OpenAI's API. The response format moves into the
    /// instructions.
    pub fn leave_out(&mut self, option: &str) {
        match option {
            "temperature" => self.temperature = None,
            RESPONSE_FORMAT => self.format_in_instructions = true,
            _ => {
                self.options.remove(option);
            }
        }
    }

    /// How many tokens an answer may have, where that is said. None at all is refused, and nobody means it.
    pub(crate) fn longest_answer(&self) -> Option<u32> {
        self.max_tokens.filter(|most| *most > 0)
    }

    /// Whether a text that ends with calls makes them. That is so only for models that cannot call natively: one
    /// that has done so in this conversation shows with such a text how a call would look.
    pub(crate) fn reads_text_calls(&self) -> bool {
        self.text_tool_calls && !self.has_native_calls()
    }

    /// Whether the conversation holds a call that its model did not write into its text. A call of a client's history
    /// is one, unless its client says otherwise.
    pub fn has_native_calls(&self) -> bool {
        let mut calls = self.turns.iter().flat_map(|turn| match turn {
            Turn::Assistant { calls, .. } => calls.as_slice(),
            Turn::System { .. } | Turn::User { .. } | Turn::ToolResults { .. } => &[],
        });
        // Results that came by themselves are told as calls that no model made.
        calls.any(|call| !call.is_from_text && !call.id.starts_with(TOLD))
    }

    /// How often the model has answered before. What was put into its mouth does not count.
    pub fn answers_before(&self) -> usize {
        let is_own = |turn: &&Turn| match turn {
            Turn::Assistant { calls, .. } => {
                calls.is_empty() || !calls.iter().all(|call| call.id.starts_with(TOLD))
            }
            Turn::System { .. } | Turn::User { .. } | Turn::ToolResults { .. } => false,
        };
        self.turns.iter().filter(is_own).count()
    }
}

/// Instructions of a participant with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedInstruction {
    pub name: String,
    pub text: String,
}

/// What one side said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Turn {
    /// Instructions in the middle of a conversation. Dialects that have them only at its beginning say them as the
    /// user.
    System {
        text: String,
        /// The name of the participant, if the client gave one. Only OpenAI's form has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    User {
        parts: Vec<Part>,
        /// Which of several users, where that was said. Only OpenAI's form has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Assistant {
        text: String,
        #[serde(default)]
        reasoning: Option<Reasoning>,
        #[serde(default)]
        calls: Vec<Call>,
        /// Which of several assistants, if the client said so. Only OpenAI's form has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The answers to the calls of the turn before, in their order.
    ToolResults { results: Vec<ToolResult> },
}

impl Turn {
    /// Words of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![Part::Text { text: text.into() }], name: None }
    }

    /// What the model said and called.
    pub fn assistant(text: impl Into<String>, reasoning: Option<Reasoning>, calls: Vec<Call>) -> Self {
        Self::Assistant { text: text.into(), reasoning, calls, name: None }
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
    /// How closely it is looked at: `low`, `high` or `auto`. Only OpenAI's form has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
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
        Some(Self { media_type, detail: None, source })
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
    /// Whether the provider makes calls conform to the schema. Only OpenAI's form has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
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
    /// The id that the provider gave it, if `id` is ours. Only the model that made the call gets it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Whether the model wrote it into its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_from_text: bool,
}

impl Call {
    /// Gives it an id of ours, and keeps the one that the provider gave it.
    pub fn rename(&mut self, id: String) {
        let before = std::mem::replace(&mut self.id, id);
        self.provider_id = Some(before).filter(|id| !id.is_empty() && !is_placeholder(id));
    }

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
