//! Finds the result of a call in the call log after a crash: the log and the journal are two databases, and a process
//! may end after it wrote the one and before it wrote the other.
//!
//! Each attempt of a task to make its call has a log id that the next process recognizes: its last eight bytes follow
//! from the run, from how often a user retried it and from how many pauses for a retry came before. Those of a call that
//! a chat turn makes itself follow from the call id, which belongs to one place in the turn.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{
    BoxFuture, CallError, CallId, ErrorKind, Locale, Message, RunId, SpaceId, ToolExecutionResult,
};
use haft_runs::RunContext;
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use super::CallRun;
use super::program::{CALL, CallProgram, RETRY};

haft_core::templates! {
    NOT_WHOLE = "task.resultNotWhole",
        "{tool} succeeded, but the server stopped before it stored the result, and the call log does not contain the complete result. Open call {call} in the call log to see the stored part.",
        "{tool} 已成功，但服务在保存结果之前终止，而调用日志中没有完整结果；可在调用日志中查看调用 {call}";
}

/// The first pause before an unavailable call log is read again, and the longest. Each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The last eight bytes of the log ids of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTail([u8; 8]);

impl LogTail {
    fn of(context: &RunContext, call: &CallRun) -> Self {
        let pauses = u64::try_from(context.count(RETRY)).unwrap_or_default();
        Self::of_attempt(context.run().id.into(), call.user_retries, pauses + 1)
    }

    /// The tail of a call that a chat turn makes itself. Returns `None` if the call id is not a UUID.
    pub fn of_call(call: &CallId) -> Option<Self> {
        // Not 0: then a call that is made in the millisecond of its call id would have that as its log id, and the log
        // stores call ids apart only where they differ.
        Some(Self::of_attempt(Uuid::try_parse(call.as_str()).ok()?, 0, 1))
    }

    fn of_attempt(id: Uuid, user_retries: u32, number: u64) -> Self {
        let (_, end) = id.as_u64_pair();
        // The bits above 56 stay: they say which variant of a UUID it is.
        let attempt = ((u64::from(user_retries) << 24) ^ number) & (u64::MAX >> 8);
        Self((end ^ attempt).to_be_bytes())
    }

    /// A log id for an attempt that begins now.
    pub fn id(self) -> Uuid {
        self.behind(Uuid::now_v7())
    }

    /// An id that starts like this one and ends with the tail.
    fn behind(self, start: Uuid) -> Uuid {
        let (start, _) = start.as_u64_pair();
        Uuid::from_u64_pair(start, u64::from_be_bytes(self.0))
    }

    pub fn is_of(self, id: Uuid) -> bool {
        id.into_bytes().ends_with(&self.0)
    }
}

/// The result of an attempt in the call log.
#[derive(Debug, Clone)]
pub struct LoggedResult {
    /// `Ok(None)` if the log does not contain the complete, unchanged result.
    pub outcome: Result<Option<Value>, CallError>,
    pub attempts: u32,
    pub cached: bool,
    pub duration: Duration,
}

impl LoggedResult {
    /// The result of the call. Returns `None` if the log does not hold all of it and the call may be repeated. A write
    /// is not repeated: it succeeded, and its result says that the data is lost.
    pub fn into_result(
        self,
        call_id: &CallId,
        tool: &str,
        locale: Locale,
        may_repeat: bool,
    ) -> Option<ToolExecutionResult> {
        let outcome = match self.outcome {
            Ok(Some(data)) => Ok(Arc::new(data)),
            Ok(None) if may_repeat => return None,
            Ok(None) => Ok(Arc::new(without_result(call_id, tool, locale))),
            Err(error) => Err(error),
        };
        Some(ToolExecutionResult {
            call_id: call_id.clone(),
            tool_name: tool.into(),
            outcome,
            execution_time: self.duration,
            attempts: self.attempts,
            cached: self.cached,
        })
    }
}

