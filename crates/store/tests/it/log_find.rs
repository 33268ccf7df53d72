//! Searching calls: pagination during inserts, filters, and full-text search.

use std::cmp::Reverse;
use std::time::Duration;

use haft_core::{AgentId, ErrorKind, Source, SpaceId, ToolId, UserId};
use haft_store::{CallFilter, CallLog, CallRow, CallStatus, LoggedCall, Page};
use jiff::Timestamp;
use uuid::Uuid;

use crate::log::{call, calls, failed, found, space, today};
use crate::support::{both, kind};

#[tokio::test]
async fn pages_contain_every_call_once_during_inserts() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        log.insert(&calls(space, now, 0..10)).await.expect("written");
        let mut page = Page::first(3);
        let mut seen = Vec::new();
        for round in 0..4 {
            let (rows, next) = log.find(space, &CallFilter::default(), &page).await.expect("a page");
            seen.extend(rows.into_iter().map(|row| row.call_id.to_string()));
            log.insert(&calls(space, now, 10 + round * 5..15 + round * 5)).await.expect("written");
            page.cursor = next;
        }
        assert_eq!(page.cursor, None);
        let expected: Vec<String> = (0..10).rev().map(|number| format!("call_{number}")).collect();
        assert_eq!(seen, expected);
        for bad in ["", "x", "WyJhIiwiYiJd"] {
            page.cursor = Some(bad.to_owned());
            let refused = log.find(space, &CallFilter::default(), &page).await;
            assert_eq!(kind(refused), ErrorKind::Validation, "{bad:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn filters_select_matching_calls() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let (agent, user) = (AgentId::from(Uuid::now_v7()), UserId::from(Uuid::now_v7()));
        let of = |number, change: fn(&mut LoggedCall)| {
            let mut call = call(space, now, number);
            change(&mut call);
            call
        };
        let mut written = vec![
            of(0, |_| {}),
            of(1, |call| {
                *call = failed(call.clone(), ErrorKind::Timeout, "Connection to 10.0.0.1 timed out")
            }),
            of(2, |call| *call = failed(call.clone(), ErrorKind::Cancelled, "the caller went away")),
            of(3, |call| call.row.source = Source::Cli),
            of(4, |call| {
                call.row.tool = Some((ToolId::Named("calculator".parse().expect("a name")), 1));
                call.row.tool_name = "calculator".into();
            }),
            // This tool was renamed.
            of(5, |call| call.row.tool_name = "forecast".into()),
            of(6, |call| {
                *call = failed(call.clone(), ErrorKind::NotFound, "there is no tool wether");
                call.row.tool = None;
                call.row.tool_name = "wether".into();
            }),
            of(7, |_| {}),
            of(8, |call| *call = failed(call.clone(), ErrorKind::Server, "上游连接失败")),
        ];
        written[7].row.agent = Some(agent);
        written[7].row.user = Some(user);
        log.insert(&written).await.expect("written");
        let none = CallFilter::default;
        let tool = |tool: &str| CallFilter { tool: Some(tool.to_owned()), ..none() };
        let text = |text: &str| CallFilter { text: Some(text.to_owned()), ..none() };
        let at = |number| Some(now + Duration::from_millis(number));
        let id = Uuid::from_u128(7).to_string();
        for (filter, expected) in [
            (none(), vec![8, 7, 6, 5, 4, 3, 2, 1, 0]),
            (tool("weather_forecast"), vec![8, 7, 3, 2, 1, 0]),
            (tool(&id), vec![8, 7, 5, 3, 2, 1, 0]),
            (tool("calculator"), vec![4]),
            (tool("wether"), vec![6]),
            (tool("nothing"), vec![]),
            (tool(&Uuid::nil().to_string()), vec![]),
            (CallFilter { agent: Some(agent), ..none() }, vec![7]),
            (CallFilter { user: Some(user), ..none() }, vec![7]),
            (CallFilter { status: Some(CallStatus::Success), ..none() }, vec![7, 5, 4, 3, 0]),
            (CallFilter { status: Some(CallStatus::Failed), ..none() }, vec![8, 6, 1]),
            (CallFilter { status: Some(CallStatus::Cancelled), ..none() }, vec![2]),
            (CallFilter { kind: Some(ErrorKind::Timeout), ..none() }, vec![1]),
            (CallFilter { source: Some(Source::Cli), ..none() }, vec![3]),
            (CallFilter { source: Some(Source::Api), ..none() }, vec![8, 7, 6, 5, 4, 2, 1, 0]),
            (CallFilter { from: at(7), ..none() }, vec![8, 7]),
            (CallFilter { to: at(2), ..none() }, vec![1, 0]),
            (CallFilter { from: at(3), to: at(5), ..none() }, vec![4, 3]),
            (text("timed"), vec![1]),
            (text("CONNECTION weather"), vec![1]),
            (text("time"), vec![]),
            (text("time*"), vec![1]),
            (text("weather"), vec![8, 7, 3, 2, 1, 0]),
            (text("fore* wea*"), vec![8, 7, 3, 2, 1, 0]),
            (text("forecast"), vec![8, 7, 5, 3, 2, 1, 0]),
            (text("wether"), vec![6]),
            (text("连接"), vec![8]),
            (text("10.0.0.1"), vec![1]),
            (text("it's \"odd\" & ' | :* \\"), vec![]),
            (CallFilter { text: Some("weather".to_owned()), ..tool(&id) }, vec![8, 7, 3, 2, 1, 0]),
            (CallFilter { text: Some("timed".to_owned()), ..tool(&id) }, vec![1]),
            (CallFilter { status: Some(CallStatus::Failed), ..text("weather") }, vec![8, 1]),
            (
                CallFilter { status: Some(CallStatus::Failed), kind: Some(ErrorKind::Server), ..none() },
                vec![8],
            ),
        ] {
            let expected: Vec<String> =
                expected.iter().map(|number: &u32| format!("call_{number}")).collect();
            assert_eq!(found(&log, space, &filter).await, expected, "{filter:?}");
        }
        let refused = log.find(space, &text(" *!"), &Page::first(1)).await;
        assert_eq!(kind(refused), ErrorKind::Validation);
        // The parts of a search overlap, but a page contains each row once.
        let (rows, next) = log.find(space, &text("forecast"), &Page::first(2)).await.expect("a page");
        assert_eq!(rows.len(), 2);
        let page = Page { limit: 100, cursor: next };
        let (rows, _) = log.find(space, &text("forecast"), &page).await.expect("a page");
        assert_eq!(rows.len(), 5);
    })
    .await;
}

