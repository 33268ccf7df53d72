//! The execution of one claimed run, from the claim until the run is released, suspended or ended.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::{CallError, ErrorKind, Locale, Message, RunId};
use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Runs, STOP_TIMEOUT, Worker};
use crate::context::{Halt, RunContext};
use crate::journal::ReleaseReason;
use crate::program::{GiveUpReason, Program};
use crate::run::{ClaimedRun, Lease, RunEnd, RunStatus};
use crate::step::{Step, StepWrites};

haft_core::templates! {
    PANICKED = "runs.panicked",
        "The server failed unexpectedly each time it worked on this, so it is not retried. See the server's log for the reason.",
        "服务每次处理时都意外失败，因此不再重试；原因见服务日志";
}

/// Maximum number of times that the pause after a panic doubles: from five seconds to about five minutes.
const MAX_DOUBLINGS: u32 = 6;

/// The pause before a run is released that cannot continue now.
const RELEASE_PAUSE: Duration = Duration::from_millis(500);

/// A run that this process executes.
#[derive(Clone)]
pub(super) struct Execution {
    number: u64,
    pub(super) lease: Lease,
    pub(super) cancel: CancellationToken,
    /// Cancelled when the lease has ended.
    pub(super) lost: CancellationToken,
    /// Cancelled when this process has released the run.
    pub(super) over: CancellationToken,
    /// Requests to read the waits of the run again.
    pub(super) refresh: Arc<Notify>,
}

impl Worker {
    /// Executes a claimed run in a separate task, which holds the slot.
    pub(super) fn execute(self: &Arc<Self>, claimed: ClaimedRun, slot: Option<OwnedSemaphorePermit>) {
        let (id, lease) = (claimed.run.id, claimed.lease);
        let execution = Execution {
            number: self.count.fetch_add(1, Ordering::Relaxed),
            lease,
            cancel: CancellationToken::new(),
            lost: CancellationToken::new(),
            over: CancellationToken::new(),
            refresh: Arc::default(),
        };
        if claimed.run.is_cancel_requested {
            execution.cancel.cancel();
        }
        self.executions().insert(id, execution.clone());
        let worker = self.clone();
        self.tasks.spawn(async move {
            let (crashes, number) = (claimed.run.crashes, execution.number);
            let (over, lost) = (execution.over.clone(), execution.lost.clone());
            let end = worker.end_after_panic(&claimed);
            let executed = AssertUnwindSafe(worker.clone().execute_claimed(claimed, execution));
            let executed = executed.catch_unwind().await;
            let result = match (executed, end) {
                (Ok(result), _) => result,
                (Err(_), Some(end)) => worker.finish_after_panic(lease, end).await,
                (Err(_), None) => worker.release_after_panic(lease, crashes, &lost).await,
            };
            worker.remove_execution(id, number);
            over.cancel();
            match result {
                Ok(()) => {}
                Err(Halt::Lost) => tracing::info!(run.id = %id, "Another worker executes the run"),
                Err(halt) => tracing::error!(run.id = %id, ?halt, "A run could not be executed"),
            }
            let _ = worker.released.send(id);
            drop(slot);
            worker.slot_freed.notify_one();
        });
    }

    /// Removes an execution, unless the run is executed again already.
    fn remove_execution(&self, id: RunId, number: u64) {
        let mut executions = self.executions();
        if executions.get(&id).is_some_and(|execution| execution.number == number) {
            executions.remove(&id);
        }
    }

