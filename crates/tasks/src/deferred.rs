//! A call whose result arrives later: the task polls the upstream or waits for its callback, for as long as the tool
//! allows. Between two polls it uses no memory, and the journal has only the newest state of the call.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallbackBody, Caller, DeferredCall, ErrorKind, PendingResult, ResumedCall};
use haft_engine::{CallRequest, DeferrableOutcome};
use haft_runs::{Halt, RunContext, RunEnd, RunStatus, Wait, WaitOutcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CallRun;
use super::logged_result::end_log_id;
use super::program::{CallProgram, rendered, unreadable};

/// The key of the step that a callback ends, and the kind of its wait.
pub const CALLBACK: &str = "callback";

/// The key of the step that waits for the next poll, and the kind of its wait.
pub(super) const POLL: &str = "poll";

/// The key of the second by which a callback is due. The callback address contains it.
pub(super) const DUE: &str = "callbackDue";

/// The key of the state of the call after the last poll.
pub(super) const POLLED_STATE: &str = "later";

/// Number of polls in a row that may fail before the call fails.
const MAX_FAILURES: u32 = 8;

/// The pause after the first failed poll. It doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The state of a deferred call between two polls.
#[derive(Serialize, Deserialize)]
struct DeferredState {
    #[serde(rename = "parked")]
    call: DeferredCall,
    /// Number of failed polls in a row.
    #[serde(default, rename = "misses")]
    failures: u32,
}

/// The wait for the callback of an attempt.
pub(super) fn callback_wait(attempt_number: u64, timeout: Option<Duration>) -> Wait {
    Wait {
        key: CALLBACK.to_owned(),
        kind: CALLBACK.to_owned(),
        details: Some(attempt(attempt_number)),
        timeout,
    }
}

/// The details of a wait for the callback of an attempt. The callback of another attempt is rejected.
pub fn attempt(number: u64) -> Value {
    json!({"attempt": number})
}

/// The attempt whose callback the task waits for, or the one that begins now.
pub(super) fn attempt_of(context: &RunContext) -> u64 {
    let waiting =
        context.find(CALLBACK).and_then(|step| step.details.as_ref()?.get("attempt").and_then(Value::as_u64));
    waiting.unwrap_or(context.run().epoch)
}

/// Records when the callback of this attempt is due, unless it is expected already.
pub(super) fn expect_callback(context: &RunContext, within: Duration) {
    if context.find(CALLBACK).is_none() || context.output(DUE).is_none() {
        let due = Timestamp::now().saturating_add(within).unwrap_or(Timestamp::MAX);
        context.put(DUE, json!(due.as_second()));
    }
}

/// The newest state of a deferred call. Returns `None` if the call was not deferred.
fn state_of(context: &RunContext) -> Option<DeferredState> {
    let newest = context.output(POLLED_STATE).and_then(|state| DeferredState::deserialize(&*state).ok());
    let first = || {
        let call = deferred(&*context.output(super::program::CALL)?)?;
        Some(DeferredState { call, failures: 0 })
    };
    newest.or_else(first)
}

/// A request whose record is written for a process that crashed before it could: the record of the deferred call, or
/// one whose id follows from the run, so that a repetition writes the same record.
pub(super) fn resuming(context: &RunContext, call: &CallRun) -> CallRequest {
    let of_run = || {
        let later = PendingResult { state: Value::Null, after: None, progress: None };
        let attempts = u32::from(context.find(super::program::CALL).is_some());
        DeferredCall { id: end_log_id(context.run().id, call.user_retries), attempts, later }
    };
    let mut request = call.request();
    let parked = state_of(context).map_or_else(of_run, |state| state.call);
    request.options.resumed = Some(Arc::new(ResumedCall { parked, came: None }));
    request
}

/// The output of a step that deferred its call.
pub(super) fn stored(call: &DeferredCall) -> Value {
    json!({"parked": call})
}

/// The deferred call in the output of a step. Returns `None` if the output is a result.
pub(super) fn deferred(output: &Value) -> Option<DeferredCall> {
    output.get("parked").and_then(|call| DeferredCall::deserialize(call).ok())
}

impl CallProgram {
    /// The callback address that the upstream has. Returns `None` if it has none.
    pub(super) fn callback_url(&self, context: &RunContext) -> Option<Arc<str>> {
        let run = context.run();
        let due = Timestamp::from_second(context.output(DUE)?.as_i64()?).ok()?;
        match self.callbacks.url(run.space, run.id, attempt_of(context), due) {
            Ok(url) => Some(url.into()),
            Err(error) => {
                tracing::warn!(run.id = %run.id, %error, "This process has no address for callbacks");
                None
            }
        }
    }

    /// Waits for the result of a deferred call, and polls the upstream, until there is one.
    pub(super) async fn resume(
        &self,
        context: &RunContext,
        call: &CallRun,
        caller: &Caller,
        deferred: DeferredCall,
    ) -> Result<RunEnd, Halt> {
        let mut state = state_of(context).unwrap_or(DeferredState { call: deferred, failures: 0 });
        if let Some(progress) =
            state.call.later.progress.as_ref().filter(|_| context.output(POLLED_STATE).is_none())
        {
            context.reporter().report(progress).await;
        }
        loop {
            let wait = match state.call.later.after {
                Some(after) => poll(after),
                None => callback_wait(attempt_of(context), None),
            };
            let came: Option<CallbackBody> = match context.wait(wait.clone()).await? {
                WaitOutcome::Expired => None,
                WaitOutcome::Delivered(body) => Some(serde_json::from_value(body).map_err(unreadable)?),
            };
            let mut request = call.request();
            let is_callback = came.is_some();
            let resumed = Arc::new(ResumedCall { parked: state.call.clone(), came });
            request.options.resumed = Some(resumed.clone());
            // The upstream may echo the address, which is masked in the result.
            request.options.callback_url = self.callback_url(context);
            let (cancel, reporter) = (context.cancellation().clone(), context.reporter());
            let next = match self.call_upstream(caller, request, cancel, reporter).await? {
                DeferrableOutcome::Completed(result) if result.is_success() => {
                    let output = rendered(&result, caller.locale);
                    return Ok(RunEnd { status: RunStatus::Succeeded, output, is_dead_letter: false });
                }
                DeferrableOutcome::Completed(result) => return Ok(call.ended(&result)),
                // The task is cancelled, or this process stops. The next claim continues.
                DeferrableOutcome::RetryLater(error) if error.kind() == ErrorKind::Cancelled => {
                    return Err(Halt::Release);
                }
                DeferrableOutcome::RetryLater(error) if state.failures < MAX_FAILURES => {
                    let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(state.failures));
                    let pause = pause.max(error.requested_pause().unwrap_or_default()).min(LONGEST_PAUSE);
                    state.failures += 1;
                    // A callback remains, and is read again after the pause.
                    if is_callback || wait.key == POLL { poll(pause) } else { wait }
                }
                DeferrableOutcome::RetryLater(error) => {
                    let mut request = call.request();
                    request.options.resumed = Some(resumed);
                    let result = self.tools.record_without_running(caller, request, error).await?;
                    return Ok(call.ended(&result));
                }
                DeferrableOutcome::Deferred(deferred) => {
                    if let Some(progress) = &deferred.later.progress {
                        context.reporter().report(progress).await;
                    }
                    state = DeferredState { call: *deferred, failures: 0 };
                    state.call.later.after.map_or(wait, poll)
                }
            };
            context.put(POLLED_STATE, serde_json::to_value(&state).map_err(unreadable)?);
            context.remove(&next.key);
            context.wait(next).await?;
        }
    }

    /// Waits for the callback of a call that was sent by a process that crashed.
    pub(super) async fn wait_for_callback(
        &self,
        context: &RunContext,
        call: &CallRun,
        caller: &Caller,
    ) -> Result<Option<RunEnd>, Halt> {
        if context.wait(callback_wait(attempt_of(context), None)).await? == WaitOutcome::Expired {
            return Ok(None);
        }
        let later = PendingResult { state: Value::Null, after: None, progress: None };
        let deferred = DeferredCall { id: Self::log_id(context, call), attempts: 1, later };
        self.resume(context, call, caller, deferred).await.map(Some)
    }
}

fn poll(after: Duration) -> Wait {
    Wait { key: POLL.to_owned(), kind: POLL.to_owned(), details: None, timeout: Some(after) }
}
