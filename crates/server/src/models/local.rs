//! An Ollama on this machine that nobody told of: looked for when it is needed, and not again for a while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_egress::{Egress, Limits};
use haft_llm::{Dialect, Reach, Wire};
use tokio::time::Instant;
use url::Url;

use super::provided::Provided;

/// What it is called.
const NAME: &str = "ollama";

/// On the same machine, nobody takes longer.
const PATIENCE: Duration = Duration::from_millis(300);

/// A list of models is no larger.
const LARGEST: usize = 1 << 20;

/// What was found, or not, stays so for a while.
const FOUND_FOR: Duration = Duration::from_secs(60);
const MISSED_FOR: Duration = Duration::from_secs(10);

/// Looks for an Ollama at one address.
pub(super) struct Local {
    wire: Wire,
    last: Mutex<Option<(Instant, Option<Arc<Provided>>)>>,
}

impl Local {
    pub(super) fn new(base: Url, egress: &Egress) -> Self {
        let wire = Wire {
            name: NAME.to_owned(),
            dialect: Dialect::Ollama,
            base,
            key: None,
            reach: Reach::Operator,
            egress: egress.clone(),
        };
        Self { wire, last: Mutex::default() }
    }

    pub(super) async fn find(&self) -> Option<Arc<Provided>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, found)) = last
            && at.elapsed() < if found.is_some() { FOUND_FOR } else { MISSED_FOR }
        {
            return found;
        }
        let limits = Limits { deadline: Some(Instant::now() + PATIENCE), bytes: LARGEST };
        let models = self.wire.models(limits).await.ok();
        let found = models.map(|models| Arc::new(Provided::found(self.wire.clone(), models)));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), found.clone()));
        found
    }
}
