//! Maps the status of a response to an error: its kind, the pause before a retry, and whether anything was
//! done.
//!
//! The caller provides the message.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use http::StatusCode;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

use crate::response::EgressResponse;

/// Maximum pause that is accepted from an upstream.
const MAX_PAUSE: Duration = Duration::from_secs(24 * 3600);

impl EgressResponse {
    /// Returns the error for a failed status, with the message that `words` returns for its kind. Returns
    /// `None` for a success.
    pub fn failure(&self, words: impl FnOnce(ErrorKind) -> Message) -> Option<CallError> {
        if self.status.is_success() {
            return None;
        }
        let kind = kind(self.status);
        let error = CallError::new(kind, words(kind)).detail("status", self.status.as_u16());
        let certainly_nothing =
            matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        // The redirecting server received the request before this one rejected it.
        let error = match (self.was_redirected, certainly_nothing) {
            (true, _) => error.that_may_have_acted(),
            (false, true) => error.that_did_nothing(),
            (false, false) => error,
        };
        Some(match self.requested_pause().filter(|_| kind.is_transient()) {
            Some(pause) => error.retry_after(pause),
            None => error,
        })
    }

    /// Returns the pause of `Retry-After`, given in seconds or as a date.
    pub fn requested_pause(&self) -> Option<Duration> {
        let value = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        let pause = match value.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
            Err(_) => {
                let until = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
                Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default()
            }
        };
        Some(pause.min(MAX_PAUSE))
    }
}

fn kind(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        400 | 422 => ErrorKind::Validation,
        401 => ErrorKind::Authentication,
        403 => ErrorKind::Permission,
        404 => ErrorKind::NotFound,
        408 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimit,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Execution,
    }
}
