//! Statistics match the logged calls in every window.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::{AgentId, ErrorKind, SpaceId, ToolId};
use haft_store::{CallLog, LoggedCall, Stats, StatsOf, StatsQuery, StatsWindow, Totals};
use jiff::Timestamp;
use uuid::Uuid;

use crate::log::{call, calls, failed, space, today};
use crate::support::both;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Counts all rows.
pub(crate) async fn roll_up(log: &CallLog) {
    while log.roll_up().await.expect("counted") {}
}

pub(crate) async fn stats(log: &CallLog, space: SpaceId, window: StatsWindow, of: StatsOf) -> Stats {
    log.stats(space, &StatsQuery { window, of }).await.expect("statistics")
}

/// Returns the number of calls of a space that are counted in a window.
pub(crate) async fn counted(log: &CallLog, space: SpaceId, window: StatsWindow) -> u64 {
    stats(log, space, window, StatsOf::Space).await.totals.calls
}

fn lasting(mut call: LoggedCall, milliseconds: u64) -> LoggedCall {
    call.row.duration = Duration::from_millis(milliseconds);
    call
}

fn named(mut call: LoggedCall, tool: Option<u128>, name: &str) -> LoggedCall {
    call.row.tool = tool.map(|id| (ToolId::Uuid(Uuid::from_u128(id)), 1));
    call.row.tool_name = name.into();
    call
}

fn for_agent(mut call: LoggedCall, agent: AgentId) -> LoggedCall {
    call.row.agent = Some(agent);
    call
}

#[track_caller]
fn near(found: Option<Duration>, exact: Duration) {
    let found = found.expect("some calls");
    assert!(found.abs_diff(exact) <= exact / 16, "{found:?} is not near {exact:?}");
}

