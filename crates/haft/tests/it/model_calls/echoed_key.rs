//! A model server that echoes its API key in its responses: the key is neither shown nor stored.

use haft_testkit::{FakeDialect, ModelReply, RecordedModelRequest};
use serde_json::json;

use super::provider;
use crate::chat::{Desk, final_text, user};
use crate::v1::{COMPLETIONS, body, streamed_text};

const KEY: &str = "sk-own-key-0123456789";

/// Thinks, writes and calls with the key, in fragments of the size that the user message gives.
async fn parrot(asked: RecordedModelRequest) -> ModelReply {
    let size = asked.user_text().parse().expect("a number");
    let key = asked.key.clone().expect("a key");
    let reply = ModelReply::new().reasoning(format!("The key: {key}!"));
    let reply = match asked.results().first() {
        None => reply.text("A moment.").call("weather", json!({"city": format!("of {key}")})),
        Some(_) => reply.text(format!("It is {key}, {key}.")),
    };
    reply.in_fragments_of(size)
}

#[tokio::test]
async fn key_is_redacted_in_texts_thoughts_and_arguments_across_fragments() {
    let desk = Desk::new(parrot).await;
    for dialect in FakeDialect::ALL {
        let own = provider(&desk.api, &desk.model, dialect, json!({})).await;
        let agent = desk.agent(dialect, &["weather"], json!({"provider": own})).await;
        for size in [1, 4, 7, 20, 1_000] {
            let case = format!("{dialect:?} in {size}");
            let reply = desk.ask(&agent, &size.to_string()).await;
            assert_eq!(final_text(&reply), "It is ***, ***.", "{case}");
            assert_eq!(reply.data()["toolCalls"][0]["arguments"], json!({"city": "of ***"}), "{case}");
            assert!(!reply.body.to_string().contains(KEY), "{case}: {}", reply.body);
            let id = reply.data()["conversationId"].as_str().expect("an id");
            for path in [format!("/api/conversations/{id}"), format!("/api/conversations/{id}/tool-context")]
            {
                let stored = desk.api.get(&path).await.body.to_string();
                assert!(stored.contains("***") && !stored.contains(KEY), "{case} {path}: {stored}");
            }
            let asked = json!({"agentId": agent, "messages": [user(&size.to_string())], "stream": true});
            let events = desk.api.post_for_events("/api/chat", &asked).await.all().await;
            let shown = |name: &str| -> String {
                let pieces = events.iter().filter(|event| event.name == name);
                pieces
                    .filter_map(|event| event.data["delta"].as_str().or(event.data["text"].as_str()))
                    .collect()
            };
            for name in ["message.delta", "reasoning.delta"] {
                let shown = shown(name);
                assert!(!shown.contains(KEY), "{case} {name}: {shown}");
            }
            let all = events.iter().map(|event| event.data.to_string()).collect::<String>();
            assert!(all.contains("***") && !all.contains(KEY), "{case}: {all}");
            let question = body(&agent, &json!([user(&size.to_string())]), &json!({"stream": true}));
            let events = desk.api.post_for_events(COMPLETIONS, &question).await.all().await;
            assert!(
                streamed_text(&events).ends_with("It is ***, ***."),
                "{case}: {}",
                streamed_text(&events)
            );
        }
    }
    assert!(desk.weather.seen().iter().all(|seen| !seen.target.contains(KEY)), "no API receives the key");
    desk.check();
}
