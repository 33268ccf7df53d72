//! The journal of runs in the store: the contract of journals on both databases, and what only the store has: shares of
//! spaces, queries, decisions of people, and retention.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{ErrorKind, RunId, SpaceId, UserId};
use haft_runs::testing::{CONTRACT, ContractJournal};
use haft_runs::{
    ClaimedRun, Executor, Journal as _, NewRun, RunEnd, RunKey, RunLabels, RunStatus, StartedRun, WorkerId,
};
use haft_store::{Page, RunFilter, RunJournal, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{both, kind, user};

const LEASE: Duration = Duration::from_secs(30);
const MAX_QUEUED: u64 = 1000;

async fn journal(store: &Store) -> RunJournal {
    RunJournal::open(store, MAX_QUEUED).await.expect("a journal")
}

async fn user_with_space(store: &Store) -> (UserId, SpaceId) {
    let (user, space) = user(store, &format!("user-{}", Uuid::now_v7().simple())).await;
    (user.id, space.id)
}

fn worker() -> WorkerId {
    WorkerId(Uuid::now_v7())
}

fn new(space: SpaceId, user: UserId, lane: &str) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user: Some(user),
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

async fn queue(journal: &RunJournal, run: NewRun) -> RunId {
    let id = run.id;
    let started = journal.start(Arc::new(run), LEASE).await.expect("started");
    assert!(matches!(started, StartedRun::Queued(_)), "{started:?}");
    id
}

async fn claim(journal: &RunJournal, limit: usize) -> Vec<ClaimedRun> {
    journal.claim(worker(), limit, LEASE).await.expect("claimed").runs
}

async fn claim_one(journal: &RunJournal) -> ClaimedRun {
    let mut claimed = claim(journal, 8).await;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed.remove(0)
}

fn succeeded(output: Value) -> RunEnd {
    RunEnd { status: RunStatus::Succeeded, output, is_dead_letter: false }
}

#[tokio::test]
async fn store_fulfills_the_contract_of_journals() {
    for (name, case) in CONTRACT {
        println!("{name}");
        both(async |db| {
            let store = db.open().await;
            let (user, space) = user_with_space(&store).await;
            let journal = Arc::new(journal(&store).await);
            case(ContractJournal { journal, space, user }).await;
            store.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn concurrent_starts_with_one_key_make_one_run() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        for user in [Some(user), None] {
            let starts = (0..20).map(|_| {
                let key = Some(RunKey { key: "k".to_owned(), digest: "d".to_owned() });
                let new = NewRun { key, user, ..new(space, UserId::from(Uuid::nil()), "mail") };
                journal.start(Arc::new(new), LEASE)
            });
            let started = futures_util::future::join_all(starts).await;
            let count = started.iter().filter(|started| matches!(started, Ok(StartedRun::Queued(_)))).count();
            assert_eq!(count, 1, "{started:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn tasks_are_listed_by_status() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        queue(&journal, new(space, user, "mail")).await;
        let claimed = claim_one(&journal).await;
        assert!(journal.finish(claimed.lease, Arc::default(), succeeded(json!(7))).await.expect("finished"));
        let list = async |statuses: Vec<RunStatus>| {
            let filter = RunFilter { statuses, ..RunFilter::default() };
            journal.list(space, &filter, &Page::first(10)).await.expect("a list").0.len()
        };
        assert_eq!(list(Vec::new()).await, 1);
        assert_eq!(list(vec![RunStatus::Failed, RunStatus::Succeeded]).await, 1);
        assert_eq!(list(vec![RunStatus::Failed]).await, 0);
    })
    .await;
}

#[tokio::test]
async fn full_queue_refuses_starts_and_lanes_are_counted() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = RunJournal::open(&store, 3).await.expect("a journal");
        for _ in 0..3 {
            queue(&journal, new(space, user, "mail")).await;
        }
        assert_eq!(
            kind(journal.start(Arc::new(new(space, user, "mail")), LEASE).await),
            ErrorKind::RateLimit
        );
        claim(&journal, 1).await;
        queue(&journal, new(space, user, "mail")).await;
        let counts = journal.counts().await.expect("counts");
        let mail = counts.iter().find(|counts| counts.lane == "mail").expect("counted");
        assert_eq!((mail.queued, mail.running), (3, 1));
    })
    .await;
}

#[tokio::test]
async fn flood_of_one_space_leaves_slots_for_others() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let (quiet_user, quiet) = user_with_space(&store).await;
        let journal = journal(&store).await;
        for _ in 0..40 {
            queue(&journal, new(space, user, "flood")).await;
        }
        let first = claim(&journal, 16).await;
        assert_eq!(first.len(), 12, "a part of the slots is for others");
        let other = queue(&journal, new(quiet, quiet_user, "mail")).await;
        let next = claim(&journal, 4).await;
        assert_eq!(next.first().map(|claimed| claimed.run.id), Some(other), "{next:?}");
        // Both have queued runs, and each gets its share.
        for _ in 0..40 {
            queue(&journal, new(quiet, quiet_user, "mail")).await;
        }
        let both = claim(&journal, 32).await;
        let of_quiet = both.iter().filter(|claimed| claimed.run.space == quiet).count();
        assert!((16..=26).contains(&of_quiet), "{of_quiet} of {}", both.len());
    })
    .await;
}

