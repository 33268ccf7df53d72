//! Structured output: one dialogue through every client library, with an agent that must call a tool first,
//! in each provider dialect.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use super::programs::{client, instructor, is_skipped};
use crate::chat::Desk;

const SCRIPT: &str = include_str!("../../clients/script.json");

/// Output tools, whose arguments are the record: those of instructor and pydantic-ai.
const OUTPUT_TOOLS: [&str; 2] = ["Record", "final_result"];

/// Responds with a record from the tool's result. Depending on the question, `degrees` is missing from the
/// first response or from all responses.
async fn clerk(request: RecordedModelRequest) -> ModelReply {
    let script: Value = serde_json::from_str(SCRIPT).expect("JSON");
    let is = |name: &str| {
        let question = script[name]["ask"].as_str().expect("a question");
        request.messages.iter().any(|message| message.text.contains(question))
    };
    let result = request.messages.iter().flat_map(|message| &message.results).next();
    let output_tool = OUTPUT_TOOLS.into_iter().find(|name| request.tool_names().contains(name));
    // instructor forces its tool at once. pydantic-ai requires any tool, so the agent calls `weather` first.
    let is_forced = |tool: &str| request.tool_choice.as_deref() == Some(tool);
    if let Some(tool) = output_tool.filter(|tool| result.is_some() || is_forced(tool)) {
        return ModelReply::calls([(tool, json!({"city": "Paris", "degrees": 5}))]);
    }
    // A repair request contains the result as text.
    let is_repair = request.user_text().contains("does not have the requested format");
    if result.is_none() && !is_repair {
        return ModelReply::says("I will look.").call("weather", json!({"city": "Paris"}));
    }
    let read = |content: &str| serde_json::from_str::<Value>(content).expect("JSON")["temperature"].clone();
    let degrees = result.map_or_else(|| json!(5), |result| read(&result.content));
    if is("record_never") || (is("record_repaired") && !is_repair) {
        return ModelReply::says(format!("{{\"city\": \"Paris\"}}, and {degrees} degrees."));
    }
    let record = json!({"city": "Paris", "degrees": degrees});
    // A model that has the schema only in its instructions may add a code fence.
    let is_enforced = request.format.is_some();
    ModelReply::says(if is_enforced { record.to_string() } else { format!("```json\n{record}\n```") })
}

async fn desk() -> Desk {
    Desk::new(clerk).await
}

/// Creates an agent for each dialect, and a second for Gemini: its models before 3 cannot combine tools with
/// a response format.
async fn agents(desk: &Desk) -> Vec<String> {
    let mut agents = Vec::new();
    for dialect in FakeDialect::ALL {
        agents.push(desk.agent(dialect, &["weather"], json!({})).await);
    }
    let older = json!({"model": "gemini-2.5-flash"});
    agents.push(desk.agent(FakeDialect::Gemini, &["weather"], older).await);
    agents
}

#[track_caller]
fn check(program: &str, agent: &str, facts: &Value) {
    let record = json!({"city": "Paris", "degrees": 5});
    for (library, found) in facts["libraries"].as_object().expect("libraries") {
        assert_eq!(*found, record, "{program} {agent}: {library}");
    }
    for (name, parsed, refused) in [
        ("record", &record, false),
        ("record_repaired", &record, false),
        ("record_never", &Value::Null, true),
    ] {
        for (client_call, found) in facts[name].as_object().into_iter().flatten() {
            let at = format!("{program} {agent}: {name} {client_call}");
            assert_eq!((&found["parsed"], &found["refused"]), (parsed, &json!(refused)), "{at}");
            assert_ne!(found["same"], json!(false), "{at}");
        }
    }
}

#[tokio::test]
async fn python_libraries_return_valid_records() {
    if is_skipped() {
        return;
    }
    let desk = desk().await;
    for agent in agents(&desk).await {
        check("structured.py", &agent, &client("structured.py", &desk.server.url, &agent).await);
    }
    desk.check();
}

#[tokio::test]
async fn node_libraries_return_valid_records() {
    if is_skipped() {
        return;
    }
    let desk = desk().await;
    for agent in agents(&desk).await {
        check("structured.mjs", &agent, &client("structured.mjs", &desk.server.url, &agent).await);
    }
    desk.check();
}

#[tokio::test]
async fn instructor_returns_valid_records() {
    if is_skipped() {
        return;
    }
    let desk = desk().await;
    for agent in agents(&desk).await {
        let facts = instructor("structured_instructor.py", &desk.server.url, &agent).await;
        check("structured_instructor.py", &agent, &facts);
    }
    desk.check();
}
