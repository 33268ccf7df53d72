//! Persists the progress of a run while the program continues. Repeatable steps are written together with later steps;
//! other changes are written immediately.

use std::sync::Arc;
use std::time::Duration;

use haft_core::ErrorKind;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Halt, RunContext};
use crate::journal::{Journal, JournalFuture, ReleaseReason, Suspension};
use crate::program::{GiveUpReason, Program};
use crate::run::RunEnd;
use crate::step::Wait;

/// The pause before an unavailable journal is written again. It doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl RunContext {
    /// Waits until everything that the run did so far is persisted.
    pub async fn persist(&self) -> Result<(), Halt> {
        let Some((last, mut persisted)) = self.shared.table.write_now() else { return Ok(()) };
        let is_persisted = persisted.wait_for(|number| *number >= last).await;
        is_persisted.map(drop).map_err(|_| Halt::Lost)
    }

    /// Writes pending changes when they are due, and reads the waits of the run when they may have ended. Returns if
    /// the run cannot continue here.
    pub(crate) async fn synchronize(&self) -> Halt {
        loop {
            let (write_by, deadline) = self.shared.table.timers();
            let work = tokio::select! {
                () = until(write_by) => self.write_pending().await,
                () = self.shared.refresh.notified() => self.read_waits().await,
                () = until(deadline) => self.read_waits().await,
                () = self.shared.table.write_requested.notified() => Ok(()),
            };
            if let Err(halt) = work {
                return halt;
            }
        }
    }

    async fn write_pending(&self) -> Result<(), Halt> {
        self.write_unacknowledged().await?;
        match self.shared.table.take_pending() {
            true => self.write_unacknowledged().await,
            false => Ok(()),
        }
    }

    /// Reads the state of the waits of this run, and wakes the parts of the run that wait.
    async fn read_waits(&self) -> Result<(), Halt> {
        // A wait that is not persisted cannot have ended.
        self.write_pending().await?;
        let keys = self.shared.table.stored_waits();
        if keys.is_empty() {
            self.shared.table.changed();
            return Ok(());
        }
        match self.shared.journal.read_steps(self.shared.run.id, keys).await {
            Ok(steps) => self.shared.table.update(steps),
            Err(error) => {
                tracing::warn!(run.id = %self.shared.run.id, %error, "The waits of a run could not be read; retrying");
                sleep(LONGEST_PAUSE).await;
                self.shared.refresh.notify_one();
            }
        }
        Ok(())
    }

    /// Releases the run until one of the waits ends.
    pub(crate) async fn suspend(&self, waits: Vec<Wait>) -> Result<(), Halt> {
        self.write_unacknowledged().await?;
        let mut writes = self.shared.table.take_last();
        for wait in waits.iter().filter(|wait| !wait.is_for_messages_only()) {
            if !writes.waits.iter().any(|pending| pending.key == wait.key) {
                writes.waits.push(wait.clone());
            }
        }
        let (lease, writes) = (self.shared.lease, Arc::new(writes));
        let suspension = Suspension { waits, is_cancel_handled: self.shared.table.is_cancel_handled() };
        self.repeat(|journal| journal.suspend(lease, writes.clone(), suspension.clone())).await
    }

    pub(crate) async fn finish(&self, end: RunEnd) -> Result<(), Halt> {
        self.write_unacknowledged().await?;
        let mut writes = self.shared.table.take_last();
        // The output of the run is not stored a second time as a step. Steps of scopes may be adopted by later runs.
        writes.done.retain(|step| step.key.contains('/') || *step.output != end.output);
        // An ended run retains its number of crashes.
        writes.resets_crashes = false;
        writes.waits.clear();
        let (lease, writes) = (self.shared.lease, Arc::new(writes));
        self.pass("before_commit");
        self.repeat(|journal| journal.finish(lease, writes.clone(), end.clone())).await?;
        self.pass("after_commit");
        Ok(())
    }

    /// Ends a run that its program did not end.
    pub(crate) async fn give_up(&self, program: &dyn Program, reason: GiveUpReason) -> Result<(), Halt> {
        let end = program.give_up(self, reason).await;
        self.finish(end).await?;
        program.released(self.shared.run.id);
        Ok(())
    }

    pub(crate) async fn release(&self) -> Result<(), Halt> {
        self.write_unacknowledged().await?;
        self.pass("before_release");
        let (lease, writes) = (self.shared.lease, Arc::new(self.shared.table.take_last()));
        self.repeat(|journal| journal.release(lease, writes.clone(), ReleaseReason::Unavailable)).await
    }

    /// Writes the changes that the journal has not acknowledged. An interrupted write is repeated, because the journal
    /// may or may not have persisted it.
    async fn write_unacknowledged(&self) -> Result<(), Halt> {
        let Some(writes) = self.shared.table.unacknowledged() else { return Ok(()) };
        let lease = self.shared.lease;
        self.repeat(|journal| journal.write(lease, writes.clone())).await?;
        self.shared.table.acknowledge();
        Ok(())
    }

    /// Repeats a write until the journal is available: a completed step must not be forgotten.
    async fn repeat<'s>(
        &'s self,
        write: impl Fn(&'s dyn Journal) -> JournalFuture<'s, bool>,
    ) -> Result<(), Halt> {
        let mut pause = FIRST_PAUSE;
        loop {
            match write(&*self.shared.journal).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Halt::Lost),
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    tracing::warn!(run.id = %self.shared.run.id, %error, "The journal of a run could not be written; retrying");
                }
                Err(error) => return Err(Halt::Failed(error)),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Waits until a moment, or forever if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
