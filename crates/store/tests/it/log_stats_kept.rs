//! Counting, whatever happens meanwhile: each row counts once, none goes uncounted, and counts outlive rows.

use std::time::Duration;

use haft_core::ErrorKind;
use haft_store::{CallFilter, Retention, StatsOf, StatsQuery, Window};
use uuid::Uuid;

use crate::log::{call, calls, found, space, today};
use crate::log_stats::{DAY, HOUR, MINUTE, counted, roll_up, stats};
use crate::support::{both, kind};

/// With this no two buckets of a day may hold as many calls. They are written last.
const HINDER: &str = "CREATE UNIQUE INDEX hindrance ON tool_call_stats (calls) WHERE span = 86400";
const LET_GO: &str = "DROP INDEX hindrance";

#[tokio::test]
async fn whoever_counts_at_the_same_time_counts_each_row_once() {
    both(async |place| {
        let (log, other) = (place.open_log().await, place.open_log().await);
        let (space, now) = (space(), today());
        for round in 0..5 {
            log.insert(&calls(space, now, round * 40..round * 40 + 40)).await.expect("written");
            tokio::join!(roll_up(&log), roll_up(&other), roll_up(&log));
            assert_eq!(counted(&log, space, Window::Hour).await, u64::from(round + 1) * 40);
        }
        let more = calls(space, now, 200..300);
        let (inserted, ()) = tokio::join!(log.insert(&more), roll_up(&other));
        inserted.expect("written");
        roll_up(&log).await;
        for window in Window::ALL {
            assert_eq!(counted(&other, space, window).await, 300, "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn rows_are_counted_as_they_are_written_or_read_where_others_wrote_too() {
    both(async |place| {
        let (log, other) = (place.open_log().await, place.open_log().await);
        let (space, now) = (space(), today());
        log.insert(&calls(space, now, 0..3)).await.expect("written");
        // Nothing is read of what this process wrote.
        place.raw_log("UPDATE tool_call_log SET duration = -1 WHERE seq = 2").await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 3);
        log.insert(&calls(space, now, 3..5)).await.expect("written");
        other.insert(&calls(space, now, 5..6)).await.expect("written");
        log.insert(&calls(space, now, 6..8)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 8);
        roll_up(&other).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 8, "each once");
    })
    .await;
}

#[tokio::test]
async fn many_rows_are_counted_in_several_turns() {
    both(async |place| {
        // Who did not write the rows has to read them.
        let (writer, log) = (place.open_log().await, place.open_log().await);
        let (space, now) = (space(), today());
        writer.insert(&calls(space, now, 0..5100)).await.expect("written");
        assert!(log.roll_up().await.expect("counted"), "there is more");
        let some = counted(&log, space, Window::Hour).await;
        assert!(0 < some && some < 5100, "{some}");
        assert!(!log.roll_up().await.expect("counted"), "there is no more");
        assert_eq!(counted(&log, space, Window::Hour).await, 5100);
        assert!(!log.roll_up().await.expect("counted"), "nothing to do");
        // A start later, it goes on where it was.
        log.close().await;
        let log = place.open_log().await;
        log.insert(&calls(space, now, 5100..5110)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 5110);
    })
    .await;
}

#[tokio::test]
async fn what_is_not_wholly_counted_is_not_counted_at_all() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        // More buckets than one statement writes, of which the first can be written.
        let mut written = calls(space, now, 0..100);
        for (number, call) in (0..60_u32).zip(&mut written) {
            call.row.tool_name = format!("tool_{number:02}").into();
            call.row.started_at = now - number * DAY;
        }
        log.insert(&written).await.expect("written");
        place.raw_log(HINDER).await;
        assert_eq!(kind(log.roll_up().await), ErrorKind::Conflict);
        assert_eq!(counted(&log, space, Window::Quarter).await, 0);
        place.raw_log(LET_GO).await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Quarter).await, 100);
    })
    .await;
}

