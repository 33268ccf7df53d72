//! Failures as OpenAI's clients read them: `{"error": {message, type, param, code}}`, with the status that says which.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use haft_agent::Turn;
use haft_core::{CallError, ErrorKind, Message, Template, Violation};
use serde_json::{Value, json};

use crate::error::status;
use crate::request::Asked;

pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Something wrong with one field of the body.
pub(super) fn wrong(param: impl Into<String>, message: Message) -> CallError {
    CallError::invalid(vec![Violation::new(param, message)])
}

/// Something that is not there, with OpenAI's word for it.
pub(super) fn missing(param: &str, code: &str, template: &'static Template, name: &str) -> CallError {
    let message = Message::new(template).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("param", param).detail("code", code)
}

/// The answer to what failed before a turn was begun.
pub(crate) fn answer(status: StatusCode, error: &CallError, asked: &Asked) -> Response {
    let details = error.details(asked.locale);
    let param = error.violations().first().map(|violation| Value::from(violation.path.as_str()));
    let param = param.or_else(|| details.get("param").cloned()).unwrap_or_default();
    let code = details.get("code").cloned().unwrap_or_else(|| usual_code(status));
    let message = error.message().render(asked.locale);
    let mut response = json_response(status, &body(status, &message, param, code));
    // Clients try a 502 again, also where the same would come of it.
    if status == StatusCode::BAD_GATEWAY && !error.is_retryable() {
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    response
}

/// How a turn failed.
pub(super) struct Failed {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// Where there is a word for it besides the status.
    code: Value,
    retry_after_ms: Option<u64>,
    /// Something was carried out, and would be once more.
    did_something: bool,
    /// The same would come of a second try.
    is_lasting: bool,
}

impl Failed {
    /// Nothing for a turn that has its answer.
    pub(super) fn of(turn: &Turn) -> Option<Self> {
        use haft_agent::FinishReason;
        let end = turn.end.as_ref()?;
        let did_something = turn.calls().next().is_some();
        match (end.finish, &end.error) {
            (FinishReason::Error, Some(error)) => {
                let kind = serde_json::from_value(error["kind"].clone()).unwrap_or(ErrorKind::Internal);
                Some(Self {
                    status: status(kind),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                    code: error["details"]["code"].clone(),
                    retry_after_ms: error["details"]["retryAfterMs"].as_u64(),
                    did_something,
                    is_lasting: error["retryable"] == false,
                })
            }
            (FinishReason::Error, None) => Some(Self {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                message: "the turn failed".to_owned(),
                code: Value::Null,
                retry_after_ms: None,
                did_something,
                is_lasting: false,
            }),
            (FinishReason::Cancelled, _) => Some(Self {
                status: status(ErrorKind::Cancelled),
                message: "the turn was cancelled".to_owned(),
                code: Value::Null,
                retry_after_ms: None,
                did_something,
                is_lasting: false,
            }),
            (
                FinishReason::Stop
                | FinishReason::MaxSteps
                | FinishReason::ToolStop
                | FinishReason::ToolCalls,
                _,
            ) => None,
        }
    }

    pub(super) fn from_error(error: &CallError, asked: &Asked) -> Self {
        Self {
            status: status(error.kind()),
            message: error.message().render(asked.locale),
            code: error.details(asked.locale).get("code").cloned().unwrap_or_default(),
            retry_after_ms: error.requested_pause().map(|pause| pause.as_millis() as u64),
            did_something: true,
            is_lasting: !error.is_retryable(),
        }
    }

    /// Whether there is a word for it besides the status.
    pub(super) fn has_own_code(&self) -> bool {
        self.code.is_string()
    }

    pub(super) fn code(&self) -> Value {
        if self.has_own_code() { self.code.clone() } else { usual_code(self.status) }
    }

    /// As an answer of its own.
    pub(super) fn response(&self) -> Response {
        let mut response = json_response(self.status, &self.body());
        let headers = response.headers_mut();
        if self.did_something || self.is_lasting {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if let Some(ms) = self.retry_after_ms {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000)));
        }
        response
    }

    /// As a line of a stream has it, too.
    pub(super) fn body(&self) -> Value {
        body(self.status, &self.message, Value::Null, self.code())
    }
}

fn body(status: StatusCode, message: &str, param: Value, code: Value) -> Value {
    let kind = match status.as_u16() {
        429 => "rate_limit_error",
        code if code >= 500 => "server_error",
        _ => "invalid_request_error",
    };
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

fn usual_code(status: StatusCode) -> Value {
    match status.as_u16() {
        401 => json!("invalid_api_key"),
        403 => json!("permission_denied"),
        404 => json!("not_found"),
        429 => json!("rate_limit_exceeded"),
        499 => json!("cancelled"),
        code if code >= 500 => json!("server_error"),
        _ => Value::Null,
    }
}

/// An answer without an envelope.
pub(super) fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
