//! Responses that fail, break off or wait, and clients that disconnect.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::ErrorKind;
use haft_llm::{Delta, Model};
use haft_testkit::{FakeDialect, ModelReply, ModelServer, eventually};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{ask, limits, read, sample_request, wire};

#[tokio::test]
async fn error_status_has_the_body_of_each_dialect() {
    for dialect in FakeDialect::ALL {
        let server = ModelServer::script([
            ModelReply::status(429, Some(7)),
            ModelReply::status(500, None),
            ModelReply::refused(400, "prompt is too long", None),
        ])
        .await;
        let provider = wire(dialect, &server);
        let error = ask(&provider, &sample_request()).await.expect_err("no response");
        assert_eq!(
            (error.kind(), error.requested_pause()),
            (ErrorKind::RateLimit, Some(Duration::from_secs(7)))
        );
        let error = ask(&provider, &sample_request()).await.expect_err("no response");
        assert_eq!((error.kind(), error.message().id()), (ErrorKind::Server, "llm.failed"), "{dialect:?}");
        assert!(error.to_string().contains("the model answers with 500"), "{dialect:?}: {error}");
        let error = ask(&provider, &sample_request()).await.expect_err("no response");
        assert_eq!(error.message().id(), "llm.contextTooLong", "{dialect:?}");
        let error = ask(&provider, &sample_request()).await.expect_err("the script is over");
        assert!(error.to_string().contains("no reply left"), "{dialect:?}: {error}");
        assert_eq!((server.seen().len(), server.under_way(), server.dropped()), (4, 0, 0), "{dialect:?}");
    }
}

#[tokio::test]
async fn response_may_end_with_an_error_or_break_off() {
    for dialect in FakeDialect::ALL {
        let server = ModelServer::script([
            ModelReply::says("abcdef").error_in_stream("the model is overloaded"),
            ModelReply::says("abcdefghi").cut_after(2),
        ])
        .await;
        let provider = wire(dialect, &server);
        for (words, kind) in [("overloaded", ErrorKind::Server), ("", ErrorKind::Network)] {
            let response = provider.ask(&sample_request(), limits()).await.expect("a response");
            let (deltas, error) = read(response).await;
            let texts: Vec<&Delta> = deltas.iter().filter(|delta| matches!(delta, Delta::Text(_))).collect();
            assert_eq!(
                texts,
                [&Delta::Text("abc".to_owned()), &Delta::Text("def".to_owned())],
                "{dialect:?}"
            );
            let error = error.expect("an error");
            assert_eq!(error.kind(), kind, "{dialect:?}: {error}");
            assert!(error.to_string().contains(words), "{dialect:?}: {error}");
        }
        eventually("no response is active", async || server.under_way() == 0).await;
        assert_eq!(server.dropped(), 0, "{dialect:?}: the client did not disconnect");
    }
}

#[tokio::test]
async fn response_waits_for_permits_and_counts_disconnects() {
    for dialect in FakeDialect::ALL {
        let permits = Arc::new(Semaphore::new(2));
        let reply = ModelReply::says("abcdefghijkl").without_usage().hold_until(permits.clone());
        let server = ModelServer::script([reply]).await;
        let mut response = wire(dialect, &server).ask(&sample_request(), limits()).await.expect("a response");
        let mut text = String::new();
        for expected in ["abcdef", "abcdefghi"] {
            while text.len() < expected.len() {
                if let Delta::Text(more) = response.deltas.next().await.expect("more").expect("no error") {
                    text.push_str(&more);
                }
            }
            assert_eq!(text, expected, "{dialect:?}");
            let waited = tokio::time::timeout(Duration::from_millis(20), response.deltas.next()).await;
            assert!(waited.is_err(), "{dialect:?}: there was no permit: {waited:?}");
            assert_eq!((server.under_way(), server.dropped()), (1, 0), "{dialect:?}");
            permits.add_permits(usize::from(expected == "abcdef"));
        }
        drop(response);
        eventually("the server notices the disconnect", async || server.dropped() == 1).await;
        assert_eq!(server.under_way(), 0, "{dialect:?}");
    }
}

#[tokio::test]
async fn disconnect_before_the_response_begins_is_counted() {
    let server = ModelServer::start(|_| std::future::pending()).await;
    let provider = wire(FakeDialect::Openai, &server);
    let model_request = sample_request();
    let pending = provider.ask(&model_request, limits());
    let is_disconnected = tokio::select! {
        response = pending => response.is_err(),
        () = eventually("the request arrives", async || server.under_way() == 1) => true,
    };
    assert!(is_disconnected);
    eventually("the server notices the disconnect", async || {
        (server.under_way(), server.dropped()) == (0, 1)
    })
    .await;
}

#[tokio::test]
async fn multi_byte_characters_are_split_across_chunks() {
    let server = ModelServer::script([ModelReply::says("你好")]).await;
    server.needs_no_key();
    let url = format!("{}/chat/completions", server.base(FakeDialect::Openai));
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut response = client.post(url).json(&body).send().await.expect("a response");
    let mut chunks = Vec::new();
    while let Some(chunk) = response.chunk().await.expect("more") {
        chunks.push(chunk);
    }
    assert!(chunks.iter().any(|chunk| std::str::from_utf8(chunk).is_err()), "{chunks:?}");
    let whole = String::from_utf8(chunks.concat()).expect("text");
    assert!(whole.contains("\"content\":\"你好\"") && whole.ends_with("data: [DONE]\n\n"), "{whole}");
}
