//! Alerts through the doors of the binary: they fire once and resolve once, and webhooks are told of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_testkit::{Client, Place, Seen, Upstream, eventually, json_reply, reply};
use serde_json::{Value, json};

use crate::agents::{make, refused, scoped, stranger};
use crate::http_tools::start;

const OFTEN: (&str, &str) = ("HAFT_ALERT_INTERVAL", "100");

/// A while in which several checks are made.
const SEVERAL_CHECKS: Duration = Duration::from_millis(600);

/// A tool that answers as it is told.
async fn tool(api: &Client, name: &str, config: Value) {
    let tool =
        json!({"name": name, "description": "A mock.", "type": "mock", "retryCount": 0, "config": config});
    make(api, "/api/tools", &tool).await;
}

/// One that always fails.
async fn broken(api: &Client) {
    tool(api, "broken", json!({"answers": [{"error": {"kind": "Execution", "message": "it broke"}}]})).await;
}

async fn call(api: &Client, tool: &str, times: usize) {
    for _ in 0..times {
        let reply = api.post(&format!("/api/tools/{tool}/execute"), &json!({})).await;
        assert_ne!(reply.status, 404, "{}", reply.body);
    }
}

/// One that always works, and each time so quickly that it is not slow.
async fn call_well(api: &Client, times: usize) {
    for number in 0..times {
        let body = json!({"arguments": {"operation": "upper", "text": format!("a{number}")}});
        let reply = api.post("/api/tools/string/execute", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}

/// Somebody who only listens.
async fn listener() -> Upstream {
    Upstream::start(|_| json_reply(200, &json!({}))).await
}

fn id(alert: &Value) -> &str {
    alert["id"].as_str().expect("an id")
}

async fn read(api: &Client, alert: &Value) -> Value {
    let reply = api.get(&format!("/api/alerts/{}", id(alert))).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data().clone()
}

async fn comes_to(api: &Client, alert: &Value, state: &str) -> Value {
    let what = format!("{} is {state}", alert["name"]);
    eventually(&what, async || read(api, alert).await["state"] == state).await;
    read(api, alert).await
}

/// What a listener was told, in words.
fn told(listener: &Upstream) -> Vec<String> {
    let kind = |seen: &Seen| seen.json()["type"].as_str().expect("a type").to_owned();
    listener.seen().iter().map(kind).collect()
}

async fn is_told(listener: &Upstream, expected: &[&str]) {
    let what = format!("{expected:?} is told");
    eventually(&what, async || told(listener).len() >= expected.len()).await;
    assert_eq!(told(listener), expected);
}

/// How often something about alerts is on record.
async fn on_record(api: &Client, kind: &str) -> usize {
    let reply = api.get("/api/changes?what=alert&limit=200").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data()["items"].as_array().expect("a list").iter().filter(|item| item["type"] == kind).count()
}

#[tokio::test]
async fn an_error_rate_fires_once_and_resolves_once() {
    let listener = listener().await;
    let (_server, api) = start(&[OFTEN, ("HAFT_PUBLIC_URL", "https://haft.example.com/")]).await;
    let error = json!({"error": {"kind": "Execution", "message": "it broke"}});
    tool(&api, "shaky", json!({"answers": [error, error, {"data": 1}]})).await;
    let body = json!({
        "name": "Shaky fails", "metric": "errorRate", "tool": "shaky", "above": 0.5,
        "webhook": listener.url("/hook?key=1"),
    });
    let alert = make(&api, "/api/alerts", &body).await;
    assert_eq!((&alert["state"], &alert["since"]), (&json!("ok"), &Value::Null), "{alert}");

    call(&api, "shaky", 2).await;
    let fired = comes_to(&api, &alert, "firing").await;
    assert_eq!((&fired["value"], &fired["since"]), (&json!(1), &fired["lastFiredAt"]), "{fired}");
    assert_eq!((&fired["version"], &fired["lastResolvedAt"]), (&json!(1), &Value::Null));
    is_told(&listener, &["alert.fired"]).await;
    let first = listener.seen().remove(0);
    assert_eq!((first.method.as_str(), first.target.as_str()), ("POST", "/hook?key=1"));
    assert_eq!(first.header("idempotency-key"), Some(format!("{}-1", id(&alert)).as_str()));
    assert_eq!(first.header("user-agent"), Some("Haft"));
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(
        first.json(),
        json!({
            "type": "alert.fired",
            "alert": {
                "id": alert["id"], "name": "Shaky fails", "metric": "errorRate", "tool": alert["tool"],
                "toolName": "shaky", "above": 0.5, "forSeconds": 0,
            },
            "spaceId": alert["spaceId"], "value": 1, "at": fired["lastFiredAt"],
            "url": format!("https://haft.example.com/api/alerts/{}", id(&alert)),
        })
    );

    // Whatever else fails does not fire it again.
    call(&api, "shaky", 6).await;
    let resolved = comes_to(&api, &alert, "ok").await;
    is_told(&listener, &["alert.fired", "alert.resolved"]).await;
    let second = listener.seen().remove(1);
    assert_eq!(second.header("idempotency-key"), Some(format!("{}-2", id(&alert)).as_str()));
    assert_eq!(second.json()["at"], resolved["lastResolvedAt"]);
    assert_eq!((&resolved["webhookError"], &resolved["since"]), (&Value::Null, &resolved["lastResolvedAt"]));

    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(told(&listener), ["alert.fired", "alert.resolved"]);
    for kind in ["alert.created", "alert.fired", "alert.resolved"] {
        assert_eq!(on_record(&api, kind).await, 1, "{kind}");
    }
}

#[tokio::test]
async fn one_that_fires_goes_on_firing_after_a_restart() {
    let listener = listener().await;
    let place = Place::new();
    let variables = place.variables();
    let mut settings: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.push(OFTEN);
    let (server, api) = start(&settings).await;
    broken(&api).await;
    let body = json!({"metric": "errorRate", "above": 0.5, "webhook": listener.url("/")});
    let alert = make(&api, "/api/alerts", &body).await;
    call(&api, "broken", 2).await;
    let fired = comes_to(&api, &alert, "firing").await;
    is_told(&listener, &["alert.fired"]).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));

    let (_server, api) = start(&settings).await;
    assert_eq!(read(&api, &alert).await["lastFiredAt"], fired["lastFiredAt"]);
    call_well(&api, 6).await;
    comes_to(&api, &alert, "ok").await;
    is_told(&listener, &["alert.fired", "alert.resolved"]).await;
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(told(&listener).len(), 2);
    assert_eq!((on_record(&api, "alert.fired").await, on_record(&api, "alert.resolved").await), (1, 1));
}

