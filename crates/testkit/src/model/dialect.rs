//! The dialects that the server of models speaks: where each is served, how it lets in, and how it says no.

use axum::http::HeaderMap;
use serde_json::{Value, json};

/// Whose protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Openai,
    Anthropic,
    Gemini,
    Ollama,
}

/// What is asked for at a path.
#[derive(Debug, PartialEq)]
pub(super) enum Route {
    /// The names of all models.
    Models,
    /// What is to be known of a model, which only Ollama tells.
    Show,
    /// An answer. Gemini says in the path which model is meant, and whether to stream.
    Chat { model: String, is_streamed: bool },
}

/// Why a request is not answered.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self { status: 400, message }
    }
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Openai, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// What Haft calls a provider of this kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The path of a base address, below which all of the dialect is.
    pub(super) fn base(self) -> &'static str {
        match self {
            Self::Openai => "/openai/v1",
            Self::Anthropic => "/anthropic",
            Self::Gemini => "/gemini",
            Self::Ollama => "/ollama",
        }
    }

    /// The dialect that a path belongs to, and the path below its base.
    pub(super) fn at(path: &str) -> Option<(Self, &str)> {
        let below = |dialect: Self| Some((dialect, path.strip_prefix(dialect.base())?.strip_prefix('/')?));
        Self::ALL.into_iter().find_map(below)
    }

    pub(super) fn route(self, method: &str, below: &str) -> Result<Route, Refusal> {
        let chat = || Route::Chat { model: String::new(), is_streamed: false };
        let route = match (self, method, below) {
            (Self::Openai, "GET", "models")
            | (Self::Anthropic, "GET", "v1/models")
            | (Self::Gemini, "GET", "v1beta/models")
            | (Self::Ollama, "GET", "api/tags") => Some(Route::Models),
            (Self::Openai, "POST", "chat/completions")
            | (Self::Anthropic, "POST", "v1/messages")
            | (Self::Ollama, "POST", "api/chat") => Some(chat()),
            (Self::Ollama, "POST", "api/show") => Some(Route::Show),
            (Self::Gemini, "POST", _) => generate(below),
            (Self::Openai | Self::Anthropic | Self::Gemini | Self::Ollama, _, _) => None,
        };
        route.ok_or_else(|| Refusal { status: 404, message: format!("not found: {method} {below}") })
    }

    /// The key that a request has, where the dialect looks for it.
    pub(super) fn key(self, headers: &HeaderMap) -> Option<String> {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let key = match self {
            Self::Openai | Self::Ollama => text("authorization")?.strip_prefix("Bearer ")?,
            Self::Anthropic => text("x-api-key")?,
            Self::Gemini => text("x-goog-api-key")?,
        };
        (!key.is_empty()).then(|| key.to_owned())
    }

    /// What a request without a key is told; nothing where none is needed.
    pub(super) fn without_key(self) -> Option<Refusal> {
        let (status, message) = match self {
            Self::Openai => (401, "You didn't provide an API key."),
            Self::Anthropic => (401, "x-api-key header is required"),
            Self::Gemini => (403, "Method doesn't allow unregistered callers."),
            Self::Ollama => return None,
        };
        Some(Refusal { status, message: message.to_owned() })
    }

    /// The body by which the dialect says what is wrong.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Openai => {
                let (kind, code) = match status {
                    401 => ("invalid_request_error", Some("invalid_api_key")),
                    404 => ("invalid_request_error", Some("model_not_found")),
                    429 if message.contains("current quota") => {
                        ("insufficient_quota", Some("insufficient_quota"))
                    }
                    429 => ("requests", Some("rate_limit_exceeded")),
                    500.. => ("server_error", None),
                    _ => ("invalid_request_error", None),
                };
                json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
            }
            Self::Anthropic => {
                let kind = match status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    404 => "not_found_error",
                    413 => "request_too_large",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    500.. => "api_error",
                    _ => "invalid_request_error",
                };
                let error = json!({"type": kind, "message": message});
                json!({"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"})
            }
            Self::Gemini => {
                let name = match status {
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    404 => "NOT_FOUND",
                    429 => "RESOURCE_EXHAUSTED",
                    503 => "UNAVAILABLE",
                    500.. => "INTERNAL",
                    _ => "INVALID_ARGUMENT",
                };
                json!({"error": {"code": status, "message": message, "status": name}})
            }
            Self::Ollama => json!({"error": message}),
        }
    }

    /// A list of models.
    pub(super) fn models(self, names: &[&str]) -> Value {
        let each = names.iter().map(|name| match self {
            Self::Openai => json!({"id": name, "object": "model", "created": 1_760_000_000, "owned_by": "us"}),
            Self::Anthropic => {
                json!({"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
            }
            Self::Gemini => {
                let methods = ["generateContent", "countTokens"];
                json!({"name": format!("models/{name}"), "supportedGenerationMethods": methods})
            }
            Self::Ollama => json!({"name": name, "model": name, "size": 4_000_000}),
        });
        let each: Vec<Value> = each.collect();
        match self {
            Self::Openai => json!({"object": "list", "data": each}),
            Self::Anthropic => json!({"data": each, "has_more": false, "first_id": null, "last_id": null}),
            Self::Gemini | Self::Ollama => json!({"models": each}),
        }
    }
}

/// A path such as `v1beta/models/NAME:streamGenerateContent`.
fn generate(below: &str) -> Option<Route> {
    let (model, method) = below.strip_prefix("v1beta/models/")?.rsplit_once(':')?;
    let is_streamed = match method {
        "streamGenerateContent" => true,
        "generateContent" => false,
        _ => return None,
    };
    Some(Route::Chat { model: model.replace("%2F", "/"), is_streamed })
}
