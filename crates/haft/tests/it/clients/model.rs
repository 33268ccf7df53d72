//! The fake model of the client tests. It follows `script.json`: calls the offered tools and repeats their
//! results.

use haft_testkit::{ModelReply, ModelServer, RecordedModelRequest};
use serde_json::Value;

const SCRIPT: &str = include_str!("../../clients/script.json");

pub(super) async fn start() -> ModelServer {
    ModelServer::start(|request: RecordedModelRequest| std::future::ready(respond(&request))).await
}

fn respond(request: &RecordedModelRequest) -> ModelReply {
    let script: Value = serde_json::from_str(SCRIPT).expect("JSON");
    let question = request.user_text();
    let mut lines = script.as_object().expect("an object").values();
    let Some(line) = lines.find(|line| line["ask"] == question) else {
        return ModelReply::says(format!("The script has no line for: {question}"));
    };
    let field = |name: &str| line[name].as_str().map(str::to_owned);
    let results: Vec<&str> = request.results().iter().map(|result| result.content.as_str()).collect();
    if !results.is_empty() {
        return ModelReply::says(format!("{} {}", field("answer").unwrap_or_default(), results.join("; ")));
    }
    let calls = calls(line, &request.tool_names());
    if !calls.is_empty() {
        let reply = field("says").map_or_else(ModelReply::new, ModelReply::says);
        return calls.into_iter().fold(reply, |reply, (name, arguments)| reply.call(name, arguments));
    }
    let is_in_history = |sentence: &Value| {
        let sentence = sentence.as_str().unwrap_or_default();
        request.messages.iter().any(|message| message.text.contains(sentence))
    };
    let remembers = line["after"].as_array().is_some_and(|sentences| sentences.iter().all(is_in_history));
    let text = if remembers { field("remembered") } else { field("alone").or_else(|| field("answer")) };
    ModelReply::says(text.unwrap_or_default())
}

/// Returns the calls of a line whose tools are offered.
fn calls(line: &Value, tools: &[&str]) -> Vec<(String, Value)> {
    let calls = line["calls"].as_array().into_iter().flatten();
    calls
        .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()))
        .filter(|(name, _)| tools.contains(&name.as_str()))
        .collect()
}
