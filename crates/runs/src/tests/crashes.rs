//! Generated graphs through many crashes, counted by a recorder outside of the journal: no step is lost, and no write
//! takes effect twice. `HAFT_CRASHES` sets the number of crashes, `HAFT_SEED` repeats one scenario.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Effect, RunId};
use tokio_util::sync::CancellationToken;

use super::graph::{GraphProgram, Node};
use super::new_run;
use super::process::{Dice, Process, ProcessJournal, Recorder};
use crate::testing::MemoryJournal;
use crate::{Failpoints, Journal, NewRun, Programs, RunStatus, Runs, StepState, WorkerSettings};

/// Number of crashes after which a scenario runs to its end without further ones.
const CRASHES_PER_SCENARIO: u64 = 40;

/// Number of graphs in a scenario, and of leaves in a graph.
const GRAPHS: u64 = 4;
const LEAVES: u64 = 12;

/// Maximum virtual time of a scenario.
const TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The counters of a scenario.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    crashes: u64,
    steps: u64,
    lost: u64,
    repeated_writes: u64,
    unknown_writes: u64,
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Delivers decisions to waiting approvals until all runs have ended.
async fn decide(journal: &MemoryJournal, dice: &Dice) {
    loop {
        tokio::time::sleep(Duration::from_millis(500 + dice.roll(2_000))).await;
        let runs = journal.runs();
        if runs.iter().all(|run| run.status.is_final()) {
            return;
        }
        for run in runs {
            for step in journal.steps(run.id) {
                let is_open =
                    step.state == StepState::Waiting && step.wait_kind.as_deref() == Some("approval");
                if is_open && dice.roll(2) == 0 {
                    let delivered = journal.deliver(run.id, step.key, None, serde_json::json!(true)).await;
                    assert!(delivered.is_ok());
                }
            }
        }
    }
}

async fn scenario(seed: u64, max_crashes: u64) -> Counts {
    let dice = Dice::new(seed);
    let (journal, recorder) = (MemoryJournal::default(), Recorder::default());
    let mut graphs: Vec<(RunId, Node)> = Vec::new();
    for _ in 0..GRAPHS {
        let graph = Node::generate(&dice, 1 + dice.roll(LEAVES));
        let input = serde_json::to_value(&graph).expect("a tree");
        let new = NewRun { max_crashes: u32::MAX, ..new_run("graph", input) };
        graphs.push((new.id, graph));
        journal.start(Arc::new(new), Duration::from_secs(20)).await.expect("started");
    }
    let mut counts = Counts::default();
    let deciding = decide(&journal, &dice);
    tokio::pin!(deciding);
    loop {
        let rate = if counts.crashes < max_crashes { 20 + dice.roll(60) } else { 0 };
        let process = Process::new(&dice, rate);
        let program = GraphProgram { process: process.clone(), recorder: recorder.clone() };
        let reached = ProcessJournal { inner: journal.clone(), process: process.clone() };
        let programs = Programs::default().with(Arc::new(program));
        let settings = WorkerSettings { slots: 3, ..WorkerSettings::default() };
        let runs = Runs::new(Arc::new(reached), programs, settings, Failpoints::default());
        tokio::select! {
            () = &mut deciding => break,
            () = process.crashed.notified() => counts.crashes += 1,
            () = runs.work(CancellationToken::new(), Duration::ZERO) => unreachable!("it works until a crash"),
        }
    }
    for (id, graph) in &graphs {
        check(&journal, &recorder, *id, graph, &mut counts);
    }
    counts
}

/// Checks that a run has ended and that each of its steps took effect as often as it may.
fn check(journal: &MemoryJournal, recorder: &Recorder, id: RunId, graph: &Node, counts: &mut Counts) {
    let run = journal.runs().into_iter().find(|run| run.id == id);
    let is_ended = run.is_some_and(|run| run.status == RunStatus::Succeeded);
    counts.lost += u64::from(!is_ended);
    let steps = journal.steps(id);
    let mut children = Vec::new();
    let mut visit = |key: &str, effect: Effect| {
        counts.steps += 1;
        let count = recorder.count(id, key);
        let is_done = steps.iter().any(|step| step.key == key && step.state == StepState::Done);
        let is_unknown = steps.iter().any(|step| step.key == key && step.is_unknown());
        counts.unknown_writes += u64::from(is_unknown);
        counts.lost += u64::from(!(is_done && count > 0 || is_unknown));
        counts.repeated_writes += u64::from(effect == Effect::Write && count > 1);
    };
    graph.visit("", &mut visit, &mut |key, node| children.push((key.to_owned(), node.clone())));
    for (key, node) in children {
        let id = steps.iter().find(|step| step.key == format!("{key}.id"));
        let id = id.and_then(|step| step.output.as_ref()?.as_str()?.parse().ok());
        match id {
            Some(child) => check(journal, recorder, child, &node, counts),
            None => counts.lost += 1,
        }
    }
}

/// Runs a scenario in a separate runtime, so that the tasks of crashed processes are dropped with it.
fn run_scenario(seed: u64, max_crashes: u64) -> Counts {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let ended = tokio::time::timeout(TIMEOUT, scenario(seed, max_crashes)).await;
        ended.unwrap_or_else(|_| panic!("the scenario of HAFT_SEED={seed} does not end"))
    })
}

#[test]
fn no_step_is_lost_and_no_write_is_repeated_through_crashes() {
    let wanted = setting("HAFT_CRASHES").unwrap_or(10_000);
    let (first, is_one) = setting("HAFT_SEED").map_or((1, false), |seed| (seed, true));
    let mut total = Counts::default();
    for seed in first.. {
        let counts = run_scenario(seed, CRASHES_PER_SCENARIO);
        assert_eq!((counts.lost, counts.repeated_writes), (0, 0), "HAFT_SEED={seed}: {counts:?}");
        total.crashes += counts.crashes;
        total.steps += counts.steps;
        total.unknown_writes += counts.unknown_writes;
        if is_one || total.crashes >= wanted {
            break;
        }
    }
    println!("{total:?}");
    // Without crashes no write is unknown.
    let quiet = run_scenario(first, 0);
    assert_eq!((quiet.crashes, quiet.lost, quiet.repeated_writes, quiet.unknown_writes), (0, 0, 0, 0));
}
