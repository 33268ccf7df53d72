//! A model server that echoes its key in what the model says: nobody is shown it, and nobody stores it.

use haft_testkit::{AskedModel, Dialect, ModelReply};
use serde_json::json;

use super::provider;
use crate::chat::{Desk, said, user};
use crate::v1::{COMPLETIONS, body, words};

const KEY: &str = "sk-own-key-0123456789";

/// Thinks, says and calls with the key, in pieces of as many characters as the user says.
async fn parrot(asked: AskedModel) -> ModelReply {
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
async fn a_key_is_masked_in_texts_thoughts_and_arguments_wherever_they_are_cut() {
    let desk = Desk::new(parrot).await;
    for dialect in Dialect::ALL {
        let own = provider(&desk.api, &desk.model, dialect, json!({})).await;
        let agent = desk.agent(dialect, &["weather"], json!({"provider": own})).await;
        for size in [1, 4, 7, 20, 1_000] {
            let case = format!("{dialect:?} in {size}");
            let reply = desk.ask(&agent, &size.to_string()).await;
            assert_eq!(said(&reply), "It is ***, ***.", "{case}");
            assert_eq!(reply.data()["toolCalls"][0]["arguments"], json!({"city": "of ***"}), "{case}");
            assert!(!reply.body.to_string().contains(KEY), "{case}: {}", reply.body);
            let id = reply.data()["conversationId"].as_str().expect("an id");
            for path in [format!("/api/conversations/{id}"), format!("/api/conversations/{id}/tool-context")]
            {
                let kept = desk.api.get(&path).await.body.to_string();
                assert!(kept.contains("***") && !kept.contains(KEY), "{case} {path}: {kept}");
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
            assert!(words(&events).ends_with("It is ***, ***."), "{case}: {}", words(&events));
        }
    }
    assert!(desk.weather.seen().iter().all(|seen| !seen.target.contains(KEY)), "no API is sent it");
    desk.check();
}
