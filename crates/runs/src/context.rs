//! What a program sees of its run: steps that happen once, waits that outlive the process, and who wants it to end.
//!
//! A program is run from its top each time the run is claimed. A step that its journal has answers from there, so
//! that the program goes on where it was; whatever it does outside of steps may happen again.

mod note;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use haft_core::{CallError, Effect, ErrorKind, Message, Progress};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::begun::Unwritten;
use crate::call::CALLBACK;
use crate::failpoint::Failpoints;
use crate::journal::{DoneStep, DoneSteps, Journal};
use crate::rested::{Left, Written};
use crate::run::{Held, Lease, Run, RunStatus, Step, StepState, Wait};
use crate::unkept::Unkept;

haft_core::templates! {
    NO_ACCESS = "runs.noAccess",
        "The user who started this may no longer call tools in this space, so nothing was sent. Start it again as a user with access.",
        "发起者已无权在此空间调用工具，因此未发送任何内容；请由有权限的用户重新发起";
}

/// What may be done again waits so long to be noted together with what follows it: a run whose steps take less is
/// kept in one write, and one that takes longer is no slower for it.
const GATHERING: Duration = Duration::from_millis(20);

/// What steps are called that take what was sent to the run.
pub const INBOX: &str = "inbox";

/// How often a running program may say how far it has come.
const PROGRESS: Duration = Duration::from_millis(500);

/// Why a program stops before it has ended. It passes this on with `?`.
#[derive(Debug)]
pub enum Halt {
    /// It waits for somebody else, and takes no memory meanwhile.
    Waiting(Vec<Wait>),
    /// A step may have had its effect, and nobody knows.
    Unknown { step: String },
    /// What a step gave is not to be kept. The program says what follows from it.
    Undone,
    /// Another worker holds the run by now.
    Lost,
    /// This process cannot go on with it, and others may.
    GivenBack,
    /// We failed.
    Failed(CallError),
}

impl From<CallError> for Halt {
    fn from(error: CallError) -> Self {
        // What is away now may be there in a moment.
        if error.kind() == ErrorKind::Unavailable { Self::GivenBack } else { Self::Failed(error) }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Came(Value),
    /// Nobody answered in time.
    Expired,
}

/// Something to be done once, together with others.
pub struct Planned<F> {
    pub key: String,
    pub effect: Effect,
    pub work: F,
}

/// A run in the hands of its program.
pub struct RunContext {
    journal: Arc<dyn Journal>,
    run: Run,
    lease: Lease,
    /// What is not kept yet: the run itself, or that it is ours.
    unwritten: Option<Unwritten>,
    steps: HashMap<String, Step>,
    /// Done, and not yet noted: they are noted together with what comes next.
    unnoted: Vec<DoneStep>,
    /// Until then they may wait for that.
    note_by: Option<Instant>,
    /// Steps of which certainly nothing became, and that may be done as if they had not begun.
    undone: Vec<String>,
    cancel: CancellationToken,
    /// The program did what whoever wanted it to end wanted.
    cancel_heard: bool,
    /// Whether anybody keeps what it does.
    is_kept: bool,
    /// It was let go of until something is sent to it.
    is_at_rest: bool,
    /// The run's user lost the right to call tools before this claim.
    is_denied: bool,
    /// What it had done when it was taken up, as text, where that is known.
    written: Option<Written>,
    /// What it did since and is noted, where that is.
    noted: Vec<DoneStep>,
    /// The same as text, where all of it was kept at once.
    at_once: Option<DoneSteps>,
    pub(crate) failpoints: Arc<Failpoints>,
}

impl RunContext {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        held: Held,
        cancel: CancellationToken,
        failpoints: Arc<Failpoints>,
    ) -> Self {
        let Held { run, lease, steps, is_denied } = held;
        let steps = steps.into_iter().map(|step| (step.key.clone(), step)).collect();
        Self {
            journal,
            run,
            lease,
            unwritten: None,
            steps,
            unnoted: Vec::new(),
            note_by: None,
            undone: Vec::new(),
            cancel,
            cancel_heard: false,
            is_kept: true,
            is_at_rest: false,
            is_denied,
            written: None,
            noted: Vec::new(),
            at_once: None,
            failpoints,
        }
    }

