//! Event streams: events of calls and changes, permissions, filters, cursors, and the end of a stream.

use haft_testkit::{
    Client, EventStream, HaftProcess, SseEvent, TestResponse, TestStorage, Upstream, eventually,
};
use serde_json::{Value, json};

use crate::agents::{make, patch, stranger};
use crate::http_tools::start;
use crate::invitations::join;
use crate::survival::Settings;

const PASSWORD: &str = "correct horse battery";

/// Opens a stream, and returns it with the id of its `ready` event.
async fn listen(api: &Client, path: &str) -> (EventStream, u64) {
    let mut stream = api.events(path).await;
    let ready = stream.event().await;
    assert_eq!((ready.name.as_str(), &ready.data["type"]), ("ready", &json!("ready")));
    (stream, ready.id.expect("an id"))
}

/// Creates a mock tool with the given results.
async fn mock(api: &Client, name: &str, answers: Value) -> Value {
    let tool = json!({
        "name": name, "description": "A mock.", "type": "mock", "inputSchema": {"type": "object"},
        "retryCount": 0, "config": {"answers": answers},
    });
    make(api, "/api/tools", &tool).await
}

async fn execute(api: &Client, tool: &str, arguments: Value, options: Value) -> TestResponse {
    let body = json!({"arguments": arguments, "options": options});
    api.post(&format!("/api/tools/{tool}/execute"), &body).await
}

/// Returns the data of a call event without the fields that vary between runs.
fn stable_data(event: SseEvent) -> Value {
    let SseEvent { id, name, mut data, .. } = event;
    assert_eq!(id, None, "events of calls are not stored and have no id: {data}");
    assert_eq!(data["type"], name.as_str());
    let is_end = ["tool.call.completed", "tool.call.failed", "tool.call.cancelled"].contains(&name.as_str());
    assert_eq!(data["duration"].is_u64(), is_end, "{data}");
    let fields = data.as_object_mut().expect("an object");
    for varies in ["at", "spaceId", "conversationId", "duration", "pause"] {
        fields.remove(varies);
    }
    data
}

#[tokio::test]
async fn every_outcome_of_a_call_is_emitted_in_order() {
    let (_server, api) = start(&[]).await;
    mock(&api, "broken", json!([{"error": {"kind": "Execution", "message": "it broke"}}])).await;
    mock(&api, "shaky", json!([{"error": {"kind": "Server", "message": "not yet"}}, {"data": 1}])).await;
    let upstream = Upstream::start_async(|_| std::future::pending()).await;
    let slow = json!({"name": "slow", "description": "d", "url": upstream.url("/"), "inputSchema": {"type": "object"}});
    make(&api, "/api/tools", &slow).await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    let agent = &agent["id"];
    let (mut stream, _) = listen(&api, "/api/events?types=tool.call.*").await;
    let content_type = stream.header("content-type");
    assert_eq!((content_type, stream.header("cache-control")), (Some("text/event-stream"), Some("no-store")));
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let none = &Value::Null;
    let cases = [
        (
            ("calculator", json!({"expression": "6 * 7"}), json!({"agentId": agent}), agent),
            vec![json!({"type": "tool.call.completed", "attempt": 1, "cached": false})],
        ),
        (
            ("calculator", json!({}), json!({}), none),
            vec![json!({"type": "tool.call.failed", "attempt": 0, "error": "Validation"})],
        ),
        (
            ("whether", json!({}), json!({}), none),
            vec![json!({"type": "tool.call.failed", "attempt": 0, "error": "NotFound"})],
        ),
        (
            ("broken", json!({}), json!({}), none),
            vec![json!({"type": "tool.call.failed", "attempt": 1, "error": "Execution"})],
        ),
        (
            ("shaky", json!({}), json!({"retries": 1, "retryDelay": 1}), none),
            vec![
                json!({"type": "tool.call.retrying", "attempt": 1, "error": "Server"}),
                json!({"type": "tool.call.completed", "attempt": 2, "cached": false}),
            ],
        ),
    ];
    for ((tool, arguments, options, agent), after_start) in cases {
        let reply = execute(&api, tool, arguments, options).await;
        let started = json!({"type": "tool.call.started", "attempt": 0});
        for mut expected in [vec![started], after_start].concat() {
            expected["callId"] = reply.data()["callId"].clone();
            expected["tool"] = json!(tool);
            expected["agentId"] = agent.clone();
            assert_eq!(stable_data(stream.event().await), expected, "{tool}");
        }
    }
    // A dry run emits no event, so the next event is about the call whose client disconnects.
    execute(&api, "calculator", json!({"expression": "1"}), json!({"dryRun": true})).await;
    let disconnecting = tokio::spawn({
        let api = api.clone();
        async move { execute(&api, "slow", json!({}), json!({"callId": "left"})).await }
    });
    let of_slow = |stage: &str, attempt: u32| {
        let name = format!("tool.call.{stage}");
        json!({"type": name, "attempt": attempt, "callId": "left", "tool": "slow", "agentId": null})
    };
    assert_eq!(stable_data(stream.event().await), of_slow("started", 0));
    eventually("the call is sent", async || upstream.seen().len() == 1).await;
    disconnecting.abort();
    assert_eq!(stable_data(stream.event().await), of_slow("cancelled", 1));
}

