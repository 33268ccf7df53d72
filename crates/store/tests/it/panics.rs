//! Panics in the worker: the run is released and executed again. If the worker keeps panicking, the run ends
//! without its program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_core::{BoxFuture, CallError, ErrorKind, RunId};
use haft_runs::{
    Executor, Failpoints, GiveUpReason, Halt, NewRun, Program, Programs, RunContext, RunEnd, RunLabels,
    RunStatus, Runs, WorkerSettings,
};
use haft_store::RunJournal;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{both, user};

/// Fails, and panics a number of times when it reports the end of the run.
struct Panicking {
    name: &'static str,
    panics: AtomicU32,
}

impl Panicking {
    fn program(name: &'static str, panics: u32) -> Arc<dyn Program> {
        Arc::new(Self { name, panics: AtomicU32::new(panics) })
    }
}

impl Program for Panicking {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run<'a>(&'a self, _: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(async { Err(Halt::Failed(CallError::text(ErrorKind::Internal, "it failed"))) })
    }

    fn give_up<'a>(&'a self, _: &'a RunContext, _: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        let left = self.panics.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(left.is_err(), "panics outside of the program");
        let ended = RunEnd { status: RunStatus::Failed, output: Value::Null, is_dead_letter: false };
        Box::pin(std::future::ready(ended))
    }
}

#[tokio::test]
async fn run_is_executed_again_after_its_worker_panicked_and_ends_after_the_last_crash() {
    both(async |db| {
        let store = db.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let programs = Programs::default()
            .with(Panicking::program("panics once", 1))
            .with(Panicking::program("panics always", u32::MAX));
        let runs = Runs::new(Arc::new(journal), programs, WorkerSettings::default(), Failpoints::default());
        let start = async |program: &'static str, max_crashes: u32| {
            let new = NewRun {
                id: RunId::from(Uuid::now_v7()),
                space: space.id,
                user: Some(user.id),
                program,
                labels: RunLabels { lane: "l".to_owned(), name: "l".to_owned(), ..RunLabels::default() },
                input: Arc::new(json!({})),
                priority: 0,
                delay: Duration::ZERO,
                max_crashes,
                key: None,
                parent: None,
                executor: Executor::AnyWorker,
            };
            runs.start(new).await.expect("started").id
        };
        let (once, always) = (start("panics once", 3).await, start("panics always", 1).await);
        let stop = CancellationToken::new();
        let ending = async {
            let mut ended = Vec::new();
            for run in [once, always] {
                let run = runs.wait_for(space.id, run, Duration::from_secs(30)).await;
                ended.push(run.expect("read").expect("a run"));
            }
            stop.cancel();
            ended
        };
        let ((), ended) = tokio::join!(runs.work(stop.clone(), Duration::from_secs(5)), ending);
        let [once, always] = ended.as_slice() else { panic!("{ended:?}") };
        assert_eq!((once.status, once.crashes, once.is_dead_letter), (RunStatus::Failed, 1, false));
        assert_eq!(once.output, Some(Value::Null), "its program ended it");
        assert_eq!((always.status, always.crashes, always.is_dead_letter), (RunStatus::Failed, 1, true));
        let output = always.output.as_ref().expect("an output");
        assert_eq!(output["error"]["kind"], "Internal", "{output}");
    })
    .await;
}
