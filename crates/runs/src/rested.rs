//! Runs that this process left at rest, where it knows all that they did: who sends one something soon need not have it read.
//!
//! Never the truth: what is taken from here goes on only if nobody has taken the run since. What they did is kept as text:
//! read, it is hundreds of small pieces, and most of them would be far from any cache when somebody wants them again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::RunId;
use tokio::time::Instant;

use crate::journal::{DoneStep, DoneSteps};
use crate::run::{Run, Step, WholeRun};

/// So much of them is remembered, as far as that can be told, for so long.
const MOST: usize = 32 << 20;
const LONGEST: Duration = Duration::from_secs(600);

/// One that is larger is not.
const LARGEST: usize = 1 << 20;

/// A run as it was left.
pub(crate) struct Left {
    pub(crate) run: Run,
    pub(crate) written: Written,
}

/// What a run was given and did, as text: a part for each time that it went on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    /// Known once the run was left.
    input: Option<Arc<str>>,
    parts: Vec<DoneSteps>,
}

impl Written {
    /// Of a run that was read; nothing where that is too much.
    pub(crate) fn of(steps: impl Iterator<Item = Step>) -> Option<Self> {
        let mut written = Self::default();
        let mut size = 0;
        for Step { key, effect, output, .. } in steps {
            let done = DoneSteps::of(&[DoneStep { key, effect, output: output.unwrap_or_default() }]);
            size += done.text().len();
            if size > LARGEST {
                return None;
            }
            written = written.and(done);
        }
        Some(written)
    }

    /// With what was done after it.
    pub(crate) fn and(mut self, done: DoneSteps) -> Self {
        self.parts.push(done);
        self
    }

    fn read(&self) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        for done in &self.parts {
            steps.extend(DoneSteps::read(done.text()).ok()?.into_iter().map(Step::done));
        }
        Some(steps)
    }

    fn size(&self) -> usize {
        let parts: usize = self.parts.iter().map(|done| done.text().len() + OVERHEAD).sum();
        parts + self.input.as_deref().map_or(0, str::len)
    }
}

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
    /// Without its input.
    run: Run,
    written: Written,
    size: usize,
    since: Instant,
    number: u64,
}

impl Rested {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, Left { run, mut written }: Left) {
        let (id, since) = (run.id, Instant::now());
        written.input.get_or_insert_with(|| run.input.to_string().into());
        let size = size_of::<One>() + OVERHEAD * 8 + written.size();
        if size > LARGEST {
            return self.forget(id);
        }
        let run = Run { input: Arc::default(), ..run };
        let mut state = self.state();
        let mut gone: Vec<One> = state.remove(id).into_iter().collect();
        state.count += 1;
        let number = state.count;
        state.size += size;
        state.order.insert(number, id);
        state.runs.insert(id, One { run, written, size, since, number });
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
        if one.since.elapsed() > LONGEST || !is_wanted(&one.run) {
            return None;
        }
        let One { run, written, .. } = state.remove(id)?;
        drop(state);
        let input = serde_json::from_str(written.input.as_deref()?).ok()?;
        let run = Run { input: Arc::new(input), ..run };
        Some(WholeRun { run, steps: written.read()?, written: Some(written) })
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

/// What a piece of memory takes, besides what is in it.
const OVERHEAD: usize = 32;

#[cfg(test)]
mod tests {
    use haft_core::{Effect, SpaceId};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn run(input: Value) -> Run {
        let (id, space) = (RunId::from(Uuid::now_v7()), SpaceId::from(Uuid::nil()));
        Run { input: Arc::new(input), ..Run::unkept(id, space, None, "chat", Value::Null) }
    }

    fn left(run: &Run) -> Left {
        Left { run: run.clone(), written: Written::default() }
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

    #[test]
    fn what_it_did_is_read_as_it_was_part_after_part() {
        let done = |key: &str, output: Value| DoneStep {
            key: key.to_owned(),
            effect: Effect::Idempotent,
            output: Arc::new(output),
        };
        // As deep as a value may be by itself.
        let deep = (0..120).fold(json!("é\n\"x\""), |inner, _| json!([inner]));
        let (first, later) = (done("1.setup", deep), done("2.end", json!({"z": 1, "a": 1.5})));
        let one = |step: &DoneStep| DoneSteps::of(std::slice::from_ref(step));
        let written = Written::default().and(one(&first)).and(DoneSteps::of(&[])).and(one(&later));
        let run = run(json!({"agent": "é"}));
        let rested = Rested::default();
        rested.put(Left { run: run.clone(), written });
        let whole = rested.take(run.id, |_| true).expect("it is at hand");
        assert_eq!(whole.run, run);
        assert_eq!(whole.steps, [Step::done(first.clone()), Step::done(later.clone())]);
        let read = Written::of(whole.steps.into_iter()).and_then(|written| written.read());
        assert_eq!(read, Some(vec![Step::done(first), Step::done(later)]));
        let huge = Step::done(done("1.1", Value::from("x".repeat(LARGEST))));
        assert!(Written::of([huge].into_iter()).is_none());
    }
}
