//! The rollup counts each row exactly once under concurrency and errors, and counts outlive rows.

use std::time::Duration;

use haft_core::ErrorKind;
use haft_store::{CallFilter, LogRetention, StatsOf, StatsQuery, StatsWindow};
use uuid::Uuid;

use crate::log::{call, calls, found, space, today};
use crate::log_stats::{DAY, HOUR, MINUTE, counted, roll_up, stats};
use crate::support::{both, kind};

/// An index that lets the rollup fail: no two buckets of a day may have the same number of calls. Buckets of
/// days are written last.
const BREAK_ROLLUP: &str = "CREATE UNIQUE INDEX hindrance ON tool_call_stats (calls) WHERE span = 86400";
const REPAIR_ROLLUP: &str = "DROP INDEX hindrance";

#[tokio::test]
async fn concurrent_rollups_count_each_row_once() {
    both(async |db| {
        let (log, other) = (db.open_log().await, db.open_log().await);
        let (space, now) = (space(), today());
        for round in 0..5 {
            log.insert(&calls(space, now, round * 40..round * 40 + 40)).await.expect("written");
            tokio::join!(roll_up(&log), roll_up(&other), roll_up(&log));
            assert_eq!(counted(&log, space, StatsWindow::Hour).await, u64::from(round + 1) * 40);
        }
        let more = calls(space, now, 200..300);
        let (inserted, ()) = tokio::join!(log.insert(&more), roll_up(&other));
        inserted.expect("written");
        roll_up(&log).await;
        for window in StatsWindow::ALL {
            assert_eq!(counted(&other, space, window).await, 300, "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn rows_of_this_and_other_processes_are_counted() {
    both(async |db| {
        let (log, other) = (db.open_log().await, db.open_log().await);
        let (space, now) = (space(), today());
        log.insert(&calls(space, now, 0..3)).await.expect("written");
        // Rows that this process inserted are not read.
        db.raw_log("UPDATE tool_call_log SET duration = -1 WHERE seq = 2").await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 3);
        log.insert(&calls(space, now, 3..5)).await.expect("written");
        other.insert(&calls(space, now, 5..6)).await.expect("written");
        log.insert(&calls(space, now, 6..8)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 8);
        roll_up(&other).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 8, "each once");
    })
    .await;
}

#[tokio::test]
async fn many_rows_are_counted_in_batches() {
    both(async |db| {
        // A process that did not insert the rows has to read them.
        let (writer, log) = (db.open_log().await, db.open_log().await);
        let (space, now) = (space(), today());
        writer.insert(&calls(space, now, 0..5100)).await.expect("written");
        assert!(log.roll_up().await.expect("counted"), "there is more");
        let some = counted(&log, space, StatsWindow::Hour).await;
        assert!(0 < some && some < 5100, "{some}");
        assert!(!log.roll_up().await.expect("counted"), "there is no more");
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 5100);
        assert!(!log.roll_up().await.expect("counted"), "nothing to do");
        // After a restart, the rollup continues where it stopped.
        log.close().await;
        let log = db.open_log().await;
        log.insert(&calls(space, now, 5100..5110)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 5110);
    })
    .await;
}

#[tokio::test]
async fn failed_rollups_count_nothing() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        // More buckets than one statement writes; the first ones can be written.
        let mut written = calls(space, now, 0..100);
        for (number, call) in (0..60_u32).zip(&mut written) {
            call.row.tool_name = format!("tool_{number:02}").into();
            call.row.started_at = now - number * DAY;
        }
        log.insert(&written).await.expect("written");
        db.raw_log(BREAK_ROLLUP).await;
        assert_eq!(kind(log.roll_up().await), ErrorKind::Conflict);
        assert_eq!(counted(&log, space, StatsWindow::Quarter).await, 0);
        db.raw_log(REPAIR_ROLLUP).await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Quarter).await, 100);
    })
    .await;
}