    /// A run that is carried on before that is kept.
    pub(crate) fn unwritten(self, mut unwritten: Option<Unwritten>) -> Self {
        let note_by = unwritten.is_some().then(|| Instant::now() + GATHERING);
        let written = unwritten.as_mut().and_then(|unwritten| unwritten.written.take());
        Self { unwritten, note_by, written, ..self }
    }

    /// A run that nobody keeps: what it does is forgotten with it.
    pub fn unkept(run: Run, cancel: CancellationToken) -> Self {
        let lease = Lease { run: run.id, epoch: run.epoch };
        let held = Held::authorized(run, lease, Vec::new());
        Self { is_kept: false, ..Self::new(Arc::new(Unkept), held, cancel, Arc::default()) }
    }

    /// The run as it was left, where it is at rest and all of it is known here.
    pub(crate) fn left(self) -> Option<Left> {
        let Self { run, lease, steps, written, noted, at_once, is_at_rest, .. } = self;
        // What others end may have ended in the journal since.
        let is_known = |step: &Step| step.state == StepState::Done && !step.is_expired;
        if !is_at_rest || !steps.values().all(is_known) {
            return None;
        }
        let written = match written {
            Some(written) => written.and(at_once.unwrap_or_else(|| DoneSteps::of(&noted))),
            None => Written::of(steps.into_values())?,
        };
        let (status, waiting_for) = (RunStatus::Waiting, Some(INBOX.to_owned()));
        let run = Run {
            status,
            waiting_for,
            epoch: lease.epoch,
            deaths: 0,
            is_cancel_asked: false,
            due_at: None,
            ..run
        };
        Some(Left { run, written })
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Ends a step of a run that nobody keeps.
    pub fn fulfil(&mut self, key: &str, output: Value) {
        let output = Some(Arc::new(output));
        let step = Step { output, ..Step::begun(key, Effect::Read, StepState::Done) };
        self.steps.insert(key.to_owned(), step);
    }

    /// Cancelled when somebody wants the run to end, or this process may not go on with it.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Returns why nothing may be sent for the run's user: the user lost the right to call tools.
    pub fn denial(&self) -> Option<CallError> {
        self.is_denied.then(|| CallError::new(ErrorKind::Denied, Message::new(&NO_ACCESS)))
    }

    /// Says that what somebody wanted to end has ended, and that the run goes on.
    pub fn hear_cancel(&mut self) {
        self.cancel_heard = true;
    }

    /// What a step gave, where its journal has that.
    pub fn given(&self, key: &str) -> Option<&Value> {
        self.shared(key).map(Arc::as_ref)
    }

    /// The same, for who holds on to it.
    pub fn shared(&self, key: &str) -> Option<&Arc<Value>> {
        self.steps.get(key).filter(|step| step.state == StepState::Done)?.output.as_ref()
    }

    /// Whether it is carried on before that is kept.
    pub fn is_unwritten(&self) -> bool {
        self.unwritten.is_some()
    }

    /// A step of this name, where it was ever begun, by whomever it is ended.
    pub fn known(&self, key: &str) -> Option<&Step> {
        self.steps.get(key)
    }

    /// All that were, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Step> {
        self.steps.values()
    }

    /// Whether a step may have had its effect when a process died, and may not be done again.
    pub fn is_lost(&self, key: &str) -> bool {
        let step = self.steps.get(key);
        step.is_some_and(|step| step.state == StepState::Reserved && !step.effect.is_repeatable())
    }

    /// Whether a step may have had an effect that nobody knows of.
    pub(crate) fn lost_step(&self) -> Option<&Step> {
        self.steps.values().find(|step| step.state == StepState::Reserved && !step.effect.is_repeatable())
    }

    /// Whether somebody may still tell what became of such a step.
    pub(crate) fn may_hear(&self) -> bool {
        self.steps.values().any(|step| step.waits_for.as_deref() == Some(CALLBACK))
    }

    /// Does something once. What it gives is kept, and given again whenever the program comes by here.
    ///
    /// A step that may have begun when a process died is done again where its effect allows that; else nobody
    /// knows what became of it, and the run ends as such.
    pub async fn step<F>(
        &mut self,
        key: &str,
        effect: Effect,
        work: impl FnOnce() -> F,
    ) -> Result<Arc<Value>, Halt>
    where
        F: Future<Output = Result<Value, Halt>>,
    {
        self.step_with(key, effect, Vec::new(), work).await
    }

