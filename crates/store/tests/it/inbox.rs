//! Inbox messages through the worker: a run receives each one once and in order, whichever worker executes it.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, RunId, SpaceId, UserId};
use haft_runs::{
    Executor, Failpoints, GiveUpReason, Halt, Journal as _, NewRun, Program, Programs, Run, RunContext,
    RunEnd, RunLabels, RunStatus, Runs, WorkerSettings,
};
use haft_store::{RunJournal, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{both, user};

/// Collects messages until it receives `stop`.
struct Collector;

impl Program for Collector {
    fn name(&self) -> &'static str {
        "collects"
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(async move {
            let mut received: Vec<Value> = Vec::new();
            for turn in 0.. {
                let timeout = (turn == 0).then_some(Duration::from_secs(60));
                received.extend(context.receive(&turn.to_string(), timeout).await?);
                if received.last().is_some_and(|last| last == "stop") {
                    break;
                }
            }
            Ok(RunEnd { status: RunStatus::Succeeded, output: json!(received), is_dead_letter: false })
        })
    }

    fn give_up<'a>(&'a self, _: &'a RunContext, _: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        let ended = RunEnd { status: RunStatus::Failed, output: Value::Null, is_dead_letter: true };
        Box::pin(std::future::ready(ended))
    }
}

fn runs(journal: &RunJournal) -> Runs {
    let programs = Programs::default().with(Arc::new(Collector));
    Runs::new(Arc::new(journal.clone()), programs, WorkerSettings::default(), Failpoints::default())
}

fn collecting(space: SpaceId, user: UserId) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user: Some(user),
        program: "collects",
        labels: RunLabels { lane: "l".to_owned(), name: "l".to_owned(), ..RunLabels::default() },
        input: Arc::new(json!({})),
        priority: 0,
        delay: Duration::ZERO,
        max_crashes: 3,
        key: None,
        parent: None,
        executor: Executor::AnyWorker,
    }
}

async fn until(journal: &RunJournal, space: SpaceId, id: RunId, status: RunStatus) -> Run {
    for _ in 0..500 {
        let run = journal.get(space, id).await.expect("read").expect("a run");
        if run.status == status {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{id} did not become {status:?}");
}

async fn opened(store: &Store) -> RunJournal {
    RunJournal::open(store, 100).await.expect("a journal")
}

#[tokio::test]
async fn messages_are_received_once_and_in_order() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = opened(&store).await;
        let first = runs(&journal);
        let stop = CancellationToken::new();
        let run = first.start(collecting(space.id, user.id)).await.expect("started");
        // Before its first claim.
        assert!(first.send(space.id, run.id, json!(0), None).await.expect("sent"));
        let sending = async {
            let waits = until(&journal, space.id, run.id, RunStatus::Waiting).await;
            assert_eq!(waits.waiting_for.as_deref(), Some("inbox"));
            for n in 1..300 {
                assert!(first.send(space.id, run.id, json!(n), None).await.expect("sent"));
            }
            until(&journal, space.id, run.id, RunStatus::Waiting).await;
            stop.cancel();
        };
        let working = first.work(stop.clone(), Duration::from_secs(5));
        tokio::join!(working, sending);
        // No worker runs now; another one continues the run.
        assert!(first.send(space.id, run.id, json!(300), None).await.expect("sent"));
        assert!(first.send(space.id, run.id, json!("stop"), None).await.expect("sent"));
        let (second, stop) = (runs(&journal), CancellationToken::new());
        let ending = async {
            let ended = until(&journal, space.id, run.id, RunStatus::Succeeded).await;
            stop.cancel();
            ended
        };
        let ((), ended) = tokio::join!(second.work(stop.clone(), Duration::from_secs(5)), ending);
        let mut expected: Vec<Value> = (0..=300).map(Value::from).collect();
        expected.push(json!("stop"));
        assert_eq!(ended.output, Some(Value::Array(expected)));
        assert!(
            !second.send(space.id, run.id, json!("late"), None).await.expect("asked"),
            "the run has ended"
        );
        let stranger = SpaceId::from(Uuid::now_v7());
        let other = second.start(collecting(space.id, user.id)).await.expect("started");
        assert!(
            !second.send(stranger, other.id, json!(1), None).await.expect("asked"),
            "another space's run"
        );
        assert!(journal.inbox(other.id, 0).await.expect("read").is_empty());
    })
    .await;
}
