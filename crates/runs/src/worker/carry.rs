//! Carrying one run on: from the moment in which it is in hand until it is let go of, ended, waiting or given back.

use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::{CallError, ErrorKind, Locale, Message, RunId};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Inner, PATIENCE};
use crate::begun::{Begun, Unwritten, away};
use crate::context::{Halt, RunContext};
use crate::program::{GaveUp, Program};
use crate::run::{Ended, Held, Lease, RunStatus, Step, StepState};

haft_core::templates! {
    PANICKED = "runs.panicked",
        "The server failed unexpectedly each time it worked on this, so it is not retried. See the server's log for the reason.",
        "服务每次处理时都意外失败，因此不再重试；原因见服务日志";
}

/// The pause after a panic doubles at most this often: from five seconds to about five minutes.
const MOST_DOUBLINGS: u32 = 6;

/// A run that cannot be carried on right now is given back after so long.
const AWAY: Duration = Duration::from_millis(500);

/// A run that this process carries on.
#[derive(Clone)]
pub(super) struct InHand {
    /// Tells it from all others, also from one under the same lease that was not kept in time.
    number: u64,
    pub(super) lease: Lease,
    pub(super) cancel: CancellationToken,
    pub(super) lost: CancellationToken,
    /// Cancelled when it is in hand no more.
    pub(super) over: CancellationToken,
    /// Where it is carried on before it is kept.
    pub(super) begun: Option<Begun>,
}

impl InHand {
    pub(super) fn is_kept(&self) -> bool {
        self.begun.as_ref().is_none_or(Begun::is_kept)
    }
}

impl Inner {
    /// Carries a run on, beside whatever else this process does.
    pub(super) fn take(self: &Arc<Self>, held: Held, permit: Option<OwnedSemaphorePermit>) {
        Self::take_on(self, held, permit, None);
    }

    /// The same for one that may not be kept yet; gives what tells it to end. Nothing where that one is in hand already.
    pub(super) fn take_on(
        self: &Arc<Self>,
        held: Held,
        permit: Option<OwnedSemaphorePermit>,
        unwritten: Option<(Unwritten, Begun)>,
    ) -> Option<CancellationToken> {
        let (id, lease) = (held.run.id, held.lease);
        let token = CancellationToken::new;
        let (unwritten, begun) = unwritten.unzip();
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let in_hand = InHand { number, lease, cancel: token(), lost: token(), over: token(), begun };
        if held.run.is_cancel_asked {
            in_hand.cancel.cancel();
        }
        self.rested.forget(id);
        match self.held().entry(id) {
            Entry::Vacant(vacant) => drop(vacant.insert(in_hand.clone())),
            Entry::Occupied(_) if unwritten.is_some() => return None,
            Entry::Occupied(mut occupied) => {
                // What was not kept in time counts no more.
                let before = occupied.insert(in_hand.clone());
                if !before.is_kept() {
                    before.lost.cancel();
                }
            }
        }
        let (inner, over, cancel) = (self.clone(), in_hand.over.clone(), in_hand.cancel.clone());
        self.under_way.spawn(async move {
            let (crashes, end, lost) = (held.run.deaths, inner.end_after_panic(&held), in_hand.lost.clone());
            let carried = AssertUnwindSafe(inner.carry(held, in_hand, unwritten)).catch_unwind().await;
            let ended = match (carried, end) {
                (Ok(ended), _) => ended,
                (Err(_), Some(end)) => inner.finish_after_panic(lease, end).await,
                (Err(_), None) => inner.release_after_panic(lease, crashes, &lost).await,
            };
            inner.let_go(id, number);
            over.cancel();
            match ended {
                Ok(()) => {}
                Err(Halt::Lost) => tracing::info!(run.id = %id, "Another worker executes the run"),
                Err(halt) => tracing::error!(run.id = %id, ?halt, "A run could not be executed"),
            }
            let _ = inner.ended.send(id);
            drop(permit);
            inner.freed.notify_one();
        });
        Some(cancel)
    }

    /// Releases a run whose worker panicked outside of the program, so that it is claimed again. Each crash doubles
    /// the pause before that.
    async fn release_after_panic(
        &self,
        lease: Lease,
        crashes: u32,
        lost: &CancellationToken,
    ) -> Result<(), Halt> {
        let pause = PATIENCE.saturating_mul(1 << crashes.min(MOST_DOUBLINGS));
        tracing::error!(run.id = %lease.run, crashes, ?pause, "The worker panicked while it executed a run; the run is released after a pause");
        tokio::select! {
            () = sleep(pause) => {}
            () = lost.cancelled() => {}
        }
        self.journal.release_after_panic(lease).await.map(drop).map_err(Halt::Failed)
    }

    /// The end of a run if its worker panics again. Returns `None` if the run is executed again then. After its last
    /// crash a run is only given up, and a program that panics while it does that would panic each time.
    fn end_after_panic(&self, held: &Held) -> Option<Ended> {
        let Held { run, steps, .. } = held;
        let is_lasting = || self.programs.get(&run.program).is_none_or(|program| program.is_lasting());
        if run.deaths < run.most_deaths || is_lasting() {
            return None;
        }
        let is_lost = |step: &Step| step.state == StepState::Reserved && !step.effect.is_repeatable();
        let (status, kind) = match steps.iter().any(is_lost) {
            true => (RunStatus::Unknown, ErrorKind::Unknown),
            false => (RunStatus::Failed, ErrorKind::Internal),
        };
        let error = CallError::new(kind, Message::new(&PANICKED)).to_json(Locale::En);
        let output = json!({"success": false, "error": error});
        Some(Ended { status, output, is_dead_letter: status == RunStatus::Failed })
    }