#[tokio::test]
async fn one_that_waits_fires_only_when_its_time_has_come() {
    let listener = listener().await;
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let mut body =
        json!({"metric": "errorRate", "above": 0.9, "for_seconds": 3600, "webhook": listener.url("/")});
    let alert = make(&api, "/api/alerts", &body).await;
    call(&api, "broken", 1).await;
    let pending = comes_to(&api, &alert, "pending").await;
    assert!(pending["since"].is_string() && pending["value"] == 1, "{pending}");
    // Back under the line it is as if nothing had been.
    call_well(&api, 1).await;
    let calm = comes_to(&api, &alert, "ok").await;
    assert_eq!((&calm["since"], &calm["lastFiredAt"]), (&Value::Null, &Value::Null), "{calm}");

    body["above"] = json!(0.3);
    let path = format!("/api/alerts/{}", id(&alert));
    assert_eq!(api.put(&path, &body).await.status, 200);
    comes_to(&api, &alert, "pending").await;
    assert_eq!((told(&listener).len(), on_record(&api, "alert.fired").await), (0, 0));
    body["forSeconds"] = json!(1);
    body.as_object_mut().expect("an object").remove("for_seconds");
    assert_eq!(api.put(&path, &body).await.status, 200);
    comes_to(&api, &alert, "firing").await;
    is_told(&listener, &["alert.fired"]).await;

    let removed = api.delete(&path).await;
    assert_eq!((removed.status, &removed.data()["state"]), (200, &json!("firing")), "{}", removed.body);
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(told(&listener).len(), 1, "whoever deletes one knows");
}

