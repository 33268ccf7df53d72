//! Requests with more definitions than a space may have are refused before any of them is looked at.

use serde_json::{Value, json};

use super::Place;
use crate::cli_over_http::{Desk, mock};

/// The errors of a refused import, with their paths.
async fn errors(place: &Place<'_>, body: &Value) -> Vec<Value> {
    let refused = place.api.post("/api/tools/import", body).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    refused.body["error"]["details"]["errors"].as_array().expect("errors").clone()
}

#[tokio::test]
async fn more_alerts_than_a_space_may_have_are_refused_at_once() {
    let desk = Desk::new("many-alerts").await;
    let place = Place::new(&desk, "one").await;
    let alerts = |count: usize| json!({"tools": [], "alerts": vec![json!({}); count]});
    let found = errors(&place, &alerts(101)).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["path"], "alerts");
    let message = found[0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("at most 100 alerts"), "{message}");
    // To match these with the alerts of the space took tens of seconds.
    assert_eq!(errors(&place, &alerts(300_000)).await.len(), 1);
    assert!(errors(&place, &alerts(100)).await.len() >= 100, "each of fewer is checked");
}

#[tokio::test]
async fn pins_of_more_bindings_than_an_agent_may_have_are_not_looked_up() {
    let desk = Desk::new("many-pins").await;
    let place = Place::new(&desk, "one").await;
    place.make("/api/tools", &mock("echo", "One.")).await;
    let binding = json!({"toolId": "echo", "pinnedDigest": "sha256:none"});
    let body = |count: usize| {
        let agent = json!({"name": "guide", "bindings": vec![binding.clone(); count]});
        json!({"tools": [], "agents": [agent]})
    };
    let paths = |errors: &[Value]| -> Vec<String> {
        errors.iter().map(|error| error["path"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let found = paths(&errors(&place, &body(1_001)).await);
    assert!(found.contains(&"agents.0.bindings".to_owned()), "{found:?}");
    assert!(!found.iter().any(|path| path.ends_with("pinnedDigest")), "{found:?}");
    let found = paths(&errors(&place, &body(1)).await);
    assert_eq!(found, ["agents.0.bindings.0.pinnedDigest"]);
}

#[tokio::test]
async fn an_import_stops_at_a_hundred_errors() {
    let desk = Desk::new("many-errors").await;
    let place = Place::new(&desk, "one").await;
    let agents: Vec<Value> =
        (0..5_000).map(|at| json!({"name": format!("a{at}"), "toolIds": ["missing"]})).collect();
    let found = errors(&place, &json!({"tools": [], "agents": agents})).await;
    assert_eq!(found.len(), 100);
}
