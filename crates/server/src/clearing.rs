//! Clears away what has ended: when the server starts, and every hour after that.
//!
//! Beside all else, in short steps: whoever follows changes must not wait for it. What has ended is for the
//! store to say.

use std::time::Duration;

use haft_store::Store;
use jiff::Timestamp;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::tasks::Tasks;

const INTERVAL: Duration = Duration::from_secs(3600);

/// Who changed what stays on record for so long.
const ON_RECORD: Duration = Duration::from_secs(400 * 24 * 3600);

/// Others have their turn for so long, while there is more to take from the record.
const BREATH: Duration = Duration::from_millis(100);

/// Clears until told to stop.
pub(crate) async fn clear(store: &Store, tasks: Option<&Tasks>, stop: &CancellationToken) {
    loop {
        tokio::select! {
            () = turn(store, tasks) => {}
            () = stop.cancelled() => return,
        }
    }
}

/// Clears once, and rests.
async fn turn(store: &Store, tasks: Option<&Tasks>) {
    if let Err(error) = store.delete_expired().await {
        tracing::warn!(%error, "Expired rows could not be deleted");
    }
    forget(store).await;
    if let Some(tasks) = tasks {
        forget_tasks(tasks).await;
    }
    sleep(INTERVAL).await;
}

/// Takes from the record what is old or too much.
async fn forget(store: &Store) {
    loop {
        let oldest = Timestamp::now().saturating_sub(ON_RECORD).unwrap_or(Timestamp::MIN);
        match store.prune_history(oldest).await {
            Ok(0) => return,
            Ok(_) => sleep(BREATH).await,
            Err(error) => {
                tracing::warn!(%error, "Old changes could not be deleted from the audit log");
                return;
            }
        }
    }
}

/// Takes away tasks that ended long ago.
async fn forget_tasks(tasks: &Tasks) {
    loop {
        match tasks.journal.tidy(tasks.keep).await {
            Ok(false) => return,
            Ok(true) => sleep(BREATH).await,
            Err(error) => {
                tracing::warn!(%error, "Old tasks could not be deleted");
                return;
            }
        }
    }
}
