//! Reads results of calls from the call log, for tasks and chat turns whose process crashed before it stored the result.

use haft_core::mask::MASKED;
use haft_core::{BoxFuture, CallError, CallId, SpaceId};
use haft_store::{CallFailure, CallLog, CallStatus, LoggedCall};
use haft_tasks::{CallHistory, LogTail, LoggedResult};
use serde_json::{Map, Value};

/// A caller may give the same call id to many calls; only the newest are looked at.
const MOST: u64 = 64;

/// The call log as tasks and chat turns read it.
pub struct LoggedCallHistory(CallLog);

impl LoggedCallHistory {
    pub fn new(log: CallLog) -> Self {
        Self(log)
    }
}

impl CallHistory for LoggedCallHistory {
    fn find<'a>(
        &'a self,
        space: SpaceId,
        call: &'a CallId,
        tail: LogTail,
    ) -> BoxFuture<'a, Result<Option<LoggedResult>, CallError>> {
        Box::pin(async move {
            let calls = self.0.of_call(space, call, MOST).await?;
            let is_result = |call: &&LoggedCall| call.row.status() != CallStatus::Cancelled;
            Ok(calls.iter().filter(|call| tail.is_of(call.row.id)).find(is_result).map(result_of))
        })
    }
}

fn result_of(call: &LoggedCall) -> LoggedResult {
    let row = &call.row;
    let outcome = match &row.error {
        None => Ok(whole_result(call)),
        Some(failure) => Err(error_of(failure)),
    };
    LoggedResult { outcome, attempts: row.attempts, cached: row.cached, duration: row.duration }
}

/// The result, if nothing of it was cut or masked. Results are masked beyond what the caller got only where the
/// arguments were, too.
fn whole_result(call: &LoggedCall) -> Option<Value> {
    let text = call.bodies.result.as_deref().filter(|_| !call.row.result_cut)?;
    let may_be_masked = !call.row.replayable && text.contains(MASKED);
    if may_be_masked { None } else { serde_json::from_str(text).ok() }
}

fn error_of(failure: &CallFailure) -> CallError {
    let details: Map<String, Value> = serde_json::from_str(&failure.details).unwrap_or_default();
    let error = CallError::text(failure.kind, failure.message.clone());
    details.into_iter().fold(error, |error, (name, value)| error.detail(&name, value))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_core::{ErrorKind, Source};
    use haft_store::{CallBodies, CallRow, Database};
    use jiff::Timestamp;
    use uuid::Uuid;

    use super::*;

    /// A call that failed in this way, under a log id of its own.
    fn failed(space: SpaceId, call_id: &CallId, id: Uuid, kind: ErrorKind) -> LoggedCall {
        let error = CallFailure { kind, message: format!("it ended as {kind}"), details: "{}".to_owned() };
        let row = CallRow {
            id,
            space,
            call_id: call_id.clone(),
            tool: None,
            tool_name: "pay".into(),
            agent: None,
            conversation: None,
            user: None,
            source: Source::Chat,
            error: Some(error),
            attempts: 1,
            cached: false,
            coerced: None,
            warnings: None,
            duration: Duration::from_millis(1),
            started_at: Timestamp::now(),
            replay_of: None,
            arguments_cut: false,
            result_cut: false,
            replayable: true,
        };
        LoggedCall { row, bodies: CallBodies { arguments: "{}".into(), result: None } }
    }

    #[tokio::test]
    async fn logged_unknown_is_a_result_and_a_cancelled_call_is_none() {
        let log = CallLog::open(&Database::Memory).await.expect("a call log in memory");
        let history = LoggedCallHistory::new(log.clone());
        let space = SpaceId::from(Uuid::now_v7());
        for (kind, is_found) in [(ErrorKind::Unknown, true), (ErrorKind::Cancelled, false)] {
            let call_id = CallId::from(Uuid::now_v7());
            let tail = LogTail::of_call(&call_id).expect("a tail");
            // A row of the same call id that another caller wrote.
            let rows = [
                failed(space, &call_id, tail.id(), kind),
                failed(space, &call_id, Uuid::now_v7(), ErrorKind::Server),
            ];
            log.insert(&rows).await.expect("written");
            let found = history.find(space, &call_id, tail).await.expect("a search");
            let error = found.and_then(|found| found.outcome.err());
            let expected = is_found.then(|| (kind, format!("it ended as {kind}")));
            assert_eq!(error.map(|error| (error.kind(), error.message().to_string())), expected);
        }
    }
}
