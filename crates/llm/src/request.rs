//! Model requests, independent of the provider.

use std::sync::Arc;

use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{ModelOptions, ResponseFormat};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::parameters::Parameters;
use crate::reasoning::Reasoning;
use crate::response::is_placeholder;

/// Id prefix of calls that no model made: Haft presents unsolicited results as results of such calls.
pub const SYNTHETIC_CALL_PREFIX: &str = "haft_told_";

/// Id prefix of calls that a client included in its history.
pub const CLIENT_CALL_PREFIX: &str = "haft_said_";

/// A request to a model: the conversation so far, and the offered tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    pub model: String,
    #[serde(default)]
    pub system: Option<String>,
    /// Further instructions at the beginning, from named participants. Only OpenAI's dialect sends the names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_system: Vec<NamedInstruction>,
    pub turns: Vec<ModelTurn>,
    #[serde(default)]
    pub tools: Vec<Arc<ModelTool>>,
    #[serde(default)]
    pub tool_choice: ToolChoice,
    /// Allows several calls in one response. Not every provider supports this setting.
    pub parallel_tool_calls: bool,
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The response format; `None` for plain text. With a format, JSON in the text is never read as a call.
    #[serde(default)]
    pub response_format: Option<ResponseFormat>,
    /// True if the response format is requested in the instructions, because the provider rejected its field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub format_in_instructions: bool,
    /// Further options, converted to the dialect where it supports them.
    #[serde(default)]
    pub options: ModelOptions,
    /// The context window for the model, which only Ollama needs: it silently truncates longer conversations.
    /// Default: [`OLLAMA_WINDOW`](crate::OLLAMA_WINDOW).
    #[serde(default)]
    pub context_tokens: Option<u32>,
    /// True if the model has no native tool calls, and writes calls at the end of its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_tool_calls: bool,
}

