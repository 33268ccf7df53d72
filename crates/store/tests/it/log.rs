//! The call log: entries are stored once, in their own space, and survive restarts.

use std::time::Duration;

use haft_core::{AgentId, ConversationId, ErrorKind, Locale, Source, SpaceId, ToolId, UserId};
use haft_store::{CallBodies, CallFailure, CallFilter, CallLog, CallRow, Database, LoggedCall, Page};
use jiff::Timestamp;
use uuid::Uuid;

use crate::support::{all, both, kind};

/// A time a few seconds ago, in whole microseconds like in the database. Calls that begin up to ten seconds
/// later are not in the future.
pub(crate) fn today() -> Timestamp {
    let now = Timestamp::from_microsecond(Timestamp::now().as_microsecond()).expect("now");
    now - Duration::from_secs(10)
}

pub(crate) fn space() -> SpaceId {
    SpaceId::from(Uuid::now_v7())
}

/// Returns a row id that is ordered by time and number. Equal arguments give equal ids.
fn row_id(space: SpaceId, at: Timestamp, number: u32) -> Uuid {
    let millis = u64::try_from(at.as_millisecond()).expect("an instant after 1970");
    let (_, of_space) = Uuid::from(space).as_u64_pair();
    Uuid::from_u64_pair((millis << 16) | 0x7000, (1 << 63) | (u64::from(number) << 31) | (of_space >> 33))
}

