//! Generated programs for crash tests: trees of sequences, parallel branches, steps of each effect, approvals, timers
//! and child runs.

use std::time::Duration;

use haft_core::{BoxFuture, Effect};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::process::{Dice, Process, Recorder};
use super::{new_run, succeeded};
use crate::{GiveUpReason, Halt, NewRun, Program, RunContext, RunEnd, RunStatus, StepOutcome, Wait};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Node {
    Sequence(Vec<Node>),
    Parallel(usize, Vec<Node>),
    Step(Effect, u64),
    Approval,
    Timer(u64),
    Child(Box<Node>),
}

impl Node {
    /// Generates a tree with at most `size` leaves.
    pub(super) fn generate(dice: &Dice, size: u64) -> Self {
        if size <= 1 {
            return match dice.roll(10) {
                0 => Self::Approval,
                1 => Self::Timer(dice.roll(5_000)),
                2..=4 => Self::Step(Effect::Read, dice.roll(200)),
                5 => Self::Step(Effect::Idempotent, dice.roll(200)),
                _ => Self::Step(Effect::Write, dice.roll(200)),
            };
        }
        let mut left = size;
        let mut children = Vec::new();
        while left > 0 {
            let part = 1 + dice.roll(left);
            children.push(Self::generate(dice, part.min(left.max(2) - 1)));
            left -= part;
        }
        match dice.roll(6) {
            0 => Self::Child(Box::new(Self::Sequence(children))),
            1..=3 => Self::Parallel(1 + dice.roll(4) as usize, children),
            _ => Self::Sequence(children),
        }
    }

    /// Calls `visit` with the key and effect of every step of this run, and `child` with the key and tree of its child
    /// runs.
    pub(super) fn visit(
        &self,
        key: &str,
        visit: &mut dyn FnMut(&str, Effect),
        child: &mut dyn FnMut(&str, &Node),
    ) {
        match self {
            Self::Sequence(nodes) | Self::Parallel(_, nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    node.visit(&format!("{key}{index}/"), visit, child);
                }
            }
            Self::Step(effect, _) => visit(&format!("{key}step"), *effect),
            Self::Child(node) => child(&format!("{key}child"), node),
            Self::Approval | Self::Timer(_) => {}
        }
    }
}

/// Executes generated trees.
pub(super) struct GraphProgram {
    pub(super) process: Process,
    pub(super) recorder: Recorder,
}

impl GraphProgram {
    fn node<'a>(
        &'a self,
        context: RunContext,
        key: String,
        node: &'a Node,
    ) -> BoxFuture<'a, Result<(), Halt>> {
        Box::pin(async move {
            match node {
                Node::Sequence(nodes) => {
                    for (index, node) in nodes.iter().enumerate() {
                        let (part, key) = (index.to_string(), format!("{key}{index}/"));
                        self.node(context.scope(&part), key, node).await?;
                    }
                }
                Node::Parallel(limit, nodes) => {
                    let mut branches = context.branches(*limit);
                    for (index, node) in nodes.iter().enumerate() {
                        let (part, key) = (index.to_string(), format!("{key}{index}/"));
                        branches.spawn(move |context| self.node(context.scope(&part), key, node));
                    }
                    while let Some(result) = branches.next().await {
                        result?;
                    }
                }
                Node::Step(effect, millis) => {
                    let key = format!("{key}step");
                    let work = || async {
                        self.process.point().await;
                        self.recorder.effect(context.run().id, &key);
                        self.process.point().await;
                        sleep(Duration::from_millis(*millis)).await;
                        self.process.point().await;
                        Ok::<_, Halt>(json!(key))
                    };
                    match context.step("step", *effect, work).await? {
                        StepOutcome::Done(output) => assert_eq!(*output, json!(key)),
                        StepOutcome::Unknown => context.put("resolved", json!(true)),
                    }
                }
                Node::Approval => {
                    let wait = Wait {
                        key: "approval".to_owned(),
                        kind: "approval".to_owned(),
                        details: None,
                        timeout: Some(Duration::from_secs(3600)),
                    };
                    context.wait(wait).await?;
                }
                Node::Timer(millis) => {
                    let timeout = Some(Duration::from_millis(*millis));
                    let (key, kind) = ("timer".to_owned(), "timer".to_owned());
                    context.wait(Wait { key, kind, details: None, timeout }).await?;
                }
                Node::Child(node) => {
                    let input = serde_json::to_value(node).expect("a tree");
                    let new = NewRun { max_crashes: u32::MAX, ..new_run("graph", input) };
                    assert_eq!(context.child("child", new).await?, json!("done"));
                }
            }
            Ok(())
        })
    }
}

impl Program for GraphProgram {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(async move {
            let node: Node = serde_json::from_value(Value::clone(&context.run().input)).expect("a tree");
            self.node(context.clone(), String::new(), &node).await?;
            Ok(succeeded(json!("done")))
        })
    }

    fn give_up<'a>(&'a self, _: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        let output = json!(format!("{reason:?}"));
        Box::pin(async move { RunEnd { status: RunStatus::Failed, output, is_dead_letter: true } })
    }
}