    /// The same for a step whose effect may end others: a request that is answered by a callback.
    pub async fn step_with<F>(
        &mut self,
        key: &str,
        effect: Effect,
        waits: Vec<Wait>,
        work: impl FnOnce() -> F,
    ) -> Result<Arc<Value>, Halt>
    where
        F: Future<Output = Result<Value, Halt>>,
    {
        if let Some(step) = self.steps.get(key) {
            match step.state {
                StepState::Done => return Ok(step.output.clone().unwrap_or_default()),
                StepState::Unknown => return Err(Halt::Unknown { step: key.to_owned() }),
                StepState::Reserved if !effect.is_repeatable() => {
                    return Err(Halt::Unknown { step: key.to_owned() });
                }
                StepState::Reserved | StepState::Waiting => {}
            }
        }
        if effect != Effect::Read || !waits.is_empty() {
            self.write().await?;
        }
        if !effect.is_repeatable() || !waits.is_empty() {
            let (lease, done) = (self.lease, self.unnoted());
            self.keep(|journal| journal.reserve(lease, key.to_owned(), effect, done.clone(), waits.clone()))
                .await?;
            self.noted();
            self.steps.insert(key.to_owned(), Step::begun(key, effect, StepState::Reserved));
            for Wait { key, for_what, shown, .. } in waits {
                let begun = Step::begun(&key, Effect::Read, StepState::Waiting);
                let step = Step { waits_for: Some(for_what), shown, ..begun };
                self.steps.entry(key).or_insert(step);
            }
            self.failpoints.pass("reserved");
        }
        self.failpoints.pass("before_send");
        // What may be done again need not wait until the one before is noted.
        let output = Arc::new(self.noting(work()).await??);
        self.failpoints.pass("after_reply");
        self.done(key, effect, output.clone());
        Ok(output)
    }

    /// Does several things once, all at the same time. What each gave, in their order; nothing for one that may
    /// have had its effect when a process died, of which nobody knows.
    pub async fn together<F>(&mut self, planned: Vec<Planned<F>>) -> Result<Vec<Option<Arc<Value>>>, Halt>
    where
        F: Future<Output = Result<Value, Halt>>,
    {
        let mut given: Vec<Option<Arc<Value>>> = vec![None; planned.len()];
        let mut under_way = FuturesUnordered::new();
        let keys: Vec<(String, Effect)> =
            planned.iter().map(|planned| (planned.key.clone(), planned.effect)).collect();
        if keys.iter().any(|(_, effect)| *effect == Effect::Idempotent) {
            // Others know such a call by the name it was given: they are to hear no second one for it.
            self.note().await?;
        }
        for (place, Planned { key, effect, work }) in planned.into_iter().enumerate() {
            match self.steps.get(&key).map(|step| (step.state, step.effect)) {
                Some((StepState::Done, _)) => {
                    given[place] = self.steps.get(&key).and_then(|step| step.output.clone());
                    continue;
                }
                Some((StepState::Unknown, _)) => continue,
                // What it was when it began is what counts.
                Some((StepState::Reserved, begun)) if !begun.is_repeatable() => continue,
                Some((StepState::Reserved | StepState::Waiting, _)) | None => {}
            }
            if !effect.is_repeatable() {
                self.write().await?;
                let (lease, done) = (self.lease, self.unnoted());
                self.keep(|journal| journal.reserve(lease, key.clone(), effect, done.clone(), Vec::new()))
                    .await?;
                self.noted();
                self.steps.insert(key.clone(), Step::begun(&key, effect, StepState::Reserved));
                self.failpoints.pass("reserved");
            }
            under_way.push(async move { (place, work.await) });
        }
        self.failpoints.pass("before_send");
        let mut come = VecDeque::new();
        // What has come is noted while the others are still under way: none of them may take it along.
        while let Some((place, output)) = self.noting_next(&mut under_way, &mut come).await? {
            let output = Arc::new(output?);
            self.failpoints.pass("after_reply");
            if let Some((key, effect)) = keys.get(place) {
                self.done(key, *effect, output.clone());
            }
            if let Some(given) = given.get_mut(place) {
                *given = Some(output);
            }
        }
        Ok(given)
    }

