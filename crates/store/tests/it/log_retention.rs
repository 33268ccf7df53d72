//! What is old or too much goes, and the chain of what stays holds.

use std::time::Duration;

use haft_core::ErrorKind;
use haft_store::{CallFilter, CallLog, LoggedCall, Retention};
use uuid::Uuid;

use crate::log::{call, calls, failed, space, today};
use crate::support::{Place, all, both};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn check_chain(log: &CallLog, calls: u64) {
    let verification = log.verify().await.expect("verified");
    assert_eq!((verification.checked, verification.fault), (calls, None));
}

#[tokio::test]
async fn old_calls_go_and_the_rest_can_still_be_verified() {
    both(async |place| {
        let log = place.open_log().await;
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

        log.maintain(Retention::default()).await.expect("tidied");
        check_chain(&log, 10).await;
        let (rows, _) = log.find(space, &CallFilter::default(), &all()).await.expect("a page");
        assert_eq!(rows.len(), 10);
        assert_eq!(log.get(space, "call_5").await.expect("an answer"), None);
        let text = CallFilter { text: Some("zeppelin".to_owned()), ..CallFilter::default() };
        assert!(log.find(space, &text, &all()).await.expect("a page").0.is_empty());

        log.maintain(Retention::default()).await.expect("nothing to do");
        log.insert(&calls(space, now, 1010..1015)).await.expect("goes on");
        check_chain(&log, 15).await;
        // A name that was forgotten is learned anew.
        let text = CallFilter { text: Some("weather".to_owned()), ..CallFilter::default() };
        assert_eq!(log.find(space, &text, &all()).await.expect("a page").0.len(), 15);
        place.raw_log("DELETE FROM tool_call_log WHERE seq = 713").await;
        assert!(log.verify().await.expect("verified").fault.is_some());
    })
    .await;
}

#[tokio::test]
async fn whoever_tidies_is_told_when_there_is_more() {
    let place = Place::sqlite();
    let log = place.open_log().await;
    let (space, now) = (space(), today());
    log.insert(&calls(space, now - 40 * DAY, 0..10_100)).await.expect("written");
    log.insert(&calls(space, now, 10_100..10_105)).await.expect("written");
    assert!(log.maintain(Retention::default()).await.expect("tidied"), "some are left");
    check_chain(&log, 105).await;
    assert!(!log.maintain(Retention::default()).await.expect("tidied"), "none is left");
    check_chain(&log, 5).await;
    assert!(!log.maintain(Retention::default()).await.expect("nothing to do"));
}

#[tokio::test]
async fn a_day_goes_as_a_whole() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        log.insert(&calls(space, now - DAY, 0..20)).await.expect("written");
        log.insert(&calls(space, now + DAY / 24, 20..30)).await.expect("written");
        log.maintain(Retention { age: Duration::ZERO, ..Retention::default() }).await.expect("tidied");
        check_chain(&log, 10).await;
        assert_eq!(log.get(space, "call_19").await.expect("an answer"), None);
        assert!(log.get(space, "call_20").await.expect("an answer").is_some());
    })
    .await;
}

#[tokio::test]
async fn the_oldest_go_when_there_is_too_much() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        let large = |mut call: LoggedCall| {
            // Nothing that a database could write shorter.
            let text: String = (0..60).map(|_| Uuid::new_v4().simple().to_string()).collect();
            call.bodies.arguments = format!("\"{text}\"").into();
            call
        };
        let old: Vec<LoggedCall> = calls(space, now - DAY, 0..1000).into_iter().map(large).collect();
        log.insert(&old).await.expect("written");
        let new: Vec<LoggedCall> = calls(space, now, 1000..1100).into_iter().map(large).collect();
        log.insert(&new).await.expect("written");
        log.maintain(Retention { bytes: 1 << 30, ..Retention::default() }).await.expect("tidied");
        check_chain(&log, 1100).await;
        log.maintain(Retention { bytes: 1_500_000, ..Retention::default() }).await.expect("tidied");
        let verification = log.verify().await.expect("verified");
        assert_eq!(verification.fault, None);
        assert!((100..1100).contains(&verification.checked), "{verification:?}");
        assert_eq!(log.get(space, "call_0").await.expect("an answer"), None);
        assert_eq!(log.get(space, "call_1099").await.expect("an answer"), new.last().cloned());
    })
    .await;
}
