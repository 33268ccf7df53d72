//! A program: the code that the runs of one kind execute.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::{BoxFuture, CallError, RunId};

use crate::context::{Halt, RunContext};
use crate::run::RunEnd;

/// The code of one kind of run: a tool call, a conversation, a flow.
pub trait Program: Send + Sync {
    /// The name by which runs refer to it.
    fn name(&self) -> &'static str;

    /// Executes a run from its start. Dropping the future must stop the work.
    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>>;

    /// Returns true if its runs accept messages until they are deleted, such as conversations. The program itself then
    /// handles crashes and requests to cancel, which end one part of the run only.
    fn is_lasting(&self) -> bool {
        false
    }

    /// Called when a run has suspended or ended, and everything it did is persisted.
    fn released(&self, _run: RunId) {}

    /// Returns the end of a run that its program did not end.
    fn give_up<'a>(&'a self, context: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd>;
}

/// Why a run ends although its program did not end it.
#[derive(Debug)]
pub enum GiveUpReason {
    /// Too many workers crashed while they executed it.
    Crashes,
    Cancelled,
    /// Its user may no longer call tools in its space.
    Denied,
    /// Haft failed.
    Failed(CallError),
}

/// The programs of a worker.
#[derive(Clone, Default)]
pub struct Programs(HashMap<&'static str, Arc<dyn Program>>);

impl Programs {
    #[must_use]
    pub fn with(mut self, program: Arc<dyn Program>) -> Self {
        self.0.insert(program.name(), program);
        self
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn Program>> {
        self.0.get(name)
    }
}
