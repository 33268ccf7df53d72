//! The dialects of the fake model server: their routes, authentication, error bodies and model lists.

use axum::http::HeaderMap;
use serde_json::{Value, json};

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeDialect {
    Openai,
    Anthropic,
    Gemini,
    Ollama,
}

/// An endpoint of the server.
#[derive(Debug, PartialEq)]
pub(super) enum Route {
    /// The names of all models.
    Models,
    /// Metadata of a model. Only Ollama has this endpoint.
    Show,
    /// A response of a model. Gemini names the model and selects streaming in the path.
    Chat { model: String, is_streamed: bool },
}

/// A rejected request.
#[derive(Debug, PartialEq)]
pub(super) struct RequestError {
    pub(super) status: u16,
    pub(super) message: String,
}

impl From<String> for RequestError {
    fn from(message: String) -> Self {
        Self { status: 400, message }
    }
}

impl FakeDialect {
    pub const ALL: [Self; 4] = [Self::Openai, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// Returns Haft's name for this kind of provider.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the path prefix of the dialect.
    pub(super) fn base(self) -> &'static str {
        match self {
            Self::Openai => "/openai/v1",
            Self::Anthropic => "/anthropic",
            Self::Gemini => "/gemini",
            Self::Ollama => "/ollama",
        }
    }

    /// Splits a path into its dialect and the path below the dialect's prefix.
    pub(super) fn split_path(path: &str) -> Option<(Self, &str)> {
        let below = |dialect: Self| Some((dialect, path.strip_prefix(dialect.base())?.strip_prefix('/')?));
        Self::ALL.into_iter().find_map(below)
    }

    pub(super) fn route(self, method: &str, below: &str) -> Result<Route, RequestError> {
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
            (Self::Gemini, "POST", _) => parse_gemini_path(below),
            (Self::Openai | Self::Anthropic | Self::Gemini | Self::Ollama, _, _) => None,
        };
        route.ok_or_else(|| RequestError { status: 404, message: format!("not found: {method} {below}") })
    }

    /// Reads the API key from the header that the dialect uses.
    pub(super) fn key(self, headers: &HeaderMap) -> Option<String> {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let key = match self {
            Self::Openai | Self::Ollama => text("authorization")?.strip_prefix("Bearer ")?,
            Self::Anthropic => text("x-api-key")?,
            Self::Gemini => text("x-goog-api-key")?,
        };
        (!key.is_empty()).then(|| key.to_owned())
    }

    /// Returns the error for a request without a key, or `None` if the dialect needs no key.
    pub(super) fn missing_key_error(self) -> Option<RequestError> {
        let (status, message) = match self {
            Self::Openai => (401, "You didn't provide an API key."),
            Self::Anthropic => (401, "x-api-key header is required"),
            Self::Gemini => (403, "Method doesn't allow unregistered callers."),
            Self::Ollama => return None,
        };
        Some(RequestError { status, message: message.to_owned() })
    }

    /// Builds the error body of the dialect.
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

    /// Builds the dialect's list of models.
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

/// Parses a Gemini path such as `v1beta/models/NAME:streamGenerateContent`.
fn parse_gemini_path(below: &str) -> Option<Route> {
    let (model, method) = below.strip_prefix("v1beta/models/")?.rsplit_once(':')?;
    let is_streamed = match method {
        "streamGenerateContent" => true,
        "generateContent" => false,
        _ => return None,
    };
    Some(Route::Chat { model: model.replace("%2F", "/"), is_streamed })
}
