//! A web server's status in the words of a tool.

use haft_core::{CallError, Message, Template};
use haft_egress::Answer;
use http::StatusCode;

/// The error that a status is, in the words of a template with `{status}`; nothing for a success.
pub(crate) fn error(answer: &Answer, words: &'static Template) -> Option<CallError> {
    answer.failure(|_| Message::new(words).with("status", shown(answer.status)))
}

/// `404 Not Found`; the number alone where it has no name.
fn shown(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
