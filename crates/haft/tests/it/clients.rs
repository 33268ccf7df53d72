//! `/v1` with unmodified third-party client libraries: each sends the same questions to an agent with a tool.
//!
//! The programs are in `tests/clients`. `script.json` there defines the questions and the model's responses.

mod model;
mod programs;
mod real_model;
mod structured;

use haft_testkit::{Client, FakeDialect, HaftProcess};
use serde_json::{Value, json};

use self::programs::{ModelProgram, client, is_skipped};
use crate::agents::make;
use crate::http_tools::start;

const AGENT: &str = "clerk";

/// The facts that every client must report, for both APIs.
fn expected() -> Value {
    let hello = "Hello, I am a model that only plays one.";
    let both = json!({
        "calls": ["weather(Paris)", "weather(Rome)"],
        "text": "The tools returned: 18 degrees in Paris; 18 degrees in Rome",
    });
    let common = json!({
        "plain": hello,
        "streamed": {"text": hello, "in_pieces": true},
        "own_tool_streamed": {"in_pieces": true},
        "tool": {"calls": ["weather(Paris)"], "text": "The tools returned: 18 degrees in Paris"},
        "parallel": both,
        "parallel_streamed": both,
        // The client does not see the agent's own call in the same response.
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
async fn openai_python_sdk_works() {
    let refused = json!({"class": "NotFoundError", "code": "model_not_found", "status": 404, "named": true});
    let more = json!({
        "chat": {
            "streamed": {"finish": "stop", "has_usage": true},
            "own_tool_streamed": {"finish": "stop", "has_usage": true},
            "memory": {"alone": "I do not know your name."},
            "missing": refused, "missing_streamed": refused,
        },
        "responses": {
            "streamed": {"same": true, "status": "completed", "has_usage": true},
            "own_tool_streamed": {"same": true, "status": "completed", "has_usage": true},
            "tool_kept": "The tools returned: 18 degrees in Paris",
            "missing": refused,
        },
        "listed": true,
        "stranger": {"class": "AuthenticationError", "status": 401},
    });
    check_client("openai_sdk.py", &more).await;
}

#[tokio::test]
async fn openai_node_sdk_works() {
    let refused = json!({"class": "NotFoundError", "code": "model_not_found", "status": 404, "named": true});
    let more = json!({
        "chat": {
            "streamed": {"finish": "stop", "has_usage": true},
            "own_tool_streamed": {"finish": "stop", "has_usage": true},
            "memory": {"alone": "I do not know your name."},
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
    check_client("openai_sdk.mjs", &more).await;
}

#[tokio::test]
async fn vercel_ai_sdk_works() {
    let common = json!({
        "streamed": {"finish": "stop", "has_usage": true, "errors": []},
        "own_tool_streamed": {"finish": "stop", "has_usage": true, "errors": []},
        "tool": {"steps": 2},
        "parallel_streamed": {"steps": 2, "failed": false},
        "history": "Your name is Ada.",
        "missing": {"is_api_call_error": true},
    });
    check_client("vercel.mjs", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn agents_sdk_for_python_works() {
    let common = json!({"tool": {"turns": 2}, "missing": {"class": "NotFoundError"}});
    check_client("agents_sdk.py", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn agents_sdk_for_node_works() {
    let common = json!({"tool": {"turns": 2}, "missing": {"class": "NotFoundError"}});
    check_client("agents_sdk.mjs", &json!({"chat": common, "responses": common})).await;
}

#[tokio::test]
async fn langgraph_works() {
    let common = json!({
        "tool": {"messages": 4},
        "parallel": {"messages": 5},
        "missing": {"class": "OpenAIModelNotFoundError"},
    });
    check_client("langgraph_react.py", &json!({"chat": common, "responses": common})).await;
}

/// Uses an independent fake model server.
#[tokio::test]
async fn clients_work_with_aimock_as_the_provider() {
    if is_skipped() {
        return;
    }
    let aimock = ModelProgram::start("aimock.mjs").await;
    let (server, _api) = haft(&format!("{}/v1", aimock.url)).await;
    for program in ["openai_sdk.py", "vercel.mjs"] {
        compare(program, &client(program, &server.url, AGENT).await, &json!({}));
    }
}

async fn check_client(program: &str, more: &Value) {
    if is_skipped() {
        return;
    }
    let model = model::start().await;
    let (server, _api) = haft(&model.base(FakeDialect::Openai)).await;
    let facts = client(program, &server.url, AGENT).await;
    compare(program, &facts, more);
    assert_eq!(model.refused(), Vec::<String>::new(), "{program}: the requests to the model are valid");
}

/// Starts a server with a provider at a base URL, and creates an agent with a tool.
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
        collect_differences("", facts, expected, &mut differences);
        assert!(differences.is_empty(), "{program}:\n{}\nof {facts:#}", differences.join("\n"));
    }
    for interface in ["chat", "responses"] {
        // Only the result of Haft's own tool contains the number.
        let (own, mixed) = (&facts[interface]["own_tool"], &facts[interface]["mixed"]["text"]);
        let streamed = &facts[interface]["own_tool_streamed"];
        for text in [own, &streamed["text"], mixed] {
            assert!(text.as_str().is_some_and(|text| text.contains("437")), "{program} {interface}: {text}");
        }
        assert!(mixed.to_string().contains("18 degrees in Oslo"), "{program} {interface}: {mixed}");
        // A client with tools does not receive the agent's own calls.
        let calls = streamed["calls"].as_array();
        assert!(calls.is_none_or(Vec::is_empty), "{program} {interface}: {streamed}");
    }
}

/// Collects the expected fields that are missing or different. Additional fields are allowed.
fn collect_differences(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    let Some(fields) = expected.as_object() else {
        if found != expected {
            differences.push(format!("{path}: {found} instead of {expected}"));
        }
        return;
    };
    for (name, expected) in fields {
        collect_differences(&format!("{path}/{name}"), &found[name.as_str()], expected, differences);
    }
}