    /// Ends a run without its program.
    async fn finish_after_panic(&self, lease: Lease, end: Ended) -> Result<(), Halt> {
        tracing::error!(run.id = %lease.run, status = end.status.as_str(), "The worker panicked while it ended a failed run; the run ends");
        self.journal.finish(lease, Arc::default(), end).await.map(drop).map_err(Halt::Failed)
    }

    fn let_go(&self, id: RunId, number: u64) {
        let mut held = self.held();
        // It may be in hand again already.
        if held.get(&id).is_some_and(|in_hand| in_hand.number == number) {
            held.remove(&id);
        }
    }

    async fn carry(&self, held: Held, in_hand: InHand, unwritten: Option<Unwritten>) -> Result<(), Halt> {
        self.failpoints.pass("claimed");
        let InHand { cancel, lost, .. } = in_hand;
        let mut context = RunContext::new(self.journal.clone(), held, cancel, self.failpoints.clone());
        context = context.unwritten(unwritten);
        let Some(program) = self.programs.get(&context.run().program).cloned() else {
            // A newer process may know it.
            let run = context.run();
            tracing::warn!(run.id = %run.id, program = run.program, "This process does not know the program of a run");
            if let Some(unwritten) = context.give_back() {
                unwritten.lost();
                return Ok(());
            }
            sleep(PATIENCE).await;
            return context.release().await;
        };
        let carried = self.carry_on(&mut context, &*program, &lost).await;
        if carried.is_err()
            && let Some(mut unwritten) = context.give_back()
        {
            let refused = unwritten.refused.take();
            if unwritten.is_new() {
                let error = refused.unwrap_or_else(away);
                tracing::warn!(run.id = %context.run().id, %error, "A run that could not be persisted is released");
                // It is nowhere, and whoever follows it learns that it is over.
                program.gave_up(&context, GaveUp::Failed(error.clone())).await;
                program.let_go(context.run().id);
                unwritten.never(error);
                return Ok(());
            }
            program.forgo(context.run());
            match refused {
                Some(error) => unwritten.never(error),
                None => unwritten.lost(),
            }
            return Ok(());
        }
        if carried.is_ok() && self.journal.is_alone() {
            let kept = context.give_back();
            if let Some(left) = context.left() {
                self.rested.put(left);
            }
            kept.into_iter().for_each(Unwritten::kept);
        } else {
            context.tell_kept();
        }
        carried
    }

    async fn carry_on(
        &self,
        context: &mut RunContext,
        program: &dyn Program,
        lost: &CancellationToken,
    ) -> Result<(), Halt> {
        let (id, cancel) = (context.run().id, context.cancellation().clone());
        let is_lasting = program.is_lasting();
        let is_dead = context.run().deaths >= context.run().most_deaths && !is_lasting;
        let is_lost = context.lost_step().is_some() && !is_lasting;
        let is_denied = context.denial().is_some() && !is_lasting;
        if is_lost && (!context.may_hear() || cancel.is_cancelled() || is_dead || is_denied) {
            return give_up(context, program, GaveUp::Unknown).await;
        }
        if is_dead {
            return give_up(context, program, GaveUp::Deaths).await;
        }
        if is_denied {
            return give_up(context, program, GaveUp::Denied).await;
        }
        let given_up = async {
            cancel.cancelled().await;
            match is_lasting {
                true => std::future::pending().await,
                false => sleep(PATIENCE).await,
            }
        };
        let outcome = tokio::select! {
            outcome = run_program(program, context) => outcome,
            () = lost.cancelled() => return context.release().await,
            () = given_up => Err(Halt::Failed(CallError::text(ErrorKind::Cancelled, "it did not stop when it was cancelled"))),
        };
        match outcome {
            Ok(ended) => {
                context.finish(ended).await?;
                program.let_go(id);
                Ok(())
            }
            Err(Halt::Lost) => Err(Halt::Lost),
            Err(Halt::Unknown { .. }) => give_up(context, program, GaveUp::Unknown).await,
            Err(Halt::Waiting(_) | Halt::Failed(_) | Halt::GivenBack)
                if cancel.is_cancelled() && !is_lasting =>
            {
                let why = if context.lost_step().is_some() { GaveUp::Unknown } else { GaveUp::Cancelled };
                give_up(context, program, why).await
            }
            Err(Halt::Waiting(waits)) => {
                context.suspend(waits).await?;
                self.failpoints.pass("suspended");
                program.let_go(id);
                Ok(())
            }
            Err(Halt::GivenBack) => {
                // Whoever takes it next finds what was away just now.
                sleep(AWAY).await;
                context.release().await
            }
            Err(Halt::Undone) => {
                let message = "a step gave nothing, and the program did not say why";
                let error = CallError::text(ErrorKind::Internal, message);
                give_up(context, program, GaveUp::Failed(error)).await
            }
            Err(Halt::Failed(error)) => give_up(context, program, GaveUp::Failed(error)).await,
        }
    }
}

async fn give_up(context: &mut RunContext, program: &dyn Program, why: GaveUp) -> Result<(), Halt> {
    context.give_up(program, why).await?;
    program.let_go(context.run().id);
    Ok(())
}

/// A program that panics has failed like any other.
async fn run_program(program: &dyn Program, context: &mut RunContext) -> Result<Ended, Halt> {
    let work = AssertUnwindSafe(async { program.run(context).await });
    work.catch_unwind().await.unwrap_or_else(|_| {
        Err(Halt::Failed(CallError::text(ErrorKind::Internal, "the program stopped unexpectedly")))
    })
}
