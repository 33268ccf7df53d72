//! What a web server's status means: which kind of error, and how long to wait. The words are the tool's own.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, Template};
use haft_egress::Answer;
use http::StatusCode;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

/// Waits longer than this are nobody's business.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// The error that a status is, in the words of a template with `{status}`; nothing for a success.
pub(crate) fn error(answer: &Answer, words: &'static Template, now: Timestamp) -> Option<CallError> {
    let status = answer.status;
    if status.is_success() {
        return None;
    }
    let kind = match status.as_u16() {
        400 | 422 => ErrorKind::Validation,
        401 => ErrorKind::Authentication,
        403 => ErrorKind::Permission,
        404 => ErrorKind::NotFound,
        408 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimit,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Execution,
    };
    let message = Message::new(words).with("status", shown(status));
    let error = CallError::new(kind, message).detail("status", status.as_u16());
    let certainly_nothing = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    // Whoever sent us on has taken the request before this one refused it.
    let error = match (answer.was_redirected, certainly_nothing) {
        (true, _) => error.that_may_have_acted(),
        (false, true) => error.that_did_nothing(),
        (false, false) => error,
    };
    Some(match retry_after(answer, now).filter(|_| kind.is_transient()) {
        Some(pause) => error.retry_after(pause),
        None => error,
    })
}

/// `404 Not Found`; the number alone where it has no name.
fn shown(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// `Retry-After`, in seconds or as a date.
fn retry_after(answer: &Answer, now: Timestamp) -> Option<Duration> {
    let value = answer.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => {
            let until = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
            Duration::try_from(until.duration_since(now)).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}
