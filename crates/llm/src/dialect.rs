//! What the dialects differ in: addresses, headers, bodies and events.

use haft_core::provider::ProviderKind;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use crate::delta::{Delta, EndReason};
use crate::format::FormatBy;
use crate::model::LeftOut;
use crate::request::ModelRequest;
use crate::{anthropic, gemini, ollama, openai};

/// A way of talking with models over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions, of OpenAI and of everything compatible with it.
    OpenAi,
    Anthropic,
    Gemini,
    /// Its own API and not its imitation of OpenAI's: only here can the context window be set, without
    /// which Ollama silently cuts long conversations, and thoughts and calls come in one form.
    Ollama,
}

/// Reads one answer, event by event.
pub(crate) trait Reader: Send {
    fn read(&mut self, event: &Value, deltas: &mut Vec<Delta>);

    /// Why the model stopped; nothing before it did.
    fn end(&self) -> Option<EndReason>;

    /// Nothing that matters comes any more. Where an answer's last event is not marked, its end is the body's.
    fn is_complete(&self) -> bool {
        false
    }
}

/// The body of a request, and the tools that are not in it.
pub(crate) struct Body {
    pub(crate) json: Value,
    pub(crate) left_out: Vec<LeftOut>,
    /// Whether a field of its own requests the response format.
    pub(crate) has_format: bool,
}

impl Dialect {
    /// The dialect of a kind of provider; nothing for one that is not on the wire.
    pub fn of(kind: ProviderKind) -> Option<Self> {
        match kind {
            ProviderKind::Openai => Some(Self::OpenAi),
            ProviderKind::Anthropic => Some(Self::Anthropic),
            ProviderKind::Gemini => Some(Self::Gemini),
            ProviderKind::Ollama => Some(Self::Ollama),
            ProviderKind::Scripted => None,
        }
    }

    /// Where its own maker serves it.
    pub fn usual_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// Where an answer is asked for. People write a base with and without its version.
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

    /// Where the names of all models are.
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

    /// Where a model's window is asked for; nothing where it is not ours to set.
    pub(crate) fn window_url(self, base: &Url) -> Option<Url> {
        match self {
            Self::Ollama => Some(below(&unversioned(base), &["api", "show"])),
            Self::OpenAi | Self::Anthropic | Self::Gemini => None,
        }
    }

    /// The names of models in a list of them; nothing where it is no such list.
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

    /// The header that holds the key, and what stands before the key in it.
    pub(crate) fn key_header(self) -> (HeaderName, &'static str) {
        match self {
            Self::OpenAi | Self::Ollama => (AUTHORIZATION, "Bearer "),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), ""),
            Self::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
        }
    }

    /// A header that every request has.
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

    /// Whether an answer is a line for each event.
    pub(crate) fn is_lines(self) -> bool {
        match self {
            Self::Ollama => true,
            Self::OpenAi | Self::Anthropic | Self::Gemini => false,
        }
    }
}

/// A path below a base address.
fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    // An address that can have no path is refused with the request.
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

/// The base with a version behind it, unless it has one.
fn versioned(base: &Url, version: &str) -> Url {
    if has_version(base) { base.clone() } else { below(base, &[version]) }
}

/// The base without the version of an imitation that it may end with.
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
    fn a_base_may_have_its_version_or_not() {
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
