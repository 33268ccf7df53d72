//! A journal in memory. Its clock is tokio's, so that tests with paused time take no real time. A test may make writes
//! fail, in both ways in which a database fails: the write is lost, or it is persisted although an error is reported.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, RunId, SpaceId};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::time::Instant;

use super::memory_state::{Effects, MemoryState};
use crate::journal::{
    Claims, Delivery, Journal, JournalFuture, NewMessage, ReleaseReason, RunSignal, Suspension,
};
use crate::run::{Lease, NewRun, Renewal, Run, RunEnd, StartedRun, WorkerId};
use crate::step::{Step, StepWrites};

/// How a write fails. Both report that the journal is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFault {
    /// The write is not persisted.
    Lost,
    /// The write is persisted.
    Persisted,
}

type FaultSource = Box<dyn FnMut(&'static str) -> Option<WriteFault> + Send>;

/// A journal in memory. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct MemoryJournal(Arc<Inner>);

struct Inner {
    state: Mutex<MemoryState>,
    faults: Mutex<Option<FaultSource>>,
    started: Instant,
    work: Notify,
    signals: mpsc::UnboundedSender<RunSignal>,
    received: AsyncMutex<mpsc::UnboundedReceiver<RunSignal>>,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        let (signals, received) = mpsc::unbounded_channel();
        Self(Arc::new(Inner {
            state: Mutex::default(),
            faults: Mutex::default(),
            started: Instant::now(),
            work: Notify::new(),
            signals,
            received: AsyncMutex::new(received),
        }))
    }
}

impl MemoryJournal {
    /// Sets a function that is called before each write with its name, and decides whether it fails.
    pub fn fail_writes(&self, faults: impl FnMut(&'static str) -> Option<WriteFault> + Send + 'static) {
        *self.0.faults.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(faults));
    }

    /// Returns the steps of a run in the order in which they began.
    pub fn steps(&self, run: RunId) -> Vec<Step> {
        self.state().steps(run)
    }

    /// Returns all runs.
    pub fn runs(&self) -> Vec<Run> {
        self.state().runs()
    }

    /// The journal's clock.
    pub fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.0.started.elapsed().as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_microsecond(passed).unwrap_or(Timestamp::MAX)
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies workers after a write.
    fn apply(&self, effects: Effects) {
        if effects.wakes {
            self.0.work.notify_one();
        }
        for signal in effects.signals {
            // The receiver lives as long as the sender.
            let _ = self.0.signals.send(signal);
        }
    }

    /// Executes a write, unless it is to be lost.
    fn write<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        write: impl FnOnce(&mut MemoryState, Timestamp, &mut Effects) -> Result<T, CallError> + Send + 'a,
    ) -> JournalFuture<'a, T> {
        Box::pin(async move {
            // Another task may run between the request and the write, as with a database.
            tokio::task::yield_now().await;
            let fault = self
                .0
                .faults
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .as_mut()
                .and_then(|faults| faults(name));
            let unavailable = || CallError::text(ErrorKind::Unavailable, format!("the write {name} failed"));
            if fault == Some(WriteFault::Lost) {
                return Err(unavailable());
            }
            let mut effects = Effects::default();
            let written = write(&mut self.state(), self.now(), &mut effects);
            self.apply(effects);
            match fault {
                Some(_) => Err(unavailable()),
                None => written,
            }
        })
    }
}

impl Journal for MemoryJournal {
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> JournalFuture<'_, StartedRun> {
        self.write("start", move |state, now, effects| state.start(&new, now, lease, effects))
    }

    fn claim(&self, worker: WorkerId, limit: usize, lease: Duration) -> JournalFuture<'_, Claims> {
        self.write("claim", move |state, now, _| Ok(state.claim(worker, limit, now, lease)))
    }

    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> JournalFuture<'_, Renewal> {
        self.write("renew", move |state, now, effects| Ok(state.renew(worker, &leases, now, lease, effects)))
    }

    fn write(&self, lease: Lease, writes: Arc<StepWrites>) -> JournalFuture<'_, bool> {
        self.write("write", move |state, now, _| Ok(state.write(lease, &writes, now)))
    }

    fn progress(&self, lease: Lease, progress: Value) -> JournalFuture<'_, bool> {
        self.write("progress", move |state, _, _| Ok(state.progress(lease, progress)))
    }

    fn suspend(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        suspension: Suspension,
    ) -> JournalFuture<'_, bool> {
        self.write("suspend", move |state, now, effects| {
            Ok(state.suspend(lease, &writes, &suspension, now, effects))
        })
    }

    fn finish(&self, lease: Lease, writes: Arc<StepWrites>, end: RunEnd) -> JournalFuture<'_, bool> {
        self.write("finish", move |state, now, effects| Ok(state.finish(lease, &writes, &end, now, effects)))
    }

    fn release(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        reason: ReleaseReason,
    ) -> JournalFuture<'_, bool> {
        self.write("release", move |state, now, effects| {
            Ok(state.release(lease, &writes, reason, now, effects))
        })
    }

    fn read_steps(&self, run: RunId, keys: Vec<String>) -> JournalFuture<'_, Vec<Step>> {
        self.write("read_steps", move |state, now, _| Ok(state.read_steps(run, &keys, now)))
    }

    fn deliver(
        &self,
        run: RunId,
        key: String,
        expected: Option<Value>,
        output: Value,
    ) -> JournalFuture<'_, bool> {
        self.write("deliver", move |state, now, effects| {
            Ok(state.deliver(run, &key, expected.as_ref(), output, now, effects))
        })
    }

    fn request_cancel(&self, run: RunId) -> JournalFuture<'_, bool> {
        self.write("request_cancel", move |state, now, effects| Ok(state.request_cancel(run, now, effects)))
    }

    fn send(&self, message: NewMessage, lease: Duration) -> JournalFuture<'_, Delivery> {
        self.write("send", move |state, now, effects| state.send(message, now, lease, effects))
    }

    fn inbox(&self, run: RunId, after: u64) -> JournalFuture<'_, Vec<(u64, Value)>> {
        self.write("inbox", move |state, _, _| Ok(state.inbox(run, after)))
    }

    fn read(&self, space: SpaceId, run: RunId) -> JournalFuture<'_, Option<Run>> {
        self.write("read", move |state, _, _| Ok(state.read(space, run)))
    }

    fn work_available(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.work.notified())
    }

    fn signal(&self) -> BoxFuture<'_, RunSignal> {
        Box::pin(async {
            match self.0.received.lock().await.recv().await {
                Some(signal) => signal,
                None => std::future::pending().await,
            }
        })
    }
}
