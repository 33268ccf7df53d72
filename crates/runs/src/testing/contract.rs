//! The contract of a journal as tests. They run unchanged on the journal in memory, on SQLite and on PostgreSQL.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, Effect, ErrorKind, RunId, SpaceId, UserId};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::journal::{Delivery, Journal, NewMessage, ReleaseReason, RunSignal, Suspension};
use crate::run::{
    ClaimedRun, Executor, Lease, NewRun, Run, RunEnd, RunKey, RunLabels, RunStatus, StartedRun, WorkerId,
};
use crate::step::{Adoption, DoneStep, INBOX, Reservation, Step, StepState, StepWrites, Wait};

/// A new journal without runs, and a user who may call tools in a space.
pub struct ContractJournal {
    pub journal: Arc<dyn Journal>,
    pub space: SpaceId,
    pub user: UserId,
}

type Case = fn(ContractJournal) -> BoxFuture<'static, ()>;

/// All cases of the contract, by name.
pub const CONTRACT: [(&str, Case); 17] = [
    ("run is claimed once and ended once", |journal| Box::pin(journal.run_is_claimed_and_ended_once())),
    ("ended lease writes nothing", |journal| Box::pin(journal.ended_lease_writes_nothing())),
    ("expired lease counts as a crash", |journal| Box::pin(journal.expired_lease_counts_as_a_crash())),
    ("crash count starts again after progress", |journal| {
        Box::pin(journal.crash_count_starts_again_after_progress())
    }),
    ("released run is claimed again with its steps", |journal| {
        Box::pin(journal.released_run_is_claimed_again_with_its_steps())
    }),
    ("key finds the first run", |journal| Box::pin(journal.key_finds_the_first_run())),
    ("lanes have limits and priorities", |journal| Box::pin(journal.lanes_have_limits_and_priorities())),
    ("delayed run is claimed when it is due", |journal| {
        Box::pin(journal.delayed_run_is_claimed_when_it_is_due())
    }),
    ("wait ends by delivery or timeout", |journal| Box::pin(journal.wait_ends_by_delivery_or_timeout())),
    ("removed wait retains its deadline", |journal| Box::pin(journal.removed_wait_retains_its_deadline())),
    ("delivery to an executed run is signaled", |journal| {
        Box::pin(journal.delivery_to_an_executed_run_is_signaled())
    }),
    ("messages are received in order and once per key", |journal| {
        Box::pin(journal.messages_are_received_in_order())
    }),
    ("end of a child is delivered to its parent", |journal| {
        Box::pin(journal.end_of_a_child_is_delivered_to_its_parent())
    }),
    ("steps of another run are adopted", |journal| Box::pin(journal.steps_of_another_run_are_adopted())),
    ("scope is folded into one step", |journal| Box::pin(journal.scope_is_folded_into_one_step())),
    ("request to cancel reaches every status", |journal| {
        Box::pin(journal.request_to_cancel_reaches_every_status())
    }),
    ("repeated writes have no further effect", |journal| {
        Box::pin(journal.repeated_writes_have_no_further_effect())
    }),
];

const LEASE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(40);

fn worker() -> WorkerId {
    WorkerId(Uuid::now_v7())
}

fn succeeded(output: Value) -> RunEnd {
    RunEnd { status: RunStatus::Succeeded, output, is_dead_letter: false }
}

fn done(key: &str, output: Value) -> DoneStep {
    DoneStep { key: key.to_owned(), effect: Effect::Read, output: Arc::new(output) }
}

fn results(steps: &[(&str, Value)]) -> Arc<StepWrites> {
    let done = steps.iter().map(|(key, output)| done(key, output.clone())).collect();
    Arc::new(StepWrites { done, ..StepWrites::default() })
}

fn reserving(key: &str, waits: Vec<Wait>) -> Arc<StepWrites> {
    let reserved = vec![Reservation { key: key.to_owned(), effect: Effect::Write }];
    Arc::new(StepWrites { reserved, waits, ..StepWrites::default() })
}

fn wait(key: &str, timeout: Option<Duration>) -> Wait {
    Wait { key: key.to_owned(), kind: "approval".to_owned(), details: Some(json!({"why": 1})), timeout }
}

fn message_wait(after: u64) -> Wait {
    let details = Some(json!({"after": after}));
    Wait { key: format!("{INBOX}:{after}"), kind: INBOX.to_owned(), details, timeout: None }
}

