//! Retention deletes old and excess calls, and the remaining chain stays valid.

use std::time::Duration;

use haft_core::ErrorKind;
use haft_store::{CallFilter, CallLog, LogRetention, LoggedCall};
use uuid::Uuid;

use crate::log::{call, calls, failed, space, today};
use crate::support::{TestDatabase, all, both};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn check_chain(log: &CallLog, calls: u64) {
    let verification = log.verify().await.expect("verified");
    assert_eq!((verification.checked, verification.fault), (calls, None));
}

#[tokio::test]
async fn old_calls_are_deleted_and_the_rest_stays_valid() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let long_ago = now - 40 * DAY;
        let mut old = calls(space, long_ago, 0..700);
        old.push(failed(call(space, long_ago, 700), ErrorKind::Server, "zeppelin"));
        let mut renamed = call(space, long_ago, 701);
        renamed.row.tool_name = "zeppelin_tool".into();
        old.push(renamed);
        log.insert(&old).await.expect("written");
        log.insert(&calls(space, now, 1000..1010)).await.expect("written");
        check_chain(&log, 712).await;

        log.maintain(LogRetention::default()).await.expect("pruned");
        check_chain(&log, 10).await;
        let (rows, _) = log.find(space, &CallFilter::default(), &all()).await.expect("a page");
        assert_eq!(rows.len(), 10);
        assert_eq!(log.get(space, "call_5").await.expect("a result"), None);
        let text = CallFilter { text: Some("zeppelin".to_owned()), ..CallFilter::default() };
        assert!(log.find(space, &text, &all()).await.expect("a page").0.is_empty());

        log.maintain(LogRetention::default()).await.expect("no change");
        log.insert(&calls(space, now, 1010..1015)).await.expect("written");
        check_chain(&log, 15).await;
        // A name that was pruned is stored again.
        let text = CallFilter { text: Some("weather".to_owned()), ..CallFilter::default() };
        assert_eq!(log.find(space, &text, &all()).await.expect("a page").0.len(), 15);
        db.raw_log("DELETE FROM tool_call_log WHERE seq = 713").await;
        assert!(log.verify().await.expect("verified").fault.is_some());
    })
    .await;
}

#[tokio::test]
async fn maintain_reports_remaining_rows() {
    let db = TestDatabase::sqlite();
    let log = db.open_log().await;
    let (space, now) = (space(), today());
    log.insert(&calls(space, now - 40 * DAY, 0..10_100)).await.expect("written");
    log.insert(&calls(space, now, 10_100..10_105)).await.expect("written");
    assert!(log.maintain(LogRetention::default()).await.expect("pruned"), "some are left");
    check_chain(&log, 105).await;
    assert!(!log.maintain(LogRetention::default()).await.expect("pruned"), "none is left");
    check_chain(&log, 5).await;
    assert!(!log.maintain(LogRetention::default()).await.expect("no change"));
}

#[tokio::test]
async fn days_are_dropped_as_a_whole() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        log.insert(&calls(space, now - DAY, 0..20)).await.expect("written");
        log.insert(&calls(space, now + DAY / 24, 20..30)).await.expect("written");
        log.maintain(LogRetention { age: Duration::ZERO, ..LogRetention::default() }).await.expect("pruned");
        check_chain(&log, 10).await;
        assert_eq!(log.get(space, "call_19").await.expect("a result"), None);
        assert!(log.get(space, "call_20").await.expect("a result").is_some());
    })
    .await;
}

#[tokio::test]
async fn the_oldest_calls_are_deleted_above_the_size_limit() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let large = |mut call: LoggedCall| {
            // Incompressible, so that the database cannot store it in less space.
            let text: String = (0..60).map(|_| Uuid::new_v4().simple().to_string()).collect();
            call.bodies.arguments = format!("\"{text}\"").into();
            call
        };
        let old: Vec<LoggedCall> = calls(space, now - DAY, 0..1000).into_iter().map(large).collect();
        log.insert(&old).await.expect("written");
        let new: Vec<LoggedCall> = calls(space, now, 1000..1100).into_iter().map(large).collect();
        log.insert(&new).await.expect("written");
        log.maintain(LogRetention { bytes: 1 << 30, ..LogRetention::default() }).await.expect("pruned");
        check_chain(&log, 1100).await;
        log.maintain(LogRetention { bytes: 1_500_000, ..LogRetention::default() }).await.expect("pruned");
        let verification = log.verify().await.expect("verified");
        assert_eq!(verification.fault, None);
        assert!((100..1100).contains(&verification.checked), "{verification:?}");
        assert_eq!(log.get(space, "call_0").await.expect("a result"), None);
        assert_eq!(log.get(space, "call_1099").await.expect("a result"), new.last().cloned());
    })
    .await;
}
