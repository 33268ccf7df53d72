//! A call whose answer comes later: it waits, looks, and waits again, for as long as its tool says.
//!
//! Between two looks nothing of it is in memory, and only the newest of what is known of it is kept.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, Caller, ErrorKind, Later, Parked, Resumed};
use haft_engine::Leg;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::CallRun;
use super::program::{CallProgram, shown, unreadable};
use crate::context::{Answer, Halt, RunContext};
use crate::run::{Ended, RunStatus, Wait};

/// What a step is called that somebody ends who calls back.
pub const CALLBACK: &str = "callback";

/// The pause between two looks.
pub(super) const POLL: &str = "poll";

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
    parked: Parked,
    /// So many looks in a row failed.
    #[serde(default)]
    misses: u32,
}

/// Somebody calls back, and is waited for so long.
pub(super) fn called_back(within: Option<Duration>) -> Wait {
    Wait { key: CALLBACK.to_owned(), for_what: CALLBACK.to_owned(), shown: None, at_most: within }
}

/// A parked call, as the step keeps it that made it.
pub(super) fn kept(parked: &Parked) -> Value {
    json!({"parked": parked})
}

/// The parked call that a step kept, where that is what it gave.
pub(super) fn parked(output: &Value) -> Option<Parked> {
    output.get("parked").and_then(|parked| Parked::deserialize(parked).ok())
}

impl CallProgram {
    /// Goes on with a call that was taken on.
    pub(super) async fn go_on(
        &self,
        context: &mut RunContext,
        call: &CallRun,
        caller: &Caller,
        parked: Parked,
    ) -> Result<Ended, Halt> {
        let known = match context.given(LATER) {
            Some(known) => Known::deserialize(known).map_err(unreadable)?,
            None => {
                // The first that is heard of it.
                if let Some(progress) = &parked.later.progress {
                    context.reporter().say(progress).await;
                }
                Known { parked, misses: 0 }
            }
        };
        let came = match context.wait(wait(&known)).await? {
            Answer::Expired => None,
            Answer::Came(came) => Some(serde_json::from_value(came).map_err(unreadable)?),
        };
        let mut request = call.request();
        let resumed = Resumed { parked: known.parked.clone(), came };
        request.options.resumed = Some(Arc::new(resumed));
        let (cancel, reporter) = (context.cancellation().clone(), context.reporter());
        match self.fly(caller, request, cancel, reporter).await? {
            Leg::Landed(result) => match result.error() {
                None => {
                    let output = shown(&result, caller.locale);
                    Ok(Ended { status: RunStatus::Succeeded, output, is_dead_letter: false })
                }
                // Told to stop, and not by whoever wants it to end.
                Some(error)
                    if error.kind() == ErrorKind::Cancelled && !context.cancellation().is_cancelled() =>
                {
                    Err(Halt::GivenBack)
                }
                Some(error) if may_pass(error) && known.misses < MOST_MISSES => {
                    let misses = known.misses + 1;
                    let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(known.misses));
                    let pause = pause.max(error.pause_asked_for().unwrap_or_default()).min(LONGEST_PAUSE);
                    look_after(context, Known { misses, ..known }, pause)
                }
                Some(_) => Ok(call.ended(&result)),
            },
            Leg::Parked(parked) => {
                if let Some(progress) = &parked.later.progress {
                    context.reporter().say(progress).await;
                }
                let pause = parked.later.after.unwrap_or_default();
                look_after(context, Known { parked, misses: 0 }, pause)
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
        if context.wait(called_back(None)).await? == Answer::Expired {
            return Err(Halt::Unknown { step: super::program::CALL.to_owned() });
        }
        let later = Later { state: Value::Null, after: None, progress: None };
        let parked = Parked { id: Uuid::now_v7(), attempts: 1, later };
        self.go_on(context, call, caller, parked).await
    }
}

/// What a parked call waits for.
fn wait(known: &Known) -> Wait {
    match known.parked.later.after {
        Some(after) => poll(after),
        None => called_back(None),
    }
}

fn poll(after: Duration) -> Wait {
    Wait { key: POLL.to_owned(), for_what: POLL.to_owned(), shown: None, at_most: Some(after) }
}

/// Keeps what is known by now, and looks again.
fn look_after(context: &mut RunContext, known: Known, pause: Duration) -> Result<Ended, Halt> {
    let wait = match known.parked.later.after {
        Some(_) => poll(pause),
        None => called_back(None),
    };
    context.put(LATER, serde_json::to_value(known).map_err(unreadable)?);
    context.undo(&wait.key);
    Err(Halt::Waiting(vec![wait]))
}

/// Whether the next look may find more: the job goes on, whoever we could not reach.
fn may_pass(error: &CallError) -> bool {
    error.is_retryable()
        || matches!(error.kind(), ErrorKind::CircuitOpen | ErrorKind::Overloaded | ErrorKind::Unavailable)
}
