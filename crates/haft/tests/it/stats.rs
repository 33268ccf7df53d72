//! Statistics over REST: every call is counted by its outcome, shortly after its end and once.

use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, TestStorage, eventually};
use serde_json::{Value, json};

use crate::agents::{make, refused, scoped, stranger};
use crate::http_tools::start;
use crate::openapi::check_response;
use crate::tool_calls::{execute, mock};

/// Returns the statistics of the last hour once they count `calls` calls.
async fn counted(api: &Client, query: &str, calls: u64) -> Value {
    let path = format!("/api/stats?window=1h{query}");
    let about = format!("{path} counts {calls} calls");
    eventually(&about, async || api.get(&path).await.data()["totals"]["calls"] == calls).await;
    api.get(&path).await.data().clone()
}

/// Returns the numbers of calls, errors and cancelled calls.
fn counts(of: &Value) -> (u64, u64, u64) {
    let count = |field: &str| of[field].as_u64().expect("a count");
    (count("calls"), count("errors"), count("cancelled"))
}

#[tokio::test]
async fn each_outcome_is_counted() {
    let (_server, api) = start(&[]).await;
    mock(&api, "broken", json!([{"error": {"kind": "Execution", "message": "it broke"}}])).await;
    let slow = mock(&api, "slow", json!([{"delay": 5000, "data": 1}])).await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    for expression in ["1", "1 + 1", "1 + 2"] {
        assert_eq!(execute(&api, "calculator", json!({"expression": expression})).await.status, 200);
    }
    let body = json!({"arguments": {"expression": "4"}, "options": {"agentId": agent["id"]}});
    assert_eq!(api.post("/api/tools/calculator/execute", &body).await.status, 200);
    execute(&api, "calculator", json!({})).await;
    execute(&api, "broken", json!({})).await;
    execute(&api, "broken", json!({})).await;
    execute(&api, "whether", json!({})).await;
    let hurried = json!({"arguments": {}, "options": {"timeout": 50}});
    assert_eq!(api.post("/api/tools/slow/execute", &hurried).await.kind(), "Timeout");
    let left = execute(&api, "slow", json!({"left": true}));
    assert!(tokio::time::timeout(Duration::from_millis(300), left).await.is_err());

    let stats = counted(&api, "", 10).await;
    let totals = &stats["totals"];
    assert_eq!((counts(totals), totals["cached"].as_u64()), ((10, 5, 1), Some(0)), "{totals}");
    let kinds = json!({"Execution": 2, "NotFound": 1, "Timeout": 1, "Validation": 1});
    assert_eq!(totals["errorsByKind"], kinds);
    let rate = totals["errorRate"].as_f64().expect("a rate");
    assert!((rate - 5.0 / 9.0).abs() < 1e-9, "{rate}");
    let took = |field: &str| totals[field].as_f64().expect("milliseconds");
    assert!(["p50", "p95", "p99", "max"].map(took).is_sorted(), "{totals}");
    assert!(took("max") >= 50.0 && took("mean") <= took("max"), "{totals}");

    assert_eq!((&stats["window"], &stats["step"]), (&json!("1h"), &json!(60)));
    let series = stats["series"].as_array().expect("steps");
    assert_eq!((series.len(), &series[0]["at"]), (61, &stats["from"]));
    assert_eq!(series.iter().map(|step| counts(step).0).sum::<u64>(), 10);
    let empty = series.iter().find(|step| step["calls"] == 0).expect("a step without a call");
    assert_eq!((&empty["p50"], &empty["errorsByKind"]), (&Value::Null, &json!({})));

    let tools: Vec<(&Value, &Value, (u64, u64, u64))> = stats["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| (&tool["toolName"], &tool["toolId"], counts(tool)))
        .collect();
    assert_eq!(tools.len(), 4, "{tools:?}");
    assert_eq!(tools[0], (&json!("calculator"), &json!("calculator"), (5, 1, 0)), "the busiest first");
    assert!(tools.contains(&(&json!("slow"), &slow["id"], (2, 1, 1))), "{tools:?}");
    assert!(tools.iter().any(|(name, _, counts)| **name == "broken" && *counts == (2, 2, 0)), "{tools:?}");
    assert_eq!(tools[3], (&Value::Null, &Value::Null, (1, 1, 0)), "a name that no tool has");
    for tool in stats["tools"].as_array().expect("tools") {
        let steps = tool["series"].as_array().expect("steps");
        assert_eq!(steps.iter().map(|step| counts(step).0).sum::<u64>(), counts(tool).0, "{tool}");
    }
    assert_eq!((&stats["moreTools"], &stats["moreAgents"]), (&json!(0), &json!(0)));
    assert_eq!(stats["openCircuits"], json!([]));
    let [clerk] = &stats["agents"].as_array().expect("agents")[..] else { panic!("one agent: {stats}") };
    assert_eq!((&clerk["agentId"], &clerk["agentName"]), (&agent["id"], &json!("clerk")));
    assert_eq!(counts(clerk), (1, 0, 0));

    let document = api.get("/api/openapi.json").await.body;
    for query in ["", "?window=90d", "?tool=slow", "?agent=clerk"] {
        let reply = api.get(&format!("/api/stats{query}")).await;
        check_response(&document, "GET", "/api/stats", reply.status, &reply.body);
        assert_eq!(reply.status, 200, "{query}");
    }
}

#[tokio::test]
async fn windows_have_their_steps_and_others_are_refused() {
    let (_server, api) = start(&[]).await;
    for (query, window, step, steps) in [
        ("", "24h", 600, 145),
        ("?window=15m", "15m", 60, 16),
        ("?window=1h", "1h", 60, 61),
        ("?window=6h", "6h", 600, 37),
        ("?window=24h", "24h", 600, 145),
        ("?window=7d", "7d", 3600, 169),
        ("?window=30d", "30d", 86_400, 31),
        ("?window=90d", "90d", 86_400, 91),
    ] {
        let reply = api.get(&format!("/api/stats{query}")).await;
        assert_eq!(reply.status, 200, "{query}: {}", reply.body);
        let stats = reply.data();
        assert_eq!((&stats["window"], &stats["step"]), (&json!(window), &json!(step)), "{query}");
        assert_eq!(stats["series"].as_array().map(Vec::len), Some(steps), "{query}");
        assert_eq!(counts(&stats["totals"]), (0, 0, 0), "{query}");
    }
    let expected = "window: must be one of 15m, 1h, 6h, 24h, 7d, 30d, 90d";
    for wrong in ["2h", "", "24H", "1d", "86400"] {
        let reply = api.get(&format!("/api/stats?window={wrong}")).await;
        refused(&reply, expected, &json!(wrong));
    }
    let both = api.get("/api/stats?tool=calculator&agent=clerk").await;
    refused(&both, "agent: cannot be given together with tool", &json!("both"));
    let chinese = api.with("accept-language", "zh").get("/api/stats?window=2h").await;
    assert!(chinese.message().contains("必须是以下之一"), "{}", chinese.message());
    for wrong in ["colour=red", "window=1h&window=6h"] {
        assert_eq!(api.get(&format!("/api/stats?{wrong}")).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn one_tool_and_one_agent_are_found_by_id_and_by_name() {
    let (_server, api) = start(&[]).await;
    let tool = mock(&api, "echo", json!([])).await;
    let agent = make(&api, "/api/agents", &json!({"name": "clerk", "toolIds": ["calculator"]})).await;
    let (id, agent) = (tool["id"].as_str().expect("an id"), agent["id"].as_str().expect("an id"));
    execute(&api, "echo", json!({})).await;
    execute(&api, "calculator", json!({"expression": "1"})).await;
    let body = json!({"arguments": {"expression": "2"}, "options": {"agentId": agent}});
    api.post("/api/tools/calculator/execute", &body).await;
    counted(&api, "", 3).await;
    let renamed = api.send_json(Method::PATCH, &format!("/api/tools/{id}"), &json!({"name": "parrot"})).await;
    assert_eq!(renamed.status, 200, "{}", renamed.body);
    execute(&api, "parrot", json!({})).await;
    execute(&api, "parrot", json!({})).await;
    counted(&api, "", 5).await;
    for (query, calls, names) in [
        (format!("&tool={id}"), 3, vec!["parrot", "echo"]),
        ("&tool=echo".to_owned(), 1, vec!["echo"]),
        ("&tool=parrot".to_owned(), 2, vec!["parrot"]),
        ("&tool=calculator".to_owned(), 2, vec!["calculator"]),
        ("&tool=nothing".to_owned(), 0, vec![]),
        ("&tool=0190b5a0-0000-7000-8000-000000000000".to_owned(), 0, vec![]),
    ] {
        let stats = counted(&api, &query, calls).await;
        let tools = stats["tools"].as_array().expect("tools");
        assert!(tools.iter().map(|tool| &tool["toolName"]).eq(&names), "{query}: {tools:?}");
        assert_eq!(stats["agents"], json!([]), "{query}");
    }
    let by_id = format!("&agent={agent}");
    for (query, calls) in [(by_id.as_str(), 1), ("&agent=clerk", 1), ("&agent=nobody", 0)] {
        let stats = counted(&api, query, calls).await;
        assert_eq!(stats["tools"], json!([]), "{query}");
        assert_eq!(stats["agents"].as_array().map(Vec::len), usize::try_from(calls).ok(), "{query}");
    }
    // Calls stay in the statistics after their agent is deleted.
    assert_eq!(api.delete(&format!("/api/agents/{agent}")).await.status, 200);
    let stats = counted(&api, &by_id, 1).await;
    assert_eq!(stats["agents"][0]["agentName"], Value::Null);
}

#[tokio::test]
async fn statistics_belong_to_one_space() {
    let (server, api) = start(&[]).await;
    execute(&api, "calculator", json!({"expression": "1"})).await;
    counted(&api, "", 1).await;
    let reader = scoped(&server, &api, "read").await;
    counted(&reader, "", 1).await;
    let bob = stranger(&server, &api).await;
    for query in ["", "&tool=calculator"] {
        let stats = counted(&bob, query, 0).await;
        assert_eq!((&stats["tools"], &stats["agents"]), (&json!([]), &json!([])), "{query}");
    }
    execute(&bob, "calculator", json!({"expression": "2"})).await;
    counted(&bob, "&tool=calculator", 1).await;
    counted(&api, "&tool=calculator", 1).await;
}

#[tokio::test]
async fn restart_counts_every_call_once() {
    let place = TestStorage::new();
    let variables = place.variables();
    let directory: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (server, api) = start(&directory).await;
    for number in 0..20 {
        execute(&api, "calculator", json!({"expression": format!("{number} + 1")})).await;
    }
    // Some calls may be counted before the stop, and some only after the next start.
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let (_server, api) = start(&directory).await;
    counted(&api, "", 20).await;
    execute(&api, "calculator", json!({"expression": "1"})).await;
    counted(&api, "", 21).await;
}
