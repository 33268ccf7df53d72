//! Ids of tool calls when they are sent back to a provider.

use axum::http::Method;
use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::json;

use crate::chat::{Desk, user};
use crate::v1::{choice, complete, function};

/// The id that a model gives its weather call. Kimi's ids have a format that Mistral refuses.
fn weather_id(model: &str) -> &'static str {
    if model.starts_with("kimi") { "functions.weather:0" } else { "D681PevKs" }
}

/// Calls the weather tool, and answers when it has the result.
async fn caller(asked: RecordedModelRequest) -> ModelReply {
    if !asked.results().is_empty() || asked.user_text() == "and now?" {
        return ModelReply::says("Warm.");
    }
    ModelReply::calls([("weather", json!({"city": "Paris"}))]).call_id(weather_id(&asked.model))
}

fn ids(asked: &RecordedModelRequest) -> Vec<String> {
    let calls = asked.messages.iter().flat_map(|message| &message.calls).map(|call| call.id.clone());
    let results =
        asked.messages.iter().flat_map(|message| &message.results).map(|result| result.call_id.clone());
    calls.chain(results).collect()
}

fn is_portable(id: &str) -> bool {
    id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[tokio::test]
async fn model_gets_its_own_call_ids_back_and_another_model_gets_portable_ones() {
    let desk = Desk::new(caller).await;
    for (dialect, model) in [
        (FakeDialect::Openai, "mistral-large"),
        (FakeDialect::Openai, "kimi-k2"),
        (FakeDialect::Openai, "gpt-5"),
        (FakeDialect::Anthropic, "claude-sonnet-5"),
    ] {
        let own = [weather_id(model); 2];
        let agent = desk.agent(dialect, &["weather"], json!({"model": model})).await;
        let reply = desk.ask(&agent, "weather?").await;
        let seen = desk.model.seen().pop().expect("a question");
        assert_eq!(ids(&seen), own, "{model}: its own, unchanged");
        let conversation = reply.data()["conversationId"].clone();
        // The conversation continues with other models, also of the same provider, and finally with the first
        // one.
        let others = FakeDialect::ALL.map(|other| match other {
            FakeDialect::Gemini => (other, "gemini-2.5-flash"),
            FakeDialect::Openai | FakeDialect::Anthropic | FakeDialect::Ollama => (other, "mistral-large"),
        });
        for (other, name) in others.into_iter().chain([(dialect, model)]) {
            let change = json!({"config": {"provider": other.kind(), "model": name}});
            let changed = desk.api.send_json(Method::PATCH, &format!("/api/agents/{agent}"), &change).await;
            assert_eq!(changed.status, 200, "{}", changed.body);
            let asked = json!({"conversationId": conversation, "messages": [user("and now?")]});
            assert_eq!(desk.api.post("/api/chat", &asked).await.status, 200);
            let seen = desk.model.seen().pop().expect("a question");
            let found = ids(&seen);
            if (other, name) == (dialect, model) {
                assert_eq!(found, own, "{model}: the ids are unchanged");
                continue;
            }
            let has_ids = matches!(other, FakeDialect::Openai | FakeDialect::Anthropic);
            let fits = |id: &String| match has_ids {
                true => is_portable(id) && id != own[0],
                false => id.is_empty(),
            };
            assert!(
                found.len() == 2 && found[0] == found[1] && found.iter().all(fits),
                "{model}, then {name} of {other:?}: {found:?}"
            );
        }
    }
    desk.check();
}

/// Calls the client's tool in each turn, and numbers its calls as Kimi does.
async fn kimi(asked: RecordedModelRequest) -> ModelReply {
    if !asked.results().is_empty() {
        return ModelReply::says("Seen.");
    }
    let number: usize = asked.messages.iter().map(|message| message.calls.len()).sum();
    ModelReply::calls([("look", json!({"of": "a"}))]).call_id(format!("functions.look:{number}"))
}

#[tokio::test]
async fn client_history_reaches_the_same_model_with_the_ids_of_its_provider() {
    let desk = Desk::new(kimi).await;
    let agent = desk.agent(FakeDialect::Openai, &[], json!({"model": "kimi-k2"})).await;
    let tools = json!({"tools": [function("look")]});
    let mut messages = Vec::new();
    for turn in 0..6 {
        messages.push(user("look!"));
        let asked = complete(&desk.api, &agent, &json!(messages), &tools).await;
        let call = choice(&asked)["message"].clone();
        let id = call["tool_calls"][0]["id"].clone();
        messages.extend([call, json!({"role": "tool", "tool_call_id": id, "content": "seen"})]);
        let answered = complete(&desk.api, &agent, &json!(messages), &tools).await;
        messages.push(choice(&answered)["message"].clone());
        let calls: Vec<String> = (0..=turn).map(|number| format!("functions.look:{number}")).collect();
        let seen = desk.model.seen().pop().expect("a question");
        assert_eq!(ids(&seen), [calls.clone(), calls].concat(), "turn {turn}");
    }
    // Another user cannot read these runs, and another model gets portable ids.
    messages.push(user("look!"));
    let stranger = crate::agents::stranger(&desk.server, &desk.api).await;
    for (api, model) in [(&stranger, "openai/kimi-k2"), (&desk.api, "openai/mistral-large")] {
        choice(&complete(api, model, &json!(messages), &tools).await);
        let seen = desk.model.seen().pop().expect("a question");
        let found = ids(&seen);
        assert!(found.len() == 12 && found.iter().all(|id| is_portable(id)), "{model}: {found:?}");
    }
    desk.check();
}