    /// Waits until somebody ends a step, however long that takes. The process may end meanwhile.
    pub async fn wait(&mut self, wait: Wait) -> Result<Answer, Halt> {
        match self.steps.get(&wait.key) {
            Some(step) if step.state == StepState::Done => Ok(if step.is_expired {
                Answer::Expired
            } else {
                Answer::Came(step.output.as_deref().cloned().unwrap_or_default())
            }),
            Some(_) | None => Err(Halt::Waiting(vec![wait])),
        }
    }

    /// What was sent to the run since it last asked, in order; waits for something where there is nothing yet.
    /// Nothing, where none came in time.
    pub async fn receive(&mut self, name: &str, at_most: Option<Duration>) -> Result<Vec<Value>, Halt> {
        let key = format!("{INBOX}:{name}");
        if let Some(step) = self.steps.get(&key).filter(|step| step.state == StepState::Done) {
            let heard = step.output.as_ref().and_then(|output| output["messages"].as_array());
            return Ok(heard.cloned().unwrap_or_default());
        }
        let heard = |step: &Step| step.output.as_ref()?["upTo"].as_u64();
        let inbox = self.steps.values().filter(|step| step.key.starts_with(INBOX));
        let after = inbox.filter_map(heard).max().unwrap_or_default();
        let came = match &mut self.unwritten {
            None => self.journal.inbox(self.run.id, after).await?,
            // Nobody else sent anything: of a new one nobody knows, and one that was at rest has heard all.
            Some(unwritten) => unwritten.letter.take().map(|letter| (after, letter)).into_iter().collect(),
        };
        let Some((last, _)) = came.last() else {
            let shown = Some(json!({"after": after}));
            return Err(Halt::Waiting(vec![Wait { key, for_what: INBOX.to_owned(), shown, at_most }]));
        };
        let up_to = *last;
        let messages: Vec<Value> = came.into_iter().map(|(_, message)| message).collect();
        self.done(&key, Effect::Read, Arc::new(json!({"upTo": up_to, "messages": messages})));
        Ok(messages)
    }

    /// Keeps a value by a name, in place of the one that was kept; it is noted together with what comes next.
    pub fn put(&mut self, key: &str, value: Value) {
        self.done(key, Effect::Read, Arc::new(value));
    }

    /// Takes back a step of which certainly nothing became, together with the wait that follows.
    pub fn undo(&mut self, key: &str) {
        if self.steps.remove(key).is_some() {
            self.unnoted.retain(|step| step.key != key);
            self.undone.push(key.to_owned());
        }
    }

    /// So many steps of this name are done: `retry:1`, `retry:2`, …
    pub fn count(&self, name: &str) -> usize {
        let is_one = |step: &&Step| step.state == StepState::Done && step.key.starts_with(name);
        self.steps.values().filter(is_one).count()
    }

    /// What says, while a step is under way, how far it has come.
    pub fn reporter(&self) -> Reporter {
        Reporter { journal: self.journal.clone(), lease: self.lease }
    }

    fn done(&mut self, key: &str, effect: Effect, output: Arc<Value>) {
        if self.is_kept {
            // Of what may not be done again nobody waits to note what it gave.
            let by = if effect.is_repeatable() { Instant::now() + GATHERING } else { Instant::now() };
            self.note_by = Some(self.note_by.map_or(by, |known| known.min(by)));
            self.unnoted.retain(|step| step.key != key);
            self.unnoted.push(DoneStep { key: key.to_owned(), effect, output: output.clone() });
        }
        let step = Step { output: Some(output), ..Step::begun(key, effect, StepState::Done) };
        self.steps.insert(key.to_owned(), step);
    }
}

/// Writes down how far a run has come, as often as anybody may want to know.
pub struct Reporter {
    journal: Arc<dyn Journal>,
    lease: Lease,
}

impl Reporter {
    /// Once.
    pub async fn say(&self, progress: &Progress) {
        let progress = serde_json::to_value(progress).unwrap_or_default();
        // Not worth stopping for.
        let _ = self.journal.progress(self.lease, progress).await;
    }

    /// For as long as it is polled.
    pub async fn report(self, mut told: watch::Receiver<Option<Progress>>) {
        loop {
            if told.changed().await.is_err() {
                return std::future::pending().await;
            }
            let progress = told.borrow_and_update().clone();
            if let Some(progress) = progress {
                self.say(&progress).await;
            }
            sleep(PROGRESS).await;
        }
    }
}
