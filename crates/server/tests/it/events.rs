//! Streams of events on a busy server: who does not read is dropped, others do not notice, a stop ends them.

use std::time::Duration;

use haft_core::alert::{AlertSpec, AlertTransition, Metric};
use haft_core::secret::SecretOwner;
use haft_core::{SecretRef, SpaceId};
use haft_engine::{
    AgentId, CallOptions, CallRequest, Caller, ConversationId, Locale, SecretSource, Source, ToolService,
};
use jiff::Timestamp;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use uuid::Uuid;

use crate::support::{App, TOKEN};

/// Enough events for everything between a server and a client that does not read to be full.
const ROUNDS: usize = 100;
const CALLS_A_ROUND: usize = 100;

/// Somebody who asks for events and then reads none.
async fn silent(app: &App) -> TcpStream {
    let address = app.url.strip_prefix("http://").expect("a URL").parse().expect("an address");
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut connection = socket.connect(address).await.expect("connected");
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: haft\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    );
    connection.write_all(request.as_bytes()).await.expect("written");
    let mut read = Vec::new();
    while !read.windows(12).any(|part| part == b"event: ready") {
        assert!(connection.read_buf(&mut read).await.expect("readable") > 0, "the stream begins");
    }
    connection
}

async fn call(app: &App, caller: &Caller) {
    let options = CallOptions::default()
        .call_id("c".repeat(128).parse().expect("an id"))
        .agent(AgentId::from(Uuid::nil()))
        .conversation(ConversationId::from(Uuid::nil()));
    let request = CallRequest { tool: "fixed".to_owned(), arguments: json!({}), options };
    assert!(app.engine.call(caller, request).await.expect("an answer").is_success());
}

#[tokio::test]
async fn who_does_not_read_is_dropped_and_nobody_else_notices() {
    let app = App::start_with(ToolService::builder().events(), Duration::from_secs(1)).await;
    let me = app.api.get("/api/me").await;
    let space = me.data()["space"]["id"].as_str().expect("an id").parse().expect("an id");
    let caller = Caller { space, user: None, source: Source::Library, locale: Locale::En, request: None };
    let mut slow = silent(&app).await;
    let mut quick = app.api.events("/api/events").await;
    assert_eq!(quick.event().await.name, "ready");
    for round in 0..ROUNDS {
        for _ in 0..CALLS_A_ROUND {
            call(&app, &caller).await;
        }
        for number in 0..CALLS_A_ROUND {
            for name in ["tool.call.started", "tool.call.completed"] {
                assert_eq!(quick.event().await.name, name, "call {number} of round {round}");
            }
        }
    }
    let mut heard = Vec::new();
    slow.read_to_end(&mut heard).await.expect("it ends");
    let heard = String::from_utf8_lossy(&heard);
    let calls = heard.matches("event: tool.call.started\n").count();
    assert!(calls < ROUNDS * CALLS_A_ROUND, "all {calls} calls were kept for who did not read");
    assert!(heard.contains("event: dropped\ndata: {\"type\":\"dropped\",\"missed\":"), "it is told of it");
    call(&app, &caller).await;
    assert_eq!(quick.event().await.name, "tool.call.started", "others go on");
}

#[tokio::test]
async fn a_stop_waits_for_no_stream() {
    // With a grace time that nobody could wait for.
    let app = App::start_with(ToolService::builder().events(), Duration::from_secs(86_400)).await;
    let mut stream = app.api.events("/api/events").await;
    assert_eq!(stream.event().await.name, "ready");
    app.stop.cancel();
    assert_eq!(stream.next().await, None);
    app.served.await.expect("no panic");
}

#[tokio::test]
async fn without_events_of_calls_there_are_still_changes_to_wait_for() {
    let app = App::start().await;
    let mut stream = app.api.events("/api/events").await;
    let ready = stream.event().await;
    assert_eq!((ready.name.as_str(), ready.id.is_some()), ("ready", true));
    app.stop.cancel();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn an_alert_is_heard_of_and_costs_calls_nothing() {
    let app = App::start().await;
    let me = app.api.get("/api/me").await;
    let space: SpaceId = me.data()["space"]["id"].as_str().expect("an id").parse().expect("an id");
    let kept = app.api.put("/api/secrets/KEY", &json!({"value": "something"})).await;
    assert_eq!(kept.status, 200, "{}", kept.body);
    let spec = AlertSpec {
        name: None,
        metric: Metric::ErrorRate,
        tool: None,
        above: 0.5,
        for_seconds: 0,
        webhook: None,
    };
    let alert = app.store.create_alert(space, None, spec).await.expect("an alert");
    let revision = app.store.current_revision().await.expect("a revision");
    let following = tokio::spawn(app.app.clone().follow(revision, app.stop.clone()));
    let mut stream = app.api.events("/api/events").await;
    assert_eq!(stream.event().await.name, "ready");
    let key = SecretRef { owner: SecretOwner::Space, name: "KEY".to_owned() };
    let known = async || app.secrets.reveal(space, None, &key).await.map(|value| value.is_some());
    assert!(known().await.is_ok_and(|is_known| is_known), "a call needs it");

    let fired = app.store.step_alert(space, &alert, AlertTransition::Fire, Some(1.0), Timestamp::now()).await;
    assert!(fired.is_ok_and(|alert| alert.is_some()));
    assert_eq!(stream.event().await.name, "alert.fired");
    app.store.close().await;
    assert!(known().await.is_ok_and(|is_known| is_known), "and the next call asks no database for it");
    app.stop.cancel();
    following.await.expect("it ends");
}
