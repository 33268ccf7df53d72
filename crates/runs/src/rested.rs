//! Runs that this process left at rest, where it knows all that they did: who sends one something soon need not have it read.
//!
//! Never the truth: what is taken from here goes on only if nobody has taken the run since.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::RunId;
use serde_json::Value;
use tokio::time::Instant;

use crate::run::{Run, WholeRun};

/// So much of them is remembered, as far as that can be told, for so long.
const MOST: usize = 64 << 20;
const LONGEST: Duration = Duration::from_secs(600);

/// One that is larger is not.
const LARGEST: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct Rested(Mutex<State>);

#[derive(Default)]
struct State {
    runs: HashMap<RunId, One>,
    /// The same, the oldest first.
    order: BTreeMap<u64, RunId>,
    size: usize,
    /// So many ever came.
    count: u64,
}

struct One {
    whole: WholeRun,
    size: usize,
    since: Instant,
    number: u64,
}

impl Rested {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, whole: WholeRun) {
        let (id, since, size) = (whole.run.id, Instant::now(), size_of(&whole));
        if size > LARGEST {
            return self.forget(id);
        }
        let mut state = self.state();
        let mut gone: Vec<One> = state.remove(id).into_iter().collect();
        state.count += 1;
        let number = state.count;
        state.size += size;
        state.order.insert(number, id);
        state.runs.insert(id, One { whole, size, since, number });
        while let Some(oldest) = state.order.first_key_value().map(|(_, id)| *id) {
            let is_old = |one: &One| since.duration_since(one.since) > LONGEST;
            if state.size <= MOST && !state.runs.get(&oldest).is_some_and(is_old) {
                break;
            }
            gone.extend(state.remove(oldest));
        }
        drop(state);
        // What is large is let go of when others may go on.
        drop(gone);
    }

    /// Takes one, if it is what is wanted.
    pub(crate) fn take(&self, id: RunId, is_wanted: impl FnOnce(&Run) -> bool) -> Option<WholeRun> {
        let mut state = self.state();
        let one = state.runs.get(&id)?;
        if one.since.elapsed() > LONGEST || !is_wanted(&one.whole.run) {
            return None;
        }
        state.remove(id).map(|one| one.whole)
    }

    pub(crate) fn forget(&self, id: RunId) {
        let gone = self.state().remove(id);
        drop(gone);
    }
}

impl State {
    fn remove(&mut self, id: RunId) -> Option<One> {
        let one = self.runs.remove(&id)?;
        self.order.remove(&one.number);
        self.size -= one.size;
        Some(one)
    }
}

/// About so many bytes it takes.
fn size_of(whole: &WholeRun) -> usize {
    let outputs = whole.steps.iter().map(|step| step.key.len() + step.output.as_deref().map_or(0, size));
    let said = size(&whole.run.input) + outputs.map(|size| size + OVERHEAD).sum::<usize>();
    // What a program remembers says the same once more.
    std::mem::size_of::<One>() + if whole.memo.is_none() { said } else { said * 2 }
}

/// What holds a value, besides itself.
const OVERHEAD: usize = 72;

fn size(value: &Value) -> usize {
    OVERHEAD
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
        }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_core::SpaceId;
    use uuid::Uuid;

    use super::*;
    use crate::memo::Memo;

    fn run(input: Value) -> Run {
        let (id, space) = (RunId::from(Uuid::now_v7()), SpaceId::from(Uuid::nil()));
        Run { input: Arc::new(input), ..Run::unkept(id, space, None, "chat", Value::Null) }
    }

    fn left(run: &Run) -> WholeRun {
        WholeRun::read(run.clone(), Vec::new())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_at_rest_is_there_once_for_a_while_and_not_without_bounds() {
        let rested = Rested::default();
        let take = |run: &Run| rested.take(run.id, |_| true).map(|whole| whole.run);
        let small = run(Value::Null);
        rested.put(left(&small));
        assert!(rested.take(small.id, |run| run.user.is_some()).is_none(), "it is somebody else's");
        assert_eq!(take(&small), Some(small.clone()));
        assert_eq!(take(&small), None, "it is in somebody's hands");
        rested.put(left(&small));
        rested.put(left(&small));
        rested.forget(small.id);
        assert_eq!(take(&small), None);
        assert_eq!(rested.state().size, 0);
        let huge = run(Value::from("x".repeat(LARGEST)));
        rested.put(left(&huge));
        assert_eq!(take(&huge), None, "too large");
        let large = run(Value::from("x".repeat(LARGEST / 2)));
        rested.put(left(&large));
        assert_eq!(take(&large), Some(large.clone()));
        rested.put(WholeRun { memo: Memo::of(()), ..left(&large) });
        assert_eq!(take(&large), None, "too large with what a program remembers of it");
        let many: Vec<Run> =
            (0..=MOST / (LARGEST / 2)).map(|_| run(Value::from("x".repeat(LARGEST / 2)))).collect();
        many.iter().for_each(|one| rested.put(left(one)));
        let is_there = |place: usize| rested.state().runs.contains_key(&many[place].id);
        assert_eq!((is_there(0), is_there(many.len() - 1)), (false, true), "the oldest goes");
        assert!(rested.state().size <= MOST);
        tokio::time::advance(LONGEST * 2).await;
        assert_eq!(take(&many[many.len() - 1]), None);
        rested.put(left(&small));
        let counts = |state: &State| (state.runs.len(), state.order.len());
        assert_eq!(counts(&rested.state()), (1, 1), "nothing old stays");
    }
}
