//! Waiting for what comes true a moment later.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(20);

/// Asks until it holds; panics when it does not within ten seconds.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "it never came true that {what}");
        sleep(STEP).await;
    }
}
