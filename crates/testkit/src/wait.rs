//! Waits for a condition.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const TIMEOUT: Duration = Duration::from_secs(10);
const INTERVAL: Duration = Duration::from_millis(20);

/// Polls a condition until it holds. Panics after ten seconds; `what` describes the condition.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < TIMEOUT, "timed out waiting until {what}");
        sleep(INTERVAL).await;
    }
}
