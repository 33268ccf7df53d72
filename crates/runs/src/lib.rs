//! The durable core: a run is a program whose steps are journaled, so that it continues after a crash where it was. A
//! background tool call, a conversation and a flow are programs over it.
//!
//! No other code writes a lease, a queue, a journal or a retry loop over time. There are no tools and no SQL here.

mod context;
mod ephemeral;
mod failpoint;
mod journal;
mod program;
mod run;
mod step;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod worker;

pub use context::{Branches, Halt, PlannedStep, ProgressReporter, RunContext, StepOutcome, WaitOutcome};
pub use failpoint::Failpoints;
pub use journal::{
    Claims, Delivery, Journal, JournalFuture, NewMessage, ReleaseReason, RunSignal, Suspension,
};
pub use program::{GiveUpReason, Program, Programs};
pub use run::{
    ClaimedRun, Executor, Lease, NewRun, Renewal, Run, RunEnd, RunKey, RunLabels, RunStatus, RunWithSteps,
    StartedRun, WorkerId,
};
pub use step::{Adoption, DoneStep, INBOX, Reservation, Step, StepState, StepWrites, Wait};
pub use worker::{Runs, WorkerSettings};

/// Returns every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    [context::TEMPLATES, worker::TEMPLATES].into_iter().flatten().copied().collect()
}
