//! Requests with more definitions than a space may contain are rejected before any definition is validated.

use serde_json::{Value, json};

use super::TestSpace;
use crate::cli_over_http::{Desk, mock};

/// Sends an invalid import and returns its errors with their paths.
async fn errors(space: &TestSpace<'_>, body: &Value) -> Vec<Value> {
    let refused = space.api.post("/api/tools/import", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    refused.body["error"]["details"]["errors"].as_array().expect("errors").clone()
}

#[tokio::test]
async fn import_with_too_many_alerts_is_rejected_at_once() {
    let desk = Desk::new("many-alerts").await;
    let space = TestSpace::new(&desk, "one").await;
    let alerts = |count: usize| json!({"tools": [], "alerts": vec![json!({}); count]});
    let found = errors(&space, &alerts(101)).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["path"], "alerts");
    let message = found[0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("at most 100 alerts"), "{message}");
    // Comparing all of them with the alerts of the space would take tens of seconds.
    assert_eq!(errors(&space, &alerts(300_000)).await.len(), 1);
    assert!(errors(&space, &alerts(100)).await.len() >= 100, "each of fewer is checked");
}

#[tokio::test]
async fn pins_of_too_many_bindings_are_not_resolved() {
    let desk = Desk::new("many-pins").await;
    let space = TestSpace::new(&desk, "one").await;
    space.make("/api/tools", &mock("echo", "One.")).await;
    let binding = json!({"toolId": "echo", "pinnedDigest": "sha256:none"});
    let body = |count: usize| {
        let agent = json!({"name": "guide", "bindings": vec![binding.clone(); count]});
        json!({"tools": [], "agents": [agent]})
    };
    let paths = |errors: &[Value]| -> Vec<String> {
        errors.iter().map(|error| error["path"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let found = paths(&errors(&space, &body(1_001)).await);
    assert!(found.contains(&"agents.0.bindings".to_owned()), "{found:?}");
    assert!(!found.iter().any(|path| path.ends_with("pinnedDigest")), "{found:?}");
    let found = paths(&errors(&space, &body(1)).await);
    assert_eq!(found, ["agents.0.bindings.0.pinnedDigest"]);
}

#[tokio::test]
async fn import_stops_after_a_hundred_errors() {
    let desk = Desk::new("many-errors").await;
    let space = TestSpace::new(&desk, "one").await;
    let agents: Vec<Value> =
        (0..5_000).map(|at| json!({"name": format!("a{at}"), "toolIds": ["missing"]})).collect();
    let found = errors(&space, &json!({"tools": [], "agents": agents})).await;
    assert_eq!(found.len(), 100);
}
