//! Client libraries of others, unchanged, at `/v1`: each asks all it can, and finds an agent that has tools.
//!
//! The programs are in `tests/clients`; what they ask, and what the model behind says, is in `script.json` there.

mod model;
mod programs;
mod real;
mod structured;

use haft_testkit::{Client, Dialect, HaftProcess};
use serde_json::{Value, json};

use self::programs::{Beside, client, is_skipped};
use crate::agents::make;
use crate::http_tools::start;

const AGENT: &str = "clerk";

/// What every client finds, however it asks.
fn expected() -> Value {
    let hello = "Hello, I am a model that only plays one.";
    let both = json!({
        "calls": ["weather(Paris)", "weather(Rome)"],
        "text": "I was told: 18 degrees in Paris; 18 degrees in Rome",
    });
    let common = json!({
        "plain": hello,
        "streamed": {"text": hello, "in_pieces": true},
        "own_tool_streamed": {"in_pieces": true},
        "tool": {"calls": ["weather(Paris)"], "text": "I was told: 18 degrees in Paris"},
        "parallel": both,
        "parallel_streamed": both,
        // The agent's own call of the same answer is not the client's business.
        "mixed": {"calls": ["weather(Oslo)"]},
        "has_usage": true,
        "missing": {"status": 404, "named": true},
    });
    let mut facts = json!({"chat": common, "responses": common});
    facts["chat"]["memory"] = json!({"kept": "Your name is Ada."});
    facts["responses"]["memory"] = json!("Your name is Ada.");
    facts
}

#[tokio::test]
async fn openai_in_python() {
    let refused = json!({"class": "NotFoundError", "code": "model_not_found", "status": 404, "named": true});
    let more = json!({
        "chat": {
            "streamed": {"finish": "stop", "has_usage": true},
            "own_tool_streamed": {"finish": "stop", "has_usage": true},
            "memory": {"alone": "You have not told me."},
            "missing": refused, "missing_streamed": refused,
        },
        "responses": {
            "streamed": {"same": true, "status": "completed", "has_usage": true},
            "own_tool_streamed": {"same": true, "status": "completed", "has_usage": true},
            "tool_kept": "I was told: 18 degrees in Paris",
            "missing": refused,
        },
        "listed": true,
        "stranger": {"class": "AuthenticationError", "status": 401},
    });
    finds("openai_sdk.py", &more).await;
}

#[tokio::test]
async fn openai_in_node() {
    let refused = json!({"class": "NotFoundError", "code": "model_not_found", "status": 404, "named": true});
    let more = json!({
        "chat": {
            "streamed": {"finish": "stop", "has_usage": true},
            "own_tool_streamed": {"finish": "stop", "has_usage": true},
            "memory": {"alone": "You have not told me."},
            "missing": refused,
        },
        "responses": {
            "streamed": {"same": true, "status": "completed", "has_usage": true},
            "own_tool_streamed": {"same": true, "status": "completed", "has_usage": true},
            "missing": refused,
        },
        "listed": true,
        "stranger": {"class": "AuthenticationError", "status": 401},
    });
    finds("openai_sdk.mjs", &more).await;
}

#[tokio::test]
async fn vercels_ai_sdk() {
    let common = json!({
        "streamed": {"finish": "stop", "has_usage": true, "errors": []},
        "own_tool_streamed": {"finish": "stop", "has_usage": true, "errors": []},
        "tool": {"steps": 2},
        "parallel_streamed": {"steps": 2, "failed": false},
        "history": "Your name is Ada.",
        "missing": {"is_api_call_error": true},
    });
    finds("vercel.mjs", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn the_agents_sdk_in_python() {
    let common = json!({"tool": {"turns": 2}, "missing": {"class": "NotFoundError"}});
    finds("agents_sdk.py", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn the_agents_sdk_in_node() {
    let common = json!({"tool": {"turns": 2}, "missing": {"class": "NotFoundError"}});
    finds("agents_sdk.mjs", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn langgraph() {
    let common = json!({
        "tool": {"messages": 4},
        "parallel": {"messages": 5},
        "missing": {"class": "OpenAIModelNotFoundError"},
    });
    finds("langgraph_react.py", &json!({"chat": common, "responses": common})).await;
}

/// The model is not of our making either.
#[tokio::test]
async fn with_aimock_behind() {
    if is_skipped() {
        return;
    }
    let aimock = Beside::start("aimock.mjs").await;
    let (server, _api) = haft(&format!("{}/v1", aimock.url)).await;
    for program in ["openai_sdk.py", "vercel.mjs"] {
        compare(program, &client(program, &server.url, AGENT).await, &json!({}));
    }
}

async fn finds(program: &str, more: &Value) {
    if is_skipped() {
        return;
    }
    let model = model::start().await;
    let (server, _api) = haft(&model.base(Dialect::Openai)).await;
    let facts = client(program, &server.url, AGENT).await;
    compare(program, &facts, more);
    assert_eq!(model.refused(), Vec::<String>::new(), "{program}: what the model is sent keeps to its rules");
}

/// A server with a model at a base address, and an agent that has a tool.
async fn haft(base: &str) -> (HaftProcess, Client) {
    let environment =
        [("OPENAI_API_KEY", "sk-0123456789abcdef"), ("OPENAI_BASE_URL", base), ("HAFT_FIND_OLLAMA", "false")];
    let (server, api) = start(&environment).await;
    let agent = json!({
        "name": AGENT, "systemPrompt": "You are a clerk.", "toolIds": ["calculator"],
        "config": {"provider": "openai", "model": "test-large", "maxTokens": 64},
    });
    make(&api, "/api/agents", &agent).await;
    (server, api)
}

fn compare(program: &str, facts: &Value, more: &Value) {
    for expected in [&expected(), more] {
        let mut differences = Vec::new();
        differ("", facts, expected, &mut differences);
        assert!(differences.is_empty(), "{program}:\n{}\nof {facts:#}", differences.join("\n"));
    }
    for door in ["chat", "responses"] {
        // The number is nowhere but in what Haft's own tool answers.
        let (own, mixed) = (&facts[door]["own_tool"], &facts[door]["mixed"]["text"]);
        let streamed = &facts[door]["own_tool_streamed"];
        for text in [own, &streamed["text"], mixed] {
            assert!(text.as_str().is_some_and(|text| text.contains("437")), "{program} {door}: {text}");
        }
        assert!(mixed.to_string().contains("18 degrees in Oslo"), "{program} {door}: {mixed}");
        // Nor does the client hear of a call, where it has tools of its own.
        let calls = streamed["calls"].as_array();
        assert!(calls.is_none_or(Vec::is_empty), "{program} {door}: {streamed}");
    }
}

/// What is expected must be there; there may be more.
fn differ(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    let Some(fields) = expected.as_object() else {
        if found != expected {
            differences.push(format!("{path}: {found} instead of {expected}"));
        }
        return;
    };
    for (name, expected) in fields {
        differ(&format!("{path}/{name}"), &found[name.as_str()], expected, differences);
    }
}
