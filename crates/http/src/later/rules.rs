//! What an answer says of a job: it is done, it failed, it goes on.

use std::sync::Arc;

use haft_core::mask::Mask;
use haft_core::{CallError, Condition, ErrorKind, Message, Progress, ToolOutput, Violation};
use haft_egress::Answer;
use haft_query::Query;
use http::StatusCode;
use serde_json::Value;

use super::{LaterConfig, TestConfig};
use crate::response::{MOST, Shape};

haft_core::templates! {
    FAILED = "http.jobFailed",
        "{host} took the job on, and it failed: {status}",
        "{host} 已受理任务，但任务失败：{status}";
    NO_STATUS = "http.noStatusPath",
        "is a list of words for the status, and status does not say where that is found",
        "是状态词列表，但未用 status 指明状态所在的位置";
}

/// Words by which most upstreams say that a job is over.
const DONE: [&str; 8] =
    ["succeeded", "success", "successful", "completed", "complete", "done", "finished", "ready"];
const FAILED_WORDS: [&str; 10] = [
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

/// So much of a status is shown, in bytes.
const LONGEST_STATUS: usize = 200;

pub(crate) struct Rules {
    status: Option<Query>,
    done: Test,
    failed: Test,
    result: Option<Query>,
    progress: Option<Query>,
}

enum Test {
    /// The status is one of these, however it is written.
    Words(Vec<String>),
    /// The whole answer is so.
    When(Condition),
}

/// What an answer is.
pub(crate) enum Judged {
    Done(ToolOutput),
    /// With what it says, to find out where to ask.
    NotYet {
        said: Value,
        progress: Option<Progress>,
    },
}

impl Rules {
    pub(super) fn parse(config: &LaterConfig, name: &str, violations: &mut Vec<Violation>) -> Self {
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
            None => Test::Words(usual.iter().map(|&word| word.to_owned()).collect()),
            Some(TestConfig::Words(words)) => {
                if !has_status {
                    violations.push(Violation::new(format!("{name}.{field}"), Message::new(&NO_STATUS)));
                }
                Test::Words(words.clone())
            }
            Some(TestConfig::When(text)) => match text.parse() {
                Ok(condition) => Test::When(condition),
                Err(haft_core::condition::ConditionError(message)) => {
                    violations.push(Violation::new(format!("{name}.{field}"), message));
                    Test::Words(Vec::new())
                }
            },
        };
        let done = test("done", &config.done, &DONE);
        let failed = test("failed", &config.failed, &FAILED_WORDS);
        Self { status, done, failed, result, progress }
    }

    /// Looks at an answer as it came; whatever leaves here is cleaned like every answer.
    pub(super) fn judge(
        &self,
        shape: &Shape,
        answer: &Answer,
        masks: &[Arc<Mask>],
        limit: usize,
    ) -> Result<Judged, CallError> {
        let mut content = shape.content(answer, masks, limit)?;
        let found = |query: &Option<Query>, value: &Value| {
            query.as_ref()?.run(value, MOST).ok().filter(|found| !found.is_null())
        };
        let status = found(&self.status, &content.value);
        let said = status.as_ref().map(crate::fill::as_text).unwrap_or_default();
        // A status is a word; whatever else an upstream puts there is not kept whole.
        let shown = || shape.clean_text(&said[..said.floor_char_boundary(LONGEST_STATUS)], masks);
        if self.failed.holds(&said, &content.value) {
            let status = shown();
            let host = answer.from.host_str();
            let message = Message::new(&FAILED).with("host", host).with("status", status);
            let error = CallError::new(ErrorKind::Execution, message);
            return Err(shape.with_body(error, content, answer, masks));
        }
        let goes_on = match &self.done {
            Test::When(_) => true,
            Test::Words(_) => status.is_some() || answer.status == StatusCode::ACCEPTED,
        };
        if goes_on && !self.done.holds(&said, &content.value) {
            let fraction = found(&self.progress, &content.value).and_then(|value| fraction(&value));
            let message = shown();
            let is_told = fraction.is_some() || !message.is_empty();
            let progress = is_told.then_some(Progress { fraction, message });
            return Ok(Judged::NotYet { said: content.value, progress });
        }
        shape.clean(&mut content, answer, masks);
        if let Some(result) = &self.result {
            content.replace(result.run(&content.value, MOST).unwrap_or_default());
        }
        shape.output(content, answer, masks).map(Judged::Done)
    }
}

impl Test {
    fn holds(&self, status: &str, answer: &Value) -> bool {
        match self {
            Self::Words(words) => words.iter().any(|word| word.eq_ignore_ascii_case(status)),
            Self::When(condition) => condition.holds(answer) == Some(true),
        }
    }
}

/// How far a job has come: 0.4, 40 and "40%" are the same.
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
    fn progress_is_read_however_it_is_written() {
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
