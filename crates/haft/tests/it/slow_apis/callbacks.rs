//! Upstreams that call back.

use haft_testkit::{Client, Place, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use super::{bring, callback_in, over, posts, under_way};
use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{execute, make, standing, taken, task};

async fn make_calling_back(api: &Client, upstream: &Upstream, callback: Value) {
    let mut config = json!({"body": {"notify": "{{callbackUrl}}", "n": "{{n}}"}});
    if callback.is_object() {
        config["callback"] = callback;
    }
    make(
        api,
        json!({"name": "calls", "description": "Calls back.", "url": upstream.url("/jobs"),
                     "method": "POST", "config": config}),
    )
    .await;
}

async fn accepting() -> Upstream {
    Upstream::start(|_| json_reply(202, &json!({"accepted": true}))).await
}

fn arguments() -> Value {
    json!({"arguments": {"n": "1"}, "options": {"mode": "async"}})
}

#[tokio::test]
async fn what_is_brought_to_the_address_is_the_answer_and_the_address_is_of_use_once() {
    let (server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, Value::Null).await;
    let shown = api.get("/api/tools/calls").await;
    assert!(shown.data()["inputSchema"]["properties"].get("callbackUrl").is_none(), "{}", shown.body);
    let id = taken(&execute(&api, "calls", arguments()).await);
    let waiting = standing(&api, &id, "waiting").await;
    assert_eq!(waiting["waitingFor"], "callback", "{waiting}");
    let url = callback_in(&posts(&upstream)[0]);
    assert!(url.starts_with(&format!("{}/api/callbacks/{id}?sig=", server.url)), "{url}");
    for wrong in [url.replace("sig=", "sig=A"), url.split("?sig=").next().expect("a path").to_owned()] {
        let refused = bring(&wrong, &json!({})).await;
        assert_eq!(refused.status, 404, "{}", refused.body);
    }
    assert_eq!(task(&api, &id).await["status"], "waiting");
    let taken = bring(&url, &json!({"answer": 42})).await;
    assert_eq!(taken.status, 200, "{}", taken.body);
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    let late = bring(&url, &json!({"answer": 43})).await;
    assert_eq!(late.status, 409, "{}", late.body);
    assert_eq!(task(&api, &id).await["result"]["data"], json!({"answer": 42}));
    // A dry run gives no address away, and who waits for the call gets what was brought.
    let dry = execute(&api, "calls", json!({"arguments": {"n": "1"}, "options": {"dryRun": true}})).await;
    assert_eq!(dry.data()["data"]["body"]["notify"], "{{callbackUrl}}", "{}", dry.body);
}

#[tokio::test]
async fn an_upstream_may_be_quicker_than_its_own_answer() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |seen| {
        let brought = bring(&callback_in(&seen), &over()).await;
        assert_eq!(brought.status, 200, "{}", brought.body);
        json_reply(202, &json!({}))
    })
    .await;
    make_calling_back(&api, &upstream, json!({"status": "status", "result": "result"})).await;
    let done = execute(&api, "calls", json!({"arguments": {"n": "1"}})).await;
    assert_eq!((done.status, &done.data()["data"]), (200, &json!({"answer": 42})), "{}", done.body);
    assert_eq!(posts(&upstream).len(), 1);
}

#[tokio::test]
async fn what_is_not_the_end_yet_is_progress() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    let callback = json!({"status": "status", "result": "result", "progress": "percent"});
    make_calling_back(&api, &upstream, callback).await;
    let id = taken(&execute(&api, "calls", arguments()).await);
    standing(&api, &id, "waiting").await;
    let url = callback_in(&posts(&upstream)[0]);
    assert_eq!(bring(&url, &under_way()).await.status, 200);
    eventually("it says how far it is", async || task(&api, &id).await["progress"]["fraction"] == 0.4).await;
    standing(&api, &id, "waiting").await;
    assert_eq!(bring(&url, &over()).await.status, 200);
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    // One that failed says so; one that nobody calls back for is over in time.
    let id = taken(&execute(&api, "calls", arguments()).await);
    standing(&api, &id, "waiting").await;
    assert_eq!(bring(&callback_in(&posts(&upstream)[1]), &json!({"status": "error"})).await.status, 200);
    let failed = standing(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Execution", "{failed}");
}