#[tokio::test]
async fn rows_are_not_deleted_before_they_are_counted() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        // On PostgreSQL, one row is deleted individually and the others with their partition.
        let old = [calls(space, now - 40 * DAY, 0..1), calls(space, now - DAY, 1..4)].concat();
        log.insert(&old).await.expect("written");
        let keep = LogRetention { age: Duration::ZERO, ..LogRetention::default() };
        db.raw_log(BREAK_ROLLUP).await;
        assert_eq!(kind(log.maintain(keep).await), ErrorKind::Conflict);
        assert_eq!(found(&log, space, &CallFilter::default()).await.len(), 4, "none is counted");
        db.raw_log(REPAIR_ROLLUP).await;
        log.maintain(keep).await.expect("pruned");
        assert!(found(&log, space, &CallFilter::default()).await.is_empty());
        assert_eq!(counted(&log, space, StatsWindow::Quarter).await, 4);
        assert_eq!(log.verify().await.expect("verified").fault, None);
    })
    .await;
}

#[tokio::test]
async fn larger_buckets_are_retained_longer() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let ages = [800 * DAY, 61 * DAY, 4 * DAY, 7 * HOUR, 30 * MINUTE];
        let mut written: Vec<_> =
            (0..).zip(ages).map(|(number, ago)| call(space, now - ago, number)).collect();
        for call in &mut written[..2] {
            call.row.tool_name = "forecast".into();
        }
        log.insert(&written).await.expect("written");
        log.maintain(LogRetention::default()).await.expect("pruned");
        // The rows of two calls are deleted.
        assert_eq!(found(&log, space, &CallFilter::default()).await.len(), 3);
        let tool = StatsOf::Tool(Uuid::from_u128(7).to_string());
        let windows = StatsWindow::ALL.into_iter().zip([0, 1, 1, 2, 3, 3, 4]);
        for (window, calls) in windows.clone() {
            assert_eq!(counted(&log, space, window).await, calls, "{window:?}");
            let of_tool = stats(&log, space, window, tool.clone()).await;
            assert_eq!(of_tool.totals.calls, calls, "{window:?}: its names are retained as long");
        }
        // Move the minute buckets into the past, prune, and move the remaining ones back.
        let micros = (7 * HOUR).as_micros();
        db.raw_log(&format!("UPDATE tool_call_stats SET start = start - {micros} WHERE span = 60")).await;
        log.maintain(LogRetention::default()).await.expect("pruned");
        db.raw_log(&format!("UPDATE tool_call_stats SET start = start + {micros} WHERE span = 60")).await;
        for (window, calls) in windows {
            let calls = if window == StatsWindow::Hour { 0 } else { calls };
            assert_eq!(counted(&log, space, window).await, calls, "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn unreadable_rows_do_not_stop_the_rollup() {
    both(async |db| {
        let (writer, log) = (db.open_log().await, db.open_log().await);
        let (space, now) = (space(), today());
        writer.insert(&calls(space, now, 0..5)).await.expect("written");
        db.raw_log("UPDATE tool_call_log SET duration = -1 WHERE seq = 2").await;
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 4);
        db.raw_log("UPDATE tool_call_stats SET histogram = CAST('x' AS BYTEA)").await;
        assert_eq!(kind(log.stats(space, &StatsQuery::default()).await), ErrorKind::Internal);
        assert_eq!(kind(log.recent(space, None, 5).await), ErrorKind::Internal);
        log.insert(&calls(space, now, 5..8)).await.expect("written");
        roll_up(&log).await;
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 3, "counting starts again");
    })
    .await;
}

#[tokio::test]
async fn rows_with_future_times_are_not_counted() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let written = [call(space, now, 0), call(space, now + 3 * DAY, 1), call(space, now + HOUR, 2)];
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        for window in [StatsWindow::Hour, StatsWindow::SixHours] {
            let stats = stats(&log, space, window, StatsOf::Space).await;
            let in_steps: u64 = stats.series.iter().map(|step| step.totals.calls).sum();
            assert_eq!((stats.totals.calls, in_steps), (1, 1), "{window:?}");
        }
        db.raw_log("UPDATE tool_call_stats SET start = start - 259200000000 WHERE span = 86400").await;
        let calls = counted(&log, space, StatsWindow::Month).await;
        assert_eq!(calls, 2, "calls three days in the future are not counted");
    })
    .await;
}