/// Follows the cursors through all pages with a limit of scanned rows, and returns the calls and the number
/// of short pages.
async fn all_pages(
    log: &CallLog,
    space: SpaceId,
    filter: &CallFilter,
    limit: u32,
    steps: u64,
) -> (Vec<Uuid>, usize) {
    let (mut seen, mut short) = (Vec::new(), 0);
    let mut page = Page::first(limit);
    loop {
        let (rows, next) = log.find_with_step_limit(space, filter, &page, steps).await.expect("a page");
        let is_full = rows.len() == limit as usize;
        seen.extend(rows.into_iter().map(|row| row.id));
        if next.is_none() {
            return (seen, short);
        }
        assert_ne!(next, page.cursor, "the cursor advances");
        short += usize::from(!is_full);
        page.cursor = next;
    }
}

/// Calls of all kinds, inserted in a different order than they began.
fn mixed(space: SpaceId, now: Timestamp, agent: AgentId, user: UserId) -> Vec<LoggedCall> {
    let names = ["weather_read", "weather_list", "refused_tool", "map_list"];
    let mut calls: Vec<LoggedCall> = (0..32)
        .map(|number| {
            let mut call = call(space, now, number);
            let name = names[number as usize * 7 % 11 % names.len()];
            // Half of them are calls of the same tool under other names.
            call.row.tool = Some((ToolId::Uuid(Uuid::from_u128(u128::from(number % 2))), 1));
            call.row.tool_name = name.into();
            call.row.agent = (number % 3 == 0).then_some(agent);
            call.row.user = (number % 16 == 5).then_some(user);
            call.row.source = if number % 5 == 0 { Source::Chat } else { Source::Api };
            match number % 4 {
                0 => failed(call, ErrorKind::Network, "Connection refused"),
                1 => failed(call, ErrorKind::Timeout, "no answer in time, refusing to wait"),
                2 if number % 8 == 2 => failed(call, ErrorKind::Cancelled, "the caller went away"),
                _ => call,
            }
        })
        .collect();
    calls.sort_by_key(|call| call.row.id.as_u128().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
    calls
}

/// Returns true if the call failed and its name and error contain all words.
fn failed_with(row: &CallRow, words: &[&str]) -> bool {
    let Some(error) = &row.error else { return false };
    let text = format!("{} {}", row.tool_name, error.message).to_lowercase();
    let own: Vec<&str> = text.split(|character: char| !character.is_alphanumeric()).collect();
    words.iter().all(|word| match word.strip_suffix('*') {
        Some(beginning) => own.iter().any(|own| own.starts_with(beginning)),
        None => own.contains(word),
    })
}

#[tokio::test]
async fn short_pages_contain_every_call_once() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let (agent, user) = (AgentId::from(Uuid::from_u128(1)), UserId::from(Uuid::from_u128(2)));
        let mut written = mixed(space, now, agent, user);
        for part in written.chunks(13) {
            log.insert(part).await.expect("written");
        }
        log.insert(&calls(crate::log::space(), now, 0..20)).await.expect("written");
        written.sort_by_key(|call| Reverse(call.row.id));

        let none = CallFilter::default;
        let text = |text: &str| CallFilter { text: Some(text.to_owned()), ..none() };
        let tool = |tool: &str| CallFilter { tool: Some(tool.to_owned()), ..none() };
        let first = Uuid::from_u128(0).to_string();
        let (agent, user) = (Some(agent), Some(user));
        let status = |status| CallFilter { status: Some(status), ..none() };
        type Expected = fn(&CallRow) -> bool;
        let cases: &[(CallFilter, Expected)] = &[
            (none(), |_| true),
            (CallFilter { user, ..none() }, |row| row.user.is_some()),
            (CallFilter { user, ..text("refused") }, |row| {
                row.user.is_some() && (&*row.tool_name == "refused_tool" || failed_with(row, &["refused"]))
            }),
            (CallFilter { agent, user, ..none() }, |row| row.agent.is_some() && row.user.is_some()),
            (CallFilter { agent, source: Some(Source::Chat), ..none() }, |row| {
                row.agent.is_some() && row.source == Source::Chat
            }),
            (CallFilter { agent, ..tool("map_list") }, |row| {
                row.agent.is_some() && &*row.tool_name == "map_list"
            }),
            (tool(&first), |row| row.tool == Some((ToolId::Uuid(Uuid::nil()), 1))),
            (CallFilter { user, ..tool(&first) }, |row| {
                row.user.is_some() && row.tool == Some((ToolId::Uuid(Uuid::nil()), 1))
            }),
            (status(CallStatus::Success), |row| row.error.is_none()),
            (status(CallStatus::Failed), |row| row.status() == CallStatus::Failed),
            (status(CallStatus::Cancelled), |row| row.status() == CallStatus::Cancelled),
            (CallFilter { source: Some(Source::Api), kind: Some(ErrorKind::Timeout), ..none() }, |row| {
                row.source == Source::Api
                    && row.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Timeout)
            }),
            (text("weather"), |row| row.tool_name.starts_with("weather")),
            (CallFilter { status: Some(CallStatus::Success), ..text("weather") }, |row| {
                row.tool_name.starts_with("weather") && row.error.is_none()
            }),
            (text("refus*"), |row| &*row.tool_name == "refused_tool" || failed_with(row, &["refus*"])),
            (CallFilter { agent, ..text("re*") }, |row| {
                row.agent.is_some()
                    && (["refused_tool", "weather_read"].contains(&&*row.tool_name)
                        || failed_with(row, &["re*"]))
            }),
            (text("weather refused"), |row| failed_with(row, &["weather", "refused"])),
            (CallFilter { text: Some("time".to_owned()), ..tool(&first) }, |row| {
                row.tool == Some((ToolId::Uuid(Uuid::nil()), 1)) && failed_with(row, &["time"])
            }),
            (text("zeppelin"), |_| false),
        ];
        let mut short = 0;
        for (filter, expected) in cases {
            let expected: Vec<Uuid> =
                written.iter().filter(|call| expected(&call.row)).map(|call| call.row.id).collect();
            for (limit, steps) in [(3, 2), (4, 7), (5, 20), (100, 1000)] {
                let (seen, missing) = all_pages(&log, space, filter, limit, steps).await;
                assert_eq!(seen, expected, "{filter:?}, {steps} steps");
                short += missing;
            }
        }
        assert!(short > 0, "some walks end before a page is full");
    })
    .await;
}

