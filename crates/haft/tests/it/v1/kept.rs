//! Completions that belong to a conversation.

use haft_testkit::{AskedModel, Dialect, ModelReply};
use serde_json::{Value, json};

use super::{COMPLETIONS, body, choice, complete, function};
use crate::chat::{Desk, user};

fn within(id: &str) -> Value {
    json!({"metadata": {"conversation_id": id}})
}

#[tokio::test]
async fn a_conversation_is_begun_and_gone_on_with_and_only_what_is_new_is_said() {
    let desk =
        Desk::new(async |asked: AskedModel| ModelReply::says(format!("{} before", asked.answers_before())))
            .await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let system = json!({"role": "system", "content": "Be short."});
    let first = complete(&desk.api, &agent, &json!([system, user("one")]), &within("new")).await;
    assert_eq!(choice(&first)["message"]["content"], "0 before");
    let id = first.header("haft-conversation").expect("an id").to_owned();
    // With all that was said, or without: what is new is what stands behind the last answer.
    let all = json!([system, user("one"), {"role": "assistant", "content": "0 before"}, user("two")]);
    let second = complete(&desk.api, &agent, &all, &within(&id)).await;
    assert_eq!(choice(&second)["message"]["content"], "1 before");
    assert_eq!(second.header("haft-conversation"), Some(id.as_str()));
    let more = json!({"metadata": {"conversation_id": id}, "stream": true});
    let stream = desk.api.post_for_events(COMPLETIONS, &body(&agent, &json!([user("three")]), &more)).await;
    assert_eq!(stream.header("haft-conversation"), Some(id.as_str()));
    assert_eq!(super::words(&stream.all().await), "2 before");
    let seen = desk.model.seen();
    assert!(seen.iter().all(|asked| asked.system.as_deref() == Some("You are a clerk.\n\nBe short.")));
    let kept = desk.api.get(&format!("/api/conversations/{id}")).await;
    let turns = kept.data()["turns"].as_array().expect("turns");
    let said: Vec<&Value> = turns
        .iter()
        .map(|turn| &turn["input"].as_array().expect("input").last().expect("one")["content"])
        .collect();
    assert_eq!(said, ["one", "two", "three"]);
    desk.check();
}

#[tokio::test]
async fn a_conversation_is_its_users_and_its_agents_alone() {
    let desk = Desk::new(async |_| ModelReply::says("yes")).await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    let other = desk.agent(Dialect::Openai, &[], json!({})).await;
    let first = complete(&desk.api, &agent, &json!([user("one")]), &within("new")).await;
    let id = first.header("haft-conversation").expect("an id").to_owned();
    let reply = complete(&desk.api, &other, &json!([user("two")]), &within(&id)).await;
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!("model")), "{}", reply.body);
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    // To anybody else it is a name like any other, and a conversation of their own.
    let reply = complete(&stranger, "openai/test-small", &json!([user("two")]), &within(&id)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_ne!(reply.header("haft-conversation"), Some(id.as_str()));
    let last = desk.model.seen().pop().expect("it was asked");
    assert_eq!((last.user_text(), last.messages.len()), ("two", 1), "nothing of the other is in it");
    let reply = complete(&stranger, "openai/test-small", &json!([user("three")]), &within(&id)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(desk.model.seen().pop().map(|last| last.messages.len()), Some(3), "the name is known again");
    let answered = json!([user("one"), {"role": "assistant", "content": "yes"}]);
    let reply = complete(&desk.api, &agent, &answered, &within(&id)).await;
    assert_eq!((reply.status, &reply.body["error"]["param"]), (400, &json!("messages")), "{}", reply.body);
}

#[tokio::test]
async fn tools_of_the_client_are_part_of_a_conversation_too() {
    let desk = Desk::new(async |asked: AskedModel| match (asked.results().first(), asked.user_text()) {
        (Some(result), _) => ModelReply::says(result.content.clone()),
        (None, "look") => ModelReply::calls([("look", json!({}))]),
        (None, _) => ModelReply::says("hello"),
    })
    .await;
    let agent = desk.agent(Dialect::Openai, &[], json!({})).await;
    // Begun without them, elsewhere; or here, under a name of the client's own.
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
    let kept = desk.api.get(&format!("/api/conversations/{id}")).await;
    let finishes: Vec<&Value> =
        kept.data()["turns"].as_array().expect("turns").iter().map(|turn| &turn["finishReason"]).collect();
    assert_eq!(finishes, ["stop", "tool_calls", "stop"]);
}
