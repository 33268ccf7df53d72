//! The journal of runs that nobody keeps: it agrees to everything, and knows nothing afterwards.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, Effect, ErrorKind, RunId, SpaceId};
use serde_json::Value;

use crate::journal::{Claimed, DoneStep, DoneSteps, Journal, Kept, Letter, Sent, Suspended};
use crate::run::{Ended, Lease, NewRun, Renewed, Run, Started, Wait, WorkerId};

pub(crate) struct Unkept;

fn agreed<'a>() -> Kept<'a, bool> {
    Box::pin(ready(Ok(true)))
}

fn not_started() -> CallError {
    CallError::text(ErrorKind::Internal, "an ephemeral run cannot be started")
}

impl Journal for Unkept {
    fn start(&self, _: Arc<NewRun>, _: Duration) -> Kept<'_, Started> {
        Box::pin(ready(Err(not_started())))
    }

    fn start_waiting(&self, _: Arc<NewRun>, _: DoneSteps) -> Kept<'_, ()> {
        Box::pin(ready(Err(not_started())))
    }

    fn take(&self, _: SpaceId, _: Lease, _: Option<(WorkerId, Duration)>, _: DoneSteps) -> Kept<'_, bool> {
        agreed()
    }

    fn claim(&self, _: WorkerId, _: usize, _: Duration) -> Kept<'_, Claimed> {
        Box::pin(ready(Ok(Claimed::default())))
    }

    fn renew(&self, _: WorkerId, _: Vec<Lease>, _: Duration) -> Kept<'_, Renewed> {
        Box::pin(ready(Ok(Renewed::default())))
    }

    fn reserve(&self, _: Lease, _: String, _: Effect, _: Arc<[DoneStep]>, _: Vec<Wait>) -> Kept<'_, bool> {
        agreed()
    }

    fn done(&self, _: Lease, _: Arc<[DoneStep]>) -> Kept<'_, bool> {
        agreed()
    }

    fn progress(&self, _: Lease, _: Value) -> Kept<'_, bool> {
        agreed()
    }

    fn suspend(&self, _: Lease, _: Suspended) -> Kept<'_, bool> {
        agreed()
    }

    fn finish(&self, _: Lease, _: Arc<[DoneStep]>, _: Ended) -> Kept<'_, bool> {
        agreed()
    }

    fn release(&self, _: Lease, _: Arc<[DoneStep]>) -> Kept<'_, bool> {
        agreed()
    }

    fn release_after_panic(&self, _: Lease) -> Kept<'_, bool> {
        agreed()
    }

    fn deliver(&self, _: RunId, _: String, _: Option<Value>, _: Value) -> Kept<'_, bool> {
        Box::pin(ready(Ok(false)))
    }

    fn send(&self, _: Letter, _: Duration) -> Kept<'_, Sent> {
        Box::pin(ready(Ok(Sent::Ended)))
    }

    fn inbox(&self, _: RunId, _: u64) -> Kept<'_, Vec<(u64, Value)>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn read(&self, _: SpaceId, _: RunId) -> Kept<'_, Option<Run>> {
        Box::pin(ready(Ok(None)))
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn woken(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }

    fn cancelled(&self) -> BoxFuture<'_, Lease> {
        Box::pin(pending())
    }
}
