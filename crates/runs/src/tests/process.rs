//! A simulated process: a worker whose journal and effects stop at random points, as a crash would stop them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, RunId, SpaceId};
use serde_json::Value;
use tokio::sync::Notify;

use crate::testing::MemoryJournal;
use crate::*;

/// Random decisions from a seed.
#[derive(Clone)]
pub(super) struct Dice(Arc<AtomicU64>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)))
    }

    /// A number below `limit`.
    pub(super) fn roll(&self, limit: u64) -> u64 {
        // xorshift64*
        let mut state = self.0.load(Ordering::Relaxed);
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.store(state, Ordering::Relaxed);
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// One process from its start to its crash. Everything it does after the crash stops without an effect.
#[derive(Clone)]
pub(super) struct Process {
    dice: Dice,
    is_crashed: Arc<AtomicBool>,
    pub(super) crashed: Arc<Notify>,
    /// One of this many operations crashes the process. 0 for none.
    crash_rate: u64,
}

impl Process {
    pub(super) fn new(dice: &Dice, crash_rate: u64) -> Self {
        Self { dice: dice.clone(), is_crashed: Arc::default(), crashed: Arc::default(), crash_rate }
    }

    /// A point at which the process may crash.
    pub(super) async fn point(&self) {
        if self.crash_rate > 0 && self.dice.roll(self.crash_rate) == 0 {
            self.is_crashed.store(true, Ordering::Relaxed);
            self.crashed.notify_one();
        }
        if self.is_crashed.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

/// The journal as one process reaches it: a request or its response may be lost.
pub(super) struct ProcessJournal {
    pub(super) inner: MemoryJournal,
    pub(super) process: Process,
}

impl ProcessJournal {
    fn reach<'a, T: Send + 'a>(&'a self, request: JournalFuture<'a, T>) -> JournalFuture<'a, T> {
        Box::pin(async move {
            let unavailable = || CallError::text(ErrorKind::Unavailable, "the journal is unavailable");
            let has_faults = self.process.crash_rate > 0;
            self.process.point().await;
            if has_faults && self.process.dice.roll(20) == 0 {
                return Err(unavailable());
            }
            let response = request.await;
            self.process.point().await;
            if has_faults && self.process.dice.roll(20) == 0 {
                return Err(unavailable());
            }
            response
        })
    }
}

impl Journal for ProcessJournal {
    fn start(&self, new: Arc<NewRun>, lease: Duration) -> JournalFuture<'_, StartedRun> {
        self.reach(self.inner.start(new, lease))
    }

    fn claim(&self, worker: WorkerId, limit: usize, lease: Duration) -> JournalFuture<'_, Claims> {
        self.reach(self.inner.claim(worker, limit, lease))
    }

    fn renew(&self, worker: WorkerId, leases: Vec<Lease>, lease: Duration) -> JournalFuture<'_, Renewal> {
        self.reach(self.inner.renew(worker, leases, lease))
    }

    fn write(&self, lease: Lease, writes: Arc<StepWrites>) -> JournalFuture<'_, bool> {
        self.reach(self.inner.write(lease, writes))
    }

    fn progress(&self, lease: Lease, progress: Value) -> JournalFuture<'_, bool> {
        self.reach(self.inner.progress(lease, progress))
    }

    fn suspend(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        suspension: Suspension,
    ) -> JournalFuture<'_, bool> {
        self.reach(self.inner.suspend(lease, writes, suspension))
    }

    fn finish(&self, lease: Lease, writes: Arc<StepWrites>, end: RunEnd) -> JournalFuture<'_, bool> {
        self.reach(self.inner.finish(lease, writes, end))
    }

    fn release(
        &self,
        lease: Lease,
        writes: Arc<StepWrites>,
        reason: ReleaseReason,
    ) -> JournalFuture<'_, bool> {
        self.reach(self.inner.release(lease, writes, reason))
    }

    fn read_steps(&self, run: RunId, keys: Vec<String>) -> JournalFuture<'_, Vec<Step>> {
        self.reach(self.inner.read_steps(run, keys))
    }

    fn deliver(
        &self,
        run: RunId,
        key: String,
        expected: Option<Value>,
        output: Value,
    ) -> JournalFuture<'_, bool> {
        self.reach(self.inner.deliver(run, key, expected, output))
    }

    fn request_cancel(&self, run: RunId) -> JournalFuture<'_, bool> {
        self.reach(Journal::request_cancel(&self.inner, run))
    }

    fn send(&self, message: NewMessage, lease: Duration) -> JournalFuture<'_, Delivery> {
        self.reach(self.inner.send(message, lease))
    }

    fn inbox(&self, run: RunId, after: u64) -> JournalFuture<'_, Vec<(u64, Value)>> {
        self.reach(self.inner.inbox(run, after))
    }

    fn read(&self, space: SpaceId, run: RunId) -> JournalFuture<'_, Option<Run>> {
        self.reach(self.inner.read(space, run))
    }

    fn work_available(&self) -> BoxFuture<'_, ()> {
        self.inner.work_available()
    }

    fn signal(&self) -> BoxFuture<'_, RunSignal> {
        // A crashed process takes no signals from the next one.
        match self.process.is_crashed.load(Ordering::Relaxed) {
            true => Box::pin(std::future::pending()),
            false => self.inner.signal(),
        }
    }
}

/// Counts the effects of steps outside of the journal.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<std::collections::HashMap<(RunId, String), u32>>>);

impl Recorder {
    pub(super) fn effect(&self, run: RunId, key: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry((run, key.to_owned())).or_default() += 1;
    }

    pub(super) fn count(&self, run: RunId, key: &str) -> u32 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&(run, key.to_owned())).copied().unwrap_or_default()
    }
}
