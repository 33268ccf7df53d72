//! Decides from a response whether a job is done, failed or still running.

use std::sync::Arc;

use haft_core::mask::Mask;
use haft_core::{CallError, Condition, ErrorKind, Message, Progress, ToolOutput, Violation};
use haft_egress::EgressResponse;
use haft_query::Query;
use http::StatusCode;
use serde_json::Value;

use super::{DeferredConfig, TestConfig};
use crate::response::{MOST, Shape};

haft_core::templates! {
    FAILED = "http.jobFailed",
        "{host} accepted the job, but it failed: {status}",
        "{host} 已受理任务，但任务失败：{status}";
    NO_STATUS = "http.noStatusPath",
        "is a list of status values, but status does not say where the status is found",
        "是状态词列表，但未用 status 指明状态所在的位置";
}

/// Statuses that most upstreams use for a finished job.
const DONE_STATUSES: [&str; 8] =
    ["succeeded", "success", "successful", "completed", "complete", "done", "finished", "ready"];
const FAILED_STATUSES: [&str; 10] = [
    "failed",
    "failure",
    "error",
    "errored",
    "cancelled",
    "canceled",
    "expired",
    "rejected",
    "aborted",
    "timeout",
];

/// Maximum length of a status in messages, in bytes.
const LONGEST_STATUS: usize = 200;

pub(crate) struct Rules {
    status: Option<Query>,
    done: Test,
    failed: Test,
    result: Option<Query>,
    progress: Option<Query>,
}

enum Test {
    /// The status is one of these, ignoring case.
    OneOf(Vec<String>),
    /// The condition holds for the whole response.
    When(Condition),
}

/// The state of a job, as its upstream reports it.
pub(crate) enum JobState {
    Done(ToolOutput),
    /// Still running. The response is needed to find the poll address.
    NotYet {
        response: Value,
        progress: Option<Progress>,
    },
}

impl Rules {
    pub(super) fn parse(config: &DeferredConfig, name: &str, violations: &mut Vec<Violation>) -> Self {
        let mut query = |field: &str, text: &Option<String>| {
            let text = text.as_deref()?;
            let read = Query::parse(text);
            read.map_err(|message| violations.push(Violation::new(format!("{name}.{field}"), message))).ok()
        };
        let status = query("status", &config.status);
        let result = query("result", &config.result);
        let progress = query("progress", &config.progress);
        let has_status = config.status.is_some();
        let mut test = |field: &str, written: &Option<TestConfig>, usual: &[&str]| match written {
            None => Test::OneOf(usual.iter().map(|&word| word.to_owned()).collect()),
            Some(TestConfig::OneOf(words)) => {
                if !has_status {
                    violations.push(Violation::new(format!("{name}.{field}"), Message::new(&NO_STATUS)));
                }
                Test::OneOf(words.clone())
            }
            Some(TestConfig::When(text)) => match text.parse() {
                Ok(condition) => Test::When(condition),
                Err(haft_core::condition::ConditionError(message)) => {
                    violations.push(Violation::new(format!("{name}.{field}"), message));
                    Test::OneOf(Vec::new())
                }
            },
        };
        let done = test("done", &config.done, &DONE_STATUSES);
        let failed = test("failed", &config.failed, &FAILED_STATUSES);
        Self { status, done, failed, result, progress }
    }

    /// Interprets an unredacted response. Results, errors and progress are redacted; the response for the poll
    /// address is not.
    pub(super) fn judge(
        &self,
        shape: &Shape,
        answer: &EgressResponse,
        masks: &[Arc<Mask>],
        limit: usize,
    ) -> Result<JobState, CallError> {
        let mut content = shape.content(answer, masks, limit)?;
        let found = |query: &Option<Query>, value: &Value| {
            query.as_ref()?.run(value, MOST).ok().filter(|found| !found.is_null())
        };
        let status = found(&self.status, &content.value);
        let status_text = status.as_ref().map(crate::fill::as_text).unwrap_or_default();
        // Statuses are short; anything longer is truncated.
        let short_status =
            || shape.redact_text(&status_text[..status_text.floor_char_boundary(LONGEST_STATUS)], masks);
        if self.failed.holds(&status_text, &content.value) {
            let status = short_status();
            let host = answer.from.host_str();
            let message = Message::new(&FAILED).with("host", host).with("status", status);
            let error = CallError::new(ErrorKind::Execution, message);
            return Err(shape.with_body(error, content, answer, masks));
        }
        let may_be_running = match &self.done {
            Test::When(_) => true,
            Test::OneOf(_) => status.is_some() || answer.status == StatusCode::ACCEPTED,
        };
        if may_be_running && !self.done.holds(&status_text, &content.value) {
            let fraction = found(&self.progress, &content.value).and_then(|value| fraction(&value));
            let message = Some(short_status()).filter(|message| !message.is_empty());
            let progress = match fraction {
                Some(fraction) => Some(Progress { message, ..Progress::of(fraction, 1.0) }),
                None => message.map(Progress::message),
            };
            return Ok(JobState::NotYet { response: content.value, progress });
        }
        shape.redact_content(&mut content, answer, masks);
        if let Some(result) = &self.result {
            content.replace(result.run(&content.value, MOST).unwrap_or_default());
        }
        shape.output(content, answer, masks).map(JobState::Done)
    }
}

impl Test {
    fn holds(&self, status: &str, answer: &Value) -> bool {
        match self {
            Self::OneOf(words) => words.iter().any(|word| word.eq_ignore_ascii_case(status)),
            Self::When(condition) => condition.holds(answer) == Some(true),
        }
    }
}

/// Parses progress as a fraction: 0.4, 40 and "40%" are equal.
fn fraction(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => {
            let number: f64 = text.trim().trim_end_matches('%').trim().parse().ok()?;
            if text.contains('%') { number / 100.0 } else { number }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let number = if number > 1.0 { number / 100.0 } else { number };
    (0.0..=1.0).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn progress_is_parsed_from_fractions_percentages_and_texts() {
        for (written, read) in [
            (json!(0.4), Some(0.4)),
            (json!(40), Some(0.4)),
            (json!("40%"), Some(0.4)),
            (json!("0.5"), Some(0.5)),
            (json!(1), Some(1.0)),
            (json!(-1), None),
            (json!(1000), None),
            (json!("soon"), None),
            (json!([1]), None),
        ] {
            assert_eq!(fraction(&written), read, "{written}");
        }
    }
}
