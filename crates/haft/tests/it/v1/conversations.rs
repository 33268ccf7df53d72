//! Completions within a stored conversation.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::{Value, json};

use super::{COMPLETIONS, body, choice, complete, function};
use crate::chat::{Desk, user};

fn within(id: &str) -> Value {
    json!({"metadata": {"conversation_id": id}})
}

#[tokio::test]
async fn conversation_is_continued_and_only_new_messages_are_added() {
    let desk = Desk::new(async |asked: RecordedModelRequest| {
        ModelReply::says(format!("{} before", asked.previous_responses()))
    })
    .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let system = json!({"role": "system", "content": "Be short."});
    let first = complete(&desk.api, &agent, &json!([system, user("one")]), &within("new")).await;
    assert_eq!(choice(&first)["message"]["content"], "0 before");
    let id = first.header("haft-conversation").expect("an id").to_owned();
    // The client may send the whole history, or only new messages. Messages after the last response are new.
    let all = json!([system, user("one"), {"role": "assistant", "content": "0 before"}, user("two")]);
    let second = complete(&desk.api, &agent, &all, &within(&id)).await;
    assert_eq!(choice(&second)["message"]["content"], "1 before");
    assert_eq!(second.header("haft-conversation"), Some(id.as_str()));
    let more = json!({"metadata": {"conversation_id": id}, "stream": true});
    let stream = desk.api.post_for_events(COMPLETIONS, &body(&agent, &json!([user("three")]), &more)).await;
    assert_eq!(stream.header("haft-conversation"), Some(id.as_str()));
    assert_eq!(super::streamed_text(&stream.all().await), "2 before");
    let seen = desk.model.seen();
    assert!(seen.iter().all(|asked| asked.system.as_deref() == Some("You are a clerk.\n\nBe short.")));
    let stored = desk.api.get(&format!("/api/conversations/{id}")).await;
    let turns = stored.data()["turns"].as_array().expect("turns");
    let contents: Vec<&Value> = turns
        .iter()
        .map(|turn| &turn["input"].as_array().expect("input").last().expect("one")["content"])
        .collect();
    assert_eq!(contents, ["one", "two", "three"]);
    desk.check();
}

#[tokio::test]
async fn conversation_belongs_to_one_user_and_one_agent() {
    let desk = Desk::new(async |_| ModelReply::says("yes")).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let other = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    let first = complete(&desk.api, &agent, &json!([user("one")]), &within("new")).await;
    let id = first.header("haft-conversation").expect("an id").to_owned();
    let reply = complete(&desk.api, &other, &json!([user("two")]), &within(&id)).await;
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!("model")), "{}", reply.body);
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    // For another user, the id is an unused name, which starts a new conversation.
    let reply = complete(&stranger, "openai/test-small", &json!([user("two")]), &within(&id)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_ne!(reply.header("haft-conversation"), Some(id.as_str()));
    let last = desk.model.seen().pop().expect("a request");
    assert_eq!(
        (last.user_text(), last.messages.len()),
        ("two", 1),
        "it contains nothing of the other conversation"
    );
    let reply = complete(&stranger, "openai/test-small", &json!([user("three")]), &within(&id)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(
        desk.model.seen().pop().map(|last| last.messages.len()),
        Some(3),
        "the name continues the conversation"
    );
    let answered = json!([user("one"), {"role": "assistant", "content": "yes"}]);
    let reply = complete(&desk.api, &agent, &answered, &within(&id)).await;
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!("messages")), "{}", reply.body);
}

#[tokio::test]
async fn tools_of_the_client_work_within_a_conversation() {
    let desk =
        Desk::new(async |asked: RecordedModelRequest| match (asked.results().first(), asked.user_text()) {
            (Some(result), _) => ModelReply::says(result.content.clone()),
            (None, "look") => ModelReply::calls([("look", json!({}))]),
            (None, _) => ModelReply::says("hello"),
        })
        .await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({})).await;
    // The conversation was started by the chat API, or here with a name that the client chose.
    let begun = desk.ask(&agent, "hi").await;
    let id = begun.data()["conversationId"].as_str().expect("an id").to_owned();
    let name = uuid::Uuid::new_v4().to_string();
    let named = complete(&desk.api, &agent, &json!([user("hi")]), &within(&name)).await;
    let its = named.header("haft-conversation").expect("an id").to_owned();
    for (called, id) in [(id.clone(), id), (name, its)] {
        call_and_return(&desk, &agent, &called, &id).await;
    }
    desk.check();
}

async fn call_and_return(desk: &Desk, agent: &str, called: &str, id: &str) {
    let more = json!({"metadata": {"conversation_id": called}, "tools": [function("look")]});
    let asked = complete(&desk.api, agent, &json!([user("look")]), &more).await;
    assert_eq!(choice(&asked)["finish_reason"], "tool_calls");
    let call = &choice(&asked)["message"]["tool_calls"][0]["id"];
    let back = json!([{"role": "tool", "tool_call_id": call, "content": "seen"}]);
    let reply = complete(&desk.api, agent, &back, &more).await;
    assert_eq!(choice(&reply)["message"]["content"], "seen");
    assert_eq!(reply.header("haft-conversation"), Some(id));
    let stored = desk.api.get(&format!("/api/conversations/{id}")).await;
    let finishes: Vec<&Value> =
        stored.data()["turns"].as_array().expect("turns").iter().map(|turn| &turn["finishReason"]).collect();
    assert_eq!(finishes, ["stop", "tool_calls", "stop"]);
}
