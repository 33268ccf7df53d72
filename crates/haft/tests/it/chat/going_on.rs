//! Turns that ended before they had an answer, with something said: one goes on with them without a new message.

use std::sync::Arc;

use haft_testkit::{AskedModel, Dialect, ModelReply, Reply, Role};
use serde_json::json;
use tokio::sync::Semaphore;

use super::{DIALECTS, Desk, said, user};

/// Goes on with a conversation, and gives what the model was sent for it.
async fn go_on(desk: &Desk, id: &str) -> (Reply, AskedModel) {
    let before = desk.model.seen().len();
    let reply = desk.api.post(&format!("/api/conversations/{id}/continue"), &json!({})).await;
    let asked = desk.model.seen();
    assert!(asked.len() > before, "the model was not asked: {} {:?}", reply.body, desk.model.refused());
    (reply, asked[before].clone())
}

/// What was said is told to the model as its own words; and where a model answers nothing but a user, or what tools
/// said, its own words are not the last.
fn check(asked: &AskedModel, said: &str) {
    let own = asked.messages.iter().rfind(|message| message.role == Role::Assistant).expect("it spoke");
    assert_eq!(own.text.trim_end(), said.trim_end(), "{:?}", asked.dialect);
    if asked.dialect != Dialect::Openai {
        let last = asked.messages.last().expect("a message");
        assert!(matches!(last.role, Role::User | Role::Tool), "{:?}: {:?}", asked.dialect, asked.messages);
    }
}

#[tokio::test]
async fn after_the_last_step_one_may_go_on() {
    let desk = Desk::new(async |asked: AskedModel| {
        // Not by how often it spoke: what it says twice in a row is one message to some.
        let told: usize = asked.messages.iter().map(|message| message.results.len()).sum();
        match (asked.tool_choice.as_deref(), told) {
            (Some("none"), _) => ModelReply::says("So far I know of one."),
            (_, 0) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
            (_, 1) => ModelReply::calls([("weather", json!({"city": "Oslo"}))]),
            (_, _) => ModelReply::says("Now I know of two."),
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({"maxSteps": 1})).await;
        let reply = desk.ask(&agent, "Rome and Oslo?").await;
        assert_eq!(said(&reply), "So far I know of one.", "{dialect:?}");
        assert_eq!(reply.data()["finishReason"], "max_steps", "{dialect:?}");
        let id = reply.data()["conversationId"].as_str().expect("an id").to_owned();
        // More steps from here on.
        let path = format!("/api/agents/{agent}");
        let mut config = desk.api.get(&path).await.data()["config"].clone();
        config["maxSteps"] = json!(4);
        let patched = crate::agents::patch(&desk.api, &path, &json!({"config": config})).await;
        assert_eq!(patched.status, 200, "{}", patched.body);

        let (reply, asked) = go_on(&desk, &id).await;
        check(&asked, "So far I know of one.");
        assert_eq!(said(&reply), "Now I know of two.", "{dialect:?}");
        let data = reply.data();
        assert_eq!((&data["finishReason"], &data["turn"]), (&json!("stop"), &json!(2)), "{dialect:?}");
        let read = desk.api.get(&format!("/api/conversations/{id}")).await;
        assert_eq!(read.data()["turns"][1]["input"], json!([]), "{dialect:?}: nobody said anything");
        let nothing = desk.api.post(&format!("/api/conversations/{id}/continue"), &json!({})).await;
        assert_eq!(nothing.status, 409, "{}", nothing.body);
    }
    assert_eq!(desk.weather.seen().len(), 2 * DIALECTS.len(), "no call is made twice");
    desk.check();
}

#[tokio::test]
async fn an_answer_that_was_stopped_is_gone_on_with() {
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    let desk = Desk::new(move |asked: AskedModel| {
        let held = held.clone();
        async move {
            match (asked.answers_before(), asked.results().len()) {
                (0, _) => ModelReply::calls([("weather", json!({"city": "Rome"}))]),
                (1, 1) => ModelReply::says("one two three four five six").hold(held),
                (_, _) => ModelReply::says("seven"),
            }
        }
    })
    .await;
    for dialect in DIALECTS {
        let agent = desk.agent(dialect, &["weather"], json!({})).await;
        let body = json!({"agentId": agent, "messages": [user("Count.")], "detach": true});
        let begun = desk.api.post("/api/chat", &body).await;
        let id = begun.data()["conversationId"].as_str().expect("an id").to_owned();
        let mut stream = desk.api.events(&format!("/api/conversations/{id}/events")).await;
        permits.add_permits(4);
        stream.until("message.delta").await;
        let stopped = desk.api.post(&format!("/api/conversations/{id}/cancel"), &json!({})).await;
        assert_eq!(stopped.status, 200, "{}", stopped.body);
        let done = stream.until("done").await.pop().map(|event| event.data["finishReason"].clone());
        assert_eq!(done, Some(json!("cancelled")), "{dialect:?}");
        let read = desk.api.get(&format!("/api/conversations/{id}")).await;
        let told = read.data()["turns"][0]["message"]["content"].as_str().expect("words").to_owned();
        assert!(!told.is_empty() && "one two three four five six".starts_with(&told), "{dialect:?}: {told}");
        // Nothing is left over for the next.
        permits.forget_permits(1000);

        let (reply, asked) = go_on(&desk, &id).await;
        check(&asked, &told);
        assert_eq!((said(&reply), &reply.data()["turn"]), ("seven", &json!(2)), "{dialect:?}");
        assert_eq!(reply.data()["toolCalls"].as_array().map(Vec::len), Some(0), "{dialect:?}");
    }
    assert_eq!(desk.weather.seen().len(), DIALECTS.len(), "the call before is not made again");
    desk.check();
}
