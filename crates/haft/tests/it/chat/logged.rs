//! The log of a chat reads alone: each line says of which conversation and which request it is.

use haft_testkit::{AskedModel, Dialect, ModelReply, ModelServer, Place, Upstream, eventually};
use serde_json::json;

use super::{Desk, asking, said, weather};
use crate::survival::Settings;

#[tokio::test]
async fn each_line_of_a_chat_says_where_it_belongs() {
    let model = ModelServer::start(async |asked: AskedModel| match asked.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"})), ("nothing", json!({}))]),
        _ => ModelReply::says("Warm."),
    })
    .await;
    let (place, upstream) = (Place::new(), Upstream::start(weather).await);
    let log = std::env::temp_dir().join(format!("haft-chat-{}.log", uuid::Uuid::new_v4().simple()));
    let settings = asking(Settings::of(&place), &model).with("HAFT_LOG", "info");
    let path = log.to_str().expect("a path").to_owned();
    let (server, api) = settings.start_behind("exec 2>\"$1\"", &path).await;
    let desk = Desk { server, api, model, weather: upstream, settings, _place: place };
    desk.tool("weather", json!({})).await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!(said(&reply), "Warm.");
    let conversation = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let request = reply.header("x-request-id").expect("an id").to_owned();

    let lines = || -> Vec<String> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().filter(|line| line.contains("Chat: ")).map(str::to_owned).collect()
    };
    eventually("the last line is written", async || lines().iter().any(|line| line.contains("finished")))
        .await;
    let said: Vec<&str> = vec![
        "Chat: received",
        "Chat: tools loaded",
        "Chat: model call 1",
        "Chat: tool call",
        "Chat: tool call",
        "Chat: tool done",
        "Chat: model call 2",
        "Chat: finished",
    ];
    let lines = lines();
    assert_eq!(lines.len(), said.len(), "{lines:#?}");
    for (line, said) in lines.iter().zip(said) {
        assert!(line.contains(said), "{line} is not {said}");
        assert!(line.contains(&conversation) && line.contains(&request), "{line}");
    }
    for (line, facts) in [
        (1, &["chat.tools=1", "openai/test-model"][..]),
        (3, &["tool.name=\"weather\"", "call.id="]),
        (5, &["call.ms=", "call.attempts=1", "call.outcome=\"success\""]),
        (7, &["chat.steps=2", "chat.total_ms=", "chat.finish=\"stop\""]),
    ] {
        for fact in facts {
            assert!(lines[line].contains(fact), "{} does not say {fact}", lines[line]);
        }
    }
    let _ = std::fs::remove_file(&log);
}
