//! The interface of a program to its run: steps that happen once, waits that outlive the process, and its inbox.
//!
//! A program is executed from its start each time the run is claimed. A step that the journal has returns its stored
//! output, so the program continues where it was; code outside of steps may be executed again. A context is cheap to
//! clone; clones share everything.

mod activity;
mod branches;
mod child;
mod persist;
mod progress;
mod table;

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, Effect, ErrorKind, Message};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::activity::{Activity, SetActivity};
use self::table::StepTable;
use crate::ephemeral::EphemeralJournal;
use crate::journal::Journal;
use crate::run::{ClaimedRun, Lease, Run};
use crate::step::{INBOX, Reservation, Step, StepState, Wait};
use crate::worker::Runs;

pub use self::branches::Branches;
pub use self::progress::ProgressReporter;

haft_core::templates! {
    NO_ACCESS = "runs.noAccess",
        "The user who started this may no longer call tools in this space, so nothing was sent. Start it again as a user with access.",
        "发起者已无权在此空间调用工具，因此未发送任何内容；请由有权限的用户重新发起";
}

/// Why a program stops before the end of its run. It passes this on with `?`.
#[derive(Debug)]
pub enum Halt {
    /// The run suspends until one of these waits ends. Branches of the run are dropped.
    Suspend(Vec<Wait>),
    /// The lease ended: another worker executes the run.
    Lost,
    /// This process cannot continue the run now; any worker may claim it.
    Release,
    /// Haft failed.
    Failed(CallError),
}

impl From<CallError> for Halt {
    fn from(error: CallError) -> Self {
        // An unavailable service may be available in a moment.
        if error.kind() == ErrorKind::Unavailable { Self::Release } else { Self::Failed(error) }
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutcome {
    Done(Arc<Value>),
    /// It may have had its effect before a crash, and must not be repeated.
    Unknown,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitOutcome {
    Delivered(Value),
    /// The timeout passed first.
    Expired,
}

/// A step to be executed concurrently with others.
pub struct PlannedStep<F> {
    pub key: String,
    pub effect: Effect,
    pub work: F,
}

/// The context of a run that is executed.
#[derive(Clone)]
pub struct RunContext {
    shared: Arc<Shared>,
    /// The prefix of all keys.
    scope: Arc<str>,
    /// The set of branches that this context belongs to.
    set: Option<Arc<SetActivity>>,
}

struct Shared {
    journal: Arc<dyn Journal>,
    run: Run,
    lease: Lease,
    /// The run's user lost the right to call tools before this claim.
    is_denied: bool,
    cancel: CancellationToken,
    table: StepTable,
    activity: Activity,
    /// Requests to read waiting steps and the inbox again.
    refresh: Arc<Notify>,
    /// The worker that executes the run. `None` for ephemeral runs.
    worker: Option<Runs>,
}

impl RunContext {
    pub(crate) fn new(
        journal: Arc<dyn Journal>,
        claimed: ClaimedRun,
        cancel: CancellationToken,
        refresh: Arc<Notify>,
        worker: Runs,
    ) -> Self {
        let ClaimedRun { run, lease, steps, is_denied } = claimed;
        let table = StepTable::stored(steps, run.crashes > 0);
        Self::of(Shared {
            journal,
            run,
            lease,
            is_denied,
            cancel,
            table,
            activity: Activity::default(),
            refresh,
            worker: Some(worker),
        })
    }

    /// The context of a run that is not stored.
    pub fn ephemeral(run: Run, cancel: CancellationToken) -> Self {
        Self::ephemeral_with(run, Vec::new(), cancel)
    }

    /// The context of a run that is not stored, after earlier steps.
    pub fn ephemeral_with(run: Run, steps: Vec<Step>, cancel: CancellationToken) -> Self {
        Self::of(Shared {
            journal: Arc::new(EphemeralJournal),
            lease: Lease { run: run.id, epoch: run.epoch },
            run,
            is_denied: false,
            cancel,
            table: StepTable::ephemeral(steps),
            activity: Activity::default(),
            refresh: Arc::default(),
            worker: None,
        })
    }

    fn of(shared: Shared) -> Self {
        Self { shared: Arc::new(shared), scope: "".into(), set: None }
    }

    /// A context for a part of the run: the keys of its steps begin with `prefix/`.
    #[must_use]
    pub fn scope(&self, prefix: &str) -> Self {
        Self { scope: format!("{}{prefix}/", self.scope).into(), ..self.clone() }
    }

    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.scope)
    }

    pub fn run(&self) -> &Run {
        &self.shared.run
    }

    /// Cancelled when the run is to be cancelled, or when its lease has ended.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.shared.cancel
    }

    /// Returns why nothing may be sent for the run's user: the user lost the right to call tools.
    pub fn denial(&self) -> Option<CallError> {
        self.shared.is_denied.then(|| CallError::new(ErrorKind::Denied, Message::new(&NO_ACCESS)))
    }

    /// Records that the request to cancel is handled, and that the run continues.
    pub fn handle_cancel(&self) {
        self.shared.table.handle_cancel();
    }

