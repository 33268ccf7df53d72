//! Counts the parts of a run that can proceed. When there are none, the run is idle: each part waits for another party.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::RunContext;

/// The parts of one run that can proceed. The program itself is the first one.
pub(super) struct Activity {
    running: AtomicUsize,
    idle: Notify,
}

impl Default for Activity {
    fn default() -> Self {
        Self { running: AtomicUsize::new(1), idle: Notify::new() }
    }
}

impl Activity {
    pub(super) fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self, count: usize) {
        if self.running.fetch_sub(count, Ordering::Relaxed) == count {
            self.idle.notify_one();
        }
    }

    async fn idle(&self) {
        while self.running.load(Ordering::Relaxed) > 0 {
            self.idle.notified().await;
        }
    }
}

/// The branches of one set that can proceed.
#[derive(Default)]
pub(super) struct SetActivity {
    running: AtomicUsize,
    changed: Notify,
}

impl SetActivity {
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    /// Waits until a branch waits or continues.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Marks a part of a run as waiting while it exists.
pub(super) struct Paused<'a> {
    activity: &'a Activity,
    set: Option<&'a Arc<SetActivity>>,
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.activity.begin();
        self.set.inspect(|set| set.begin());
    }
}

impl RunContext {
    /// Marks this part of the run as waiting.
    pub(super) fn pause(&self) -> Paused<'_> {
        let (activity, set) = (&self.shared.activity, self.set.as_ref());
        set.inspect(|set| set.end());
        activity.end(1);
        Paused { activity, set }
    }

    /// Waits until every part of the run waits for another party.
    pub async fn idle(&self) {
        self.shared.activity.idle().await;
    }
}
