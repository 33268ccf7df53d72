//! Executions of a run by the worker: the times of writes to the journal, crashes with and without progress, and
//! cancellation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_core::{CallError, Effect, ErrorKind};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Bench;
use crate::journal::Journal;
use crate::testing::{MemoryJournal, WriteFault};
use crate::{Halt, RunStatus, StepOutcome, StepState, Wait, WaitOutcome};

fn wait(key: &str, timeout: Option<Duration>) -> Wait {
    Wait { key: key.to_owned(), kind: "timer".to_owned(), details: None, timeout }
}

#[tokio::test(start_paused = true)]
async fn repeatable_steps_are_persisted_within_20_ms_and_writes_are_reserved_first() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            for (key, effect) in [("read", Effect::Read), ("write", Effect::Write)] {
                let work = || async move {
                    sleep(Duration::from_secs(1)).await;
                    Ok::<_, Halt>(json!(key))
                };
                context.step(key, effect, work).await?;
            }
            sleep(Duration::from_secs(1)).await;
            Ok(json!("done"))
        })
    });
    let run = bench.start(json!({})).await;
    let states = || -> Vec<(String, StepState)> {
        bench.journal.steps(run).into_iter().map(|step| (step.key, step.state)).collect()
    };
    sleep(Duration::from_millis(900)).await;
    assert_eq!(states(), []);
    sleep(Duration::from_millis(200)).await;
    let read = ("read".to_owned(), StepState::Done);
    assert_eq!(states(), [read.clone(), ("write".to_owned(), StepState::Reserved)]);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(states(), [read, ("write".to_owned(), StepState::Done)]);
    assert_eq!(bench.ended(run).await.output, Some(json!("done")));
}