#[tokio::test]
async fn rare_calls_are_reached_through_short_pages() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let user = UserId::from(Uuid::now_v7());
        let mut written = calls(space, now, 0..50);
        written[0].row.user = Some(user);
        log.insert(&written).await.expect("written");
        let filter = CallFilter { user: Some(user), ..CallFilter::default() };
        let mut page = Page::first(10);
        for _ in 0..4 {
            let (rows, next) = log.find_with_step_limit(space, &filter, &page, 10).await.expect("a page");
            assert!(rows.is_empty() && next.is_some(), "{rows:?}");
            page.cursor = next;
        }
        let (rows, _) = log.find_with_step_limit(space, &filter, &page, 10).await.expect("a page");
        assert_eq!(rows, [written[0].row.clone()]);
        // Indexed rows are found at once, however small the limit of scanned rows.
        let text = failed(call(space, now, 50), ErrorKind::Server, "zeppelin");
        log.insert(&[text, call(space, now, 51)]).await.expect("written");
        let text = CallFilter { text: Some("zeppelin".to_owned()), ..CallFilter::default() };
        let (rows, next) =
            log.find_with_step_limit(space, &text, &Page::first(10), 10).await.expect("a page");
        assert_eq!((rows.len(), next), (1, None));
    })
    .await;
}