/// Reads the call log.
pub trait CallHistory: Send + Sync {
    /// Returns the newest logged result of the call whose log id has this tail. Cancelled calls have none.
    fn find<'a>(
        &'a self,
        space: SpaceId,
        call: &'a CallId,
        tail: LogTail,
    ) -> BoxFuture<'a, Result<Option<LoggedResult>, CallError>>;
}

/// Finds the logged result of a call that a run may have made before a crash. While the call log is unavailable the run
/// waits for it: otherwise a write whose result is logged would end as unknown. Returns `None` if the log has no result
/// or cannot be read at all, and if the run is cancelled while it waits.
pub async fn find_logged(
    history: &dyn CallHistory,
    context: &RunContext,
    call: &CallId,
    tail: LogTail,
) -> Option<LoggedResult> {
    let run = context.run();
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match history.find(run.space, call, tail).await {
            Ok(found) => return found,
            Err(error) => error,
        };
        if error.kind() != ErrorKind::Unavailable {
            tracing::error!(run.id = %run.id, call.id = %call, %error, "The call log cannot be searched for the result of a call; the call counts as not logged");
            return None;
        }
        tracing::warn!(run.id = %run.id, call.id = %call, %error, ?pause, "The call log is unavailable; the run waits for it to find the result of a call");
        tokio::select! {
            () = sleep(pause) => {}
            () = context.cancellation().cancelled() => return None,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl CallProgram {
    /// A log id by which a process that comes later recognizes this attempt.
    pub(super) fn log_id(context: &RunContext, call: &CallRun) -> Uuid {
        LogTail::of(context, call).id()
    }

    /// The result of an attempt whose process crashed. Returns `None` if the log has none that can be used.
    pub(super) async fn logged(&self, context: &RunContext, call: &CallRun) -> Option<ToolExecutionResult> {
        let tail = LogTail::of(context, call);
        let found = find_logged(&*self.history, context, &call.call_id, tail).await;
        let is_write = context.find(CALL).is_some_and(|step| !step.effect.is_repeatable());
        found?.into_result(&call.call_id, &call.name, call.locale, !is_write)
    }
}

/// The data of a result that is lost.
fn without_result(call_id: &CallId, tool: &str, locale: Locale) -> Value {
    let message = Message::new(&NOT_WHOLE).with("tool", tool).with("call", call_id);
    json!({"resultLost": true, "message": message.render(locale)})
}

/// The log id of a task that ends without another attempt. Every process derives the same one, so that the log stores
/// the end once.
pub(super) fn end_log_id(run: RunId, user_retries: u32) -> Uuid {
    let run = Uuid::from(run);
    LogTail::of_attempt(run, user_retries, 0).behind(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ids_of_a_chat_call_are_recognized_by_its_call_id() {
        let (call, other) = (CallId::from(Uuid::now_v7()), CallId::from(Uuid::now_v7()));
        let tail = LogTail::of_call(&call).expect("a tail");
        let first = tail.id();
        std::thread::sleep(Duration::from_millis(2));
        let second = tail.id();
        assert_ne!(first, second, "an attempt in another millisecond has a separate row");
        assert!(tail.is_of(first) && tail.is_of(second));
        assert_eq!((first.get_version_num(), first.get_variant()), (7, uuid::Variant::RFC4122));
        assert!(!LogTail::of_call(&other).expect("a tail").is_of(first));
        assert_eq!(LogTail::of_call(&"call_7".parse().expect("an id")), None);
    }

    #[test]
    fn a_task_ends_under_one_log_id_for_each_retry_of_a_user() {
        let run = RunId::from(Uuid::now_v7());
        let ids = [0, 1, 2].map(|retries| end_log_id(run, retries));
        assert_eq!((ids[0], ids[1]), (Uuid::from(run), end_log_id(run, 1)));
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        let attempt = LogTail::of_attempt(run.into(), 1, 1);
        assert!(ids.iter().all(|id| !attempt.is_of(*id)), "an attempt has another one");
    }
}