#[tokio::test]
async fn slow_calls_and_open_circuits_fire_too() {
    let (_server, api) = start(&[OFTEN]).await;
    tool(&api, "slow", json!({"answers": [{"delay": 300, "data": 1}]})).await;
    let body = json!({"name": "slow", "metric": "p95", "above": 150});
    let slow = make(&api, "/api/alerts", &body).await;
    assert_eq!(slow["above"], 150);
    call(&api, "slow", 1).await;
    let fired = comes_to(&api, &slow, "firing").await;
    assert!(fired["value"].as_f64().is_some_and(|value| value > 150.0), "{fired}");
    call_well(&api, 60).await;
    comes_to(&api, &slow, "ok").await;

    let unwell = json!({"error": {"kind": "Server", "message": "it is unwell"}});
    tool(&api, "unwell", json!({"answers": [unwell], "breakerKey": "unwell"})).await;
    let mut alerts = Vec::new();
    for (name, tool) in [("of the space", Value::Null), ("of the tool", json!("unwell"))] {
        let body = json!({"name": name, "metric": "circuitOpen", "above": 0, "tool": tool});
        alerts.push(make(&api, "/api/alerts", &body).await);
    }
    let other = json!({"name": "of another", "metric": "circuitOpen", "above": 0, "tool": "slow"});
    let other = make(&api, "/api/alerts", &other).await;
    call(&api, "unwell", 4).await;
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(read(&api, &alerts[0]).await["state"], "ok", "four failures in a row are not five");
    call(&api, "unwell", 1).await;
    for alert in &alerts {
        assert_eq!(comes_to(&api, alert, "firing").await["value"], 1);
    }
    assert_eq!(read(&api, &other).await["state"], "ok");
    assert_eq!(api.get("/api/stats").await.data()["openCircuits"], json!(["unwell at unwell"]));
    assert_eq!(api.post("/api/tools/unwell/circuit/reset", &json!({})).await.status, 200);
    for alert in &alerts {
        comes_to(&api, alert, "ok").await;
    }
    assert_eq!(on_record(&api, "alert.fired").await, 3);
}

/// Answers by path; what is flaky fails twice.
async fn moody() -> Upstream {
    let flaky = AtomicUsize::new(0);
    Upstream::start(move |seen| match seen.target.as_str() {
        "/flaky" if flaky.fetch_add(1, Ordering::SeqCst) < 2 => json_reply(500, &json!({})),
        "/gone?key=zeppelin" => json_reply(404, &json!({})),
        "/moved" => reply(302, &[("location", "/elsewhere")], ""),
        _ => json_reply(200, &json!({})),
    })
    .await
}

