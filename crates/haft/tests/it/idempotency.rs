//! `Idempotency-Key`: requests with the same key are one call.

use std::time::Duration;

use haft_testkit::{Upstream, json_reply};
use serde_json::json;

use crate::http_tools::start;
use crate::tasks::{execute, make};

#[tokio::test(flavor = "multi_thread")]
async fn same_key_returns_the_first_result_and_calls_once() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |_| {
        tokio::time::sleep(Duration::from_millis(200)).await;
        json_reply(200, &json!({"order": 7}))
    })
    .await;
    let url = format!("http://{}/", upstream.address);
    let tool =
        json!({"name": "order", "description": "d", "url": url, "method": "POST", "params": {"n": "{{n}}"}});
    make(&api, tool).await;
    let keyed = api.with("idempotency-key", "first");
    let body = || json!({"arguments": {"n": "1"}});
    // Of several concurrent requests, one sends and the others wait for it.
    let many = (0..5).map(|_| execute(&keyed, "order", body()));
    let replies = futures_util::future::join_all(many).await;
    for reply in &replies {
        assert_eq!((reply.status, &reply.data()["data"]), (200, &json!({"order": 7})), "{}", reply.body);
        assert_eq!(reply.data()["callId"], replies[0].data()["callId"]);
    }
    let later = execute(&keyed, "order", body()).await;
    assert_eq!(later.data(), replies[0].data());
    assert_eq!(upstream.seen().len(), 1);
    let sent = upstream.seen()[0].header("idempotency-key").map(str::to_owned);
    assert_eq!(sent.as_deref(), replies[0].data()["callId"].as_str(), "the upstream sees the call's own key");
    let other = execute(&keyed, "order", json!({"arguments": {"n": "2"}})).await;
    assert_eq!(other.status, 409, "{}", other.body);
    let new = execute(&api.with("idempotency-key", "second"), "order", body()).await;
    assert_eq!(new.status, 200);
    assert_eq!(upstream.seen().len(), 2);
    let bad = execute(&api.with("idempotency-key", &"k".repeat(256)), "order", body()).await;
    assert_eq!(bad.status, 400, "{}", bad.body);
    // Failed calls and tasks accept a key too.
    let failed =
        execute(&api.with("idempotency-key", "third"), "order", json!({"arguments": {"n": {}}})).await;
    assert_eq!(failed.status, 400, "{}", failed.body);
    let background = json!({"arguments": {"n": "1"}, "options": {"mode": "async"}});
    let keyed = api.with("idempotency-key", "fourth");
    let (one, two) =
        (execute(&keyed, "order", background.clone()).await, execute(&keyed, "order", background).await);
    assert_eq!((one.status, &one.data()["taskId"]), (202, &two.data()["taskId"]));
}
