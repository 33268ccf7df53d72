//! The log of a chat reads alone: each line says of which conversation and which request it is.

use haft_testkit::{AskedModel, Dialect, ModelReply, ModelServer, Place, Upstream, eventually};
use serde_json::json;

use super::{Desk, asking, said, user, weather};
use crate::survival::Settings;

/// A desk whose log is read.
struct Logged {
    desk: Desk,
    log: std::path::PathBuf,
}

impl Logged {
    async fn new(model: ModelServer) -> Self {
        let (place, upstream) = (Place::new(), Upstream::start(weather).await);
        let log = std::env::temp_dir().join(format!("haft-chat-{}.log", uuid::Uuid::new_v4().simple()));
        let settings = asking(Settings::of(&place), &model).with("HAFT_LOG", "info");
        let path = log.to_str().expect("a path").to_owned();
        let (server, api) = settings.start_behind("exec 2>\"$1\"", &path).await;
        let desk = Desk { server, api, model, weather: upstream, settings, place };
        Self { desk, log }
    }

    /// What it says of chats, once it says this.
    async fn lines(&self, last: &str) -> Vec<String> {
        let lines = || -> Vec<String> {
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            text.lines().filter(|line| line.contains("Chat: ")).map(str::to_owned).collect()
        };
        eventually("the last line is written", async || lines().iter().any(|line| line.contains(last))).await;
        lines()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.log);
    }
}

#[tokio::test]
async fn each_line_of_a_chat_says_where_it_belongs() {
    let model = ModelServer::start(async |asked: AskedModel| match asked.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"})), ("nothing", json!({}))]),
        _ => ModelReply::says("Warm."),
    });
    let logged = Logged::new(model.await).await;
    let desk = &logged.desk;
    desk.tool("weather", json!({})).await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!(said(&reply), "Warm.");
    let conversation = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let request = reply.header("x-request-id").expect("an id").to_owned();

    let lines = logged.lines("Chat: finished").await;
    let said = [
        "Chat: received",
        "Chat: tools loaded",
        "Chat: model call 1",
        "Chat: tool call",
        "Chat: tool call",
        "Chat: tool done",
        "Chat: tool done",
        "Chat: model call 2",
        "Chat: finished",
    ];
    assert_eq!(lines.len(), said.len(), "{lines:#?}");
    for (line, said) in lines.iter().zip(said) {
        assert!(line.contains(said), "{line} is not {said}");
        // The same form as in every other line of the log.
        for id in [format!("conversation.id={conversation} "), format!("request.id={request} ")] {
            assert!(line.contains(&id), "{line}");
        }
    }
    for (line, facts) in [
        (1, &["chat.tools=1", "openai/test-model"][..]),
        (3, &["tool.name=\"weather\"", "call.id="]),
        (5, &["tool.name=nothing", "call.attempts=0", "call.outcome=\"NotFound\""]),
        (6, &["tool.kind=\"http\"", "call.ms=", "call.attempts=1", "call.outcome=\"success\""]),
        (8, &["chat.steps=2", "chat.total_ms=", "chat.finish=\"stop\""]),
    ] {
        for fact in facts {
            assert!(lines[line].contains(fact), "{} does not say {fact}", lines[line]);
        }
    }
}

#[tokio::test]
async fn what_came_of_a_task_is_said_once_when_it_is_known() {
    let model = ModelServer::start(async |asked: AskedModel| match asked.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"})), ("weather", json!({"city": "Oslo"}))]),
        _ => ModelReply::says("Warm."),
    });
    let logged = Logged::new(model.await).await;
    let desk = &logged.desk;
    desk.tool("weather", json!({"policy": "ask"})).await;
    let agent = desk.agent(Dialect::Openai, &["weather"], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Rome?")], "detach": true});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 202);
    // One after the other: the first is known while the second is still waited for.
    for done in 1..=2 {
        let asked = async || desk.api.get("/api/approvals").await.data()["items"].clone();
        let open = 3 - done;
        eventually("a person is asked", async || asked().await.as_array().map(Vec::len) == Some(open)).await;
        let id = asked().await[0]["id"].as_str().expect("an id").to_owned();
        let decided = desk.api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        eventually("it is made", async || desk.weather.seen().len() == done).await;
    }
    let lines = logged.lines("Chat: finished").await;
    let done: Vec<&String> = lines.iter().filter(|line| line.contains("Chat: tool done")).collect();
    assert_eq!(done.len(), 2, "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains("request.id=")), "{lines:#?}");
    assert!(done.iter().all(|line| line.contains("call.outcome=\"success\"")), "{done:#?}");
}
