//! The contract of a journal as tests. They run unchanged on the journal in memory, on SQLite and on PostgreSQL.
#![allow(clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

mod leases;
mod signals;
mod steps;

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
}
