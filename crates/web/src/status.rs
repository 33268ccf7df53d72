//! Errors for failure statuses of web servers.

use haft_core::{CallError, Message, Template};
use haft_egress::EgressResponse;
use http::StatusCode;

/// The error for a failure status, from a template with `{status}`. Returns `None` for a success.
pub(crate) fn error(answer: &EgressResponse, words: &'static Template) -> Option<CallError> {
    answer.failure(|_| Message::new(words).with("status", display(answer.status)))
}

/// Formats a status: `404 Not Found`, or only the number if it has no name.
fn display(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