#[tokio::test]
async fn space_receives_only_its_own_events() {
    let (server, api) = start(&[]).await;
    let bob = stranger(&server, &api).await;
    let (mut stream, _) = listen(&bob, "/api/events").await;
    mock(&api, "ours", json!([])).await;
    execute(&api, "ours", json!({}), json!({})).await;
    // Bob receives exactly the events that he causes himself, in order.
    execute(&bob, "calculator", json!({"expression": "1"}), json!({"callId": "his"})).await;
    for name in ["tool.call.started", "tool.call.completed"] {
        let event = stream.event().await;
        assert_eq!((event.name.as_str(), &event.data["callId"]), (name, &json!("his")), "{event:?}");
    }
    mock(&bob, "his", json!([])).await;
    let event = stream.event().await;
    assert_eq!((event.name.as_str(), &event.data["thingName"]), ("tool.created", &json!("his")), "{event:?}");
}

/// Returns the version in the next `tool.updated` event, and the event's id.
async fn next_version(stream: &mut EventStream) -> (u64, u64) {
    let event = stream.event().await;
    assert_eq!(event.name, "tool.updated", "{event:?}");
    (event.data["version"].as_u64().expect("a version"), event.id.expect("an id"))
}

#[tokio::test]
async fn resumed_stream_delivers_missed_events_exactly_once() {
    let (_server, api) = start(&[]).await;
    let tool = mock(&api, "changing", json!([])).await;
    let me = api.get("/api/me").await;
    let change = async |number: u32| {
        let reply = patch(&api, "/api/tools/changing", &json!({"description": format!("{number}")})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    };
    let (mut stream, start_id) = listen(&api, "/api/events").await;
    change(2).await;
    let SseEvent { id, name, mut data, .. } = stream.event().await;
    assert_eq!(name, "tool.updated");
    let cursor = id.expect("an id");
    let fields = data.as_object_mut().expect("an object");
    for field in ["at", "details"] {
        assert!(fields.remove(field).is_some_and(|value| !value.is_null()), "{field}");
    }
    assert_eq!(
        data,
        json!({
            "id": cursor.to_string(), "type": "tool.updated", "what": "tool", "action": "updated",
            "thingId": tool["id"], "thingName": "changing", "version": 2, "userId": me.data()["user"]["id"],
            "userName": "admin",
        })
    );
    assert!(cursor > start_id, "{cursor} comes after {start_id}");
    drop(stream);

    change(3).await;
    execute(&api, "changing", json!({}), json!({})).await;
    change(4).await;
    let in_header = api.with("last-event-id", &cursor.to_string());
    let in_address = format!("/api/events?lastEventId={cursor}");
    // A browser that reconnects to the same address sends a newer cursor in the header.
    let both = "/api/events?lastEventId=0";
    let ways =
        [(&in_header, "/api/events"), (&api, in_address.as_str()), (&in_header, both)].into_iter().zip(5..);
    for ((client, path), number) in ways {
        let (mut stream, start_id) = listen(client, path).await;
        assert_eq!(start_id, cursor, "the stream starts at the given cursor: {path}");
        change(number).await;
        let mut last = cursor;
        for version in 3..=u64::from(number) {
            let (received, id) = next_version(&mut stream).await;
            assert_eq!(received, version, "{path}");
            assert!(id > last, "{path}: {id} comes after {last}");
            last = id;
        }
    }

    // Cursor 0 replays all events; an unknown cursor starts at the current end.
    let mut stream = api.with("last-event-id", "0").events(both).await;
    let first = stream.event().await;
    assert_eq!((first.name.as_str(), first.id), ("ready", Some(0)));
    let first = stream.event().await;
    assert!(first.id.is_some_and(|id| id <= start_id), "{first:?}");
    let (_, here) = listen(&api, "/api/events").await;
    let (mut stream, start_id) = listen(&api.with("last-event-id", "999999999999"), "/api/events").await;
    assert_eq!(start_id, here);
    change(8).await;
    assert_eq!(next_version(&mut stream).await.0, 8);
}

#[tokio::test]
async fn events_are_filtered_by_tool_and_type() {
    let (_server, api) = start(&[]).await;
    let one = mock(&api, "one", json!([])).await;
    mock(&api, "other", json!([])).await;
    let (mut of_name, _) = listen(&api, "/api/events?tool=one").await;
    let by_id = format!("/api/events?tool={}", one["id"].as_str().expect("an id"));
    let (mut of_id, _) = listen(&api, &by_id).await;
    let (mut of_types, _) = listen(&api, "/api/events?types=tool.updated,tool.call.completed").await;
    for tool in ["other", "one"] {
        execute(&api, tool, json!({}), json!({})).await;
        assert_eq!(of_types.event().await.name, "tool.call.completed", "{tool}");
        if tool == "one" {
            for of_tool in [&mut of_name, &mut of_id] {
                for name in ["tool.call.started", "tool.call.completed"] {
                    let event = of_tool.event().await;
                    assert_eq!((event.name.as_str(), &event.data["tool"]), (name, &json!(tool)), "{event:?}");
                }
            }
        }
        let path = format!("/api/tools/{tool}");
        assert_eq!(patch(&api, &path, &json!({"description": "Another."})).await.status, 200);
        assert_eq!(of_types.event().await.name, "tool.updated", "{tool}");
    }
    for mut of_tool in [of_name, of_id] {
        let event = of_tool.event().await;
        let found = (event.name.as_str(), &event.data["thingName"]);
        assert_eq!(found, ("tool.updated", &json!("one")), "{event:?}");
    }
    for id in ["abc", "-1", "1.x", "1,2", "99999999999999999999999", "0x1"] {
        let refused = api.with("last-event-id", id).get("/api/events").await;
        assert_eq!((refused.status, refused.kind()), (400, "Validation"), "{id:?}: {}", refused.body);
        assert!(refused.message().contains("must be the id of an event"), "{id:?}: {}", refused.body);
    }
    for query in ["lastEventId=x", "types=", "types=a,,b", "types=*a", "types=a%20b", "colour=red"] {
        assert_eq!(api.get(&format!("/api/events?{query}")).await.status, 400, "{query}");
    }
}

/// Creates a user and returns a client with a session.
async fn log_in(server: &HaftProcess, api: &Client, name: &str) -> Client {
    let login = json!({"name": name, "password": PASSWORD});
    make(api, "/api/users", &login).await;
    let anyone = Client::anonymous(&server.url);
    let entered = anyone.post("/api/login", &login).await;
    let cookie = entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    anyone.with("cookie", cookie)
}

/// Creates a space of ada's with bob as viewer. Returns its id and a client for each of them.
async fn team(server: &HaftProcess, api: &Client) -> (String, Client, Client) {
    let (ada, bob) = (log_in(server, api, "ada").await, log_in(server, api, "bob").await);
    let space = make(&ada, "/api/spaces", &json!({"name": "team"})).await;
    let space = space["id"].as_str().expect("an id").to_owned();
    join(&ada, &bob, &space, "bob", "viewer").await;
    (space.clone(), ada.with("haft-space", &space), bob.with("haft-space", &space))
}

#[tokio::test]
async fn member_events_reach_admins_only() {
    let (server, api) = start(&[]).await;
    let (space, ada, bob) = team(&server, &api).await;
    let carol = log_in(&server, &api, "carol").await;
    let (mut hers, _) = listen(&ada, "/api/events").await;
    let (mut his, _) = listen(&bob, "/api/events").await;
    join(&ada, &carol, &space, "carol", "viewer").await;
    mock(&ada, "shared", json!([])).await;
    assert_eq!(hers.event().await.name, "member.invited");
    assert_eq!(hers.event().await.name, "member.added");
    assert_eq!(hers.event().await.name, "tool.created");
    assert_eq!(his.event().await.name, "tool.created");
}

/// Waits for the end of a stream and ignores its events.
async fn wait_for_end(mut stream: EventStream) {
    while stream.next().await.is_some() {}
}

#[tokio::test]
async fn stream_ends_when_its_caller_loses_access() {
    let (server, api) = start(&[]).await;
    let token = make(&api, "/api/tokens", &json!({"name": "gone"})).await;
    let program = Client::new(&server.url, token["token"].as_str().expect("a token"));
    let (stream, _) = listen(&program, "/api/events").await;
    let path = format!("/api/tokens/{}", token["id"].as_str().expect("an id"));
    assert_eq!(api.delete(&path).await.status, 200);
    wait_for_end(stream).await;
    assert_eq!(program.get("/api/events").await.status, 401);

    let (space, ada, bob) = team(&server, &api).await;
    let (stream, _) = listen(&bob, "/api/events").await;
    assert_eq!(ada.delete(&format!("/api/spaces/{space}/members/bob")).await.status, 200);
    wait_for_end(stream).await;

    let (stream, _) = listen(&ada, "/api/events").await;
    assert_eq!(ada.post("/api/logout", &json!({})).await.status, 200);
    wait_for_end(stream).await;
    // Other streams continue.
    let (mut stream, _) = listen(&api, "/api/events").await;
    execute(&api, "calculator", json!({"expression": "1"}), json!({})).await;
    assert_eq!(stream.event().await.name, "tool.call.started");
}

#[tokio::test]
async fn number_of_streams_per_user_is_limited() {
    let (server, api) = start(&[]).await;
    let mut streams = Vec::new();
    for _ in 0..64 {
        streams.push(listen(&api, "/api/events").await.0);
    }
    let refused = api.get("/api/events").await;
    assert_eq!((refused.status, refused.kind()), (429, "RateLimit"), "{}", refused.body);
    let bob = stranger(&server, &api).await;
    listen(&bob, "/api/events").await;
    streams.pop();
    eventually("the slot is free again", async || api.get("/api/events").await.status == 200).await;
    execute(&api, "calculator", json!({"expression": "1"}), json!({})).await;
    for stream in &mut streams {
        while stream.event().await.name != "tool.call.completed" {}
    }
}

#[tokio::test]
async fn shutdown_ends_streams_without_waiting() {
    let place = TestStorage::new();
    let log = std::env::temp_dir().join(format!("haft-events-{}.log", std::process::id()));
    let settings = Settings::of(&place);
    let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
    let (mut stream, _) = listen(&api, "/api/events").await;
    server.terminate();
    assert_eq!(stream.next().await, None);
    assert_eq!(server.ended().await, Some(0));
    let log_text = std::fs::read_to_string(&log).expect("a log");
    let _ = std::fs::remove_file(&log);
    assert!(log_text.contains("Stopped") && !log_text.contains("grace time"), "{log_text}");
}