#[tokio::test]
async fn what_was_brought_before_says_nothing_of_the_next_attempt_nor_of_how_long_one_waits() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, json!({"status": "status", "timeout": 3})).await;
    let id = taken(&execute(&api, "calls", arguments()).await);
    standing(&api, &id, "waiting").await;
    let first = callback_in(&posts(&upstream)[0]);
    assert_eq!(bring(&first, &under_way()).await.status, 200);
    // It says how far it is, and then nothing more.
    let failed = standing(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Timeout", "{failed}");
    assert_eq!(bring(&first, &over()).await.status, 409);
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    standing(&api, &id, "waiting").await;
    let second = callback_in(&posts(&upstream)[1]);
    assert_eq!(bring(&first, &over()).await.status, 409, "of the attempt before");
    assert_eq!(bring(&second, &over()).await.status, 200);
    standing(&api, &id, "succeeded").await;
}

#[tokio::test]
async fn a_call_that_broke_off_may_still_be_answered() {
    let (_server, api) = start(&[]).await;
    // It takes the job on, and is too slow to say so.
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    make_calling_back(&api, &upstream, json!({"timeout": 60})).await;
    let body =
        json!({"arguments": {"n": "1"}, "options": {"mode": "async", "timeout": 300, "callId": "one"}});
    let id = taken(&execute(&api, "calls", body).await);
    let waiting = standing(&api, &id, "waiting").await;
    assert_eq!(waiting["waitingFor"], "callback", "{waiting}");
    assert_eq!(bring(&callback_in(&posts(&upstream)[0]), &json!({"answer": 42})).await.status, 200);
    standing(&api, &id, "succeeded").await;
    assert_eq!(posts(&upstream).len(), 1);
    eventually("it is on record", async || api.get("/api/tool-calls/one").await.status == 200).await;
    let rows = api.get("/api/tool-calls?tool=calls").await;
    assert_eq!(rows.data()["items"].as_array().expect("rows").len(), 1, "once: {}", rows.body);
    // One of which nobody hears ends when somebody wants it to.
    let body = json!({"arguments": {"n": "2"}, "options": {"mode": "async", "timeout": 300}});
    let id = taken(&execute(&api, "calls", body).await);
    standing(&api, &id, "waiting").await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await.status, 200);
    standing(&api, &id, "unknown").await;
}

#[tokio::test]
async fn nobody_calls_back() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, json!({"timeout": 1})).await;
    let id = taken(&execute(&api, "calls", arguments()).await);
    let failed = standing(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Timeout", "{failed}");
    assert_eq!(posts(&upstream).len(), 1, "and it is not sent again");
}

#[tokio::test]
async fn a_callback_tells_what_became_of_a_call_whose_server_died() {
    let place = Place::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "1000");
    let (server, api) = settings.start().await;
    // It takes the request and never answers it.
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    make_calling_back(&api, &upstream, json!({"timeout": 60})).await;
    let id = taken(&execute(&api, "calls", arguments()).await);
    eventually("it was sent", async || posts(&upstream).len() == 1).await;
    server.kill().await;
    let (server, api) = settings.start().await;
    standing(&api, &id, "waiting").await;
    let url = callback_in(&posts(&upstream)[0]);
    let path = url.split_at(url.find("/api").expect("a path")).1;
    assert_eq!(bring(&format!("{}{path}", server.url), &json!({"answer": 42})).await.status, 200);
    let done = standing(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    assert_eq!(posts(&upstream).len(), 1, "a write is sent once");
}
