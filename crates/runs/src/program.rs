//! What a run does: a program, known by its name.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::{BoxFuture, CallError, RunId};

use crate::context::{Halt, RunContext};
use crate::run::{Ended, Run};

/// One kind of run: a tool call, a chat turn, a flow.
pub trait Program: Send + Sync {
    /// The word by which a run names it.
    fn name(&self) -> &'static str;

    /// Carries a run on from its top. Dropping the future must stop the work.
    fn run<'a>(&'a self, context: &'a mut RunContext) -> BoxFuture<'a, Result<Ended, Halt>>;

    /// Whether a run of it is there for as long as somebody may send it something: a conversation. What is lost
    /// in it, and what somebody wants to end, is then a part of it, and the program says what follows.
    fn is_lasting(&self) -> bool {
        false
    }

    /// Hears that a run waits or has ended by now, and that all it did is kept; or that none of it could be.
    fn let_go(&self, _run: RunId) {}

    /// Hears that nothing counts that a run did since it was taken: somebody else has it, or it could not be kept.
    fn forgo(&self, _run: &Run) {}

    /// How a run ended that its program could not end: given up, or nobody knows.
    fn gave_up<'a>(&'a self, context: &'a RunContext, why: GaveUp) -> BoxFuture<'a, Ended>;
}

/// Why a run ends although its program did not end it.
#[derive(Debug)]
pub enum GaveUp {
    /// A step may have had its effect, and nobody knows.
    Unknown,
    /// Each worker that took it died.
    Deaths,
    /// Somebody wanted it to end.
    Cancelled,
    /// Its user may no longer call tools in its space.
    Denied,
    /// We failed.
    Failed(CallError),
}

/// The programs that a worker knows.
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
