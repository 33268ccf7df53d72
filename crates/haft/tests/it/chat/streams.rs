//! The event stream of a turn: its events and their order, reconnecting, following and cancelling.

use std::sync::Arc;

use haft_testkit::{
    FakeDialect, ModelReply, ModelServer, RecordedModelRequest, SseEvent, Upstream, eventually,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{DIALECTS, Desk, user, weather};

fn names(events: &[SseEvent]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    names
}

fn text(events: &[SseEvent], name: &str) -> String {
    let pieces = events.iter().filter(|event| event.name == name);
    pieces.filter_map(|event| event.data["text"].as_str()).collect()
}

#[tokio::test]
async fn events_of_a_turn_are_emitted_in_order() {
    let desk = Desk::new(async |request: RecordedModelRequest| match request.results().len() {
        0 => ModelReply::new()
            .reasoning("Hm, 让我想想.")
            .text("I look: ")
            .call("weather", json!({"city": "Rome"})),
        _ => ModelReply::says("Vier Grad, 四度 🌤").usage(7, 3),
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let body = json!({"agentId": agent, "messages": [user("Rome?")], "stream": true});
        let events = desk.api.post_for_events("/api/chat", &body).await.all().await;
        assert_eq!(
            names(&events),
            [
                "turn.start",
                "reasoning.delta",
                "message.delta",
                "tool.call",
                "tool.result",
                "message.delta",
                "message.done",
                "usage",
                "done"
            ],
            "{dialect:?}"
        );
        assert_eq!(text(&events, "reasoning.delta"), "Hm, 让我想想.");
        assert_eq!(text(&events, "message.delta"), "I look: Vier Grad, 四度 🌤");
        assert!(
            events.iter().filter(|event| event.name == "message.delta").count() > 4,
            "the text is streamed in pieces"
        );
        let of = |name: &str| events.iter().find(|event| event.name == name).expect("an event").data.clone();
        assert_eq!(of("tool.call")["arguments"], json!({"city": "Rome"}));
        assert_eq!(of("tool.result")["data"]["temperature"], 4);
        assert_eq!(of("tool.result")["callId"], of("tool.call")["callId"]);
        assert_eq!(of("message.done")["message"]["content"], "Vier Grad, 四度 🌤");
        assert_eq!(of("done")["finishReason"], "stop");
        assert_eq!(of("turn.start")["input"][0]["content"], "Rome?");
        assert!(events.iter().all(|event| event.data["turn"] == 1 && event.place.is_some()));
    }
    desk.check();
}

#[tokio::test]
async fn text_of_a_response_that_broke_off_is_reset() {
    let model = ModelServer::script([
        ModelReply::says("This is never ended").cut_after(4),
        ModelReply::says("This is."),
    ]);
    let desk = Desk::with(model.await, Upstream::start(weather).await).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Well?")], "stream": true});
    let events = desk.api.post_for_events("/api/chat", &body).await.all().await;
    let reset = events.iter().position(|event| event.name == "message.reset").expect("a reset");
    assert!("This is never ended".starts_with(&text(&events[..reset], "message.delta")));
    assert_eq!(text(&events[reset..], "message.delta"), "This is.");
}

#[tokio::test]
async fn client_that_reconnects_misses_no_event() {
    let permits = Arc::new(Semaphore::new(6));
    let held = permits.clone();
    let desk = Desk::new(move |_: RecordedModelRequest| {
        let held = held.clone();
        async move { ModelReply::says("one two three four five six seven eight nine ten").hold_until(held) }
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Count.")], "stream": true});
    let mut stream = desk.api.post_for_events("/api/chat", &body).await;
    let mut events = stream.until("message.delta").await;
    events.push(stream.event().await);
    drop(stream);
    let last = events.last().and_then(|event| event.place.clone()).expect("an id");
    let id = events[0].data["conversationId"].as_str().expect("an id").to_owned();
    let again = desk.api.with("last-event-id", &last);
    let mut stream = again.events(&format!("/api/conversations/{id}/events")).await;
    permits.add_permits(1000);
    events.extend(stream.until("done").await);
    assert_eq!(text(&events, "message.delta"), "one two three four five six seven eight nine ten");
    assert!(!names(&events).contains(&"turn.reset"));
    let read = desk.api.get(&format!("/api/conversations/{id}")).await;
    assert_eq!(read.data()["turns"][0]["finishReason"], "stop", "reconnecting kept the turn alive");
    assert_eq!(read.data()["lastEventId"], "1");
    desk.check();
}

#[tokio::test]
async fn detached_turn_is_followed_and_cancelled() {
    let permits = Arc::new(Semaphore::new(8));
    let held = permits.clone();
    let desk = Desk::new(move |request: RecordedModelRequest| {
        let held = held.clone();
        async move {
            match request.user_text() {
                "Count." => ModelReply::says("one two three four five six").hold_until(held),
                text => {
                    ModelReply::says(format!("You said: {text}; before you said {}", request.messages.len()))
                }
            }
        }
    })
    .await;
    let agent = desk.agent(FakeDialect::Anthropic, &[], json!({})).await;
    let body = json!({"agentId": agent, "messages": [user("Count.")], "detach": true});
    let reply = desk.api.post("/api/chat", &body).await;
    assert_eq!(reply.status, 202, "{}", reply.body);
    let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
    let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
    let events = stream.until("message.delta").await;
    assert_eq!(events[0].data["input"][0]["messageId"], reply.data()["messageId"]);
    let stopped = desk.api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
    assert_eq!(stopped.status, 200, "{}", stopped.body);
    let events = stream.until("done").await;
    assert_eq!(events.last().map(|event| event.data["finishReason"].clone()), Some(json!("cancelled")));
    eventually("no model request is running", async || desk.model.under_way() == 0).await;
    let read = desk.api.get(&format!("/api/conversations/{id}")).await;
    let text = read.data()["turns"][0]["message"]["content"].as_str().expect("a text").to_owned();
    assert!(
        !text.is_empty() && "one two three four five six".starts_with(&text),
        "the partial text is persisted: {text}"
    );
    // The conversation continues, and the stream emits the events of the next turn.
    let body = json!({"conversationId": id, "messages": [user("Continue.")]});
    let reply = desk.api.post("/api/chat", &body).await;
    assert_eq!(super::final_text(&reply), "You said: Continue.; before you said 3");
    let events = stream.until("done").await;
    assert_eq!((events[0].name.as_str(), &events[0].data["turn"]), ("turn.start", &json!(2)));
    desk.check();
}

#[tokio::test]
async fn invalid_requests_name_the_wrong_field() {
    let desk = Desk::new(async |_: RecordedModelRequest| ModelReply::says("Hello.")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let invalid: [(Value, u16, &str); 9] = [
        (json!({"agentId": agent}), 400, "messages"),
        (json!({"agentId": agent, "messages": []}), 400, "messages"),
        (json!({"agentId": agent, "messages": [user("a")], "mood": 1}), 400, "mood"),
        (json!({"agentId": agent, "messages": [{"role": "tool", "content": "a"}]}), 400, "messages.0.role"),
        (json!({"agentId": agent, "messages": [user("")]}), 400, "messages.0.content"),
        (json!({"agentId": agent, "messages": [user("a")], "tools": ["weather"]}), 400, "tools"),
        (json!({"agentId": "nobody", "messages": [user("a")]}), 404, "nobody"),
        (json!({"conversationId": uuid::Uuid::nil(), "messages": [user("a")]}), 404, "conversation"),
        (json!({"provider": "nobody", "messages": [user("a")]}), 422, "nobody"),
    ];
    for (body, status, word) in invalid {
        let reply = desk.api.post("/api/chat", &body).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        assert!(reply.message().contains(word), "{body}: {}", reply.body);
    }
    let body = json!({"agentId": agent, "messages": [user("a")], "tools": ["weather", "nothing"]});
    let reply = desk.api.post("/api/chat/with-tools", &body).await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    let body = json!({"agentId": agent, "messages": [user("a")], "tools": ["weather"]});
    assert_eq!(desk.api.post("/api/chat/with-tools", &body).await.status, 200);
    assert_eq!(desk.model.seen().last().expect("a request").tool_names(), ["weather"]);
    assert_eq!(desk.api.get("/api/conversations").await.data()["items"].as_array().map(Vec::len), Some(1));
}
