//! The call log as the engine's sink: records become rows, with their errors in English words;
//! and its upkeep, by age, size and count.

use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, Locale};
use haft_engine::{CallRecord, CallSink, SinkError, Supervisor, TruncatedJson};
use haft_store::{CallBodies, CallFailure, CallLog, CallRow, LogRetention, LoggedCall};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

/// An error's message is kept so far, in bytes.
const LONGEST_MESSAGE: usize = 2 << 10;

/// And its details, as JSON.
const MOST_DETAILS: usize = 8 << 10;

/// So often what is old is let go.
const UPKEEP: Duration = Duration::from_secs(5 * 60);

/// So long calls are written undisturbed when there is more to let go.
const BREATH: Duration = Duration::from_millis(100);

/// So often what came is counted.
const COUNTING: Duration = Duration::from_secs(1);

/// A database that takes longer to count some rows is away.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keeps the log as small as it shall be and its statistics up to date, until told to stop.
pub async fn keep_up(supervisor: &Supervisor, log: CallLog, keep: LogRetention, stop: CancellationToken) {
    tokio::join!(
        supervisor.run("call log retention", &stop, || tidy(&log, keep, &stop)),
        supervisor.run("call log rollup", &stop, || roll_up(&log, &stop)),
    );
}

async fn tidy(log: &CallLog, keep: LogRetention, stop: &CancellationToken) {
    loop {
        let done = tokio::select! {
            done = log.maintain(keep) => done,
            () = stop.cancelled() => return,
        };
        let pause = match done {
            Ok(true) => BREATH,
            Ok(false) => UPKEEP,
            Err(error) => {
                tracing::warn!(%error, "Maintenance of the call log failed; retrying later");
                UPKEEP
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
    }
}

async fn roll_up(log: &CallLog, stop: &CancellationToken) {
    let mut is_behind = false;
    loop {
        let turn = tokio::select! {
            turn = tokio::time::timeout(PATIENCE, log.roll_up()) => turn,
            () = stop.cancelled() => return,
        };
        let turn = turn.unwrap_or_else(|_| {
            Err(CallError::text(ErrorKind::Unavailable, "the database does not respond"))
        });
        match turn {
            Ok(true) => continue,
            Ok(false) => is_behind = false,
            // Said once: it is tried every second, and nothing is lost meanwhile.
            Err(error) if !is_behind => {
                is_behind = true;
                tracing::warn!(%error, "Calls could not be counted; retrying");
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(COUNTING) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Keeps every record in the call log.
pub struct LoggedCalls {
    log: CallLog,
}

impl LoggedCalls {
    pub fn new(log: CallLog) -> Self {
        Self { log }
    }
}

impl CallSink for LoggedCalls {
    /// The same records make the same rows, so that a batch which is given again is not doubled.
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let calls: Vec<LoggedCall> = records.iter().map(logged).collect();
            self.log.insert(&calls).await.map_err(SinkError::from)
        })
    }
}

fn logged(record: &CallRecord) -> LoggedCall {
    let (arguments, result) = (&record.arguments, record.outcome.as_ref().ok());
    let arguments_cut = is_cut(arguments);
    let warnings: Vec<Value> = record
        .warnings
        .iter()
        .map(|warning| json!({"path": warning.path, "message": warning.message.render(Locale::En)}))
        .collect();
    let row = CallRow {
        id: record.id,
        space: record.space,
        call_id: record.call_id.clone(),
        tool: record.tool.clone(),
        tool_name: record.tool_name.clone(),
        agent: record.agent,
        conversation: record.conversation,
        user: record.user,
        source: record.source,
        error: record.outcome.as_ref().err().map(failure),
        attempts: record.attempts,
        cached: record.cached,
        coerced: (!record.coerced.is_empty()).then(|| json!(record.coerced).to_string()),
        warnings: (!warnings.is_empty()).then(|| Value::Array(warnings).to_string()),
        duration: record.duration,
        started_at: record.started_at,
        replay_of: record.replay_of.clone(),
        arguments_cut,
        result_cut: result.is_some_and(TruncatedJson::is_cut),
        replayable: !arguments_cut && !arguments.is_masked(),
    };
    let bodies =
        CallBodies { arguments: arguments.shared_text(), result: result.map(TruncatedJson::shared_text) };
    LoggedCall { row, bodies }
}

/// Whether something of the arguments is gone. All of them are when the caller left while they were checked.
fn is_cut(arguments: &TruncatedJson) -> bool {
    arguments.is_cut() || arguments.text().is_empty()
}

fn failure(error: &CallError) -> CallFailure {
    let message = error.message().render(Locale::En);
    CallFailure {
        kind: error.kind(),
        message: storable(cut(&message, LONGEST_MESSAGE)),
        details: capped(error.details(Locale::En)),
    }
}

/// PostgreSQL keeps no text with a NUL in it, and one such row would hold up all behind it.
fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// The beginning of a text, of so many bytes at most.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The details as JSON. Where there is too much, the largest are left out, and it says so.
fn capped(details: Map<String, Value>) -> String {
    let text = Value::Object(details.clone()).to_string();
    if text.len() <= MOST_DETAILS {
        return text;
    }
    let mut sized: Vec<(usize, String, Value)> = details
        .into_iter()
        .map(|(name, value)| (name.len() + value.to_string().len(), name, value))
        .collect();
    sized.sort_by_key(|(size, ..)| *size);
    let mut kept = Map::new();
    let mut room = MOST_DETAILS;
    for (size, name, value) in sized {
        // Quotes, a colon, a comma, and what escapes in the name may need.
        let needed = size * 2 + 8;
        if needed > room {
            break;
        }
        room -= needed;
        kept.insert(name, value);
    }
    kept.insert("isCut".to_owned(), Value::Bool(true));
    Value::Object(kept).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_between_characters_and_holds_no_nul() {
        assert_eq!(cut("汉字", 4), "汉");
        assert_eq!(cut("ab", 4), "ab");
        assert_eq!(cut("", 4), "");
        assert_eq!(storable("a\0b"), "a\u{fffd}b");
    }

    #[test]
    fn arguments_that_are_not_on_record_are_cut() {
        assert!(is_cut(&TruncatedJson::default()));
        assert!(is_cut(&TruncatedJson::of(&json!("x".repeat(16 << 10)))));
        assert!(!is_cut(&TruncatedJson::of(&Value::Null)));
    }

    #[test]
    fn too_many_details_leave_the_small_ones() {
        let mut details = Map::new();
        details.insert("body".to_owned(), json!("x".repeat(MOST_DETAILS)));
        details.insert("status".to_owned(), json!(418));
        assert_eq!(capped(details.clone()), r#"{"status":418,"isCut":true}"#);
        details.insert("body".to_owned(), json!("x"));
        assert_eq!(capped(details), r#"{"body":"x","status":418}"#);
    }
}