    /// Returns a step, whatever its state.
    pub fn find(&self, key: &str) -> Option<Arc<Step>> {
        self.shared.table.find(&self.key(key))
    }

    /// Returns the output of a step that is done.
    pub fn output(&self, key: &str) -> Option<Arc<Value>> {
        self.find(key).filter(|step| step.state == StepState::Done)?.output.clone()
    }

    /// Returns all steps of the scope, in no order.
    pub fn steps(&self) -> Vec<Arc<Step>> {
        self.shared.table.steps(&self.scope)
    }

    /// Returns true if a step may have had its effect before a crash, and must not be repeated.
    pub fn is_unknown(&self, key: &str) -> bool {
        self.find(key).is_some_and(|step| step.is_unknown())
    }

    /// Counts done steps whose keys begin with `prefix`, such as `retry:`.
    pub fn count(&self, prefix: &str) -> usize {
        let prefix = self.key(prefix);
        let is_counted = |step: &&Arc<Step>| step.state == StepState::Done && step.key.starts_with(&prefix);
        self.steps().iter().filter(is_counted).count()
    }

    /// Executes a step once, and returns its output; the stored one if it was executed before.
    ///
    /// A write is persisted as reserved before it begins. If it was reserved and has no output, it is not repeated and
    /// the result is `Unknown`. Reads and idempotent steps are repeated.
    pub async fn step<F, E>(
        &self,
        key: &str,
        effect: Effect,
        work: impl FnOnce() -> F,
    ) -> Result<StepOutcome, E>
    where
        F: Future<Output = Result<Value, E>>,
        E: From<Halt>,
    {
        self.step_with_waits(key, effect, Vec::new(), work).await
    }

    /// Executes a step whose effect may end waits, such as a request that is answered by a callback: the waits are
    /// persisted before it begins.
    pub async fn step_with_waits<F, E>(
        &self,
        key: &str,
        effect: Effect,
        waits: Vec<Wait>,
        work: impl FnOnce() -> F,
    ) -> Result<StepOutcome, E>
    where
        F: Future<Output = Result<Value, E>>,
        E: From<Halt>,
    {
        let key = self.key(key);
        if let Some(outcome) = self.outcome(&key) {
            return Ok(outcome);
        }
        if !effect.is_repeatable() || !waits.is_empty() {
            let waits = waits.into_iter().map(|wait| Wait { key: self.key(&wait.key), ..wait });
            self.shared.table.reserve([Reservation { key: key.clone(), effect }], waits);
            self.persist().await?;
            self.pass("reserved");
        }
        self.pass("before_send");
        let output = Arc::new(work().await?);
        self.pass("after_reply");
        self.shared.table.complete(&key, effect, output.clone());
        Ok(StepOutcome::Done(output))
    }

    /// Executes steps concurrently, each once, and returns their outcomes in the given order. All writes among them are
    /// reserved together. If one of them halts, the others still end before this returns the first halt.
    pub async fn run_all<F>(&self, planned: Vec<PlannedStep<F>>) -> Result<Vec<StepOutcome>, Halt>
    where
        F: Future<Output = Result<Value, Halt>> + Send,
    {
        let mut outcomes: Vec<StepOutcome> = vec![StepOutcome::Unknown; planned.len()];
        let (mut started, mut reserved) = (Vec::new(), Vec::new());
        let mut has_idempotent = false;
        for (index, PlannedStep { key, effect, work }) in planned.into_iter().enumerate() {
            let key = self.key(&key);
            match (self.outcome(&key), outcomes.get_mut(index)) {
                (Some(known), Some(outcome)) => *outcome = known,
                (Some(_), None) => {}
                (None, _) => {
                    has_idempotent |= effect == Effect::Idempotent;
                    if !effect.is_repeatable() {
                        reserved.push(Reservation { key: key.clone(), effect });
                    }
                    started.push((index, key, effect, work));
                }
            }
        }
        // An upstream recognizes an idempotent call by its id, which an earlier step has assigned.
        if has_idempotent || !reserved.is_empty() {
            self.shared.table.reserve(reserved, []);
            self.persist().await?;
            self.pass("reserved");
        }
        self.pass("before_send");
        let mut branches = self.branches(usize::MAX);
        for (index, key, effect, work) in started {
            branches.spawn(move |_| async move { (index, key, effect, work.await) });
        }
        let mut halted = None;
        while let Some((index, key, effect, result)) = branches.next().await {
            match result {
                Ok(output) => {
                    let output = Arc::new(output);
                    self.pass("after_reply");
                    self.shared.table.complete(&key, effect, output.clone());
                    if let Some(outcome) = outcomes.get_mut(index) {
                        *outcome = StepOutcome::Done(output);
                    }
                }
                Err(halt) => drop(halted.get_or_insert(halt)),
            }
        }
        halted.map_or(Ok(outcomes), Err)
    }

    /// Returns the stored outcome of a step. Returns `None` if the step is to be executed.
    fn outcome(&self, key: &str) -> Option<StepOutcome> {
        let step = self.shared.table.find(key)?;
        if step.is_unknown() {
            return Some(StepOutcome::Unknown);
        }
        match step.state {
            StepState::Done => Some(StepOutcome::Done(step.output.clone().unwrap_or_default())),
            StepState::Unknown => Some(StepOutcome::Unknown),
            StepState::Reserved | StepState::Waiting => None,
        }
    }

