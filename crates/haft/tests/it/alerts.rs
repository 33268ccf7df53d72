//! Alerts: they fire once and resolve once, call webhooks, and are managed over REST.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_testkit::{Client, RecordedRequest, TestStorage, Upstream, eventually, http_response, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, refused, scoped, stranger};
use crate::http_tools::start;

const OFTEN: (&str, &str) = ("HAFT_ALERT_INTERVAL", "100");

/// Long enough for several checks.
const SEVERAL_CHECKS: Duration = Duration::from_millis(600);

/// Creates a mock tool with this config.
async fn tool(api: &Client, name: &str, config: Value) {
    let tool =
        json!({"name": name, "description": "A mock.", "type": "mock", "retryCount": 0, "config": config});
    make(api, "/api/tools", &tool).await;
}

/// Creates a tool that always fails.
async fn broken(api: &Client) {
    tool(api, "broken", json!({"answers": [{"error": {"kind": "Execution", "message": "it broke"}}]})).await;
}

async fn call(api: &Client, tool: &str, times: usize) {
    for _ in 0..times {
        let reply = api.post(&format!("/api/tools/{tool}/execute"), &json!({})).await;
        assert_ne!(reply.status, 404, "{}", reply.body);
    }
}

/// Calls a fast tool that always succeeds.
async fn call_well(api: &Client, times: usize) {
    for number in 0..times {
        let body = json!({"arguments": {"operation": "upper", "text": format!("a{number}")}});
        let reply = api.post("/api/tools/string/execute", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
}

/// Starts a server that records webhooks.
async fn webhook_receiver() -> Upstream {
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

/// Waits until an alert has this state, and returns the alert.
async fn wait_for_state(api: &Client, alert: &Value, state: &str) -> Value {
    let what = format!("{} is {state}", alert["name"]);
    eventually(&what, async || read(api, alert).await["state"] == state).await;
    read(api, alert).await
}

/// Returns the types of all webhooks received.
fn webhook_types(receiver: &Upstream) -> Vec<String> {
    let kind = |seen: &RecordedRequest| seen.json()["type"].as_str().expect("a type").to_owned();
    receiver.seen().iter().map(kind).collect()
}

async fn wait_for_webhooks(receiver: &Upstream, expected: &[&str]) {
    let what = format!("{expected:?} is received");
    eventually(&what, async || webhook_types(receiver).len() >= expected.len()).await;
    assert_eq!(webhook_types(receiver), expected);
}

/// Returns the number of changes of this type in the change log.
async fn change_count(api: &Client, kind: &str) -> usize {
    let reply = api.get("/api/changes?what=alert&limit=200").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.data()["items"].as_array().expect("a list").iter().filter(|item| item["type"] == kind).count()
}

#[tokio::test]
async fn error_rate_alert_fires_once_and_resolves_once() {
    let receiver = webhook_receiver().await;
    let (_server, api) = start(&[OFTEN, ("HAFT_PUBLIC_URL", "https://haft.example.com/")]).await;
    let error = json!({"error": {"kind": "Execution", "message": "it broke"}});
    tool(&api, "shaky", json!({"answers": [error, error, {"data": 1}]})).await;
    let body = json!({
        "name": "Shaky fails", "metric": "errorRate", "tool": "shaky", "above": 0.5,
        "webhook": receiver.url("/hook?key=1"),
    });
    let alert = make(&api, "/api/alerts", &body).await;
    assert_eq!((&alert["state"], &alert["since"]), (&json!("ok"), &Value::Null), "{alert}");

    call(&api, "shaky", 2).await;
    let fired = wait_for_state(&api, &alert, "firing").await;
    assert_eq!((&fired["value"], &fired["since"]), (&json!(1), &fired["lastFiredAt"]), "{fired}");
    assert_eq!((&fired["version"], &fired["lastResolvedAt"]), (&json!(1), &Value::Null));
    wait_for_webhooks(&receiver, &["alert.fired"]).await;
    let first = receiver.seen().remove(0);
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

    // Further failures do not fire the alert again.
    call(&api, "shaky", 6).await;
    let resolved = wait_for_state(&api, &alert, "ok").await;
    wait_for_webhooks(&receiver, &["alert.fired", "alert.resolved"]).await;
    let second = receiver.seen().remove(1);
    assert_eq!(second.header("idempotency-key"), Some(format!("{}-2", id(&alert)).as_str()));
    assert_eq!(second.json()["at"], resolved["lastResolvedAt"]);
    assert_eq!((&resolved["webhookError"], &resolved["since"]), (&Value::Null, &resolved["lastResolvedAt"]));

    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(webhook_types(&receiver), ["alert.fired", "alert.resolved"]);
    for kind in ["alert.created", "alert.fired", "alert.resolved"] {
        assert_eq!(change_count(&api, kind).await, 1, "{kind}");
    }
}

#[tokio::test]
async fn firing_alert_stays_firing_after_a_restart() {
    let receiver = webhook_receiver().await;
    let place = TestStorage::new();
    let variables = place.variables();
    let mut settings: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.push(OFTEN);
    let (server, api) = start(&settings).await;
    broken(&api).await;
    let body = json!({"metric": "errorRate", "above": 0.5, "webhook": receiver.url("/")});
    let alert = make(&api, "/api/alerts", &body).await;
    call(&api, "broken", 2).await;
    let fired = wait_for_state(&api, &alert, "firing").await;
    wait_for_webhooks(&receiver, &["alert.fired"]).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));

    let (_server, api) = start(&settings).await;
    assert_eq!(read(&api, &alert).await["lastFiredAt"], fired["lastFiredAt"]);
    call_well(&api, 6).await;
    wait_for_state(&api, &alert, "ok").await;
    wait_for_webhooks(&receiver, &["alert.fired", "alert.resolved"]).await;
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(webhook_types(&receiver).len(), 2);
    assert_eq!((change_count(&api, "alert.fired").await, change_count(&api, "alert.resolved").await), (1, 1));
}

#[tokio::test]
async fn pending_alert_fires_after_its_duration_only() {
    let receiver = webhook_receiver().await;
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let mut body =
        json!({"metric": "errorRate", "above": 0.9, "for_seconds": 3600, "webhook": receiver.url("/")});
    let alert = make(&api, "/api/alerts", &body).await;
    call(&api, "broken", 1).await;
    let pending = wait_for_state(&api, &alert, "pending").await;
    assert!(pending["since"].is_string() && pending["value"] == 1, "{pending}");
    // Below the threshold, the alert is reset.
    call_well(&api, 1).await;
    let calm = wait_for_state(&api, &alert, "ok").await;
    assert_eq!((&calm["since"], &calm["lastFiredAt"]), (&Value::Null, &Value::Null), "{calm}");

    body["above"] = json!(0.3);
    let path = format!("/api/alerts/{}", id(&alert));
    assert_eq!(api.put(&path, &body).await.status, 200);
    wait_for_state(&api, &alert, "pending").await;
    assert_eq!((webhook_types(&receiver).len(), change_count(&api, "alert.fired").await), (0, 0));
    body["forSeconds"] = json!(1);
    body.as_object_mut().expect("an object").remove("for_seconds");
    assert_eq!(api.put(&path, &body).await.status, 200);
    wait_for_state(&api, &alert, "firing").await;
    wait_for_webhooks(&receiver, &["alert.fired"]).await;

    let removed = api.delete(&path).await;
    assert_eq!((removed.status, &removed.data()["state"]), (200, &json!("firing")), "{}", removed.body);
    tokio::time::sleep(SEVERAL_CHECKS).await;
    assert_eq!(webhook_types(&receiver).len(), 1, "deleting an alert sends no webhook");
}

#[tokio::test]
async fn slow_calls_and_open_circuits_fire_alerts() {
    let (_server, api) = start(&[OFTEN]).await;
    tool(&api, "slow", json!({"answers": [{"delay": 300, "data": 1}]})).await;
    let body = json!({"name": "slow", "metric": "p95", "above": 150});
    let slow = make(&api, "/api/alerts", &body).await;
    assert_eq!(slow["above"], 150);
    call(&api, "slow", 1).await;
    let fired = wait_for_state(&api, &slow, "firing").await;
    assert!(fired["value"].as_f64().is_some_and(|value| value > 150.0), "{fired}");
    call_well(&api, 60).await;
    wait_for_state(&api, &slow, "ok").await;

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
        assert_eq!(wait_for_state(&api, alert, "firing").await["value"], 1);
    }
    assert_eq!(read(&api, &other).await["state"], "ok");
    assert_eq!(api.get("/api/stats").await.data()["openCircuits"], json!(["unwell at unwell"]));
    assert_eq!(api.post("/api/tools/unwell/circuit/reset", &json!({})).await.status, 200);
    for alert in &alerts {
        wait_for_state(&api, alert, "ok").await;
    }
    assert_eq!(change_count(&api, "alert.fired").await, 3);
}

