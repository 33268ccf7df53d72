//! A call whose answer comes later: it waits, looks, and waits again, for as long as its tool says.
//!
//! Between two looks nothing of it is in memory, and only the newest of what is known of it is kept.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallbackBody, Caller, DeferredCall, ErrorKind, PendingResult, ResumedCall};
use haft_engine::{CallRequest, DeferrableOutcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::CallRun;
use super::logged::end_log_id;
use super::program::{CallProgram, shown, unreadable};
use crate::context::{Answer, Halt, RunContext};
use crate::run::{Ended, RunStatus, Wait};

/// What a step is called that somebody ends who calls back.
pub const CALLBACK: &str = "callback";

/// The pause between two looks.
pub(super) const POLL: &str = "poll";

/// The second by which a callback is due: the address that was given out is made of it.
pub(super) const DUE: &str = "callbackDue";

/// What is known since the last look.
pub(super) const LATER: &str = "later";

/// So often in a row a look may fail before the call does.
const MOST_MISSES: u32 = 8;

/// The first pause after a look that failed, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// A parked call between two looks.
#[derive(Serialize, Deserialize)]
struct Known {
    parked: DeferredCall,
    /// So many looks in a row failed.
    #[serde(default)]
    misses: u32,
}

/// Somebody calls back for an attempt, and is waited for so long.
pub(super) fn called_back(of: u64, within: Option<Duration>) -> Wait {
    Wait {
        key: CALLBACK.to_owned(),
        for_what: CALLBACK.to_owned(),
        shown: Some(attempt(of)),
        at_most: within,
    }
}

/// Which attempt somebody calls back for: an address that was given out for another is of no use.
pub fn attempt(number: u64) -> Value {
    json!({"attempt": number})
}

/// The attempt that is waited for, or the one that would be made now.
pub(super) fn attempt_of(context: &RunContext) -> u64 {
    let known = context.known(CALLBACK).and_then(|step| step.shown.as_ref()?["attempt"].as_u64());
    known.unwrap_or(context.run().epoch)
}

/// Records when the callback of this attempt is due, unless it is expected already.
pub(super) fn expect_callback(context: &mut RunContext, within: Duration) {
    if context.known(CALLBACK).is_none() || context.given(DUE).is_none() {
        let due = Timestamp::now().saturating_add(within).unwrap_or(Timestamp::MAX);
        context.put(DUE, json!(due.as_second()));
    }
}

/// What is known of a parked call by now.
fn known_of(context: &RunContext) -> Option<Known> {
    let newest = context.given(LATER).and_then(|known| Known::deserialize(known).ok());
    let first = || {
        let parked = parked(context.given(super::program::CALL)?)?;
        Some(Known { parked, misses: 0 })
    };
    newest.or_else(first)
}

/// A call whose record is left for a process that could not: that of the parked call, where one was parked; else
/// one by the name of its run, so that whoever leaves it again leaves the same.
pub(super) fn resuming(context: &RunContext, call: &CallRun) -> CallRequest {
    let of_run = || {
        let later = PendingResult { state: Value::Null, after: None, progress: None };
        let attempts = u32::from(context.known(super::program::CALL).is_some());
        DeferredCall { id: end_log_id(context.run().id, call.user_retries), attempts, later }
    };
    let mut request = call.request();
    let parked = known_of(context).map_or_else(of_run, |known| known.parked);
    request.options.resumed = Some(Arc::new(ResumedCall { parked, came: None }));
    request
}

/// A parked call, as the step keeps it that made it.
pub(super) fn kept(parked: &DeferredCall) -> Value {
    json!({"parked": parked})
}

/// The parked call that a step kept, where that is what it gave.
pub(super) fn parked(output: &Value) -> Option<DeferredCall> {
    output.get("parked").and_then(|parked| DeferredCall::deserialize(parked).ok())
}

impl CallProgram {
    /// The address that the upstream was given for a callback; nothing where it was given none.
    pub(super) fn callback_url(&self, context: &RunContext) -> Option<Arc<str>> {
        let run = context.run();
        let due = Timestamp::from_second(context.given(DUE)?.as_i64()?).ok()?;
        match self.callbacks.url(run.space, run.id, attempt_of(context), due) {
            Ok(url) => Some(url.into()),
            Err(error) => {
                tracing::warn!(run.id = %run.id, %error, "This process has no address for callbacks");
                None
            }
        }
    }

    /// Goes on with a call that was taken on.
    pub(super) async fn go_on(
        &self,
        context: &mut RunContext,
        call: &CallRun,
        caller: &Caller,
        parked: DeferredCall,
    ) -> Result<Ended, Halt> {
        let known = match known_of(context) {
            Some(known) => known,
            None => Known { parked, misses: 0 },
        };
        if let Some(progress) =
            known.parked.later.progress.as_ref().filter(|_| context.given(LATER).is_none())
        {
            // The first that is heard of it.
            context.reporter().say(progress).await;
        }
        let wait = match known.parked.later.after {
            Some(after) => poll(after),
            None => called_back(attempt_of(context), None),
        };
        let came: Option<CallbackBody> = match context.wait(wait.clone()).await? {
            Answer::Expired => None,
            Answer::Came(came) => Some(serde_json::from_value(came).map_err(unreadable)?),
        };
        let mut request = call.request();
        let is_brought = came.is_some();
        let resumed = Arc::new(ResumedCall { parked: known.parked.clone(), came });
        request.options.resumed = Some(resumed.clone());
        // The upstream may echo it, and it is masked in the result.
        request.options.callback_url = self.callback_url(context);
        let (cancel, reporter) = (context.cancellation().clone(), context.reporter());
        match self.fly(caller, request, cancel, reporter).await? {
            DeferrableOutcome::Completed(result) if result.is_success() => {
                let output = shown(&result, caller.locale);
                Ok(Ended { status: RunStatus::Succeeded, output, is_dead_letter: false })
            }
            DeferrableOutcome::Completed(result) => Ok(call.ended(&result)),
            // Told to stop: by whoever wants it to end, who is answered by what is known of it; or for now.
            DeferrableOutcome::RetryLater(error) if error.kind() == ErrorKind::Cancelled => {
                Err(Halt::GivenBack)
            }
            DeferrableOutcome::RetryLater(error) if known.misses < MOST_MISSES => {
                let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(known.misses));
                let pause = pause.max(error.requested_pause().unwrap_or_default()).min(LONGEST_PAUSE);
                // What somebody brought stays, and is looked at again.
                let wait = if is_brought || wait.key == POLL { poll(pause) } else { wait };
                look_after(context, Known { misses: known.misses + 1, ..known }, wait)
            }
            DeferrableOutcome::RetryLater(error) => {
                let mut request = call.request();
                request.options.resumed = Some(resumed);
                let result = self.tools.record_without_running(caller, request, error).await?;
                Ok(call.ended(&result))
            }
            DeferrableOutcome::Deferred(parked) => {
                if let Some(progress) = &parked.later.progress {
                    context.reporter().say(progress).await;
                }
                let wait = parked.later.after.map_or(wait, poll);
                look_after(context, Known { parked: *parked, misses: 0 }, wait)
            }
        }
    }

    /// Waits for a callback of a call that was sent by a process that is no more.
    pub(super) async fn hear(
        &self,
        context: &mut RunContext,
        call: &CallRun,
        caller: &Caller,
    ) -> Result<Ended, Halt> {
        if context.wait(called_back(attempt_of(context), None)).await? == Answer::Expired {
            return Err(Halt::Unknown { step: super::program::CALL.to_owned() });
        }
        let later = PendingResult { state: Value::Null, after: None, progress: None };
        let parked = DeferredCall { id: Self::log_id(context, call), attempts: 1, later };
        self.go_on(context, call, caller, parked).await
    }
}

fn poll(after: Duration) -> Wait {
    Wait { key: POLL.to_owned(), for_what: POLL.to_owned(), shown: None, at_most: Some(after) }
}

/// Keeps what is known by now, and looks again.
fn look_after(context: &mut RunContext, known: Known, wait: Wait) -> Result<Ended, Halt> {
    context.put(LATER, serde_json::to_value(known).map_err(unreadable)?);
    context.undo(&wait.key);
    Err(Halt::Waiting(vec![wait]))
}