/// A successful call. Calls with higher numbers begin later.
pub(crate) fn call(space: SpaceId, at: Timestamp, number: u32) -> LoggedCall {
    let started_at = at + Duration::from_millis(u64::from(number));
    let row = CallRow {
        id: row_id(space, started_at, number),
        space,
        call_id: format!("call_{number}").parse().expect("an id"),
        tool: Some((ToolId::Uuid(Uuid::from_u128(7)), 3)),
        tool_name: "weather_forecast".into(),
        agent: None,
        conversation: None,
        user: None,
        source: Source::Api,
        error: None,
        attempts: 1,
        cached: false,
        coerced: None,
        warnings: None,
        duration: Duration::from_micros(1234),
        started_at,
        replay_of: None,
        arguments_cut: false,
        result_cut: false,
        replayable: true,
    };
    let bodies = CallBodies { arguments: r#"{"city":"Oslo"}"#.into(), result: Some("20".into()) };
    LoggedCall { row, bodies }
}

/// Turns a call into a failed one.
pub(crate) fn failed(mut call: LoggedCall, kind: ErrorKind, message: &str) -> LoggedCall {
    let message = message.to_owned();
    call.row.error = Some(CallFailure { kind, message, details: r#"{"status":500}"#.to_owned() });
    call.bodies.result = None;
    call
}

pub(crate) fn calls(space: SpaceId, at: Timestamp, numbers: std::ops::Range<u32>) -> Vec<LoggedCall> {
    numbers.map(|number| call(space, at, number)).collect()
}

/// Returns the call ids of a page.
pub(crate) async fn found(log: &CallLog, space: SpaceId, filter: &CallFilter) -> Vec<String> {
    let (rows, next) = log.find(space, filter, &all()).await.expect("a page");
    assert_eq!(next, None);
    rows.iter().map(|row| row.call_id.to_string()).collect()
}

#[tokio::test]
async fn calls_are_stored_with_every_field() {
    both(async |db| {
        let log = db.open_log().await;
        let space = space();
        let plain = call(space, today(), 1);
        let mut full = failed(call(space, today(), 2), ErrorKind::Timeout, "连接 timed out\nafter 30 s");
        full.row.tool = Some((ToolId::Named("calculator".parse().expect("a name")), 1));
        full.row.agent = Some(AgentId::from(Uuid::now_v7()));
        full.row.conversation = Some(ConversationId::from(Uuid::now_v7()));
        full.row.user = Some(UserId::from(Uuid::now_v7()));
        full.row.source = Source::Mcp;
        full.row.attempts = 4;
        full.row.cached = true;
        full.row.coerced = Some(r#"["days"]"#.to_owned());
        full.row.warnings = Some(r#"[{"path":"a","message":"b"}]"#.to_owned());
        full.row.replay_of = Some("call_1".parse().expect("an id"));
        full.row.arguments_cut = true;
        full.row.result_cut = true;
        full.row.replayable = false;
        let mut unknown = failed(call(space, today(), 3), ErrorKind::NotFound, "no such tool");
        unknown.row.tool = None;
        let written = [plain, full, unknown];
        log.insert(&written).await.expect("written");
        for call in &written {
            for id in [call.row.call_id.to_string(), call.row.id.to_string()] {
                let read = log.get(space, &id).await.expect("read");
                assert_eq!(read.as_ref(), Some(call), "{id}");
            }
        }
        let (rows, _) = log.find(space, &CallFilter::default(), &all()).await.expect("a page");
        let newest_first: Vec<CallRow> = written.into_iter().rev().map(|call| call.row).collect();
        assert_eq!(rows, newest_first);
        for nothing in ["call_4", "", "a b", "\0", &Uuid::now_v7().to_string()] {
            assert_eq!(log.get(space, nothing).await.expect("a result"), None, "{nothing:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn inserting_a_batch_again_is_idempotent() {
    both(async |db| {
        let log = db.open_log().await;
        let (space, now) = (space(), today());
        log.insert(&[]).await.expect("no change");
        log.insert(&calls(space, now, 0..45)).await.expect("written");
        log.insert(&calls(space, now, 0..45)).await.expect("nothing new");
        log.insert(&calls(space, now, 40..60)).await.expect("some new");
        let twice = [calls(space, now, 60..62), calls(space, now, 60..62)].concat();
        log.insert(&twice).await.expect("each once");
        let ids = found(&log, space, &CallFilter::default()).await;
        let expected: Vec<String> = (0..62).rev().map(|number| format!("call_{number}")).collect();
        assert_eq!(ids, expected);
        let verification = log.verify().await.expect("verified");
        assert_eq!((verification.checked, verification.fault), (62, None));
    })
    .await;
}

#[tokio::test]
async fn processes_share_one_chain() {
    both(async |db| {
        let log = db.open_log().await;
        // A second process can write to SQLite too: only the store locks the directory.
        let other = db.open_log().await;
        let (space, now) = (space(), today());
        for round in 0..5 {
            let (mine, theirs) = (round * 20..round * 20 + 10, round * 20 + 10..round * 20 + 20);
            let (mine, theirs) = (calls(space, now, mine), calls(space, now, theirs));
            let (mine, theirs) = tokio::join!(log.insert(&mine), other.insert(&theirs));
            mine.expect("written");
            theirs.expect("written");
        }
        log.close().await;
        other.close().await;
        let log = db.open_log().await;
        log.insert(&calls(space, now, 100..101)).await.expect("written after a restart");
        let verification = log.verify().await.expect("verified");
        assert_eq!((verification.checked, verification.fault), (101, None));
    })
    .await;
}

#[tokio::test]
async fn calls_are_invisible_to_other_spaces() {
    both(async |db| {
        let log = db.open_log().await;
        let (home, away, now) = (space(), space(), today());
        let kept = failed(call(home, now, 1), ErrorKind::Server, "zeppelin");
        log.insert(std::slice::from_ref(&kept)).await.expect("written");
        for id in ["call_1".to_owned(), kept.row.id.to_string()] {
            assert_eq!(log.get(away, &id).await.expect("a result"), None);
        }
        let text = |text: &str| CallFilter { text: Some(text.to_owned()), ..CallFilter::default() };
        let tool = |tool: &str| CallFilter { tool: Some(tool.to_owned()), ..CallFilter::default() };
        let of_home = format!("s{} zeppelin", Uuid::from(home).simple());
        for filter in [
            CallFilter::default(),
            text("zeppelin"),
            text("weather"),
            text(&of_home),
            tool("weather_forecast"),
            tool(&Uuid::from_u128(7).to_string()),
        ] {
            assert!(found(&log, away, &filter).await.is_empty(), "{filter:?}");
            assert_eq!(found(&log, home, &filter).await, ["call_1"], "{filter:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn logs_with_a_newer_schema_are_rejected() {
    both(async |db| {
        drop(db.open_log().await);
        drop(db.open_log().await);
        db.raw_log("INSERT INTO log_schema_version (version) VALUES (1000)").await;
        let refused = CallLog::open(&db.database).await.err().expect("refused");
        assert_eq!(refused.kind(), ErrorKind::Internal);
        assert!(refused.message().render(Locale::En).contains("1000"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn logs_are_next_to_the_store_or_in_memory() {
    both(async |db| {
        let store = db.open().await;
        let log = db.open_log().await;
        log.check().await.expect("alive");
        log.close().await;
        assert_eq!(kind(log.check().await), ErrorKind::Unavailable);
        assert_eq!(kind(log.insert(&calls(space(), today(), 0..1)).await), ErrorKind::Unavailable);
        store.check().await.expect("the store is not closed with it");
    })
    .await;
    let log = CallLog::open(&Database::Memory).await.expect("a log");
    let space = space();
    log.insert(&calls(space, today(), 0..3)).await.expect("written");
    let (rows, _) = log.find(space, &CallFilter::default(), &Page::first(10)).await.expect("a page");
    assert_eq!(rows.len(), 3);
}