#[tokio::test]
async fn calls_of_many_tool_names_are_found() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        let mut written = calls(space, now, 0..620);
        for (number, call) in written.iter_mut().enumerate() {
            let name = if number % 31 == 0 { format!("gitlab_{number}") } else { format!("github_{number}") };
            call.row.tool = Some((ToolId::Uuid(Uuid::from_u128(number as u128)), 1));
            call.row.tool_name = name.into();
        }
        written[31] = failed(written[31].clone(), ErrorKind::Server, "zeppelin");
        log.insert(&written).await.expect("written");
        let of = |word: &str| CallFilter { text: Some(word.to_owned()), ..CallFilter::default() };
        let failed = |filter: CallFilter| CallFilter { status: Some(CallStatus::Failed), ..filter };
        // Few names, and more than are scanned one by one.
        for (word, count) in [("gitlab", 20), ("github", 600), ("git*", 620), ("gith*", 600)] {
            for (limit, steps) in [(100, 10_000), (60, 200)] {
                let (seen, _) = all_pages(&log, space, &of(word), limit, steps).await;
                let is_named = |call: &&LoggedCall| {
                    let name = call.row.tool_name.split('_').next().unwrap_or_default();
                    word.strip_suffix('*').map_or(name == word, |beginning| name.starts_with(beginning))
                };
                let expected = written.iter().rev().filter(is_named).map(|call| call.row.id);
                assert_eq!(seen, expected.collect::<Vec<_>>(), "{word}");
                assert_eq!(seen.len(), count, "{word}");
            }
            let (seen, _) = all_pages(&log, space, &failed(of(word)), 10, 300).await;
            let expected = (!word.starts_with("gith")).then_some(written[31].row.id);
            assert_eq!(seen, Vec::from_iter(expected), "{word}");
        }
    })
    .await;
}
