//! The journal of ephemeral runs, which are not stored: it accepts every write and stores nothing.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, RunId, SpaceId};
use serde_json::Value;

use crate::journal::{
    Claims, Delivery, Journal, JournalFuture, NewMessage, ReleaseReason, RunSignal, Suspension,
};
use crate::run::{Lease, NewRun, Renewal, Run, RunEnd, StartedRun, WorkerId};
use crate::step::{Step, StepWrites};

pub(crate) struct EphemeralJournal;

fn respond<'a, T: Send + 'a>(value: T) -> JournalFuture<'a, T> {
    Box::pin(ready(Ok(value)))
}

impl Journal for EphemeralJournal {
    fn start(&self, _: Arc<NewRun>, _: Duration) -> JournalFuture<'_, StartedRun> {
        Box::pin(ready(Err(CallError::text(ErrorKind::Internal, "an ephemeral run cannot be started"))))
    }

    fn claim(&self, _: WorkerId, _: usize, _: Duration) -> JournalFuture<'_, Claims> {
        respond(Claims::default())
    }

    fn renew(&self, _: WorkerId, _: Vec<Lease>, _: Duration) -> JournalFuture<'_, Renewal> {
        respond(Renewal::default())
    }

    fn write(&self, _: Lease, _: Arc<StepWrites>) -> JournalFuture<'_, bool> {
        respond(true)
    }

    fn progress(&self, _: Lease, _: Value) -> JournalFuture<'_, bool> {
        respond(true)
    }

    fn suspend(&self, _: Lease, _: Arc<StepWrites>, _: Suspension) -> JournalFuture<'_, bool> {
        respond(true)
    }

    fn finish(&self, _: Lease, _: Arc<StepWrites>, _: RunEnd) -> JournalFuture<'_, bool> {
        respond(true)
    }

    fn release(&self, _: Lease, _: Arc<StepWrites>, _: ReleaseReason) -> JournalFuture<'_, bool> {
        respond(true)
    }

    fn read_steps(&self, _: RunId, _: Vec<String>) -> JournalFuture<'_, Vec<Step>> {
        respond(Vec::new())
    }

    fn deliver(&self, _: RunId, _: String, _: Option<Value>, _: Value) -> JournalFuture<'_, bool> {
        respond(false)
    }

    fn request_cancel(&self, _: RunId) -> JournalFuture<'_, bool> {
        respond(false)
    }

    fn send(&self, _: NewMessage, _: Duration) -> JournalFuture<'_, Delivery> {
        respond(Delivery::Ended)
    }

    fn inbox(&self, _: RunId, _: u64) -> JournalFuture<'_, Vec<(u64, Value)>> {
        respond(Vec::new())
    }

    fn read(&self, _: SpaceId, _: RunId) -> JournalFuture<'_, Option<Run>> {
        respond(None)
    }

    fn work_available(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }

    fn signal(&self) -> BoxFuture<'_, RunSignal> {
        Box::pin(pending())
    }
}
