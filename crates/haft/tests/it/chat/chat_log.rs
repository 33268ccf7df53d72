//! Log lines of a chat: each names its conversation and its request.

use haft_testkit::{
    FakeDialect, ModelReply, ModelServer, RecordedModelRequest, TestStorage, Upstream, eventually,
};
use serde_json::json;

use super::{Desk, asking, final_text, user, weather};
use crate::survival::Settings;

/// A chat server whose log is written to a file.
struct LoggedDesk {
    desk: Desk,
    log: std::path::PathBuf,
}

impl LoggedDesk {
    async fn new(model: ModelServer) -> Self {
        let (place, upstream) = (TestStorage::new(), Upstream::start(weather).await);
        let log = std::env::temp_dir().join(format!("haft-chat-{}.log", uuid::Uuid::new_v4().simple()));
        let settings = asking(Settings::of(&place), &model).with("HAFT_LOG", "info");
        let path = log.to_str().expect("a path").to_owned();
        let (server, api) = settings.start_behind("exec 2>\"$1\"", &path).await;
        let desk = Desk { server, api, model, weather: upstream, settings, place };
        Self { desk, log }
    }

    /// Waits for a line that contains `last`, then returns all lines about chats.
    async fn lines(&self, last: &str) -> Vec<String> {
        let lines = || -> Vec<String> {
            let text = std::fs::read_to_string(&self.log).unwrap_or_default();
            text.lines().filter(|line| line.contains("Chat: ")).map(str::to_owned).collect()
        };
        eventually("the last line is written", async || lines().iter().any(|line| line.contains(last))).await;
        lines()
    }
}

impl Drop for LoggedDesk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.log);
    }
}

#[tokio::test]
async fn each_log_line_names_its_conversation_and_request() {
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"})), ("nothing", json!({}))]),
        _ => ModelReply::says("Warm."),
    });
    let logged = LoggedDesk::new(model.await).await;
    let desk = &logged.desk;
    desk.tool("weather", json!({})).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let reply = desk.ask(&agent, "Rome?").await;
    assert_eq!(final_text(&reply), "Warm.");
    let conversation = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let request = reply.header("x-request-id").expect("an id").to_owned();

    let lines = logged.lines("Chat: finished").await;
    let expected = [
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
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line} is not {expected}");
        // The format of the ids is that of all other log lines.
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
async fn result_of_a_task_is_logged_once() {
    let model = ModelServer::start(async |request: RecordedModelRequest| match request.results().len() {
        0 => ModelReply::calls([("weather", json!({"city": "Rome"})), ("weather", json!({"city": "Oslo"}))]),
        _ => ModelReply::says("Warm."),
    });
    let logged = LoggedDesk::new(model.await).await;
    let desk = &logged.desk;
    desk.tool("weather", json!({"policy": "ask"})).await;
    let agent = desk.agent(FakeDialect::Openai, &["weather"], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Rome?")], "detach": true});
    assert_eq!(desk.api.post("/api/chat", &body).await.status, 202);
    // One after the other: the first result arrives while the second call still waits.
    for done in 1..=2 {
        let approvals = async || desk.api.get("/api/approvals").await.data()["items"].clone();
        let open = 3 - done;
        eventually("an approval waits", async || approvals().await.as_array().map(Vec::len) == Some(open))
            .await;
        let id = approvals().await[0]["id"].as_str().expect("an id").to_owned();
        let decided = desk.api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        eventually("the call is executed", async || desk.weather.seen().len() == done).await;
    }
    let lines = logged.lines("Chat: finished").await;
    let done: Vec<&String> = lines.iter().filter(|line| line.contains("Chat: tool done")).collect();
    assert_eq!(done.len(), 2, "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains("request.id=")), "{lines:#?}");
    assert!(done.iter().all(|line| line.contains("call.outcome=\"success\"")), "{done:#?}");
}
