//! Stops a process when a newer version of Haft upgrades the schema of the shared database.

use std::sync::OnceLock;
use std::time::Duration;

use haft_core::{CallError, ErrorKind};
use haft_store::Store;
use tokio_util::sync::CancellationToken;

/// The interval between checks of the schema version.
const INTERVAL: Duration = Duration::from_secs(2);

/// Runs until `stop` is cancelled. If a newer version upgraded the database, cancels `stop` and returns the
/// error.
pub(crate) async fn watch(store: Store, stop: CancellationToken) -> Result<(), CallError> {
    let upgraded = OnceLock::new();
    // Only one process uses a database that is not shared.
    if store.is_shared() {
        store.supervisor().run("upgrade watch", &stop, || wait_for_upgrade(&store, &stop, &upgraded)).await;
    }
    upgraded.into_inner().map_or(Ok(()), Err)
}

async fn wait_for_upgrade(store: &Store, stop: &CancellationToken, upgraded: &OnceLock<CallError>) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = stop.cancelled() => return,
        }
        match store.check_schema().await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                tracing::error!(%error, "Stopping: a newer version of Haft upgraded the database");
                let _ = upgraded.set(error);
                stop.cancel();
                return;
            }
            // An unreachable database is checked again after the next interval.
            Ok(()) | Err(_) => {}
        }
    }
}
