//! Two servers that evaluate the same alerts: an alert that fires at one of them is not resolved by the
//! other.

use std::time::Duration;

use haft_testkit::{Upstream, json_reply};
use serde_json::json;

use super::database::Database;
use super::{FIVE_SECONDS, Settings, call, within};

#[tokio::test]
async fn open_circuit_at_one_of_two_servers_fires_once() {
    let Some(database) = Database::new() else { return };
    let settings = Settings::sharing(&database.url()).with("HAFT_ALERT_INTERVAL", "1000");
    let (_first, here) = settings.start().await;
    let (_second, there) = settings.start().await;
    let listener = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let error = json!({"error": {"kind": "Server", "message": "it is unwell"}});
    let tool = json!({
        "name": "unwell", "description": "d", "type": "mock", "retryCount": 0,
        "config": {"answers": [error], "breakerKey": "unwell"},
    });
    assert_eq!(here.post("/api/tools", &tool).await.status, 201);
    let alert = json!({"metric": "circuitOpen", "above": 0, "webhook": listener.url("/")});
    let alert = here.post("/api/alerts", &alert).await;
    assert_eq!(alert.status, 201, "{}", alert.body);
    let mut stream = there.events("/api/events?types=alert.*").await;
    assert_eq!(stream.event().await.name, "ready");
    for _ in 0..5 {
        call(&here, "unwell").await;
    }
    let webhook_types = || -> Vec<String> {
        let seen = listener.seen();
        seen.iter().map(|seen| seen.json()["type"].as_str().unwrap_or_default().to_owned()).collect()
    };
    within(FIVE_SECONDS, "it fires", async || !webhook_types().is_empty()).await;
    // Several evaluations by the server that has no open circuit.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(webhook_types(), ["alert.fired"]);
    assert_eq!(here.post("/api/tools/unwell/circuit/reset", &json!({})).await.status, 200);
    within(FIVE_SECONDS, "it resolves", async || webhook_types().len() > 1).await;
    assert_eq!(webhook_types(), ["alert.fired", "alert.resolved"]);
    // Every server emits the events to its subscribers, whichever server evaluated the alert.
    for name in ["alert.fired", "alert.resolved"] {
        assert_eq!(stream.event().await.name, name);
    }
}
