//! Tests of the durable core on the journal in memory, in virtual time.
#![allow(clippy::disallowed_methods, reason = "tests spawn workers and read their settings")]

mod branches;
mod crashes;
mod executions;
mod graph;
mod process;

use std::sync::Arc;
use std::time::Duration;

use haft_core::{BoxFuture, RunId, SpaceId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::testing::MemoryJournal;
use crate::{
    Executor, Failpoints, GiveUpReason, Halt, NewRun, Program, Programs, Run, RunContext, RunEnd, RunLabels,
    RunStatus, Runs, WorkerSettings,
};

#[test]
fn every_message_is_complete_in_both_languages() {
    haft_core::message::check_templates(&crate::all_templates()).expect("complete messages");
}

fn space() -> SpaceId {
    SpaceId::from(Uuid::nil())
}

fn new_run(program: &'static str, input: Value) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space: space(),
        user: None,
        program,
        labels: RunLabels { lane: program.to_owned(), name: program.to_owned(), ..RunLabels::default() },
        input: Arc::new(input),
        priority: 0,
        delay: Duration::ZERO,
        max_crashes: 3,
        key: None,
        parent: None,
        executor: Executor::AnyWorker,
    }
}

fn succeeded(output: Value) -> RunEnd {
    RunEnd { status: RunStatus::Succeeded, output, is_dead_letter: false }
}

/// A program that is a function.
struct TestProgram<F> {
    work: F,
    is_lasting: bool,
}

impl<F> Program for TestProgram<F>
where
    F: Fn(RunContext) -> BoxFuture<'static, Result<Value, Halt>> + Send + Sync,
{
    fn name(&self) -> &'static str {
        "test"
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        let work = (self.work)(context.clone());
        Box::pin(async move { work.await.map(succeeded) })
    }

    fn is_lasting(&self) -> bool {
        self.is_lasting
    }

    fn give_up<'a>(&'a self, _: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        let status = match reason {
            GiveUpReason::Cancelled => RunStatus::Cancelled,
            GiveUpReason::Crashes | GiveUpReason::Denied | GiveUpReason::Failed(_) => RunStatus::Failed,
        };
        let is_dead_letter = matches!(reason, GiveUpReason::Crashes);
        let output = json!(format!("{reason:?}"));
        Box::pin(async move { RunEnd { status, output, is_dead_letter } })
    }
}

/// A worker with one program.
struct Bench {
    journal: MemoryJournal,
    runs: Runs,
    stop: CancellationToken,
}

impl Bench {
    fn new<F>(work: F) -> Self
    where
        F: Fn(RunContext) -> BoxFuture<'static, Result<Value, Halt>> + Send + Sync + 'static,
    {
        Self::with(MemoryJournal::default(), work, false)
    }

    fn with<F>(journal: MemoryJournal, work: F, is_lasting: bool) -> Self
    where
        F: Fn(RunContext) -> BoxFuture<'static, Result<Value, Halt>> + Send + Sync + 'static,
    {
        let programs = Programs::default().with(Arc::new(TestProgram { work, is_lasting }));
        let settings = WorkerSettings::default();
        let runs = Runs::new(Arc::new(journal.clone()), programs, settings, Failpoints::default());
        let (worker, stop) = (runs.clone(), CancellationToken::new());
        let stopped = stop.clone();
        tokio::spawn(async move { worker.work(stopped, Duration::from_secs(1)).await });
        Self { journal, runs, stop }
    }

    async fn start(&self, input: Value) -> RunId {
        self.runs.start(new_run("test", input)).await.expect("started").id
    }

    /// Waits until the run has ended.
    async fn ended(&self, run: RunId) -> Run {
        let ended = self.runs.wait_for(space(), run, Duration::from_secs(3600)).await;
        let ended = ended.expect("read").expect("a run");
        assert!(ended.status.is_final(), "{ended:?}");
        ended
    }

    /// Waits until the run is suspended.
    async fn suspended(&self, run: RunId) -> Run {
        let is_waiting = |status| status == RunStatus::Waiting;
        let run = self.runs.wait_until(space(), run, Duration::from_secs(3600), is_waiting).await;
        let run = run.expect("read").expect("a run");
        assert_eq!(run.status, RunStatus::Waiting, "{run:?}");
        run
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
