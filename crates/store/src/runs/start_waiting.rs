//! Keeping a run that was carried on before it was kept, and that waits by now for what is sent to it: one row.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError};
use haft_runs::{DoneSteps, NewRun};

use super::added::Added;
use super::writer::{Batch, Write};

pub(super) struct StartWaiting {
    pub(super) new: Arc<NewRun>,
    pub(super) done: DoneSteps,
}

impl Write for StartWaiting {
    type Answer = ();
    const READS_STEPS: bool = false;

    fn is_plain(&self) -> bool {
        true
    }

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>> {
        Box::pin(async move {
            self.add(&mut batch.added);
            Ok(())
        })
    }

    fn add(&self, added: &mut Added) -> Option<()> {
        added.run(&self.new, &self.done);
        Some(())
    }
}
