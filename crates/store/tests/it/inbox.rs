//! What is sent to a run is heard by it, in order and once, whoever carries it on and whenever it was sent.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, RunId, SpaceId, UserId};
use haft_runs::{
    About, Ended, Failpoints, GaveUp, Halt, Journal as _, NewRun, Place, Program, Programs, Run, RunContext,
    RunStatus, Runs, Settings,
};
use haft_store::{RunJournal, Store};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{both, user};

/// Writes down what it hears until it hears `stop`.
struct Listener;

impl Program for Listener {
    fn name(&self) -> &'static str {
        "listens"
    }

    fn run<'a>(&'a self, context: &'a mut RunContext) -> BoxFuture<'a, Result<Ended, Halt>> {
        Box::pin(async move {
            let mut heard: Vec<Value> = Vec::new();
            for turn in 0.. {
                let patience = (turn == 0).then_some(Duration::from_secs(60));
                heard.extend(context.receive(&turn.to_string(), patience).await?);
                if heard.last().is_some_and(|last| last == "stop") {
                    break;
                }
            }
            Ok(Ended { status: RunStatus::Succeeded, output: json!(heard), is_dead_letter: false })
        })
    }

    fn gave_up<'a>(&'a self, _: &'a RunContext, _: GaveUp) -> BoxFuture<'a, Ended> {
        let ended = Ended { status: RunStatus::Failed, output: Value::Null, is_dead_letter: true };
        Box::pin(std::future::ready(ended))
    }
}

fn runs(journal: &RunJournal) -> Runs {
    let programs = Programs::default().with(Arc::new(Listener));
    Runs::new(Arc::new(journal.clone()), programs, Settings::default(), Failpoints::default())
}

fn listening(space: SpaceId, user: UserId) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user: Some(user),
        program: "listens",
        about: About { lane: "l".to_owned(), name: "l".to_owned(), ..About::default() },
        input: Arc::new(json!({})),
        priority: 0,
        delay: Duration::ZERO,
        most_deaths: 3,
        key: None,
        parent: None,
        place: Place::Queue,
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
    panic!("{id} was never {status:?}");
}

async fn opened(store: &Store) -> RunJournal {
    RunJournal::open(store, 100).await.expect("a journal")
}

#[tokio::test]
async fn everything_is_heard_once_and_in_order() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = opened(&store).await;
        let first = runs(&journal);
        let stop = CancellationToken::new();
        let run = first.start(listening(space.id, user.id)).await.expect("started");
        // Before it was ever carried on.
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
        // Nobody works meanwhile; another worker goes on with it.
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
        assert!(!second.send(space.id, run.id, json!("late"), None).await.expect("asked"), "nobody hears it");
        let stranger = SpaceId::from(Uuid::now_v7());
        let other = second.start(listening(space.id, user.id)).await.expect("started");
        assert!(
            !second.send(stranger, other.id, json!(1), None).await.expect("asked"),
            "another space's run"
        );
        assert!(journal.inbox(other.id, 0).await.expect("read").is_empty());
    })
    .await;
}
