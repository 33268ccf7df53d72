//! Keeping runs that were carried on before they were kept, and that wait by now.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError};
use haft_runs::{DoneStep, NewRun, Wait};

use super::added::Added;
use super::writer::{Batch, Write};

pub(super) struct StartWaiting {
    pub(super) new: Arc<NewRun>,
    pub(super) done: Arc<[DoneStep]>,
    pub(super) waits: Vec<Wait>,
}

impl Write for StartWaiting {
    type Answer = ();
    const READS_STEPS: bool = false;
    const ONLY_ADDS: bool = true;

    fn write<'t>(&'t self, batch: &'t mut Batch) -> BoxFuture<'t, Result<(), CallError>> {
        Box::pin(async move {
            self.add(&mut batch.added);
            Ok(())
        })
    }

    fn add(&self, added: &mut Added) -> Option<()> {
        let Self { new, done, waits } = self;
        added.run(new, waits.first().map(|wait| wait.for_what.clone()));
        added.steps((new.id, &new.space.to_string()), done, waits);
        Some(())
    }
}