impl ModelRequest {
    /// A request with default settings.
    pub fn new(model: impl Into<String>, turns: Vec<ModelTurn>) -> Self {
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

    /// Removes an option that the provider rejected, by its name in OpenAI's API. The response format moves
    /// into the instructions.
    pub fn leave_out(&mut self, option: &str) {
        match option {
            "temperature" => self.temperature = None,
            RESPONSE_FORMAT => self.format_in_instructions = true,
            _ => {
                self.options.remove(option);
            }
        }
    }

    /// The maximum number of response tokens, if set. Zero means unset, since providers reject it.
    pub(crate) fn max_response_tokens(&self) -> Option<u32> {
        self.max_tokens.filter(|most| *most > 0)
    }

    /// Returns true if calls at the end of the text count as tool calls. That applies only to models without
    /// native calls: a model that has made native calls in this conversation writes such text only as an
    /// example.
    pub(crate) fn reads_text_calls(&self) -> bool {
        self.text_tool_calls && !self.has_native_calls()
    }

    /// Returns true if the conversation contains a call that the model did not write as text. Calls in a
    /// client's history count as native unless the client states otherwise.
    pub fn has_native_calls(&self) -> bool {
        let mut calls = self.turns.iter().flat_map(|turn| match turn {
            ModelTurn::Assistant { calls, .. } => calls.as_slice(),
            ModelTurn::System { .. } | ModelTurn::User { .. } | ModelTurn::ToolResults { .. } => &[],
        });
        // Unsolicited results appear as results of calls that no model made.
        calls.any(|call| !call.is_from_text && !call.id.starts_with(SYNTHETIC_CALL_PREFIX))
    }

    /// The number of earlier responses of the model. Turns that Haft inserted do not count.
    pub fn previous_responses(&self) -> usize {
        let is_own = |turn: &&ModelTurn| match turn {
            ModelTurn::Assistant { calls, .. } => {
                calls.is_empty() || !calls.iter().all(|call| call.id.starts_with(SYNTHETIC_CALL_PREFIX))
            }
            ModelTurn::System { .. } | ModelTurn::User { .. } | ModelTurn::ToolResults { .. } => false,
        };
        self.turns.iter().filter(is_own).count()
    }
}

/// Instructions of a named participant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedInstruction {
    pub name: String,
    pub text: String,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum ModelTurn {
    /// Instructions in the middle of a conversation. Dialects that support them only at the beginning send
    /// them as a user message.
    System {
        text: String,
        /// The name of the participant, if the client gave one. Only OpenAI's dialect sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    User {
        parts: Vec<ContentPart>,
        /// The name of the user, if there are several. Only OpenAI's dialect sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Assistant {
        text: String,
        #[serde(default)]
        reasoning: Option<Reasoning>,
        #[serde(default)]
        calls: Vec<Call>,
        /// The name of the assistant, if there are several. Only OpenAI's dialect sends it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The results of the calls in the previous turn, in order.
    ToolResults { results: Vec<ToolResult> },
}

impl ModelTurn {
    /// A user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![ContentPart::Text { text: text.into() }], name: None }
    }

    /// A model's response.
    pub fn assistant(text: impl Into<String>, reasoning: Option<Reasoning>, calls: Vec<Call>) -> Self {
        Self::Assistant { text: text.into(), reasoning, calls, name: None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentPart {
    Text { text: String },
    Image(Image),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub media_type: String,
    /// The level of detail: `low`, `high` or `auto`. Only OpenAI's dialect sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(flatten)]
    pub source: ImageSource,
}

impl Image {
    /// Parses a `data:` URL or the URL of an image. Returns `None` for anything else.
    pub fn read(url: &str) -> Option<Self> {
        let media_type = Self::media_type(url)?;
        let source = match url.strip_prefix("data:").and_then(|data| data.split_once(',')) {
            Some((_, data)) => ImageSource::Data(data.to_owned()),
            None => ImageSource::Url(url.to_owned()),
        };
        Some(Self { media_type, detail: None, source })
    }

    /// The media type of the image at a URL.
    pub fn media_type(url: &str) -> Option<String> {
        let Some(data) = url.strip_prefix("data:") else {
            let is_address = url.starts_with("https://") || url.starts_with("http://");
            return is_address.then(|| Self::type_at(url));
        };
        let (head, _) = data.split_once(',')?;
        let head = head.strip_suffix(";base64")?;
        let kind = head.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let kind = kind.strip_prefix("image/").filter(|kind| !kind.is_empty())?;
        // `image/jpg` is common, but some providers reject it.
        let kind = if kind == "jpg" { "jpeg" } else { kind };
        Some(format!("image/{kind}"))
    }

    /// The media type by the file extension, with a common default: providers that require a type reject
    /// wildcards.
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
    /// Base64 data.
    Data(String),
    /// A URL that the provider fetches.
    Url(String),
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelTool {
    pub name: String,
    pub description: String,
    pub parameters: Parameters,
    /// True if the provider must enforce the schema. Only OpenAI's dialect sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// The tool choice: may or must the model call tools. `None` differs from sending no tools: some providers
/// reject a conversation with calls if no tools are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    None,
    /// At least one call.
    Required,
    Tool(String),
}

/// A tool call made by a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them; may be invalid JSON.
    pub arguments: String,
    /// The signature by which Gemini verifies its own call.
    #[serde(default)]
    pub signature: Option<String>,
    /// The id that the provider assigned, if Haft replaced it in `id`. Only the model that made the call gets
    /// it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// True if the model wrote the call in its text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_from_text: bool,
}

impl Call {
    /// Replaces the id, and keeps the provider's id.
    pub fn rename(&mut self, id: String) {
        let before = std::mem::replace(&mut self.id, id);
        self.provider_id = Some(before).filter(|id| !id.is_empty() && !is_placeholder(id));
    }

    /// The arguments as an object. Providers require one in every later request, and would reject the whole
    /// conversation because of one malformed call.
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

/// The result of a tool call as sent to the model. A deferred call without a result has a placeholder as its
/// content. The result of the engine is `haft_core::ToolExecutionResult`.
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
    fn images_have_a_media_type_that_providers_accept() {
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
