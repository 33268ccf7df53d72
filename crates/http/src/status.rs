//! Errors and messages for failure statuses of an upstream.

use haft_core::{CallError, ErrorKind, Message, Template};
use haft_egress::EgressResponse;

haft_core::templates! {
    REFUSED_ARGUMENTS = "http.status.validation",
        "{host} refused the request: {status}; see the response in details.body",
        "{host} 拒绝了请求: {status}；原因见 details.body";
    NOT_KNOWN = "http.status.authentication",
        "{host} rejected the credentials: {status}; check the tool's auth or headers",
        "{host} 认证失败: {status}；请检查工具的 auth 或 headers";
    NOT_ALLOWED = "http.status.permission",
        "{host} denied permission: {status}",
        "{host} 不允许此操作: {status}";
    NOT_THERE = "http.status.notFound",
        "{host} has no such resource: {status}",
        "{host} 上没有该资源: {status}";
    TOO_LATE = "http.status.timeout",
        "{host} timed out: {status}",
        "{host} 等待超时: {status}";
    TOO_OFTEN = "http.status.rateLimit",
        "{host} limits the call rate: {status}; wait before retrying",
        "对 {host} 的调用过于频繁: {status}；请稍后再试";
    BROKEN = "http.status.server",
        "{host} failed: {status}",
        "{host} 出错: {status}";
    ODD = "http.status.other",
        "{host} returned {status}, which is not a success status",
        "{host} 返回 {status}，不是成功状态";
}

const MESSAGES: [(ErrorKind, &Template); 7] = [
    (ErrorKind::Validation, &REFUSED_ARGUMENTS),
    (ErrorKind::Authentication, &NOT_KNOWN),
    (ErrorKind::Permission, &NOT_ALLOWED),
    (ErrorKind::NotFound, &NOT_THERE),
    (ErrorKind::Timeout, &TOO_LATE),
    (ErrorKind::RateLimit, &TOO_OFTEN),
    (ErrorKind::Server, &BROKEN),
];

/// The error for a failure status. Returns `None` for a success.
pub(crate) fn error(answer: &EgressResponse) -> Option<CallError> {
    answer.failure(|kind| {
        let words = MESSAGES.iter().find(|(of, _)| *of == kind).map_or(&ODD, |(_, words)| *words);
        Message::new(words).with("host", answer.from.host_str()).with("status", answer.status)
    })
}
