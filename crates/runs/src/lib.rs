//! The one durable core: a run is a small program whose steps are journaled, so that it goes on where it was after
//! any crash. An async tool call, an approval, a chat turn, a flow are programs over it.
//!
//! Nobody else writes a lease, a queue, a journal, or a retry loop over time. SQL never lives here.

mod begun;
mod call;
mod context;
mod failpoint;
mod journal;
mod program;
mod rested;
mod run;
mod unkept;
mod worker;

pub use call::{
    APPROVAL, Begin, CALLBACK, CallHistory, CallProgram, CallRun, Callbacks, Decision, LogTail, LoggedResult,
    attempt, find_logged,
};
pub use context::{Answer, Halt, INBOX, Planned, Reporter, RunContext};
pub use failpoint::Failpoints;
pub use journal::{Claimed, DoneStep, DoneSteps, Journal, Kept, Letter, Sent, Suspended};
pub use program::{GaveUp, Program, Programs};
pub use run::{
    About, Ended, Held, Lease, NewRun, Place, Renewed, Run, RunKey, RunStatus, Started, Step, StepState,
    Wait, WholeRun, WorkerId,
};
pub use worker::{Runs, Settings};

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    let own = [context::TEMPLATES, worker::TEMPLATES].into_iter().flatten().copied();
    call::all_templates().chain(own).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_is_there_in_both_languages() {
        haft_core::message::check_templates(&super::all_templates()).expect("complete messages");
    }
}
