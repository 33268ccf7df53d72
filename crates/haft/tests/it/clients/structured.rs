//! Structured output: the same dialogue through every client library, with an agent that has to call a tool before it
//! can answer, against each provider's own rules.

use haft_testkit::{AskedModel, Dialect, ModelReply};
use serde_json::{Value, json};

use super::programs::{client, instructor, is_skipped};
use crate::chat::Desk;

const SCRIPT: &str = include_str!("../../clients/script.json");

/// Tools whose arguments are the record: instructor's, and the tool output of pydantic-ai.
const OUTPUT_TOOLS: [&str; 2] = ["Record", "final_result"];

/// Gives the record with what the tool said; without the degrees at first, or always, where the question says so.
async fn clerk(asked: AskedModel) -> ModelReply {
    let script: Value = serde_json::from_str(SCRIPT).expect("JSON");
    let is = |name: &str| {
        let question = script[name]["ask"].as_str().expect("a question");
        asked.messages.iter().any(|message| message.text.contains(question))
    };
    let result = asked.messages.iter().flat_map(|message| &message.results).next();
    let output_tool = OUTPUT_TOOLS.into_iter().find(|name| asked.tool_names().contains(name));
    // instructor forces its tool at once. pydantic-ai requires any tool, and the agent looks first.
    let is_forced = |tool: &str| asked.tool_choice.as_deref() == Some(tool);
    if let Some(tool) = output_tool.filter(|tool| result.is_some() || is_forced(tool)) {
        return ModelReply::calls([(tool, json!({"city": "Paris", "degrees": 5}))]);
    }
    // The request for a repair has the result as text.
    let is_repair = asked.user_text().contains("does not have the requested form");
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
    let is_enforced = asked.format.is_some();
    ModelReply::says(if is_enforced { record.to_string() } else { format!("```json\n{record}\n```") })
}

async fn desk() -> Desk {
    Desk::new(clerk).await
}

/// An agent for each dialect, and two for Gemini: its models before 3 cannot combine tools with a response format.
async fn agents(desk: &Desk) -> Vec<String> {
    let mut agents = Vec::new();
    for dialect in Dialect::ALL {
        agents.push(desk.agent(dialect, &["weather"], json!({})).await);
    }
    let older = json!({"model": "gemini-2.5-flash"});
    agents.push(desk.agent(Dialect::Gemini, &["weather"], older).await);
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
        for (way, found) in facts[name].as_object().into_iter().flatten() {
            let at = format!("{program} {agent}: {name} {way}");
            assert_eq!((&found["parsed"], &found["refused"]), (parsed, &json!(refused)), "{at}");
            assert_ne!(found["same"], json!(false), "{at}");
        }
    }
}

#[tokio::test]
async fn records_in_python() {
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
async fn records_in_node() {
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
async fn records_through_instructor() {
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