#[tokio::test]
async fn no_row_goes_before_it_is_counted() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        // On PostgreSQL one goes row by row and the others with their day.
        let old = [calls(space, now - 40 * DAY, 0..1), calls(space, now - DAY, 1..4)].concat();
        log.insert(&old).await.expect("written");
        let keep = Retention { age: Duration::ZERO, ..Retention::default() };
        place.raw_log(HINDER).await;
        assert_eq!(kind(log.maintain(keep).await), ErrorKind::Conflict);
        assert_eq!(found(&log, space, &CallFilter::default()).await.len(), 4, "none is counted");
        place.raw_log(LET_GO).await;
        log.maintain(keep).await.expect("tidied");
        assert!(found(&log, space, &CallFilter::default()).await.is_empty());
        assert_eq!(counted(&log, space, Window::Quarter).await, 4);
        assert_eq!(log.verify().await.expect("verified").fault, None);
    })
    .await;
}

#[tokio::test]
async fn counts_are_kept_for_longer_the_larger_their_buckets_are() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        let ages = [800 * DAY, 61 * DAY, 4 * DAY, 7 * HOUR, 30 * MINUTE];
        let mut written: Vec<_> =
            (0..).zip(ages).map(|(number, ago)| call(space, now - ago, number)).collect();
        for call in &mut written[..2] {
            call.row.tool_name = "forecast".into();
        }
        log.insert(&written).await.expect("written");
        log.maintain(Retention::default()).await.expect("tidied");
        // The rows of two are gone.
        assert_eq!(found(&log, space, &CallFilter::default()).await.len(), 3);
        let tool = StatsOf::Tool(Uuid::from_u128(7).to_string());
        let windows = Window::ALL.into_iter().zip([0, 1, 1, 2, 3, 3, 4]);
        for (window, calls) in windows.clone() {
            assert_eq!(counted(&log, space, window).await, calls, "{window:?}");
            let of_tool = stats(&log, space, window, tool.clone()).await;
            assert_eq!(of_tool.totals.calls, calls, "{window:?}: its names are known as long");
        }
        // Time goes by for the minutes, and back for whatever is left of them.
        let micros = (7 * HOUR).as_micros();
        place.raw_log(&format!("UPDATE tool_call_stats SET start = start - {micros} WHERE span = 60")).await;
        log.maintain(Retention::default()).await.expect("tidied");
        place.raw_log(&format!("UPDATE tool_call_stats SET start = start + {micros} WHERE span = 60")).await;
        for (window, calls) in windows {
            let calls = if window == Window::Hour { 0 } else { calls };
            assert_eq!(counted(&log, space, window).await, calls, "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_stops_no_counting() {
    both(async |place| {
        let (writer, log) = (place.open_log().await, place.open_log().await);
        let (space, now) = (space(), today());
        writer.insert(&calls(space, now, 0..5)).await.expect("written");
        place.raw_log("UPDATE tool_call_log SET duration = -1 WHERE seq = 2").await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 4);
        place.raw_log("UPDATE tool_call_stats SET histogram = CAST('x' AS BYTEA)").await;
        assert_eq!(kind(log.stats(space, &StatsQuery::default()).await), ErrorKind::Internal);
        assert_eq!(kind(log.recent(space, None, 5).await), ErrorKind::Internal);
        log.insert(&calls(space, now, 5..8)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, Window::Hour).await, 3, "they begin anew");
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_was_wrong_leaves_no_counts_in_the_future() {
    both(async |place| {
        let log = place.open_log().await;
        let (space, now) = (space(), today());
        let written = [call(space, now, 0), call(space, now + 3 * DAY, 1), call(space, now + HOUR, 2)];
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        for window in [Window::Hour, Window::SixHours] {
            let stats = stats(&log, space, window, StatsOf::Space).await;
            let in_steps: u64 = stats.series.iter().map(|step| step.totals.calls).sum();
            assert_eq!((stats.totals.calls, in_steps), (1, 1), "{window:?}");
        }
        place.raw_log("UPDATE tool_call_stats SET start = start - 259200000000 WHERE span = 86400").await;
        let calls = counted(&log, space, Window::Month).await;
        assert_eq!(calls, 2, "what was three days ahead was never counted");
    })
    .await;
}
