//! A run that is carried on before it is kept. It is kept with the first thing that has to be, or a moment later;
//! nobody outside hears of it before, and one that never is leaves no trace.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, RunId};
use tokio::sync::watch;

use crate::run::NewRun;

/// How such a run stands.
#[derive(Debug, Clone)]
enum Standing {
    NotYet,
    Kept,
    Never(CallError),
}

/// What is to be kept of it, in the hands of whoever carries it on.
pub(crate) struct Unwritten {
    pub(crate) new: Arc<NewRun>,
    /// How long whoever holds it may be silent.
    pub(crate) lease: Duration,
    /// The journal was asked to keep it, and may have done so without our knowing.
    pub(crate) is_asked: bool,
    /// Why it could not be kept.
    pub(crate) refused: Option<CallError>,
    told: watch::Sender<Standing>,
}

/// Whoever waits until it is kept.
#[derive(Clone)]
pub(crate) struct Begun {
    id: RunId,
    told: watch::Receiver<Standing>,
}

impl Unwritten {
    pub(crate) fn new(new: NewRun, lease: Duration) -> (Self, Begun) {
        let (told, hears) = watch::channel(Standing::NotYet);
        let begun = Begun { id: new.id, told: hears };
        (Self { new: Arc::new(new), lease, is_asked: false, refused: None, told }, begun)
    }

    /// Tells that it is kept.
    pub(crate) fn kept(self) {
        self.told.send_replace(Standing::Kept);
    }

    /// Tells that it is gone.
    pub(crate) fn never(self, why: CallError) {
        self.told.send_replace(Standing::Never(why));
    }
}

impl Begun {
    pub(crate) fn is_kept(&self) -> bool {
        matches!(*self.told.borrow(), Standing::Kept)
    }

    pub(crate) async fn kept(mut self) -> Result<RunId, CallError> {
        let told = self.told.wait_for(|standing| !matches!(standing, Standing::NotYet)).await;
        match told.as_deref() {
            Ok(Standing::Kept) => Ok(self.id),
            Ok(Standing::Never(why)) => Err(why.clone()),
            Ok(Standing::NotYet) | Err(_) => {
                Err(CallError::text(ErrorKind::Unavailable, "what was begun could not be kept"))
            }
        }
    }
}
