//! What an upstream's status means: which kind of error, and whether anything was done.

use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use haft_egress::Answer;
use http::StatusCode;
use http::header::RETRY_AFTER;
use jiff::Timestamp;

haft_core::templates! {
    REFUSED_ARGUMENTS = "http.status.validation",
        "{host} refused the request: {status}; its answer in details.body says why",
        "{host} 拒绝了请求: {status}；原因见 details.body";
    NOT_KNOWN = "http.status.authentication",
        "{host} does not know who calls: {status}; check the tool's auth or headers",
        "{host} 认证失败: {status}；请检查工具的 auth 或 headers";
    NOT_ALLOWED = "http.status.permission",
        "{host} does not allow this: {status}",
        "{host} 不允许此操作: {status}";
    NOT_THERE = "http.status.notFound",
        "{host} has nothing there: {status}",
        "{host} 上没有该资源: {status}";
    TOO_LATE = "http.status.timeout",
        "{host} gave up waiting: {status}",
        "{host} 等待超时: {status}";
    TOO_OFTEN = "http.status.rateLimit",
        "{host} is called too often: {status}; wait before trying again",
        "对 {host} 的调用过于频繁: {status}；请稍后再试";
    BROKEN = "http.status.server",
        "{host} failed: {status}",
        "{host} 出错: {status}";
    ODD = "http.status.other",
        "{host} answered {status}, which is no success",
        "{host} 返回 {status}，不是成功状态";
}

/// Waits longer than this are nobody's business.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// The error that a status is; nothing for a success.
pub(crate) fn error(answer: &Answer, now: Timestamp) -> Option<CallError> {
    let status = answer.status;
    if status.is_success() {
        return None;
    }
    let (kind, template) = match status.as_u16() {
        400 | 422 => (ErrorKind::Validation, &REFUSED_ARGUMENTS),
        401 => (ErrorKind::Authentication, &NOT_KNOWN),
        403 => (ErrorKind::Permission, &NOT_ALLOWED),
        404 => (ErrorKind::NotFound, &NOT_THERE),
        408 => (ErrorKind::Timeout, &TOO_LATE),
        429 => (ErrorKind::RateLimit, &TOO_OFTEN),
        500..=599 => (ErrorKind::Server, &BROKEN),
        _ => (ErrorKind::Execution, &ODD),
    };
    let host = answer.from.host_str();
    let message = Message::new(template).with("host", host).with("status", status);
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
