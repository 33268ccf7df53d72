//! What is carried on before it is kept: a run that is new, or one that goes on with what was sent to it. It is kept
//! with the first thing that has to be, or a moment later; whoever began it hears of it then, and what never is kept leaves
//! no trace.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind};
use serde_json::Value;
use tokio::sync::watch;

use crate::journal::DoneStep;
use crate::rested::Written;
use crate::run::{Lease, NewRun, WorkerId};

/// How it stands.
#[derive(Debug, Clone)]
enum Standing {
    NotYet,
    Kept,
    /// Somebody else had taken it before.
    Lost,
    Never(CallError),
}

/// What is to be kept.
#[derive(Clone)]
pub(crate) enum What {
    /// The run itself.
    New(Arc<NewRun>),
    /// That this worker has taken it, as it was left.
    Taken { from: Lease, by: WorkerId },
}

/// That, in the hands of whoever carries it on.
pub(crate) struct Unwritten {
    pub(crate) what: What,
    /// What it goes on with, until the program has heard it.
    pub(crate) letter: Option<Value>,
    /// What it had done when it was left, as text.
    pub(crate) written: Option<Written>,
    /// How long whoever holds it may be silent.
    pub(crate) lease: Duration,
    /// What the journal was asked to keep with it, and may have kept without our knowing.
    pub(crate) asked: Option<Arc<[DoneStep]>>,
    /// Why it could not be kept.
    pub(crate) refused: Option<CallError>,
    told: watch::Sender<Standing>,
}

/// Whoever waits until it is kept.
#[derive(Clone)]
pub(crate) struct Begun(watch::Receiver<Standing>);

impl Unwritten {
    pub(crate) fn new(what: What, letter: Option<Value>, lease: Duration) -> (Self, Begun) {
        let (told, hears) = watch::channel(Standing::NotYet);
        let written = matches!(what, What::New(_)).then(Written::default);
        (Self { what, letter, written, lease, asked: None, refused: None, told }, Begun(hears))
    }

    pub(crate) fn is_new(&self) -> bool {
        match self.what {
            What::New(_) => true,
            What::Taken { .. } => false,
        }
    }

    /// Tells that it is kept.
    pub(crate) fn kept(self) {
        self.told.send_replace(Standing::Kept);
    }

    /// Tells that somebody else has it.
    pub(crate) fn lost(self) {
        self.told.send_replace(Standing::Lost);
    }

    /// Tells that it is gone.
    pub(crate) fn never(self, why: CallError) {
        self.told.send_replace(Standing::Never(why));
    }
}

impl Begun {
    pub(crate) fn is_kept(&self) -> bool {
        matches!(*self.0.borrow(), Standing::Kept)
    }

    /// Whether it was; not where somebody else had taken it before.
    pub(crate) async fn kept(mut self) -> Result<bool, CallError> {
        let told = self.0.wait_for(|standing| !matches!(standing, Standing::NotYet)).await;
        match told.as_deref() {
            Ok(Standing::Kept) => Ok(true),
            Ok(Standing::Lost) => Ok(false),
            Ok(Standing::Never(why)) => Err(why.clone()),
            Ok(Standing::NotYet) | Err(_) => Err(away()),
        }
    }
}

pub(crate) fn away() -> CallError {
    CallError::text(ErrorKind::Unavailable, "the started run could not be persisted")
}
