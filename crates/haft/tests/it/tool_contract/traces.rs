//! The trace of a request reaches the upstreams of http tools, also of tasks and of tools that an agent calls.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest, Upstream, eventually, json_reply};
use serde_json::json;

use super::execute;
use crate::agents::make;
use crate::chat::{Desk, user};
use crate::http_tools::start;
use crate::v1::{COMPLETIONS, RESPONSES};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const STATE: &str = "congo=t61rcWkgMzE";

#[tokio::test]
async fn traceparent_and_tracestate_reach_the_upstream_unless_the_tool_opts_out() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    for (name, more) in [("traced", json!({})), ("untraced", json!({"sendTrace": false}))] {
        let tool = json!({"name": name, "description": "d", "url": upstream.url("/"), "config": more});
        make(&api, "/api/tools", &tool).await;
    }
    let within = api.with("traceparent", PARENT).with("tracestate", STATE);
    let malformed = api.with("traceparent", "00-zz-yy-01").with("tracestate", STATE);
    let lone = api.with("tracestate", STATE);
    for (client, tool, expected) in [
        (&within, "traced", (Some(PARENT), Some(STATE))),
        (&within, "untraced", (None, None)),
        (&api, "traced", (None, None)),
        (&malformed, "traced", (None, None)),
        (&lone, "traced", (None, None)),
    ] {
        assert_eq!(execute(client, tool, json!({})).await.status, 200);
        let seen = upstream.seen().pop().expect("a request");
        assert_eq!((seen.header("traceparent"), seen.header("tracestate")), expected, "{tool}");
    }
}

#[tokio::test]
async fn traceparent_and_tracestate_reach_the_upstream_of_a_call_that_becomes_a_task() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({}))).await;
    let (_server, api) = start(&[]).await;
    let tool = json!({"name": "traced", "description": "d", "url": upstream.url("/")});
    make(&api, "/api/tools", &tool).await;
    let within = api.with("traceparent", PARENT).with("tracestate", STATE);
    let path = "/api/tools/traced/execute";
    let accepted = within.post(path, &json!({"arguments": {}, "options": {"mode": "async"}})).await;
    assert_eq!(accepted.status, 202, "{}", accepted.body);
    eventually("the task was sent", async || !upstream.seen().is_empty()).await;
    let keyed = within.with("idempotency-key", "one").post(path, &json!({"arguments": {}})).await;
    assert_eq!(keyed.status, 200, "{}", keyed.body);
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    for seen in seen {
        assert_eq!((seen.header("traceparent"), seen.header("tracestate")), (Some(PARENT), Some(STATE)));
    }
}

#[tokio::test]
async fn traceparent_and_tracestate_of_a_chat_request_reach_the_upstreams_of_its_tools() {
    let desk = Desk::new(async |asked: RecordedModelRequest| match asked.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
        _ => ModelReply::says("Four degrees."),
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    // A tool that calls the agent, so that the last case has two levels.
    let inner =
        json!({"name": "ask_clerk", "description": "Asks.", "type": "agent", "config": {"agent": agent}});
    make(&desk.api, "/api/tools", &inner).await;
    let within = desk.api.with("traceparent", PARENT).with("tracestate", STATE);
    let (question, spoken) = ("Rome?", json!([user("Rome?")]));
    for (path, body) in [
        ("/api/chat", json!({"agentId": agent, "messages": spoken})),
        (COMPLETIONS, json!({"model": agent, "messages": spoken})),
        (RESPONSES, json!({"model": agent, "input": question})),
        ("/api/tools/ask_clerk/execute", json!({"arguments": {"message": question}})),
    ] {
        for (client, expected) in [(&within, (Some(PARENT), Some(STATE))), (&desk.api, (None, None))] {
            let calls = desk.weather.seen().len();
            let reply = client.post(path, &body).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            let seen = desk.weather.seen();
            assert_eq!(seen.len(), calls + 1, "{path}");
            let seen = &seen[calls];
            assert_eq!((seen.header("traceparent"), seen.header("tracestate")), expected, "{path}");
        }
    }
}
