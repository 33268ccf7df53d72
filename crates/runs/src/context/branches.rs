//! Concurrent branches of a run: a set that may grow while it is drained, with a limit on the branches that execute at
//! a time. A branch that waits for another party uses no slot and does not stop the others.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft_core::BoxFuture;

use super::RunContext;
use super::activity::SetActivity;

/// Branches that return values of one type.
pub struct Branches<'a, T> {
    context: &'a RunContext,
    limit: usize,
    queued: VecDeque<BoxFuture<'a, T>>,
    started: FuturesUnordered<BoxFuture<'a, T>>,
    activity: Arc<SetActivity>,
}

impl RunContext {
    /// Creates an empty set of branches. At most `limit` of them execute at a time.
    pub fn branches<T>(&self, limit: usize) -> Branches<'_, T> {
        let activity = Arc::default();
        Branches {
            context: self,
            limit: limit.max(1),
            queued: VecDeque::new(),
            started: FuturesUnordered::new(),
            activity,
        }
    }
}

impl<'a, T> Branches<'a, T> {
    /// Adds a branch. It must use the context that it is given, so that its waits free its slot.
    pub fn spawn<F>(&mut self, branch: impl FnOnce(RunContext) -> F)
    where
        F: Future<Output = T> + Send + 'a,
    {
        let context = RunContext { set: Some(self.activity.clone()), ..self.context.clone() };
        self.queued.push_back(Box::pin(branch(context)));
    }

    /// Returns the result of the next branch that ends. Returns `None` if there are no branches left.
    pub async fn next(&mut self) -> Option<T> {
        let _paused = self.context.pause();
        loop {
            while self.activity.running() < self.limit
                && let Some(branch) = self.queued.pop_front()
            {
                self.activity.begin();
                self.context.shared.activity.begin();
                self.started.push(branch);
            }
            if self.started.is_empty() {
                return None;
            }
            tokio::select! {
                biased;
                Some(result) = self.started.next() => {
                    self.activity.end();
                    self.context.shared.activity.end(1);
                    return Some(result);
                }
                () = self.activity.changed() => {}
            }
        }
    }
}

impl<T> Drop for Branches<'_, T> {
    fn drop(&mut self) {
        let count = self.started.len();
        // Branches that wait count as running again when they are dropped.
        self.started.clear();
        if count > 0 {
            self.context.shared.activity.end(count);
        }
    }
}
