//! Failures on their way out: which status each kind has, and how they get their words.

use std::any::Any;
use std::error::Error as StdError;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, ErrorKind, Locale, Message};
use serde_json::Value;

use crate::api::Base;
use crate::body::discard_small;
use crate::envelope;
use crate::request::{Asked, Exchange};
use crate::routes::v1;

haft_core::templates! {
    NO_SUCH_ROUTE = "api.noSuchRoute",
        "There is no endpoint {method} {path}.",
        "{method} {path} 不存在";
    METHOD_NOT_ALLOWED = "api.methodNotAllowed",
        "{method} is not allowed at {path}.",
        "{path} 不支持 {method}";
    INTERNAL = "api.internal",
        "An internal error occurred. Search the server's log for this request's id.",
        "发生内部错误；请用此请求的 id 查看服务日志";
}

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A failure that is about to be answered. It becomes words where the request's language is known.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    error: CallError,
}

impl Failure {
    /// A malformed request has a status that says how.
    pub(crate) fn with_status(status: StatusCode, message: Message) -> Self {
        Self { status, error: CallError::new(ErrorKind::BadRequest, message) }
    }

    /// Tells the operator of what is not the caller's doing.
    pub(crate) fn log(&self, asked: &Asked, exchange: &Exchange) {
        let kind = self.error.kind();
        // Of calls that are refused there may be thousands; who cannot keep up with them says so once.
        if !self.status.is_server_error() || kind == ErrorKind::Overloaded {
            return;
        }
        let (status, duration) = (self.status.as_u16(), exchange.duration().as_millis() as u64);
        if is_inner(kind) {
            // What went wrong inside is for the operator's eyes.
            let details = self.error.details(Locale::En);
            let cause = details.get("cause").and_then(Value::as_str).unwrap_or_default();
            tracing::error!(
                request.id = %asked.id,
                request.method = %exchange.method,
                request.route = exchange.route(),
                request.status = status,
                request.duration_ms = duration,
                error = %self.error,
                cause,
                "A request failed: {kind}"
            );
        } else {
            // Its words may hold an address that somebody gave, which is nothing for a log.
            tracing::warn!(
                request.id = %asked.id,
                request.method = %exchange.method,
                request.route = exchange.route(),
                request.status = status,
                request.duration_ms = duration,
                "A request failed on the other side: {kind}"
            );
        }
    }

    /// The answer, in the form of where it was asked and in the language of who asked.
    pub(crate) fn answer(&self, base: Base, asked: &Asked) -> Response {
        let mut response = match base {
            Base::Api => envelope::failure(self.status, &self.error, asked),
            Base::V1 => v1::error::answer(self.status, &self.error, asked),
        };
        add_headers(&mut response, &self.error);
        response
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self { status: status(error.kind()), error }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

/// Whether the cause of an error is of our own making, and says nothing to a caller.
pub(crate) fn is_inner(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable)
}

/// What a client should know before it simply tries again.
pub(crate) fn add_headers(response: &mut Response, error: &CallError) {
    let headers = response.headers_mut();
    if !error.may_be_sent_again() {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    if let Some(pause) = error.requested_pause() {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(pause.as_secs_f64().ceil() as u64));
    }
    if error.kind() == ErrorKind::Unauthorized {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
}

/// The HTTP status of each kind: the only place that says so.
pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    let code = match kind {
        ErrorKind::Validation | ErrorKind::BadRequest => 400,
        ErrorKind::Unauthorized => 401,
        ErrorKind::Permission | ErrorKind::Denied => 403,
        ErrorKind::NotFound => 404,
        ErrorKind::ToolDisabled | ErrorKind::Unknown | ErrorKind::Conflict => 409,
        ErrorKind::Execution => 422,
        ErrorKind::RateLimit | ErrorKind::BudgetExceeded => 429,
        ErrorKind::Cancelled => 499,
        ErrorKind::Internal => 500,
        ErrorKind::Network | ErrorKind::Authentication | ErrorKind::Server | ErrorKind::ResponseTooLarge => {
            502
        }
        ErrorKind::CircuitOpen | ErrorKind::Overloaded | ErrorKind::Unavailable => 503,
        ErrorKind::Timeout => 504,
    };
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The answer where no route is.
pub(crate) async fn no_such_route(request: Request) -> Failure {
    let (parts, body) = request.into_parts();
    discard_small(body).await;
    let message = Message::new(&NO_SUCH_ROUTE).with("method", &parts.method).with("path", path(&parts));
    CallError::new(ErrorKind::NotFound, message).detail("what", "route").into()
}

/// The answer where a route is, but not for this method.
pub(crate) async fn method_not_allowed(request: Request) -> Failure {
    let (parts, body) = request.into_parts();
    discard_small(body).await;
    let message = Message::new(&METHOD_NOT_ALLOWED).with("method", &parts.method).with("path", path(&parts));
    Failure::with_status(StatusCode::METHOD_NOT_ALLOWED, message)
}

/// The path as the caller wrote it, before routers took their part of it.
fn path(parts: &Parts) -> &str {
    parts.uri.path()
}

/// The answer when a handler of ours panicked.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let reason =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    internal(format!("a handler panicked: {}", reason.unwrap_or("it did not say why")))
}

/// The answer when something failed that only the log may tell of.
pub(crate) fn internal(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Failure {
    CallError::new(ErrorKind::Internal, Message::new(&INTERNAL)).caused_by(cause).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_status_of_the_contract() {
        use ErrorKind as K;
        let expected = [
            (K::Network, 502),
            (K::Timeout, 504),
            (K::Validation, 400),
            (K::Authentication, 502),
            (K::Permission, 403),
            (K::NotFound, 404),
            (K::RateLimit, 429),
            (K::Server, 502),
            (K::CircuitOpen, 503),
            (K::ResponseTooLarge, 502),
            (K::ToolDisabled, 409),
            (K::Cancelled, 499),
            (K::Execution, 422),
            (K::Denied, 403),
            (K::Unknown, 409),
            (K::Overloaded, 503),
            (K::BudgetExceeded, 429),
            (K::Internal, 500),
            (K::Unavailable, 503),
            (K::Unauthorized, 401),
            (K::Conflict, 409),
            (K::BadRequest, 400),
        ];
        assert_eq!(expected.map(|(kind, _)| kind), K::ALL);
        for (kind, code) in expected {
            assert_eq!(status(kind).as_u16(), code, "{kind}");
        }
    }
}
