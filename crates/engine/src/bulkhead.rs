//! Bulkheads: limit the concurrent calls of one tool, so that a slow tool delays only itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::{CallError, ErrorKind, Message, ToolName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

haft_core::templates! {
    FULL = "bulkhead.full",
        "{tool} has reached its limit of {limit} concurrent calls and its queue is full; try again later",
        "{tool} 已有 {limit} 个调用在运行，等待队列也已满；请稍后重试";
}

/// Maximum number of waiting calls per slot.
const MAX_WAITING_PER_SLOT: usize = 16;

/// The slots of one tool.
pub(crate) struct Bulkhead {
    limit: u32,
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Bulkhead {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, slots: Arc::new(Semaphore::new(limit as usize)), waiting: AtomicUsize::new(0) }
    }

    /// Acquires a slot, waiting for one until `deadline`.
    pub(crate) async fn enter(
        &self,
        tool: &ToolName,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, CallError> {
        if let Ok(slot) = self.slots.clone().try_acquire_owned() {
            return Ok(slot);
        }
        let waiting = Waiting::join(&self.waiting);
        if waiting.before >= self.limit as usize * MAX_WAITING_PER_SLOT {
            return Err(self.full(tool));
        }
        match timeout_at(deadline, self.slots.clone().acquire_owned()).await {
            // A slot that becomes free at the deadline is of no use.
            Ok(Ok(slot)) if Instant::now() < deadline => Ok(slot),
            Ok(_) | Err(_) => Err(self.full(tool)),
        }
    }

    fn full(&self, tool: &ToolName) -> CallError {
        let message = Message::new(&FULL).with("tool", tool).with("limit", self.limit);
        CallError::new(ErrorKind::Overloaded, message).that_did_nothing()
    }
}

/// Counts a waiting call until it is dropped.
struct Waiting<'a> {
    count: &'a AtomicUsize,
    before: usize,
}

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize) -> Self {
        Self { count, before: count.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