#[tokio::test]
async fn a_webhook_that_fails_is_tried_again_when_that_may_help_and_says_why() {
    let moody = moody().await;
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let dead = Upstream::raw(|stream| async move { drop(stream) }).await;
    let mut alerts = HashMap::new();
    for (name, webhook) in [
        ("flaky", moody.url("/flaky")),
        ("gone", moody.url("/gone?key=zeppelin")),
        ("moved", moody.url("/moved")),
        ("dead", dead.url("/?key=zeppelin")),
        ("private", "http://10.0.0.1/?key=zeppelin".to_owned()),
    ] {
        let body = json!({"name": name, "metric": "errorRate", "above": 0, "webhook": webhook});
        alerts.insert(name, make(&api, "/api/alerts", &body).await);
    }
    call(&api, "broken", 1).await;
    for (name, said) in [
        ("gone", "127.0.0.1 answered 404 Not Found"),
        ("moved", "another address"),
        ("dead", "127.0.0.1"),
        ("private", "10.0.0.1 resolves to a private address"),
    ] {
        let alert = &alerts[name];
        let what = format!("what is wrong with {name} is said");
        eventually(&what, async || read(&api, alert).await["webhookError"].is_string()).await;
        let shown = read(&api, alert).await;
        let error = shown["webhookError"].as_str().expect("words");
        assert!(error.contains(said) && !error.contains("zeppelin"), "{name}: {error}");
        assert_eq!(shown["state"], "firing", "it fires all the same");
    }
    let asked = |path: &str| {
        let seen = moody.seen().into_iter().filter(|seen| seen.target == path);
        seen.map(|seen| seen.header("idempotency-key").unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    eventually("the flaky one is told", async || asked("/flaky").len() >= 3).await;
    let key = format!("{}-1", id(&alerts["flaky"]));
    assert_eq!(asked("/flaky"), [key.as_str(); 3], "one message, three attempts");
    assert_eq!((asked("/gone?key=zeppelin").len(), asked("/moved").len()), (1, 1), "no is an answer");
    assert_eq!(dead.connections(), 3);

    // One of two calls failed, which is not above a half.
    call_well(&api, 1).await;
    let path = format!("/api/alerts/{}", id(&alerts["flaky"]));
    let calmer = json!({"metric": "errorRate", "above": 0.5, "webhook": moody.url("/flaky")});
    assert_eq!(api.put(&path, &calmer).await.status, 200);
    eventually("it is told that it resolved", async || asked("/flaky").len() >= 4).await;
    assert_eq!(asked("/flaky")[3], format!("{}-2", id(&alerts["flaky"])));
    assert_eq!(read(&api, &alerts["flaky"]).await["webhookError"], Value::Null);
}

#[tokio::test]
async fn an_alert_is_made_read_changed_and_deleted() {
    let (server, api) = start(&[]).await;
    let hook = "https://hooks.example.com/services/T0/zeppelin?key=zeppelin";
    let body = json!({"metric": "p95", "tool": "calculator", "above": 250.5, "webhook": hook});
    let tried = api.post("/api/alerts?dryRun=true", &body).await;
    assert_eq!((tried.status, &tried.data()["tool"]), (200, &json!("calculator")), "{}", tried.body);
    assert_eq!(api.get("/api/alerts").await.data()["items"], json!([]), "a dry run keeps nothing");

    let made = api.post("/api/alerts", &body).await;
    assert_eq!((made.status, made.header("etag")), (201, Some("\"1\"")), "{}", made.body);
    let alert = made.data();
    let mut shown = alert.clone();
    for field in ["id", "spaceId", "ownerId", "createdAt", "updatedAt"] {
        assert!(shown[field].is_string(), "{field}");
        shown.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(
        shown,
        json!({
            "name": null, "metric": "p95", "tool": "calculator", "toolName": "calculator", "above": 250.5,
            "forSeconds": 0, "webhook": hook, "state": "ok", "value": null, "since": null,
            "lastFiredAt": null, "lastResolvedAt": null, "webhookError": null, "version": 1,
        })
    );
    let path = format!("/api/alerts/{}", id(alert));
    let back = api.put(&path, alert).await;
    assert_eq!((back.status, back.data()), (200, alert), "no change, no version");

    // Who may not change it sees where it leads, and what was shown so keeps what is there.
    let reader = scoped(&server, &api, "read").await;
    let (one, all) = (reader.get(&path).await, reader.get("/api/alerts").await);
    assert_eq!(&all.data()["items"][0], one.data());
    assert!(!one.body.to_string().contains("zeppelin"), "{}", one.body);
    let mut masked = one.data().clone();
    assert_eq!(masked["webhook"], "https://hooks.example.com/***", "{masked}");
    masked["above"] = json!(300);
    masked["state"] = json!("firing");
    let changed = api.put(&path, &masked).await;
    assert_eq!(changed.status, 200, "what it tells of itself may be old: {}", changed.body);
    let changed = changed.data();
    let kept = (&changed["webhook"], &changed["above"], &changed["version"]);
    assert_eq!(kept, (&json!(hook), &json!(300), &json!(2)));
    let record = api.get("/api/changes?what=alert").await;
    assert!(!record.body.to_string().contains("zeppelin"), "{}", record.body);

    let stale = api.with("if-match", "1").put(&path, &body).await;
    assert_eq!((stale.status, stale.kind()), (409, "Conflict"), "{}", stale.body);
    assert_eq!(api.with("if-match", "1").delete(&path).await.status, 409);
    let dry = api.put(&format!("{path}?dryRun=true"), &body).await;
    assert_eq!((dry.status, &dry.data()["version"]), (200, &json!(3)), "{}", dry.body);
    assert_eq!(read(&api, alert).await, *changed);

    assert_eq!(reader.delete(&path).await.status, 403);
    assert_eq!(stranger(&server, &api).await.get(&path).await.status, 404);
    let removed = api.delete(&path).await;
    assert_eq!((removed.status, removed.data()), (200, changed));
    let missing = api.get(&path).await;
    let said = format!("there is no alert {}", id(alert));
    assert_eq!((missing.status, missing.message()), (404, said.as_str()));
    assert_eq!(api.get("/api/alerts/calculator").await.status, 404);
}

#[tokio::test]
async fn what_is_wrong_with_an_alert_is_said() {
    let (_server, api) = start(&[]).await;
    let good = json!({"metric": "errorRate", "above": 0.5});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (body, said) in [
        (json!({"above": 1}), "metric"),
        (json!({"metric": "p95"}), "above"),
        (json!([]), "(root)"),
        (with("metric", json!("p50")), "metric"),
        (with("above", json!(-0.1)), "above"),
        (with("above", json!("0.5")), "above"),
        (with("above", json!(5)), "above: must be a fraction"),
        (with("forSeconds", json!(-1)), "forSeconds"),
        (with("forSeconds", json!(86401)), "forSeconds"),
        (with("forSeconds", json!(0.5)), "forSeconds"),
        (with("tool", json!("calculater")), "tool: "),
        (with("tool", json!(7)), "tool"),
        (with("tool", json!("0190b5a0-0000-7000-8000-000000000000")), "tool: "),
        (with("webhook", json!("ftp://a.example/")), "webhook: must be an absolute"),
        (with("webhook", json!("https://u:zeppelin@a.example/")), "webhook: must be an absolute"),
        (with("webhook", json!(["zeppelin"])), "webhook: must be an absolute"),
        (with("webhook", json!("***")), "webhook: is masked"),
        (with("name", json!("")), "name: must have"),
        (with("name", json!("a\u{1}b")), "name: must have"),
        (with("name", json!("x".repeat(101))), "name: must have"),
        (with("name", json!(7)), "name"),
        (with("colour", json!("red")), "colour"),
        (with("id", json!("0190b5a0-0000-7000-8000-000000000000")), "id: "),
        (with("version", json!(1)), "version: "),
    ] {
        for path in ["/api/alerts", "/api/alerts?dryRun=true"] {
            let reply = api.post(path, &body).await;
            refused(&reply, said, &body);
            assert!(!reply.body.to_string().contains("zeppelin"), "{}", reply.body);
        }
    }
    assert_eq!(api.get("/api/alerts").await.data()["items"], json!([]));
    let alert = make(&api, "/api/alerts", &good).await;
    let replaced = api.put(&format!("/api/alerts/{}", id(&alert)), &with("above", json!(2))).await;
    refused(&replaced, "above: must be a fraction", &good);
}

#[tokio::test]
async fn an_alert_outlives_the_name_of_its_tool_and_the_tool_itself() {
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let body = json!({"name": "old", "metric": "errorRate", "above": 0, "tool": "broken"});
    let alert = make(&api, "/api/alerts", &body).await;
    let renamed = json!({"name": "renamed"});
    assert_eq!(crate::agents::patch(&api, "/api/tools/broken", &renamed).await.status, 200);
    assert_eq!(read(&api, &alert).await["toolName"], "renamed");
    call(&api, "renamed", 1).await;
    comes_to(&api, &alert, "firing").await;
    assert_eq!(api.delete("/api/tools/renamed").await.status, 200);
    let calm = comes_to(&api, &alert, "ok").await;
    assert_eq!((&calm["toolName"], &calm["tool"]), (&Value::Null, &alert["tool"]), "{calm}");
    let mut changed = calm.clone();
    changed["name"] = json!("new");
    let path = format!("/api/alerts/{}", id(&alert));
    assert_eq!(api.put(&path, &changed).await.status, 200, "what was read can be sent back");
}
