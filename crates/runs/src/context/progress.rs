//! Reports the progress of a run to its journal.

use std::sync::Arc;
use std::time::Duration;

use haft_core::Progress;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::journal::Journal;
use crate::run::Lease;

/// Minimum time between two reports.
const INTERVAL: Duration = Duration::from_millis(500);

/// Persists how far a run has come.
pub struct ProgressReporter {
    journal: Arc<dyn Journal>,
    lease: Lease,
}

impl ProgressReporter {
    pub(super) fn new(journal: Arc<dyn Journal>, lease: Lease) -> Self {
        Self { journal, lease }
    }

    /// Persists one report. A failure is ignored, and the work continues without the report.
    pub async fn report(&self, progress: &Progress) {
        let progress = serde_json::to_value(progress).unwrap_or_default();
        let _ = self.journal.progress(self.lease, progress).await;
    }

    /// Persists the newest of the received reports at intervals, until the future is dropped.
    pub async fn report_all(self, mut received: watch::Receiver<Option<Progress>>) {
        loop {
            if received.changed().await.is_err() {
                return std::future::pending().await;
            }
            let progress = received.borrow_and_update().clone();
            if let Some(progress) = progress {
                self.report(&progress).await;
            }
            sleep(INTERVAL).await;
        }
    }
}