#[tokio::test(start_paused = true)]
async fn suspended_program_continues_after_its_timer_with_its_stored_steps() {
    let executed = Arc::new(AtomicU32::new(0));
    let counted = executed.clone();
    let bench = Bench::new(move |context| {
        let executed = counted.clone();
        Box::pin(async move {
            let work = || async {
                executed.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Halt>(json!({"n": 7}))
            };
            let first = context.step("first", Effect::Write, work).await?;
            context.put("note", json!("kept"));
            let outcome = context.wait(wait("pause", Some(Duration::from_secs(60)))).await?;
            assert_eq!(outcome, WaitOutcome::Expired);
            let note = context.output("note").as_deref().cloned();
            context.remove("note");
            Ok(json!([format!("{first:?}"), note]))
        })
    });
    let run = bench.start(json!({})).await;
    let suspended = bench.suspended(run).await;
    assert_eq!(suspended.waiting_for.as_deref(), Some("timer"));
    let end = bench.ended(run).await;
    assert_eq!(end.output, Some(json!([r#"Done(Object {"n": Number(7)})"#, "kept"])));
    assert_eq!((executed.load(Ordering::SeqCst), end.epoch, end.crashes), (1, 2, 0));
    let keys: Vec<String> = bench.journal.steps(run).into_iter().map(|step| step.key).collect();
    assert_eq!(keys, ["first", "pause"], "the note was removed");
}

#[tokio::test(start_paused = true)]
async fn write_that_fails_is_repeated_whether_it_was_persisted_or_not() {
    for fault in [WriteFault::Lost, WriteFault::Persisted] {
        for name in ["write", "suspend", "finish", "claim", "release"] {
            let journal = MemoryJournal::default();
            let mut is_first = true;
            journal
                .fail_writes(move |write| (write == name && std::mem::take(&mut is_first)).then_some(fault));
            let executed = Arc::new(AtomicU32::new(0));
            let counted = executed.clone();
            let bench = Bench::with(
                journal,
                move |context| {
                    let executed = counted.clone();
                    Box::pin(async move {
                        let work = || async {
                            executed.fetch_add(1, Ordering::SeqCst);
                            Ok::<_, Halt>(json!(1))
                        };
                        context.step("write", Effect::Write, work).await?;
                        context.wait(wait("pause", Some(Duration::from_secs(1)))).await?;
                        if context.run().epoch == 2 {
                            return Err(Halt::Release);
                        }
                        Ok(json!("done"))
                    })
                },
                false,
            );
            let run = bench.start(json!({})).await;
            let end = bench.ended(run).await;
            assert_eq!(end.output, Some(json!("done")), "{name} {fault:?}");
            assert_eq!(executed.load(Ordering::SeqCst), 1, "{name} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn panic_of_a_program_fails_its_run_and_unknown_programs_stay_queued() {
    let bench = Bench::new(|_| Box::pin(async { panic!("broken") }));
    let run = bench.start(json!({})).await;
    let end = bench.ended(run).await;
    assert_eq!(end.status, RunStatus::Failed);
    let output = end.output.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    assert!(output.contains("stopped unexpectedly"), "{output}");
    let other = bench.runs.start(super::new_run("newer", json!({}))).await.expect("started").id;
    sleep(Duration::from_secs(60)).await;
    let run = bench.journal.runs().into_iter().find(|run| run.id == other).expect("a run");
    assert!(!run.status.is_final() && run.crashes == 0, "{run:?}");
}

#[tokio::test(start_paused = true)]
async fn cancelled_run_ends_while_it_works_while_it_waits_and_if_it_ignores_the_request() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            match context.run().input.as_str() {
                Some("waits") => context.wait(wait("never", None)).await.map(|_| Value::Null),
                Some("obeys") => {
                    context.cancellation().cancelled().await;
                    Err(Halt::Failed(CallError::text(ErrorKind::Cancelled, "stopped")))
                }
                _ => std::future::pending().await,
            }
        })
    });
    for input in ["waits", "obeys", "ignores"] {
        let run = bench.start(json!(input)).await;
        sleep(Duration::from_secs(10)).await;
        assert!(bench.journal.request_cancel(run).await.expect("requested"));
        let end = bench.ended(run).await;
        assert_eq!((end.status, end.output), (RunStatus::Cancelled, Some(json!("Cancelled"))), "{input}");
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_run_handles_a_request_to_cancel_and_continues() {
    let bench = Bench::with(
        MemoryJournal::default(),
        |context| {
            Box::pin(async move {
                let mut received = Vec::new();
                for turn in 0.. {
                    let name = turn.to_string();
                    received.extend(context.receive(&name, None).await?);
                    if received.last().is_some_and(|last| last == "stop") {
                        break;
                    }
                    if context.output(&format!("turn {turn}")).is_some() {
                        continue;
                    }
                    tokio::select! {
                        () = sleep(Duration::from_secs(60)) => {}
                        () = context.cancellation().cancelled() => {
                            context.put(&format!("turn {turn}"), json!("cancelled"));
                            context.handle_cancel();
                            return Err(Halt::Suspend(vec![context.message_wait(&(turn + 1).to_string(), None)]));
                        }
                    }
                }
                Ok(json!(received))
            })
        },
        true,
    );
    let run = bench.start(json!({})).await;
    let send = async |message: &str| {
        assert!(bench.runs.send(super::space(), run, json!(message), None).await.expect("sent"));
    };
    send("one").await;
    sleep(Duration::from_secs(10)).await;
    assert!(bench.journal.request_cancel(run).await.expect("requested"));
    let idle = bench.suspended(run).await;
    assert!(idle.is_idle() && !idle.is_cancel_requested);
    send("stop").await;
    assert_eq!(bench.ended(run).await.output, Some(json!(["one", "stop"])));
}

#[tokio::test(start_paused = true)]
async fn step_that_was_reserved_in_an_earlier_execution_is_unknown_and_a_read_is_repeated() {
    let bench = Bench::new(|context| {
        Box::pin(async move {
            if context.run().epoch == 1 {
                for effect in [Effect::Read, Effect::Write] {
                    let work = || async { Err::<Value, Halt>(Halt::Release) };
                    let _ = context.step(&format!("{effect:?}"), effect, work).await;
                }
                return Err(Halt::Release);
            }
            let work = || async { Ok::<_, Halt>(json!("repeated")) };
            let read = context.step("Read", Effect::Read, work).await?;
            let write = context.step("Write", Effect::Write, work).await?;
            assert!(context.is_unknown("Write") && !context.is_unknown("Read"));
            Ok(json!([read == StepOutcome::Done(Arc::new(json!("repeated"))), write == StepOutcome::Unknown]))
        })
    });
    let run = bench.start(json!({})).await;
    assert_eq!(bench.ended(run).await.output, Some(json!([true, true])));
}

/// A run that starts a child and reports its output.
fn parent_of(child: Value) -> Value {
    json!({"child": child})
}

fn family() -> Bench {
    Bench::new(|context| {
        Box::pin(async move {
            let input = &context.run().input;
            if let Some(child) = input.get("child") {
                return context.child("child", super::new_run("test", child.clone())).await;
            }
            let millis = input["millis"].as_u64().unwrap_or_default();
            context.wait(wait("timer", Some(Duration::from_millis(millis)))).await?;
            Ok(json!("the child has ended"))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn child_is_awaited_without_a_slot_and_started_once() {
    let bench = family();
    // More parents than slots, each with a child of a child.
    let runs = (0..80).map(|_| bench.start(parent_of(parent_of(json!({"millis": 5000})))));
    let runs: Vec<_> = futures_util::future::join_all(runs).await;
    for run in runs {
        assert_eq!(bench.ended(run).await.output, Some(json!("the child has ended")));
    }
    assert_eq!(bench.journal.runs().len(), 240);
}

#[tokio::test(start_paused = true)]
async fn child_is_cancelled_with_its_parent() {
    let bench = family();
    let run = bench.start(parent_of(json!({"millis": 3_600_000}))).await;
    bench.suspended(run).await;
    assert!(bench.journal.request_cancel(run).await.expect("requested"));
    assert_eq!(bench.ended(run).await.status, RunStatus::Cancelled);
    sleep(Duration::from_secs(10)).await;
    let statuses: Vec<RunStatus> = bench.journal.runs().into_iter().map(|run| run.status).collect();
    assert_eq!(statuses, [RunStatus::Cancelled; 2]);
}

#[tokio::test(start_paused = true)]
async fn adopted_and_folded_steps_are_not_executed_again() {
    let executed = Arc::new(AtomicU32::new(0));
    let counted = executed.clone();
    let bench = Bench::new(move |context| {
        let executed = counted.clone();
        Box::pin(async move {
            if let Some(from) = context.run().input["from"].as_str().and_then(|id| id.parse().ok()) {
                context.adopt_steps(from, vec!["map/all".to_owned()]).await?;
            }
            let context = context.scope("map");
            if context.output("all").is_none() {
                let items = context.scope("all");
                for item in 0..3 {
                    let work = || async {
                        executed.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, Halt>(json!(item))
                    };
                    items.step(&item.to_string(), Effect::Write, work).await?;
                }
                context.fold("all", json!("three items"));
            }
            Ok(context.output("all").as_deref().cloned().unwrap_or_default())
        })
    });
    let first = bench.start(json!({})).await;
    let second = async || bench.start(json!({"from": first})).await;
    assert_eq!(bench.ended(first).await.output, Some(json!("three items")));
    let keys = |run| -> Vec<String> { bench.journal.steps(run).into_iter().map(|step| step.key).collect() };
    let second = second().await;
    assert_eq!(bench.ended(second).await.output, Some(json!("three items")));
    assert_eq!(executed.load(Ordering::SeqCst), 3);
    assert!(
        keys(second).contains(&"adopted".to_owned())
            && !keys(first).iter().any(|key| key.starts_with("map/all/"))
    );
}
