//! Bulkheads: how many calls of one tool run at once, so that a slow tool slows only itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::{CallError, ErrorKind, Message, ToolName};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

haft_core::templates! {
    FULL = "bulkhead.full",
        "{tool} already has {limit} calls running and as many waiting as it may; try again later",
        "{tool} 已有 {limit} 个调用在运行，等待队列也已满；请稍后重试";
}

/// So many calls may wait for each one that runs.
const WAITING_PER_PLACE: usize = 16;

/// The places of one tool.
pub(crate) struct Bulkhead {
    limit: u32,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Bulkhead {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, places: Arc::new(Semaphore::new(limit as usize)), waiting: AtomicUsize::new(0) }
    }

    /// Takes a place, waiting until `deadline` for one.
    pub(crate) async fn enter(
        &self,
        tool: &ToolName,
        deadline: Instant,
    ) -> Result<OwnedSemaphorePermit, CallError> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let waiting = Waiting::join(&self.waiting);
        if waiting.before >= self.limit as usize * WAITING_PER_PLACE {
            return Err(self.full(tool));
        }
        match timeout_at(deadline, self.places.clone().acquire_owned()).await {
            // A place that comes free as time runs out is of no use.
            Ok(Ok(place)) if Instant::now() < deadline => Ok(place),
            Ok(_) | Err(_) => Err(self.full(tool)),
        }
    }

    fn full(&self, tool: &ToolName) -> CallError {
        let message = Message::new(&FULL).with("tool", tool).with("limit", self.limit);
        CallError::new(ErrorKind::Overloaded, message).that_did_nothing()
    }
}

/// Counts one who waits for as long as it lives.
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