    async fn execute_claimed(self: Arc<Self>, claimed: ClaimedRun, execution: Execution) -> Result<(), Halt> {
        self.failpoints.pass("claimed");
        let Execution { cancel, lost, refresh, .. } = execution;
        let worker = Runs(self.clone());
        let context = RunContext::new(self.journal.clone(), claimed, cancel, refresh, worker);
        let run = context.run();
        let Some(program) = self.programs.get(&run.program).cloned() else {
            // A newer process may know it.
            tracing::warn!(run.id = %run.id, program = run.program, "This process does not know the program of a run");
            sleep(STOP_TIMEOUT).await;
            return context.release().await;
        };
        let is_lasting = program.is_lasting();
        if !is_lasting && run.crashes >= run.max_crashes {
            return context.give_up(&*program, GiveUpReason::Crashes).await;
        }
        if !is_lasting && context.denial().is_some() {
            return context.give_up(&*program, GiveUpReason::Denied).await;
        }
        let halt = match run_program(&context, &*program, &lost).await {
            Ok(end) => {
                context.finish(end).await?;
                program.released(run.id);
                return Ok(());
            }
            Err(halt) => halt,
        };
        let is_cancelled = context.cancellation().is_cancelled() && !is_lasting;
        match halt {
            Halt::Lost => Err(Halt::Lost),
            Halt::Suspend(_) | Halt::Failed(_) | Halt::Release if is_cancelled => {
                context.give_up(&*program, GiveUpReason::Cancelled).await
            }
            Halt::Suspend(waits) => {
                context.suspend(waits).await?;
                self.failpoints.pass("suspended");
                program.released(run.id);
                Ok(())
            }
            Halt::Release => {
                // The unavailable service may be available at the next claim.
                if !lost.is_cancelled() {
                    sleep(RELEASE_PAUSE).await;
                }
                context.release().await
            }
            Halt::Failed(error) => context.give_up(&*program, GiveUpReason::Failed(error)).await,
        }
    }

    /// Releases a run whose worker panicked outside of the program, so that it is claimed again. Each crash doubles
    /// the pause before that.
    async fn release_after_panic(
        &self,
        lease: Lease,
        crashes: u32,
        lost: &CancellationToken,
    ) -> Result<(), Halt> {
        let pause = STOP_TIMEOUT.saturating_mul(1 << crashes.min(MAX_DOUBLINGS));
        tracing::error!(run.id = %lease.run, crashes, ?pause, "The worker panicked while it executed a run; the run is released after a pause");
        tokio::select! {
            () = sleep(pause) => {}
            () = lost.cancelled() => {}
        }
        let released = self.journal.release(lease, Arc::default(), ReleaseReason::Panic).await;
        released.map(drop).map_err(Halt::Failed)
    }

    /// The end of a run if its worker panics again. Returns `None` if the run is executed again then. After its last
    /// crash a run is only given up, and a program that panics while it does that would panic each time.
    fn end_after_panic(&self, claimed: &ClaimedRun) -> Option<RunEnd> {
        let ClaimedRun { run, steps, .. } = claimed;
        let is_lasting = || self.programs.get(&run.program).is_none_or(|program| program.is_lasting());
        if run.crashes < run.max_crashes || is_lasting() {
            return None;
        }
        let (status, kind) = match steps.iter().any(Step::is_unknown) {
            true => (RunStatus::Unknown, ErrorKind::Unknown),
            false => (RunStatus::Failed, ErrorKind::Internal),
        };
        let error = CallError::new(kind, Message::new(&PANICKED)).to_json(Locale::En);
        let output = json!({"success": false, "error": error});
        Some(RunEnd { status, output, is_dead_letter: status == RunStatus::Failed })
    }

    /// Ends a run without its program.
    async fn finish_after_panic(&self, lease: Lease, end: RunEnd) -> Result<(), Halt> {
        tracing::error!(run.id = %lease.run, status = end.status.as_str(), "The worker panicked while it ended a failed run; the run ends");
        let finished = self.journal.finish(lease, Arc::new(StepWrites::default()), end).await;
        finished.map(drop).map_err(Halt::Failed)
    }
}

/// Executes the program of a run, persists its steps concurrently, and stops it when no part of it can proceed here.
async fn run_program(
    context: &RunContext,
    program: &dyn Program,
    lost: &CancellationToken,
) -> Result<RunEnd, Halt> {
    // A panic of the program is a failure like any other.
    let mut work = pin!(AssertUnwindSafe(async { program.run(context).await }).catch_unwind());
    let is_stopped = async {
        context.cancellation().cancelled().await;
        match program.is_lasting() {
            true => std::future::pending().await,
            false => sleep(STOP_TIMEOUT).await,
        }
    };
    let internal = |message| Halt::Failed(CallError::text(ErrorKind::Internal, message));
    tokio::select! {
        biased;
        result = &mut work => result.unwrap_or_else(|_| Err(internal("the program stopped unexpectedly"))),
        // The program, which is dropped at the end of this function, still awaits them.
        () = context.idle() => Err(Halt::Suspend(context.waits())),
        () = lost.cancelled() => Err(Halt::Release),
        () = is_stopped => Err(Halt::Failed(CallError::text(ErrorKind::Cancelled, "it did not stop when it was cancelled"))),
        halt = context.synchronize() => Err(halt),
    }
}
