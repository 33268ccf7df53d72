//! The words for an upstream's status.

use haft_core::{CallError, ErrorKind, Message, Template};
use haft_egress::Answer;

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

const WORDS: [(ErrorKind, &Template); 7] = [
    (ErrorKind::Validation, &REFUSED_ARGUMENTS),
    (ErrorKind::Authentication, &NOT_KNOWN),
    (ErrorKind::Permission, &NOT_ALLOWED),
    (ErrorKind::NotFound, &NOT_THERE),
    (ErrorKind::Timeout, &TOO_LATE),
    (ErrorKind::RateLimit, &TOO_OFTEN),
    (ErrorKind::Server, &BROKEN),
];

/// The error that a status is; nothing for a success.
pub(crate) fn error(answer: &Answer) -> Option<CallError> {
    answer.failure(|kind| {
        let words = WORDS.iter().find(|(of, _)| *of == kind).map_or(&ODD, |(_, words)| *words);
        Message::new(words).with("host", answer.from.host_str()).with("status", answer.status)
    })
}