#[tokio::test]
async fn people_cancel_retry_and_resolve_runs() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let ended = |status| RunEnd { status, output: json!(status), is_dead_letter: false };
        let cancelled = || ended(RunStatus::Cancelled);
        let id = queue(&journal, new(space, user, "mail")).await;
        let run = journal.cancel(space, id, Some(user), cancelled()).await.expect("cancelled");
        assert_eq!(run.status, RunStatus::Cancelled);
        assert_eq!(kind(journal.cancel(space, id, Some(user), cancelled()).await), ErrorKind::Conflict);
        let other = SpaceId::from(Uuid::now_v7());
        assert_eq!(kind(journal.cancel(other, id, Some(user), cancelled()).await), ErrorKind::NotFound);
        assert_eq!(
            journal.retry(space, id, user, &json!({}), &[]).await.expect("again").status,
            RunStatus::Queued
        );
        let claimed = claim_one(&journal).await;
        assert_eq!(kind(journal.retry(space, id, user, &json!({}), &[]).await), ErrorKind::Conflict);
        let run = journal.cancel(space, id, Some(user), cancelled()).await.expect("requested");
        assert_eq!((run.status, run.is_cancel_requested), (RunStatus::Running, true));
        assert!(
            journal.finish(claimed.lease, Arc::default(), ended(RunStatus::Unknown)).await.expect("finished")
        );
        let run = journal.resolve(space, id, Some(user), succeeded(json!("it did"))).await.expect("resolved");
        assert_eq!((run.status, run.output), (RunStatus::Succeeded, Some(json!("it did"))));
        assert_eq!(kind(journal.resolve(space, id, Some(user), cancelled()).await), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn ended_runs_are_deleted_after_the_retention_time() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let id = queue(&journal, new(space, user, "mail")).await;
        let open = queue(&journal, new(space, user, "mail")).await;
        let claimed = claim(&journal, 1).await.remove(0);
        assert!(journal.finish(claimed.lease, Arc::default(), succeeded(json!(1))).await.expect("finished"));
        assert!(!journal.tidy(Duration::from_secs(60)).await.expect("tidied"));
        assert!(journal.get(space, id).await.expect("read").is_some());
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(!journal.tidy(Duration::ZERO).await.expect("tidied"));
        assert!(journal.get(space, id).await.expect("read").is_none());
        assert!(journal.get(space, open).await.expect("read").is_some(), "open runs remain");
    })
    .await;
}
