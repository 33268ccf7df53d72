//! Follows what changes in the store, here and in other processes: tools are renewed, people looked up anew.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// The truth is asked for this often; hints only make it quicker.
const POLL: Duration = Duration::from_secs(1);

/// When changes could not be read for so long, nobody's rights are certain any more.
const LOST: Duration = Duration::from_secs(4);

/// Follows changes after `revision` until told to stop.
pub(crate) async fn follow(app: App, revision: u64, stop: CancellationToken) {
    let mut hints = app.store.changed();
    let mut revision = revision;
    let mut last = Instant::now();
    loop {
        tokio::select! {
            hint = hints.changed() => if hint.is_err() { tokio::time::sleep(POLL).await },
            () = tokio::time::sleep(POLL) => {}
            () = stop.cancelled() => return,
        }
        match step(&app, revision).await {
            Ok(next) => {
                (revision, last) = (next, Instant::now());
                app.visitors.set_lost(false);
            }
            Err(error) => {
                tracing::warn!(%error, "Changes cannot be read; trying again");
                if last.elapsed() >= LOST {
                    app.visitors.set_lost(true);
                }
            }
        }
    }
}

async fn step(app: &App, revision: u64) -> Result<u64, haft_core::CallError> {
    let changes = app.store.changes_since(revision).await?;
    if changes.identity {
        app.visitors.forget();
    }
    for space in changes.spaces {
        app.tools.renew(space).await?;
    }
    Ok(changes.revision)
}