/// Starts a webhook receiver whose responses depend on the path. `/flaky` fails twice.
async fn unreliable_receiver() -> Upstream {
    let flaky = AtomicUsize::new(0);
    Upstream::start(move |seen| match seen.target.as_str() {
        "/flaky" if flaky.fetch_add(1, Ordering::SeqCst) < 2 => json_reply(500, &json!({})),
        "/gone?key=zeppelin" => json_reply(404, &json!({})),
        "/moved" => http_response(302, &[("location", "/elsewhere")], ""),
        _ => json_reply(200, &json!({})),
    })
    .await
}

#[tokio::test]
async fn failed_webhook_is_retried_if_useful_and_reported() {
    let unreliable = unreliable_receiver().await;
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let dead = Upstream::raw(|stream| async move { drop(stream) }).await;
    let mut alerts = HashMap::new();
    for (name, webhook) in [
        ("flaky", unreliable.url("/flaky")),
        ("gone", unreliable.url("/gone?key=zeppelin")),
        ("moved", unreliable.url("/moved")),
        ("dead", dead.url("/?key=zeppelin")),
        ("private", "http://10.0.0.1/?key=zeppelin".to_owned()),
    ] {
        let body = json!({"name": name, "metric": "errorRate", "above": 0, "webhook": webhook});
        alerts.insert(name, make(&api, "/api/alerts", &body).await);
    }
    call(&api, "broken", 1).await;
    for (name, expected) in [
        ("gone", "127.0.0.1 answered 404 Not Found"),
        ("moved", "another address"),
        ("dead", "127.0.0.1"),
        ("private", "10.0.0.1 resolves to a private address"),
    ] {
        let alert = &alerts[name];
        let what = format!("the error of {name} is reported");
        eventually(&what, async || read(&api, alert).await["webhookError"].is_string()).await;
        let current = read(&api, alert).await;
        let error = current["webhookError"].as_str().expect("a text");
        assert!(error.contains(expected) && !error.contains("zeppelin"), "{name}: {error}");
        assert_eq!(current["state"], "firing", "it fires anyway");
    }
    let webhook_keys = |path: &str| {
        let seen = unreliable.seen().into_iter().filter(|seen| seen.target == path);
        seen.map(|seen| seen.header("idempotency-key").unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    eventually("the flaky receiver gets three attempts", async || webhook_keys("/flaky").len() >= 3).await;
    let key = format!("{}-1", id(&alerts["flaky"]));
    assert_eq!(webhook_keys("/flaky"), [key.as_str(); 3], "one message, three attempts");
    assert_eq!(
        (webhook_keys("/gone?key=zeppelin").len(), webhook_keys("/moved").len()),
        (1, 1),
        "client errors are not retried"
    );
    assert_eq!(dead.connections(), 3);

    // One of two calls failed, which is not above 0.5.
    call_well(&api, 1).await;
    let path = format!("/api/alerts/{}", id(&alerts["flaky"]));
    let calmer = json!({"metric": "errorRate", "above": 0.5, "webhook": unreliable.url("/flaky")});
    assert_eq!(api.put(&path, &calmer).await.status, 200);
    eventually("the resolved webhook is received", async || webhook_keys("/flaky").len() >= 4).await;
    assert_eq!(webhook_keys("/flaky")[3], format!("{}-2", id(&alerts["flaky"])));
    assert_eq!(read(&api, &alerts["flaky"]).await["webhookError"], Value::Null);
}

#[tokio::test]
async fn alert_is_created_read_changed_and_deleted() {
    let (server, api) = start(&[]).await;
    let hook = "https://hooks.example.com/services/T0/zeppelin?key=zeppelin";
    let body = json!({"metric": "p95", "tool": "calculator", "above": 250.5, "webhook": hook});
    let tried = api.post("/api/alerts?dryRun=true", &body).await;
    assert_eq!((tried.status, &tried.data()["tool"]), (200, &json!("calculator")), "{}", tried.body);
    assert_eq!(api.get("/api/alerts").await.data()["items"], json!([]), "a dry run stores nothing");

    let created = api.post("/api/alerts", &body).await;
    assert_eq!((created.status, created.header("etag")), (201, Some("\"1\"")), "{}", created.body);
    let alert = created.data();
    let mut fields = alert.clone();
    for field in ["id", "spaceId", "ownerId", "createdAt", "updatedAt"] {
        assert!(fields[field].is_string(), "{field}");
        fields.as_object_mut().expect("an object").remove(field);
    }
    assert_eq!(
        fields,
        json!({
            "name": null, "metric": "p95", "tool": "calculator", "toolName": "calculator", "above": 250.5,
            "forSeconds": 0, "webhook": hook, "state": "ok", "value": null, "since": null,
            "lastFiredAt": null, "lastResolvedAt": null, "webhookError": null, "version": 1,
        })
    );
    let path = format!("/api/alerts/{}", id(alert));
    let back = api.put(&path, alert).await;
    assert_eq!((back.status, back.data()), (200, alert), "no change, no version");

    // Readers see the webhook masked, and sending the mask back preserves the stored webhook.
    let reader = scoped(&server, &api, "read").await;
    let (one, all) = (reader.get(&path).await, reader.get("/api/alerts").await);
    assert_eq!(&all.data()["items"][0], one.data());
    assert!(!one.body.to_string().contains("zeppelin"), "{}", one.body);
    let mut masked = one.data().clone();
    assert_eq!(masked["webhook"], "https://hooks.example.com/***", "{masked}");
    masked["above"] = json!(300);
    masked["state"] = json!("firing");
    let changed = api.put(&path, &masked).await;
    assert_eq!(changed.status, 200, "stale read-only fields are ignored: {}", changed.body);
    let changed = changed.data();
    let stored = (&changed["webhook"], &changed["above"], &changed["version"]);
    assert_eq!(stored, (&json!(hook), &json!(300), &json!(2)));
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
    let message = format!("there is no alert {}", id(alert));
    assert_eq!((missing.status, missing.message()), (404, message.as_str()));
    assert_eq!(api.get("/api/alerts/calculator").await.status, 404);
}

#[tokio::test]
async fn invalid_alert_is_rejected_with_the_wrong_field() {
    let (_server, api) = start(&[]).await;
    let good = json!({"metric": "errorRate", "above": 0.5});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (body, message) in [
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
            refused(&reply, message, &body);
            assert!(!reply.body.to_string().contains("zeppelin"), "{}", reply.body);
        }
    }
    assert_eq!(api.get("/api/alerts").await.data()["items"], json!([]));
    let alert = make(&api, "/api/alerts", &good).await;
    let replaced = api.put(&format!("/api/alerts/{}", id(&alert)), &with("above", json!(2))).await;
    refused(&replaced, "above: must be a fraction", &good);
}

#[tokio::test]
async fn alert_survives_renaming_and_deletion_of_its_tool() {
    let (_server, api) = start(&[OFTEN]).await;
    broken(&api).await;
    let body = json!({"name": "old", "metric": "errorRate", "above": 0, "tool": "broken"});
    let alert = make(&api, "/api/alerts", &body).await;
    let renamed = json!({"name": "renamed"});
    assert_eq!(crate::agents::patch(&api, "/api/tools/broken", &renamed).await.status, 200);
    assert_eq!(read(&api, &alert).await["toolName"], "renamed");
    call(&api, "renamed", 1).await;
    wait_for_state(&api, &alert, "firing").await;
    assert_eq!(api.delete("/api/tools/renamed").await.status, 200);
    let calm = wait_for_state(&api, &alert, "ok").await;
    assert_eq!((&calm["toolName"], &calm["tool"]), (&Value::Null, &alert["tool"]), "{calm}");
    let mut changed = calm.clone();
    changed["name"] = json!("new");
    let path = format!("/api/alerts/{}", id(&alert));
    assert_eq!(api.put(&path, &changed).await.status, 200, "the alert can be sent back");
}
