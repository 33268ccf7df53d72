//! Answers that fail, break, wait, or are left.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use haft_core::ErrorKind;
use haft_llm::{Delta, Model};
use haft_testkit::{Dialect, ModelReply, ModelServer, eventually};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{ask, limits, question, read, wire};

#[tokio::test]
async fn a_status_is_said_in_each_dialects_form() {
    for dialect in Dialect::ALL {
        let server = ModelServer::script([
            ModelReply::status(429, Some(7)),
            ModelReply::status(500, None),
            ModelReply::refused(400, "prompt is too long", None),
        ])
        .await;
        let provider = wire(dialect, &server);
        let error = ask(&provider, &question()).await.expect_err("no answer");
        assert_eq!(
            (error.kind(), error.pause_asked_for()),
            (ErrorKind::RateLimit, Some(Duration::from_secs(7)))
        );
        let error = ask(&provider, &question()).await.expect_err("no answer");
        assert_eq!((error.kind(), error.message().id()), (ErrorKind::Server, "llm.failed"), "{dialect:?}");
        assert!(error.to_string().contains("the model answers with 500"), "{dialect:?}: {error}");
        let error = ask(&provider, &question()).await.expect_err("no answer");
        assert_eq!(error.message().id(), "llm.contextTooLong", "{dialect:?}");
        let error = ask(&provider, &question()).await.expect_err("the script is over");
        assert!(error.to_string().contains("no reply left"), "{dialect:?}: {error}");
        assert_eq!((server.seen().len(), server.under_way(), server.dropped()), (4, 0, 0), "{dialect:?}");
    }
}

#[tokio::test]
async fn an_answer_may_end_in_an_error_or_break_off() {
    for dialect in Dialect::ALL {
        let server = ModelServer::script([
            ModelReply::says("abcdef").error_in_stream("the model is overloaded"),
            ModelReply::says("abcdefghi").cut_after(2),
        ])
        .await;
        let provider = wire(dialect, &server);
        for (words, kind) in [("overloaded", ErrorKind::Server), ("", ErrorKind::Network)] {
            let asked = provider.ask(&question(), limits()).await.expect("an answer");
            let (deltas, error) = read(asked).await;
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
        eventually("nothing is under way", async || server.under_way() == 0).await;
        assert_eq!(server.dropped(), 0, "{dialect:?}: the client did not leave");
    }
}

#[tokio::test]
async fn an_answer_waits_for_permits_and_notices_who_leaves() {
    for dialect in Dialect::ALL {
        let permits = Arc::new(Semaphore::new(2));
        let reply = ModelReply::says("abcdefghijkl").without_usage().hold(permits.clone());
        let server = ModelServer::script([reply]).await;
        let mut asked = wire(dialect, &server).ask(&question(), limits()).await.expect("an answer");
        let mut text = String::new();
        for expected in ["abcdef", "abcdefghi"] {
            while text.len() < expected.len() {
                if let Delta::Text(more) = asked.deltas.next().await.expect("more").expect("no error") {
                    text.push_str(&more);
                }
            }
            assert_eq!(text, expected, "{dialect:?}");
            let waited = tokio::time::timeout(Duration::from_millis(20), asked.deltas.next()).await;
            assert!(waited.is_err(), "{dialect:?}: there was no permit: {waited:?}");
            assert_eq!((server.under_way(), server.dropped()), (1, 0), "{dialect:?}");
            permits.add_permits(usize::from(expected == "abcdef"));
        }
        drop(asked);
        eventually("the server sees that nobody listens", async || server.dropped() == 1).await;
        assert_eq!(server.under_way(), 0, "{dialect:?}");
    }
}

#[tokio::test]
async fn whoever_leaves_before_the_answer_begins_is_noticed() {
    let server = ModelServer::start(|_| std::future::pending()).await;
    let provider = wire(Dialect::Openai, &server);
    let question = question();
    let asking = provider.ask(&question, limits());
    let left = tokio::select! {
        asked = asking => asked.is_err(),
        () = eventually("it is asked", async || server.under_way() == 1) => true,
    };
    assert!(left);
    eventually("the server sees it", async || (server.under_way(), server.dropped()) == (0, 1)).await;
}

#[tokio::test]
async fn characters_are_torn_on_their_way() {
    let server = ModelServer::script([ModelReply::says("你好")]).await;
    server.needs_no_key();
    let url = format!("{}/chat/completions", server.base(Dialect::Openai));
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut response = client.post(url).json(&body).send().await.expect("an answer");
    let mut chunks = Vec::new();
    while let Some(chunk) = response.chunk().await.expect("more") {
        chunks.push(chunk);
    }
    assert!(chunks.iter().any(|chunk| std::str::from_utf8(chunk).is_err()), "{chunks:?}");
    let whole = String::from_utf8(chunks.concat()).expect("text");
    assert!(whole.contains("\"content\":\"你好\"") && whole.ends_with("data: [DONE]\n\n"), "{whole}");
}