    /// Waits until another party ends a step, however long that takes. While nothing else of the run can proceed, the
    /// run is suspended, and this future is dropped.
    pub async fn wait(&self, wait: Wait) -> Result<WaitOutcome, Halt> {
        let wait = Wait { key: self.key(&wait.key), ..wait };
        let ended = |step: Arc<Step>| match (step.state, step.is_expired) {
            (StepState::Done, true) => Some(WaitOutcome::Expired),
            (StepState::Done, false) => {
                Some(WaitOutcome::Delivered(step.output.as_deref().cloned().unwrap_or_default()))
            }
            (StepState::Reserved | StepState::Waiting | StepState::Unknown, _) => None,
        };
        let key = wait.key.clone();
        if let Some(outcome) = self.shared.table.find(&key).and_then(ended) {
            return Ok(outcome);
        }
        let _waiting = self.shared.table.begin_wait(wait);
        let mut changes = self.shared.table.changes();
        loop {
            changes.mark_unchanged();
            if let Some(outcome) = self.shared.table.find(&key).and_then(ended) {
                return Ok(outcome);
            }
            let _paused = self.pause();
            // The table lives as long as this context.
            let _ = changes.changed().await;
        }
    }

    /// Returns a wait of this context as a wait of the run, for [`Halt::Suspend`].
    #[must_use]
    pub fn scoped(&self, wait: Wait) -> Wait {
        Wait { key: self.key(&wait.key), ..wait }
    }

    /// Receives the inbox messages that arrived since the last time, in order, and waits if there are none. Returns an
    /// empty list if none arrives within the timeout. `name` identifies this time among all.
    pub async fn receive(&self, name: &str, timeout: Option<Duration>) -> Result<Vec<Value>, Halt> {
        let key = format!("{INBOX}:{name}");
        let received = |output: &Value| output["messages"].as_array().cloned().unwrap_or_default();
        let done = |step: &Arc<Step>| step.state == StepState::Done;
        if let Some(step) = self.find(&key).filter(done) {
            return Ok(step.output.as_deref().map(received).unwrap_or_default());
        }
        let after = self.last_message();
        let mut changes = self.shared.table.changes();
        let mut waiting = None;
        loop {
            changes.mark_unchanged();
            let messages = self.shared.journal.inbox(self.shared.run.id, after).await?;
            if let Some((last, _)) = messages.last() {
                let up_to = *last;
                let messages: Vec<Value> = messages.into_iter().map(|(_, message)| message).collect();
                let output = json!({"upTo": up_to, "messages": messages});
                self.shared.table.complete(&self.key(&key), Effect::Read, Arc::new(output));
                return Ok(messages);
            }
            if self.find(&key).filter(done).is_some() {
                return Ok(Vec::new());
            }
            let wait = || self.scoped(self.message_wait(name, timeout));
            waiting.get_or_insert_with(|| self.shared.table.begin_wait(wait()));
            let _paused = self.pause();
            let _ = changes.changed().await;
        }
    }

    /// The wait for further inbox messages.
    pub fn message_wait(&self, name: &str, timeout: Option<Duration>) -> Wait {
        let details = Some(json!({"after": self.last_message()}));
        Wait { key: format!("{INBOX}:{name}"), kind: INBOX.to_owned(), details, timeout }
    }

    /// The number of the last inbox message that the run received.
    fn last_message(&self) -> u64 {
        let steps = self.shared.table.steps("");
        let inbox = steps.iter().filter(|step| step.key.contains(INBOX));
        inbox.filter_map(|step| step.output.as_ref()?["upTo"].as_u64()).max().unwrap_or_default()
    }

    /// Stores a value under a key, and replaces an earlier one. It is persisted with the next write.
    pub fn put(&self, key: &str, value: Value) {
        self.shared.table.complete(&self.key(key), Effect::Read, Arc::new(value));
    }

    /// Removes a step that certainly had no effect. That is persisted with the next write.
    pub fn remove(&self, key: &str) {
        self.shared.table.remove(&self.key(key));
    }

    /// Replaces all steps of a scope by one step with their result, in one write.
    pub fn fold(&self, scope: &str, output: Value) {
        self.shared.table.fold(&format!("{}{scope}/", self.scope), &self.key(scope), Arc::new(output));
    }

    /// Ends a step that an ephemeral run waits for.
    pub fn fulfil(&self, key: &str, output: Value) {
        self.shared.table.fulfil(key, Arc::new(output));
    }

    /// Every wait that the program awaits now.
    pub fn waits(&self) -> Vec<Wait> {
        self.shared.table.waits()
    }

    /// Reports how far a step has come.
    pub fn reporter(&self) -> ProgressReporter {
        ProgressReporter::new(self.shared.journal.clone(), self.shared.lease)
    }

    pub(crate) fn pass(&self, failpoint: &str) {
        self.shared.worker.as_ref().inspect(|worker| worker.failpoints().pass(failpoint));
    }
}