#[tokio::test]
async fn calls_are_counted_by_outcome_and_duration() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        // From 1 to 100 ms, unordered.
        let mut written: Vec<LoggedCall> = (0..100)
            .map(|number| lasting(call(space, now, number), u64::from(number * 37 % 100) + 1))
            .collect();
        for (number, kind) in (100..).zip([ErrorKind::Timeout, ErrorKind::Timeout, ErrorKind::Server]) {
            written.push(lasting(failed(call(space, now, number), kind, "no"), 30_000));
        }
        let cancelled = failed(call(space, now, 103), ErrorKind::Cancelled, "left");
        written.push(lasting(cancelled, 5));
        for call in &mut written[..10] {
            call.row.cached = true;
        }
        log.insert(&written).await.expect("written");
        assert_eq!(counted(&log, space, StatsWindow::Hour).await, 0, "not rolled up yet");
        roll_up(&log).await;
        roll_up(&log).await;
        for window in StatsWindow::ALL {
            let stats = stats(&log, space, window, StatsOf::Space).await;
            let Totals { calls, errors, cancelled, cached, by_kind, .. } = &stats.totals;
            assert_eq!((*calls, *errors, *cancelled, *cached), (104, 3, 1, 10), "{window:?}");
            let expected = [("Server".to_owned(), 1), ("Timeout".to_owned(), 2)];
            assert_eq!(*by_kind, BTreeMap::from(expected), "{window:?}");
            assert!((stats.totals.error_rate() - 3.0 / 103.0).abs() < 1e-9, "{window:?}");
            // The 52nd, the 99th and the 103rd of 104; the cancelled one took 5 ms.
            near(stats.totals.percentile(0.5), Duration::from_millis(51));
            near(stats.totals.percentile(0.95), Duration::from_millis(98));
            near(stats.totals.percentile(0.99), Duration::from_secs(30));
            assert_eq!(stats.totals.max(), Some(Duration::from_secs(30)));
            let mean = (5050 + 5 + 3 * 30_000) * 1000 / 104;
            assert_eq!(stats.totals.mean(), Some(Duration::from_micros(mean)));
            let in_steps: u64 = stats.series.iter().map(|step| step.totals.calls).sum();
            assert_eq!(in_steps, 104, "{window:?}");
            assert_eq!(stats.tools.len(), 1, "{window:?}");
            assert_eq!(stats.tools[0].totals, stats.totals, "{window:?}");
            assert_eq!((stats.more_tools, stats.more_agents), (0, 0));
            assert!(stats.agents.is_empty(), "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn statistics_of_an_empty_space_have_all_steps() {
    both(async |db| {
        let log = db.open_log().await;
        roll_up(&log).await;
        for (window, steps, seconds) in [
            (StatsWindow::QuarterHour, 16, 60),
            (StatsWindow::Hour, 61, 60),
            (StatsWindow::SixHours, 37, 600),
            (StatsWindow::Day, 145, 600),
            (StatsWindow::Week, 169, 3600),
            (StatsWindow::Month, 31, 86_400),
            (StatsWindow::Quarter, 91, 86_400),
        ] {
            let stats = stats(&log, space(), window, StatsOf::Space).await;
            assert_eq!((stats.series.len(), stats.step), (steps, seconds), "{window:?}");
            assert_eq!(stats.series.first().map(|step| step.at), Some(stats.from), "{window:?}");
            assert!(stats.series.last().is_some_and(|step| step.at <= stats.to), "{window:?}");
            assert!(stats.series.iter().all(|step| step.totals == Totals::default()), "{window:?}");
            assert_eq!((stats.totals.calls, stats.totals.percentile(0.5)), (0, None), "{window:?}");
            assert!(stats.tools.is_empty() && stats.agents.is_empty(), "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn calls_count_at_their_start_time() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        log.insert(&calls(space, now, 0..2)).await.expect("written");
        roll_up(&log).await;
        // A call that began twenty minutes ago and has just ended.
        let late = call(space, now - 20 * MINUTE, 2);
        let began = late.row.started_at;
        log.insert(&[late]).await.expect("written");
        roll_up(&log).await;
        let stats = stats(&log, space, StatsWindow::Hour, StatsOf::Space).await;
        assert_eq!(stats.totals.calls, 3);
        let within = |at: Timestamp| at <= began && began < at + MINUTE;
        let of_late = stats.series.iter().find(|step| within(step.at)).expect("a step");
        assert_eq!(of_late.totals.calls, 1);
        assert_eq!(counted(&log, space, StatsWindow::QuarterHour).await, 2);
    })
    .await;
}

#[tokio::test]
async fn large_and_small_buckets_agree() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now, agent) = (space(), today(), AgentId::from(Uuid::now_v7()));
        let minutes = (0..120_u32).map(|number| number * MINUTE);
        let days = (0..117_u32).map(|number| number * 37 * MINUTE);
        let months = (0..480_u32).map(|number| number * 5 * HOUR);
        let written: Vec<LoggedCall> = (0..)
            .zip(minutes.chain(days).chain(months))
            .map(|(number, ago)| lasting(for_agent(call(space, now - ago, number), agent), u64::from(number)))
            .collect();
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        let mut before = 0;
        for window in StatsWindow::ALL {
            let stats = stats(&log, space, window, StatsOf::Space).await;
            let expected = written.iter().filter(|call| call.row.started_at >= stats.from).count();
            assert_eq!(stats.totals.calls, expected as u64, "{window:?}");
            assert!(stats.totals.calls > before, "{window:?}");
            before = stats.totals.calls;
            let [of_agent] = &stats.agents[..] else { panic!("one agent: {:?}", stats.agents) };
            assert_eq!((of_agent.id, &of_agent.totals), (agent, &stats.totals), "{window:?}");
            let [tool] = &stats.tools[..] else { panic!("one tool: {:?}", stats.tools) };
            assert_eq!(tool.totals, stats.totals, "{window:?}");
            let filled = stats.series.iter().filter(|step| step.totals.calls > 0);
            assert!(filled.eq(&tool.series), "{window:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn statistics_of_tools_are_found_by_id_and_former_names() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        // Tool 1 was renamed, and another tool took over its name.
        let mut written = Vec::new();
        for (number, ago, tool, name) in [
            (1, 3 * DAY, Some(1), "x"),
            (2, 3 * DAY, Some(1), "x"),
            (3, 2 * DAY, Some(1), "y"),
            (4, DAY, Some(2), "x"),
            (5, DAY, Some(2), "x"),
            (6, DAY, Some(2), "x"),
            (7, DAY, Some(2), "x"),
            (8, DAY, None, "made_up"),
            (9, DAY, None, "invented"),
        ] {
            written.push(named(call(space, now - ago, number), tool, name));
        }
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        let id = |id: u128| Uuid::from_u128(id).to_string();
        let of = |of: &str| StatsOf::Tool(of.to_owned());
        for (asked, calls, expected) in [
            (StatsOf::Space, 9, vec![(Some("x"), Some(2), 6), (None, None, 2), (Some("y"), Some(1), 1)]),
            (of("x"), 6, vec![(Some("x"), Some(2), 6)]),
            (of("y"), 1, vec![(Some("y"), Some(1), 1)]),
            (of(&id(1)), 3, vec![(Some("x"), Some(1), 2), (Some("y"), Some(1), 1)]),
            (of(&id(2)), 4, vec![(Some("x"), Some(2), 4)]),
            (of("made_up"), 0, vec![]),
            (of(&id(3)), 0, vec![]),
        ] {
            let stats = stats(&log, space, StatsWindow::Week, asked.clone()).await;
            assert_eq!(stats.totals.calls, calls, "{asked:?}");
            let in_steps: u64 = stats.series.iter().map(|step| step.totals.calls).sum();
            assert_eq!((in_steps, stats.series.len()), (calls, 169), "{asked:?}");
            let found: Vec<(Option<&str>, Option<String>, u64)> = stats
                .tools
                .iter()
                .map(|tool| (tool.name.as_deref(), tool.id.clone(), tool.totals.calls))
                .collect();
            let expected: Vec<(Option<&str>, Option<String>, u64)> =
                expected.into_iter().map(|(name, tool, calls)| (name, tool.map(id), calls)).collect();
            assert_eq!(found, expected, "{asked:?}");
            assert!(stats.agents.is_empty(), "{asked:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn agents_are_counted_separately() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let (busy, idle, without_calls) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let (busy, idle, without_calls) =
            (AgentId::from(busy), AgentId::from(idle), AgentId::from(without_calls));
        let mut written = calls(space, now, 0..5);
        written.extend((5..8).map(|number| for_agent(call(space, now, number), busy)));
        let broken = failed(call(space, now, 8), ErrorKind::Network, "refused");
        written.push(for_agent(broken, idle));
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        let all = stats(&log, space, StatsWindow::Hour, StatsOf::Space).await;
        let listed: Vec<(AgentId, u64, u64)> =
            all.agents.iter().map(|agent| (agent.id, agent.totals.calls, agent.totals.errors)).collect();
        assert_eq!((all.totals.calls, listed), (9, vec![(busy, 3, 0), (idle, 1, 1)]));
        for (agent, calls) in [(busy, 3), (idle, 1), (without_calls, 0)] {
            let stats = stats(&log, space, StatsWindow::Hour, StatsOf::Agent(agent)).await;
            assert_eq!(stats.totals.calls, calls);
            assert_eq!(stats.agents.len(), usize::from(calls > 0));
            assert!(stats.tools.is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn the_busiest_tools_are_listed_and_the_rest_are_counted() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        // Sixty tools: the last ten were called twice, once long enough ago to be in a large bucket.
        let written: Vec<LoggedCall> = (0..70)
            .map(|number| {
                let (tool, ago) = if number < 60 { (number, MINUTE) } else { (number - 10, 23 * HOUR) };
                named(call(space, now - ago, number), Some(u128::from(tool)), &format!("tool_{tool}"))
            })
            .collect();
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        let stats = stats(&log, space, StatsWindow::Day, StatsOf::Space).await;
        assert_eq!((stats.totals.calls, stats.tools.len(), stats.more_tools), (70, 50, 10));
        let (first, others) = stats.tools.split_at(10);
        assert!(first.iter().all(|tool| tool.totals.calls == 2 && tool.series.len() == 2), "{first:?}");
        assert!(first.iter().any(|tool| tool.name.as_deref() == Some("tool_59")), "{first:?}");
        assert!(others.iter().all(|tool| tool.totals.calls == 1), "{others:?}");
    })
    .await;
}

#[tokio::test]
async fn totals_of_recent_minutes_are_available() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let at = |ago: u32, number| failed(call(space, now - ago * MINUTE, number), ErrorKind::Server, "no");
        let mut written = vec![at(3, 1), at(10, 2), named(at(3, 3), Some(8), "other")];
        written.push(lasting(call(space, now, 4), 80));
        log.insert(&written).await.expect("written");
        roll_up(&log).await;
        let id = Uuid::from_u128(7).to_string();
        for (tool, minutes, calls, errors) in [
            (None, 5, 3, 2),
            (None, 15, 4, 3),
            (Some("weather_forecast"), 5, 2, 1),
            (Some(id.as_str()), 15, 3, 2),
            (Some("other"), 5, 1, 1),
            (Some("nothing"), 5, 0, 0),
        ] {
            let totals = log.recent(space, tool, minutes).await.expect("a result");
            assert_eq!((totals.calls, totals.errors), (calls, errors), "{tool:?} {minutes}");
        }
        let totals = log.recent(space, Some("weather_forecast"), 5).await.expect("a result");
        assert!((totals.error_rate() - 0.5).abs() < 1e-9);
        near(totals.percentile(0.95), Duration::from_millis(80));
        assert_eq!(log.recent(space, Some("nothing"), 5).await.expect("a result").percentile(0.95), None);
    })
    .await;
}

#[tokio::test]
async fn statistics_are_invisible_to_other_spaces() {
    both(async |db| {
        let log = db.open_log().await;
        let (home, away, agent) = (space(), space(), AgentId::from(Uuid::now_v7()));
        log.insert(&[for_agent(call(home, today(), 1), agent)]).await.expect("written");
        roll_up(&log).await;
        let id = Uuid::from_u128(7).to_string();
        let tool = |tool: &str| StatsOf::Tool(tool.to_owned());
        for of in [StatsOf::Space, tool("weather_forecast"), tool(&id), StatsOf::Agent(agent)] {
            let seen = stats(&log, away, StatsWindow::Hour, of.clone()).await;
            assert_eq!(seen.totals.calls, 0, "{of:?}");
            assert!(seen.tools.is_empty() && seen.agents.is_empty(), "{of:?}");
            assert_eq!(stats(&log, home, StatsWindow::Hour, of.clone()).await.totals.calls, 1, "{of:?}");
        }
        for tool in [None, Some("weather_forecast"), Some(id.as_str())] {
            assert_eq!(log.recent(away, tool, 5).await.expect("a result").calls, 0, "{tool:?}");
            assert_eq!(log.recent(home, tool, 5).await.expect("a result").calls, 1, "{tool:?}");
        }
    })
    .await;
}
