//! Branches of a run execute concurrently, and a branch that waits does not stop the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::Effect;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Bench, space};
use crate::journal::Journal;
use crate::testing::MemoryJournal;
use crate::{Halt, RunContext, RunStatus, StepOutcome, StepState, Wait, WaitOutcome};

fn approval(key: &str, timeout: Option<Duration>) -> Wait {
    Wait { key: key.to_owned(), kind: "approval".to_owned(), details: None, timeout }
}

async fn pause(context: &RunContext, key: &str, millis: u64) -> Result<Value, Halt> {
    let step = context.step(key, Effect::Read, || async {
        sleep(Duration::from_millis(millis)).await;
        Ok::<_, Halt>(json!(key))
    });
    match step.await? {
        StepOutcome::Done(output) => Ok(Value::clone(&output)),
        StepOutcome::Unknown => Ok(Value::Null),
    }
}

#[tokio::test(start_paused = true)]
async fn delivery_wakes_its_branch_while_siblings_continue() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            let mut branches = context.branches(8);
            branches.spawn(|context| async move {
                let outcome = context.wait(approval("decision", None)).await?;
                let after = pause(&context, "after the decision", 100).await?;
                Ok::<_, Halt>(json!([format!("{outcome:?}"), after]))
            });
            branches.spawn(|context| async move { pause(&context, "long", 60_000).await });
            let mut ended = Vec::new();
            while let Some(result) = branches.next().await {
                ended.push(result?);
            }
            Ok(json!(ended))
        })
    });
    let started = tokio::time::Instant::now();
    let run = bench.start(json!({})).await;
    sleep(Duration::from_secs(5)).await;
    // The wait is visible although the run is executed.
    assert_eq!(bench.journal.steps(run)[0].state, StepState::Waiting);
    assert!(bench.journal.deliver(run, "decision".to_owned(), None, json!(true)).await.expect("delivered"));
    let end = bench.ended(run).await;
    assert_eq!(end.output, Some(json!([["Delivered(Bool(true))", "after the decision"], "long"])));
    assert_eq!(end.epoch, 1, "it was never suspended");
    assert!(started.elapsed() < Duration::from_secs(62), "the branches ran side by side");
}

#[tokio::test(start_paused = true)]
async fn timer_and_message_wake_their_branches_while_siblings_continue() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            let mut branches = context.branches(8);
            branches.spawn(|context| async move {
                let outcome = context.wait(approval("timer", Some(Duration::from_secs(2)))).await?;
                Ok::<_, Halt>(json!(format!("{outcome:?}")))
            });
            branches.spawn(|context| async move { Ok(json!(context.receive("0", None).await?)) });
            branches.spawn(|context| async move { pause(&context, "long", 10_000).await });
            let mut ended = Vec::new();
            while let Some(result) = branches.next().await {
                ended.push(result?);
            }
            Ok(json!(ended))
        })
    });
    let run = bench.start(json!({})).await;
    sleep(Duration::from_secs(1)).await;
    assert!(bench.runs.send(space(), run, json!("hello"), None).await.expect("sent"));
    let end = bench.ended(run).await;
    assert_eq!(end.output, Some(json!([["hello"], "Expired", "long"])));
    assert_eq!(end.epoch, 1);
}

#[tokio::test(start_paused = true)]
async fn run_suspends_when_every_branch_waits_and_continues_with_the_delivered_one() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            let mut branches = context.branches(1);
            for name in ["a", "b", "c"] {
                branches.spawn(move |context| async move {
                    let context = context.scope(name);
                    pause(&context, "before", 10).await?;
                    let outcome = context.wait(approval("decision", None)).await?;
                    assert_eq!(outcome, WaitOutcome::Delivered(json!(name)));
                    pause(&context, "after", 10).await?;
                    Ok::<_, Halt>(name)
                });
            }
            let mut ended = Vec::new();
            while let Some(result) = branches.next().await {
                ended.push(result?);
            }
            Ok(json!(ended))
        })
    });
    let run = bench.start(json!({})).await;
    // One branch at a time executes, but a waiting branch uses no slot.
    let suspended = bench.suspended(run).await;
    assert_eq!(suspended.waiting_for.as_deref(), Some("approval"));
    for name in ["b", "c", "a"] {
        let key = format!("{name}/decision");
        assert!(bench.journal.deliver(run, key, None, json!(name)).await.expect("delivered"));
        if name != "a" {
            sleep(Duration::from_secs(1)).await;
            bench.suspended(run).await;
        }
    }
    let end = bench.ended(run).await;
    // The last execution passes the stored decisions in the order of the branches.
    assert_eq!(end.output, Some(json!(["a", "b", "c"])));
    let steps = bench.journal.steps(run);
    assert_eq!(steps.len(), 9);
    assert!(steps.iter().all(|step| step.state == StepState::Done));
}

#[tokio::test(start_paused = true)]
async fn branches_execute_within_their_limit() {
    static EXECUTING: AtomicUsize = AtomicUsize::new(0);
    static MAX: AtomicUsize = AtomicUsize::new(0);
    let bench = Bench::new(|context| {
        Box::pin(async move {
            let mut branches = context.branches(3);
            for number in 0..10 {
                branches.spawn(move |context| async move {
                    let executing = EXECUTING.fetch_add(1, Ordering::SeqCst) + 1;
                    MAX.fetch_max(executing, Ordering::SeqCst);
                    let result = pause(&context, &format!("{number}"), 100).await;
                    EXECUTING.fetch_sub(1, Ordering::SeqCst);
                    result
                });
            }
            // The set grows while it is drained.
            let mut count = 0;
            while let Some(result) = branches.next().await {
                result?;
                count += 1;
                if count == 5 {
                    branches.spawn(|context| async move { pause(&context, "added", 10).await });
                }
            }
            Ok(json!(count))
        })
    });
    let run = bench.start(json!({})).await;
    assert_eq!(bench.ended(run).await.output, Some(json!(11)));
    assert_eq!(MAX.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn halted_step_does_not_drop_its_siblings() {
    let journal = MemoryJournal::default();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let bench = Bench::with(
        journal,
        move |context| {
            let count = counted.clone();
            Box::pin(async move {
                let planned = [("fast", 10), ("slow", 1000)].map(|(key, millis)| crate::PlannedStep {
                    key: key.to_owned(),
                    effect: Effect::Write,
                    work: {
                        let count = count.clone();
                        async move {
                            sleep(Duration::from_millis(millis)).await;
                            count.fetch_add(1, Ordering::SeqCst);
                            match key {
                                "fast" if count.load(Ordering::SeqCst) == 1 => Err(Halt::Release),
                                _ => Ok(json!(key)),
                            }
                        }
                    },
                });
                let outcomes = context.run_all(planned.into_iter().collect()).await?;
                Ok(json!(outcomes.iter().map(|outcome| format!("{outcome:?}")).collect::<Vec<_>>()))
            })
        },
        false,
    );
    let run = bench.start(json!({})).await;
    let end = bench.ended(run).await;
    // The released write is not sent again, and the other one was persisted before the release.
    assert_eq!(end.output, Some(json!(["Unknown", r#"Done(String("slow"))"#])));
    assert_eq!((end.status, count.load(Ordering::SeqCst)), (RunStatus::Succeeded, 2));
}
