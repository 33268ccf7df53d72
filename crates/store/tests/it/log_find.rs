//! Finding calls: by page while more come, by every filter, by words.

use std::time::Duration;

use haft_core::{AgentId, ErrorKind, Source, ToolId, UserId};
use haft_store::{CallFilter, CallStatus, LoggedCall, Page};
use uuid::Uuid;

use crate::log::{call, calls, failed, found, space, today};
use crate::support::{both, kind};

#[tokio::test]
async fn pages_hold_every_call_once_while_more_come() {
    both(async |place| {
        let log = place.open_log().await;
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
async fn every_filter_finds_what_it_asks_for() {
    both(async |place| {
        let log = place.open_log().await;
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
            // The same tool by a new name.
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
        // Several ways lead to one page.
        let (rows, next) = log.find(space, &text("forecast"), &Page::first(2)).await.expect("a page");
        assert_eq!(rows.len(), 2);
        let page = Page { limit: 100, cursor: next };
        let (rows, _) = log.find(space, &text("forecast"), &page).await.expect("a page");
        assert_eq!(rows.len(), 5);
    })
    .await;
}