fn suspension(waits: &[Wait]) -> Suspension {
    Suspension { waits: waits.to_vec(), is_cancel_handled: false }
}

fn keys_of(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|step| step.key.as_str()).collect()
}

impl ContractJournal {
    fn new_run(&self, lane: &str) -> NewRun {
        NewRun {
            id: RunId::from(Uuid::now_v7()),
            space: self.space,
            user: Some(self.user),
            program: "call",
            labels: RunLabels { lane: lane.to_owned(), name: lane.to_owned(), ..RunLabels::default() },
            input: Arc::new(json!({"n": 1})),
            priority: 0,
            delay: Duration::ZERO,
            max_crashes: 3,
            key: None,
            parent: None,
            executor: Executor::AnyWorker,
        }
    }

    async fn queue(&self, new: NewRun) -> RunId {
        let id = new.id;
        let started = self.journal.start(Arc::new(new), LEASE).await.expect("started");
        assert!(matches!(started, StartedRun::Queued(_)), "{started:?}");
        id
    }

    async fn claim(&self, limit: usize) -> Vec<ClaimedRun> {
        self.journal.claim(worker(), limit, LEASE).await.expect("claimed").runs
    }

    async fn claim_one(&self) -> ClaimedRun {
        let mut claimed = self.claim(8).await;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    async fn read(&self, run: RunId) -> Run {
        self.journal.read(self.space, run).await.expect("read").expect("a run")
    }

    async fn write(&self, lease: Lease, writes: Arc<StepWrites>) {
        assert!(self.journal.write(lease, writes).await.expect("written"));
    }

    async fn suspend(&self, lease: Lease, writes: Arc<StepWrites>, waits: &[Wait]) {
        // Waits are persisted with the suspension, as a worker does it.
        let stored = waits.iter().filter(|wait| !wait.is_for_messages_only()).cloned();
        let waits_of = StepWrites::clone(&writes).waits.into_iter().chain(stored).collect();
        let writes = Arc::new(StepWrites { waits: waits_of, ..StepWrites::clone(&writes) });
        assert!(self.journal.suspend(lease, writes, suspension(waits)).await.expect("suspended"));
    }

    async fn finish(&self, lease: Lease, output: Value) -> bool {
        self.journal.finish(lease, Arc::default(), succeeded(output)).await.expect("finished")
    }

    async fn send(&self, run: RunId, message: Value, key: Option<&str>) -> Delivery {
        let key = key.map(|key| RunKey { key: key.to_owned(), digest: message.to_string() });
        let message = NewMessage { space: self.space, run, message, key, executor: Executor::AnyWorker };
        self.journal.send(message, LEASE).await.expect("sent")
    }

    async fn run_is_claimed_and_ended_once(self) {
        let id = self.queue(self.new_run("mail")).await;
        assert_eq!(self.read(id).await.status, RunStatus::Queued);
        let claimed = self.claim_one().await;
        assert_eq!((claimed.run.id, claimed.lease.epoch, claimed.is_denied), (id, 1, false));
        assert!(self.claim(8).await.is_empty(), "no other worker gets it");
        assert!(self.finish(claimed.lease, json!(7)).await);
        let run = self.read(id).await;
        assert_eq!((run.status, run.output), (RunStatus::Succeeded, Some(json!(7))));
        assert!(run.ended_at.is_some() && self.claim(8).await.is_empty());
        let stranger = SpaceId::from(Uuid::now_v7());
        assert_eq!(self.journal.read(stranger, id).await.expect("read"), None, "a run of another space");
    }

    async fn ended_lease_writes_nothing(self) {
        let id = self.queue(self.new_run("mail")).await;
        let old = self.claim_one().await.lease;
        let released = self.journal.release(old, Arc::default(), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        let next = self.claim_one().await;
        assert_eq!(next.lease, Lease { run: id, epoch: 2 });
        assert!(!self.finish(old, json!("late")).await);
        let journal = &self.journal;
        assert!(!journal.write(old, results(&[("x", json!(1))])).await.expect("refused"));
        assert!(!journal.progress(old, json!(0.5)).await.expect("refused"));
        assert!(!journal.suspend(old, Arc::default(), Suspension::default()).await.expect("refused"));
        let released = journal.release(old, Arc::default(), ReleaseReason::Unavailable);
        assert!(!released.await.expect("refused"));
        let renewal = journal.renew(worker(), vec![old], LEASE).await.expect("renewed");
        assert_eq!(renewal.lost, [old]);
        assert!(self.finish(next.lease, json!("in time")).await);
        assert_eq!(self.read(id).await.output, Some(json!("in time")));
    }

    async fn expired_lease_counts_as_a_crash(self) {
        self.queue(self.new_run("mail")).await;
        let crashed = self.journal.claim(worker(), 1, SHORT).await.expect("claimed").runs.remove(0);
        self.write(crashed.lease, reserving("call", Vec::new())).await;
        let Some(again) = self.claim_after_lease(&crashed).await else { return };
        assert_eq!((again.run.id, again.lease.epoch, again.run.crashes), (crashed.run.id, 2, 1));
        let states: Vec<StepState> = again.steps.iter().map(|step| step.state).collect();
        assert_eq!(states, [StepState::Reserved], "it may have been sent");
        assert!(again.steps.iter().all(Step::is_unknown));
    }

    /// Claims a run after its lease expired. Returns `None` on a journal whose leases do not expire.
    async fn claim_after_lease(&self, crashed: &ClaimedRun) -> Option<ClaimedRun> {
        sleep(SHORT * 2).await;
        let claimed = self.claim(8).await.pop();
        if claimed.is_none() {
            assert_eq!(self.read(crashed.run.id).await.status, RunStatus::Running);
        }
        claimed
    }

    async fn crash_count_starts_again_after_progress(self) {
        self.queue(self.new_run("mail")).await;
        for epoch in 1..=3_u32 {
            let claimed = self.claim_one().await;
            assert_eq!(claimed.run.crashes, epoch - 1, "without progress each crash counts");
            let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Panic);
            assert!(released.await.expect("released"));
        }
        let claimed = self.claim_one().await;
        let mut writes = StepWrites::clone(&results(&[("x", json!(1))]));
        writes.resets_crashes = true;
        self.write(claimed.lease, Arc::new(writes)).await;
        let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Panic);
        assert!(released.await.expect("released"));
        assert_eq!(self.claim_one().await.run.crashes, 1);
    }

