//! Follows what changes in the store, here and in other processes: tools are renewed, people looked up anew,
//! and those who listen are told.
//!
//! Whose rights changed is what must be known; a space whose tools cannot be renewed is no reason to close the others.

use std::collections::HashSet;
use std::time::Duration;

use haft_core::{CallError, SpaceId};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// The truth is asked for this often; hints only make it quicker.
const POLL: Duration = Duration::from_secs(1);

/// A database that takes longer to tell is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// Follows changes after `revision` until told to stop.
pub(crate) async fn follow(app: &App, revision: u64, stop: &CancellationToken) {
    let mut hints = app.store.changed();
    let mut following = Following { revision, behind: HashSet::new() };
    loop {
        tokio::select! {
            hint = hints.changed() => if hint.is_err() { tokio::time::sleep(POLL).await },
            () = tokio::time::sleep(POLL) => {}
            () = stop.cancelled() => return,
        }
        if let Err(error) = following.step(app).await {
            tracing::warn!(%error, "Changes cannot be read; trying again");
        }
    }
}

struct Following {
    revision: u64,
    /// Spaces whose tools could not be renewed yet.
    behind: HashSet<SpaceId>,
}

impl Following {
    async fn step(&mut self, app: &App) -> Result<(), CallError> {
        let asked = timeout(PATIENCE, app.store.changes_since(self.revision)).await;
        let changes = asked.unwrap_or_else(|_| {
            Err(CallError::text(haft_core::ErrorKind::Unavailable, "the database does not answer"))
        })?;
        if changes.identity {
            app.visitors.forget();
        }
        // Not those with news alone: no call depends on what there is to hear.
        for space in &changes.spaces {
            app.secrets.forget(*space);
            app.models.forget(*space);
        }
        app.visitors.followed();
        self.behind.extend(&changes.spaces);
        self.revision = changes.revision;
        for space in std::mem::take(&mut self.behind) {
            if let Err(error) = app.tools.renew(space).await {
                tracing::warn!(%error, space.id = %space, "The tools of a space cannot be renewed; trying again");
                self.behind.insert(space);
            }
        }
        // Last, so that who hears of a change finds it made.
        app.listeners.tell(changes);
        Ok(())
    }
}
