//! Event streams of the test client: events with and without names, and disconnects.

use std::sync::Arc;

use haft_testkit::{Client, FakeDialect, ModelReply, ModelServer, eventually};
use serde_json::json;
use tokio::sync::Semaphore;

#[tokio::test]
async fn events_are_read_one_by_one_and_up_to_a_name() {
    let server = ModelServer::script([ModelReply::says("abcdef"), ModelReply::says("abcdef")]).await;
    server.needs_no_key();
    let hi = json!([{"role": "user", "content": "Hi"}]);

    let client = Client::anonymous(&server.base(FakeDialect::Openai));
    let body = json!({"model": "m", "stream": true, "messages": hi});
    let events = client.post_for_events("/chat/completions", &body).await.all().await;
    assert!(events.iter().all(|event| event.name == "message"), "{events:?}");
    assert_eq!(events[2].data["choices"][0]["delta"]["content"], "def");
    assert_eq!(events.last().expect("an end").data, "[DONE]");

    let client =
        Client::anonymous(&server.base(FakeDialect::Anthropic)).with("anthropic-version", "2023-06-01");
    let body = json!({"model": "m", "stream": true, "max_tokens": 9, "messages": hi});
    let mut stream = client.post_for_events("/v1/messages", &body).await;
    let events = stream.until("content_block_stop").await;
    assert_eq!(events[0].name, "message_start");
    assert_eq!(events[events.len() - 2].data["delta"]["text"], "def");
    let rest: Vec<String> = stream.all().await.into_iter().map(|event| event.name).collect();
    assert_eq!(rest, ["message_delta", "message_stop"]);
}

#[tokio::test]
async fn dropping_the_stream_disconnects_the_client() {
    let reply = ModelReply::says("abcdef").hold_until(Arc::new(Semaphore::new(1)));
    let server = ModelServer::script([reply]).await;
    let client = Client::new(&server.base(FakeDialect::Openai), "key");
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    let mut stream = client.post_for_events("/chat/completions", &body).await;
    stream.event().await;
    assert_eq!(stream.event().await.data["choices"][0]["delta"]["content"], "abc");
    assert_eq!((server.under_way(), server.dropped()), (1, 0));
    drop(stream);
    eventually("the server notices the disconnect", async || {
        (server.under_way(), server.dropped()) == (0, 1)
    })
    .await;
}
