//! The model behind, which keeps to the script: it calls what it has, and repeats what it was told.

use haft_testkit::{AskedModel, ModelReply, ModelServer};
use serde_json::Value;

const SCRIPT: &str = include_str!("../../clients/script.json");

pub(super) async fn start() -> ModelServer {
    ModelServer::start(|asked: AskedModel| std::future::ready(answer(&asked))).await
}

fn answer(asked: &AskedModel) -> ModelReply {
    let script: Value = serde_json::from_str(SCRIPT).expect("JSON");
    let question = asked.user_text();
    let mut lines = script.as_object().expect("an object").values();
    let Some(line) = lines.find(|line| line["ask"] == question) else {
        return ModelReply::says(format!("Nobody told me what to say to: {question}"));
    };
    let word = |name: &str| line[name].as_str().map(str::to_owned);
    let told: Vec<&str> = asked.results().iter().map(|result| result.content.as_str()).collect();
    if !told.is_empty() {
        return ModelReply::says(format!("{} {}", word("answer").unwrap_or_default(), told.join("; ")));
    }
    let calls = calls(line, &asked.tool_names());
    if !calls.is_empty() {
        let reply = word("says").map_or_else(ModelReply::new, ModelReply::says);
        return calls.into_iter().fold(reply, |reply, (name, arguments)| reply.call(name, arguments));
    }
    let was = |said: &Value| {
        let said = said.as_str().unwrap_or_default();
        asked.messages.iter().any(|message| message.text.contains(said))
    };
    let remembers = line["after"].as_array().is_some_and(|words| words.iter().all(was));
    let said = if remembers { word("remembered") } else { word("alone").or_else(|| word("answer")) };
    ModelReply::says(said.unwrap_or_default())
}

/// The calls of a line whose tools are there.
fn calls(line: &Value, tools: &[&str]) -> Vec<(String, Value)> {
    let calls = line["calls"].as_array().into_iter().flatten();
    calls
        .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()))
        .filter(|(name, _)| tools.contains(&name.as_str()))
        .collect()
}