    async fn released_run_is_claimed_again_with_its_steps(self) {
        self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("b", json!(1)), ("a", json!({"x": [1, null]}))])).await;
        let writes = results(&[("c", Value::Null)]);
        let released = self.journal.release(claimed.lease, writes, ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        let again = self.claim_one().await;
        assert_eq!(keys_of(&again.steps), ["b", "a", "c"], "in the order in which they were written");
        assert_eq!(again.steps[1].output.as_deref(), Some(&json!({"x": [1, null]})));
        assert_eq!(again.run.crashes, 0);
    }

    async fn key_finds_the_first_run(self) {
        let keyed = |user, digest: &str| NewRun {
            user,
            key: Some(RunKey { key: "k".to_owned(), digest: digest.to_owned() }),
            executor: Executor::ThisWorker(worker()),
            ..self.new_run("mail")
        };
        // A key also identifies a run without a user, such as the tick of a schedule.
        for user in [Some(self.user), None] {
            let started = self.journal.start(Arc::new(keyed(user, "one")), LEASE).await.expect("started");
            let StartedRun::Claimed(claimed) = started else { panic!("{started:?}") };
            assert!(self.claim(8).await.is_empty(), "it is claimed from the start");
            let second = self.journal.start(Arc::new(keyed(user, "one")), LEASE).await.expect("found");
            let StartedRun::Existing(existing) = second else { panic!("{second:?}") };
            assert_eq!(existing.id, claimed.run.id);
            let other = self.journal.start(Arc::new(keyed(user, "two")), LEASE).await;
            assert_eq!(other.expect_err("refused").kind(), ErrorKind::Conflict);
        }
    }

    async fn lanes_have_limits_and_priorities(self) {
        let limited = || {
            let mut new = self.new_run("slow");
            new.labels.lane_limit = Some(2);
            new
        };
        for _ in 0..5 {
            self.queue(limited()).await;
        }
        let urgent = self.queue(NewRun { priority: 5, ..limited() }).await;
        let other = self.queue(self.new_run("quick")).await;
        let claims = self.journal.claim(worker(), 16, LEASE).await.expect("claimed");
        let ids: Vec<RunId> = claims.runs.iter().map(|claimed| claimed.run.id).collect();
        assert_eq!((ids.len(), claims.is_limited), (3, true), "two of the slow lane, and the quick one");
        assert!(ids.contains(&urgent) && ids.contains(&other), "{ids:?}");
        assert!(self.claim(16).await.is_empty());
        let slow = claims.runs.iter().find(|claimed| claimed.run.labels.lane == "slow").expect("one");
        assert!(self.finish(slow.lease, json!(1)).await);
        assert_eq!(self.claim(16).await.len(), 1, "as many as have ended");
    }

    async fn delayed_run_is_claimed_when_it_is_due(self) {
        self.queue(NewRun { delay: SHORT * 2, ..self.new_run("mail") }).await;
        let claims = self.journal.claim(worker(), 8, LEASE).await.expect("claimed");
        assert!(claims.runs.is_empty());
        assert!(claims.next_due.is_some_and(|due| due <= SHORT * 2), "{claims:?}");
        sleep(SHORT * 3).await;
        self.claim_one().await;
    }

    async fn wait_ends_by_delivery_or_timeout(self) {
        let id = self.queue(self.new_run("mail")).await;
        let lease = self.claim_one().await.lease;
        self.suspend(lease, results(&[("x", json!(1))]), &[wait("a", None)]).await;
        let run = self.read(id).await;
        assert_eq!((run.status, run.waiting_for.as_deref()), (RunStatus::Waiting, Some("approval")));
        assert!(self.claim(8).await.is_empty());
        let deliver = async |key: &str, expected: Option<Value>, output: Value| {
            self.journal.deliver(id, key.to_owned(), expected, output).await.expect("delivered")
        };
        assert!(!deliver("a", Some(json!({"why": 2})), json!("no")).await, "other details");
        assert!(deliver("a", Some(json!({"why": 1})), json!("yes")).await);
        assert!(!deliver("a", None, json!("no")).await, "once");
        let claimed = self.claim_one().await;
        assert_eq!(keys_of(&claimed.steps), ["x", "a"]);
        assert_eq!(claimed.steps[1].output.as_deref(), Some(&json!("yes")));
        // Delivered before the run suspends.
        self.write(claimed.lease, reserving("call", vec![wait("b", None)])).await;
        assert!(deliver("b", None, json!("early")).await);
        self.suspend(claimed.lease, Arc::default(), &[wait("b", None)]).await;
        let claimed = self.claim_one().await;
        // Nothing is delivered in time.
        self.suspend(claimed.lease, Arc::default(), &[wait("c", Some(SHORT))]).await;
        sleep(SHORT * 2).await;
        let claimed = self.claim_one().await;
        let last = claimed.steps.iter().find(|step| step.key == "c").expect("a step");
        assert!(last.is_expired && last.state == StepState::Done);
        assert_eq!(claimed.run.crashes, 0, "a timeout is no crash");
        assert!(!deliver("c", None, json!("late")).await);
    }

    async fn removed_wait_retains_its_deadline(self) {
        self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, reserving("call", vec![wait("callback", Some(SHORT))])).await;
        // Repeats the wait without a timeout.
        let writes = StepWrites { removed: vec!["callback".to_owned()], ..StepWrites::default() };
        self.suspend(claimed.lease, Arc::new(writes), &[wait("callback", None)]).await;
        sleep(SHORT * 2).await;
        let claimed = self.claim_one().await;
        let callback = claimed.steps.iter().find(|step| step.key == "callback").expect("a step");
        assert!(callback.is_expired);
        // Removes the step without repeating it.
        let writes = StepWrites { removed: vec!["callback".to_owned()], ..StepWrites::default() };
        let released = self.journal.release(claimed.lease, Arc::new(writes), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        assert_eq!(keys_of(&self.claim_one().await.steps), ["call"]);
    }

    async fn delivery_to_an_executed_run_is_signaled(self) {
        let id = self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, reserving("call", vec![wait("a", None), wait("b", Some(SHORT))])).await;
        let signaled = async || {
            let signal = timeout(Duration::from_secs(10), self.journal.signal());
            assert_eq!(signal.await.expect("a signal"), RunSignal::Changed(id));
        };
        assert!(self.journal.deliver(id, "a".to_owned(), None, json!(1)).await.expect("delivered"));
        signaled().await;
        assert!(matches!(self.send(id, json!("hello"), None).await, Delivery::Delivered));
        signaled().await;
        sleep(SHORT * 2).await;
        let keys = ["a", "b", "missing"].map(str::to_owned).to_vec();
        let steps = self.journal.read_steps(id, keys).await.expect("steps");
        let found: Vec<(&str, StepState, bool)> =
            steps.iter().map(|step| (step.key.as_str(), step.state, step.is_expired)).collect();
        assert_eq!(found, [("a", StepState::Done, false), ("b", StepState::Done, true)]);
        assert_eq!(self.read(id).await.status, RunStatus::Running, "its worker continues");
    }

    async fn messages_are_received_in_order(self) {
        let id = self.queue(self.new_run("chat")).await;
        assert!(matches!(self.send(id, json!(0), None).await, Delivery::Delivered), "before its first claim");
        let claimed = self.claim_one().await;
        assert_eq!(self.journal.inbox(id, 0).await.expect("read"), [(1, json!(0))]);
        // A message that arrives before the run suspends queues it again.
        assert!(matches!(self.send(id, json!(1), None).await, Delivery::Delivered));
        self.suspend(claimed.lease, results(&[("inbox:0", json!({"upTo": 1}))]), &[message_wait(1)]).await;
        let claimed = self.claim_one().await;
        self.suspend(claimed.lease, Arc::default(), &[message_wait(2)]).await;
        assert!(self.read(id).await.is_idle());
        assert!(matches!(self.send(id, json!("x"), Some("k")).await, Delivery::Delivered));
        assert!(matches!(self.send(id, json!("x"), Some("k")).await, Delivery::Duplicate));
        let other = RunKey { key: "k".to_owned(), digest: "another".to_owned() };
        let other = NewMessage {
            space: self.space,
            run: id,
            message: json!("y"),
            key: Some(other),
            executor: Executor::AnyWorker,
        };
        assert_eq!(
            self.journal.send(other.clone(), LEASE).await.expect_err("refused").kind(),
            ErrorKind::Conflict
        );
        let received = self.journal.inbox(id, 1).await.expect("read");
        assert_eq!(received, [(2, json!(1)), (3, json!("x"))]);
        // The sender may execute an idle run at once.
        let claimed = self.claim_one().await;
        self.suspend(claimed.lease, Arc::default(), &[message_wait(3)]).await;
        let here = NewMessage { key: None, executor: Executor::ThisWorker(worker()), ..other.clone() };
        let delivery = self.journal.send(here.clone(), LEASE).await.expect("sent");
        let Delivery::Claimed(claimed) = delivery else { panic!("{delivery:?}") };
        assert_eq!((claimed.run.id, claimed.run.status), (id, RunStatus::Running));
        assert_eq!(keys_of(&claimed.steps), ["inbox:0"]);
        assert!(matches!(self.journal.send(here, LEASE).await.expect("sent"), Delivery::Delivered));
        let stranger = NewMessage { space: SpaceId::from(Uuid::now_v7()), key: None, ..other };
        assert!(matches!(self.journal.send(stranger, LEASE).await.expect("sent"), Delivery::Ended));
        assert!(self.finish(claimed.lease, json!(1)).await);
        assert!(matches!(self.send(id, json!("late"), None).await, Delivery::Ended));
    }

    async fn end_of_a_child_is_delivered_to_its_parent(self) {
        let parent = self.queue(self.new_run("flow")).await;
        let lease = self.claim_one().await.lease;
        let child = |step: &str| NewRun { parent: Some((parent, step.to_owned())), ..self.new_run("mail") };
        self.write(lease, reserving("call", vec![wait("child", None)])).await;
        self.queue(child("child")).await;
        self.suspend(lease, Arc::default(), &[wait("child", None)]).await;
        let claimed = self.claim_one().await;
        assert!(self.finish(claimed.lease, json!("done")).await);
        let claimed = self.claim_one().await;
        assert_eq!(claimed.run.id, parent);
        let step = claimed.steps.iter().find(|step| step.key == "child").expect("a step");
        assert_eq!(step.output.as_deref(), Some(&json!("done")));
        // A child whose end is a message.
        let other = self.queue(child("inbox:name")).await;
        let of_other = self.claim_one().await;
        assert!(self.finish(of_other.lease, json!(2)).await);
        let message = json!({"ended": {"run": other, "name": "name", "status": "succeeded", "output": 2}});
        assert_eq!(self.journal.inbox(parent, 0).await.expect("read"), [(1, message)]);
    }

    async fn steps_of_another_run_are_adopted(self) {
        let old = self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("a", json!(1)), ("b", json!(2)), ("c", json!(3))])).await;
        self.write(claimed.lease, reserving("open", Vec::new())).await;
        assert!(self.finish(claimed.lease, json!("old")).await);
        let new = self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("b", json!("own"))])).await;
        let keys = ["a", "b", "open", "missing"].map(str::to_owned).to_vec();
        let adopted = vec![Adoption { from: old, keys: keys.clone() }];
        for _ in 0..2 {
            let writes = StepWrites { adopted: adopted.clone(), ..StepWrites::default() };
            self.write(claimed.lease, Arc::new(writes)).await;
        }
        let mut steps = self.journal.read_steps(new, keys).await.expect("steps");
        steps.sort_by(|left, right| left.key.cmp(&right.key));
        let found: Vec<(&str, Option<&Value>)> =
            steps.iter().map(|step| (step.key.as_str(), step.output.as_deref())).collect();
        assert_eq!(found, [("a", Some(&json!(1))), ("b", Some(&json!("own")))], "only done and missing ones");
    }

    async fn scope_is_folded_into_one_step(self) {
        self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        let items = [("map/1", json!(1)), ("map/2", json!(2)), ("mapped", json!(3)), ("ma%/1", json!(4))];
        self.write(claimed.lease, results(&items)).await;
        let mut writes = StepWrites::clone(&results(&[("map", json!([1, 2]))]));
        writes.removed_scopes = vec!["map/".to_owned(), "ma%/".to_owned()];
        self.write(claimed.lease, Arc::new(writes)).await;
        let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        assert_eq!(keys_of(&self.claim_one().await.steps), ["mapped", "map"]);
    }

    async fn request_to_cancel_reaches_every_status(self) {
        let id = self.queue(NewRun { delay: LEASE, ..self.new_run("mail") }).await;
        assert!(self.journal.request_cancel(id).await.expect("requested"), "scheduled");
        let claimed = self.claim_one().await;
        assert!(claimed.run.is_cancel_requested);
        // Its program handles the request, and it continues.
        let suspension = Suspension { waits: vec![message_wait(0)], is_cancel_handled: true };
        assert!(self.journal.suspend(claimed.lease, Arc::default(), suspension).await.expect("suspended"));
        assert!(self.read(id).await.is_idle());
        assert!(self.journal.request_cancel(id).await.expect("requested"), "suspended");
        let claimed = self.claim_one().await;
        assert!(self.journal.request_cancel(id).await.expect("requested"), "executed");
        let signal = timeout(Duration::from_secs(10), self.journal.signal()).await;
        assert_eq!(signal.expect("a signal"), RunSignal::Cancel(claimed.lease));
        assert!(self.finish(claimed.lease, json!(1)).await);
        assert!(!self.journal.request_cancel(id).await.expect("refused"), "ended");
    }

    async fn repeated_writes_have_no_further_effect(self) {
        let id = self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        let writes = reserving("call", vec![wait("a", None)]);
        self.write(claimed.lease, writes.clone()).await;
        assert!(self.journal.deliver(id, "a".to_owned(), None, json!(1)).await.expect("delivered"));
        self.write(claimed.lease, writes).await;
        let steps = self.journal.read_steps(id, vec!["a".to_owned()]).await.expect("steps");
        assert_eq!(steps.first().map(|step| step.state), Some(StepState::Done), "its end remains");
        for _ in 0..2 {
            self.suspend(claimed.lease, results(&[("x", json!(1))]), &[wait("b", None)]).await;
        }
        assert!(self.journal.deliver(id, "b".to_owned(), None, json!(2)).await.expect("delivered"));
        let claimed = self.claim_one().await;
        for _ in 0..2 {
            assert!(self.finish(claimed.lease, json!(7)).await);
        }
        let (new, repeated) = (self.new_run("mail"), ReleaseReason::Unavailable);
        let new = Arc::new(new);
        for is_first in [true, false] {
            let started = self.journal.start(new.clone(), LEASE).await.expect("started");
            assert_eq!(matches!(started, StartedRun::Queued(_)), is_first, "{started:?}");
        }
        // A repeated start claims nothing: another worker may execute the run already.
        let here = Arc::new(NewRun { executor: Executor::ThisWorker(worker()), ..self.new_run("mail") });
        for is_first in [true, false] {
            let started = self.journal.start(here.clone(), LEASE).await.expect("started");
            assert_eq!(matches!(started, StartedRun::Claimed(_)), is_first, "{started:?}");
        }
        let claimed = self.claim_one().await;
        for _ in 0..2 {
            let released = self.journal.release(claimed.lease, Arc::default(), repeated);
            assert!(released.await.expect("released"));
        }
        self.claim_one().await;
    }
}
