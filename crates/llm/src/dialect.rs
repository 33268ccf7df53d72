//! Differences between dialects: URLs, headers, bodies and events.

use haft_core::provider::ProviderKind;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::delta::{Delta, EndReason};
use crate::format::FormatBy;
use crate::model::OmittedTool;
use crate::request::ModelRequest;
use crate::{anthropic, gemini, ollama, openai};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions, and compatible servers.
    OpenAi,
    Anthropic,
    Gemini,
    /// Ollama's own API instead of its OpenAI-compatible one: only the former can set the context window,
    /// without which Ollama silently truncates long conversations, and has a uniform format for thoughts and
    /// calls.
    Ollama,
}

/// Parses one response, event by event.
pub(crate) trait Reader: Send {
    fn read(&mut self, event: &Value, deltas: &mut Vec<Delta>);

    /// The reason why the model stopped. Returns `None` while it has not stopped.
    fn end(&self) -> Option<EndReason>;

    /// Returns true if no further events are relevant. Dialects without a final event end with the body.
    fn is_complete(&self) -> bool {
        false
    }
}

/// The body of a request, and the tools that it omits.
pub(crate) struct Body {
    pub(crate) json: Value,
    pub(crate) left_out: Vec<OmittedTool>,
    /// True if a separate field requests the response format.
    pub(crate) has_format: bool,
}

impl Dialect {
    /// The dialect of a kind of provider. Returns `None` for kinds that do not use HTTP.
    pub fn of(kind: ProviderKind) -> Option<Self> {
        match kind {
            ProviderKind::Openai => Some(Self::OpenAi),
            ProviderKind::Anthropic => Some(Self::Anthropic),
            ProviderKind::Gemini => Some(Self::Gemini),
            ProviderKind::Ollama => Some(Self::Ollama),
            ProviderKind::Scripted => None,
        }
    }

    /// The default base URL: the public API of the vendor.
    pub fn usual_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The URL for requests to a model. Base URLs may include the API version or not.
    pub(crate) fn url(self, base: &Url, model: &str) -> Url {
        match self {
            Self::OpenAi => below(base, &["chat", "completions"]),
            Self::Anthropic => below(&versioned(base, "v1"), &["messages"]),
            Self::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                let method = format!("{model}:streamGenerateContent");
                let mut url = below(&versioned(base, "v1beta"), &["models", &method]);
                url.set_query(Some("alt=sse"));
                url
            }
            Self::Ollama => below(&unversioned(base), &["api", "chat"]),
        }
    }

    /// The URL of the list of models.
    pub(crate) fn models_url(self, base: &Url) -> Url {
        match self {
            Self::OpenAi => below(base, &["models"]),
            Self::Anthropic => below(&versioned(base, "v1"), &["models"]),
            Self::Gemini => {
                let mut url = below(&versioned(base, "v1beta"), &["models"]);
                url.set_query(Some("pageSize=1000"));
                url
            }
            Self::Ollama => below(&unversioned(base), &["api", "tags"]),
        }
    }

    /// The URL that returns a model's context window. Returns `None` if the dialect cannot set it.
    pub(crate) fn window_url(self, base: &Url) -> Option<Url> {
        match self {
            Self::Ollama => Some(below(&unversioned(base), &["api", "show"])),
            Self::OpenAi | Self::Anthropic | Self::Gemini => None,
        }
    }

    /// Parses the model names in a list. Returns `None` if the document is not such a list.
    pub(crate) fn models(self, list: &Value) -> Option<Vec<String>> {
        let (field, name) = match self {
            Self::OpenAi | Self::Anthropic => ("data", "id"),
            Self::Gemini | Self::Ollama => ("models", "name"),
        };
        let talks = |model: &&Value| match model.get("supportedGenerationMethods").and_then(Value::as_array) {
            Some(methods) => methods.iter().any(|method| method == "generateContent"),
            None => true,
        };
        let models = list.get(field)?.as_array()?.iter().filter(talks);
        let names = models.filter_map(|model| model.get(name)?.as_str());
        Some(names.map(|name| name.strip_prefix("models/").unwrap_or(name).to_owned()).collect())
    }

    /// The header for the API key, and the prefix of its value.
    pub(crate) fn key_header(self) -> (HeaderName, &'static str) {
        match self {
            Self::OpenAi | Self::Ollama => (AUTHORIZATION, "Bearer "),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), ""),
            Self::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
        }
    }

    /// The version header of every request, if any.
    pub(crate) fn version_header(self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Anthropic => {
                Some((HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01")))
            }
            Self::OpenAi | Self::Gemini | Self::Ollama => None,
        }
    }

    pub(crate) fn body(self, base: &Url, request: &ModelRequest, by: FormatBy) -> Body {
        match self {
            Self::OpenAi => openai::body(base, request, by),
            Self::Anthropic => anthropic::body(request, by),
            Self::Gemini => gemini::body(request, by),
            Self::Ollama => ollama::body(request, by),
        }
    }

    pub(crate) fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::OpenAi => Box::new(openai::Chunks::default()),
            Self::Anthropic => Box::new(anthropic::Message::default()),
            Self::Gemini => Box::new(gemini::Candidates::default()),
            Self::Ollama => Box::new(ollama::Lines::default()),
        }
    }

    /// Returns true if a response has one event per line.
    pub(crate) fn is_lines(self) -> bool {
        match self {
            Self::Ollama => true,
            Self::OpenAi | Self::Anthropic | Self::Gemini => false,
        }
    }
}

/// Appends a path to a base URL.
fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    // A URL that cannot have a path is rejected with the request.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// Appends the version to the base URL, unless it has one.
fn versioned(base: &Url, version: &str) -> Url {
    if has_version(base) { base.clone() } else { below(base, &[version]) }
}

/// Removes the version of the OpenAI-compatible API from the base URL.
fn unversioned(base: &Url) -> Url {
    let mut url = base.clone();
    if has_version(base)
        && let Ok(mut segments) = url.path_segments_mut()
    {
        segments.pop_if_empty().pop();
    }
    url
}

fn has_version(base: &Url) -> bool {
    let last = base.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_include_its_version() {
        for (dialect, base, expected) in [
            (Dialect::OpenAi, "https://a.example/v1", "https://a.example/v1/chat/completions"),
            (
                Dialect::OpenAi,
                "https://a.example/api/paas/v4/",
                "https://a.example/api/paas/v4/chat/completions",
            ),
            (Dialect::Anthropic, "https://a.example", "https://a.example/v1/messages"),
            (Dialect::Anthropic, "https://a.example/v1/", "https://a.example/v1/messages"),
            (Dialect::Anthropic, "https://a.example/anthropic", "https://a.example/anthropic/v1/messages"),
            (
                Dialect::Gemini,
                "https://a.example/",
                "https://a.example/v1beta/models/m%2F1:streamGenerateContent?alt=sse",
            ),
            (
                Dialect::Gemini,
                "https://a.example/v1",
                "https://a.example/v1/models/m%2F1:streamGenerateContent?alt=sse",
            ),
            (Dialect::Ollama, "http://localhost:11434", "http://localhost:11434/api/chat"),
            (Dialect::Ollama, "http://localhost:11434/v1", "http://localhost:11434/api/chat"),
        ] {
            let base = Url::parse(base).expect("a URL");
            assert_eq!(dialect.url(&base, "models/m/1").as_str(), expected, "{dialect:?}, {base}");
        }
    }
}
