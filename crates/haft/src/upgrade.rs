//! Stops a process when a newer Haft has upgraded the database that both use: two schemas never work side by side.

use std::sync::OnceLock;
use std::time::Duration;

use haft_core::{CallError, ErrorKind};
use haft_store::Store;
use tokio_util::sync::CancellationToken;

/// How often the version of the schema is read.
const INTERVAL: Duration = Duration::from_secs(2);

/// Runs until the stop. If a newer Haft upgraded the database, cancels `stop` and returns the reason.
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
                tracing::error!(%error, "This process stops");
                let _ = upgraded.set(error);
                stop.cancel();
                return;
            }
            // A database that is away is not upgraded, and is read again.
            Ok(()) | Err(_) => {}
        }
    }
}
