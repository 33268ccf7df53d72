//! Jobs whose upstream calls back with the result.

use haft_testkit::{Client, TestStorage, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use super::{callback_in, finished_job, posts, running_job, send_callback};
use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{accepted_task, execute, make, task, wait_for_status};

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
async fn callback_delivers_the_result_and_its_address_works_once() {
    let (server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, Value::Null).await;
    let shown = api.get("/api/tools/calls").await;
    assert!(shown.data()["inputSchema"]["properties"].get("callbackUrl").is_none(), "{}", shown.body);
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    let waiting = wait_for_status(&api, &id, "waiting").await;
    assert_eq!(waiting["waitingFor"], "callback", "{waiting}");
    let url = callback_in(&posts(&upstream)[0]);
    assert!(url.starts_with(&format!("{}/api/callbacks/{id}?sig=", server.url)), "{url}");
    for wrong in [url.replace("sig=", "sig=A"), url.split("?sig=").next().expect("a path").to_owned()] {
        let refused = send_callback(&wrong, &json!({})).await;
        assert_eq!(refused.status, 404, "{}", refused.body);
    }
    assert_eq!(task(&api, &id).await["status"], "waiting");
    let taken = send_callback(&url, &json!({"answer": 42})).await;
    assert_eq!(taken.status, 200, "{}", taken.body);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    let late = send_callback(&url, &json!({"answer": 43})).await;
    assert_eq!(late.status, 409, "{}", late.body);
    assert_eq!(task(&api, &id).await["result"]["data"], json!({"answer": 42}));
    // A dry run does not reveal the callback address.
    let dry = execute(&api, "calls", json!({"arguments": {"n": "1"}, "options": {"dryRun": true}})).await;
    assert_eq!(dry.data()["data"]["body"]["notify"], "{{callbackUrl}}", "{}", dry.body);
}

#[tokio::test]
async fn callback_may_arrive_before_the_response() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start_async(async |seen| {
        let brought = send_callback(&callback_in(&seen), &finished_job()).await;
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
async fn callback_before_the_end_reports_progress() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    let callback = json!({"status": "status", "result": "result", "progress": "percent"});
    make_calling_back(&api, &upstream, callback).await;
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    wait_for_status(&api, &id, "waiting").await;
    let url = callback_in(&posts(&upstream)[0]);
    assert_eq!(send_callback(&url, &running_job()).await.status, 200);
    eventually("the task shows the progress", async || task(&api, &id).await["progress"]["fraction"] == 0.4)
        .await;
    wait_for_status(&api, &id, "waiting").await;
    assert_eq!(send_callback(&url, &finished_job()).await.status, 200);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    // A callback can report that the job failed.
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    wait_for_status(&api, &id, "waiting").await;
    assert_eq!(
        send_callback(&callback_in(&posts(&upstream)[1]), &json!({"status": "error"})).await.status,
        200
    );
    let failed = wait_for_status(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Execution", "{failed}");
}

#[tokio::test]
async fn callback_of_an_earlier_attempt_is_rejected_and_progress_does_not_extend_the_timeout() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, json!({"status": "status", "timeout": 3})).await;
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    wait_for_status(&api, &id, "waiting").await;
    let first = callback_in(&posts(&upstream)[0]);
    assert_eq!(send_callback(&first, &running_job()).await.status, 200);
    // Only the progress arrives, and nothing more within the timeout.
    let failed = wait_for_status(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Timeout", "{failed}");
    assert_eq!(send_callback(&first, &finished_job()).await.status, 409);
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    wait_for_status(&api, &id, "waiting").await;
    let second = callback_in(&posts(&upstream)[1]);
    assert_eq!(
        send_callback(&first, &finished_job()).await.status,
        409,
        "the callback of an earlier attempt"
    );
    assert_eq!(send_callback(&second, &finished_job()).await.status, 200);
    wait_for_status(&api, &id, "succeeded").await;
}

#[tokio::test]
async fn call_that_timed_out_accepts_a_callback() {
    let (_server, api) = start(&[]).await;
    // The upstream accepts the job, but its response is too slow.
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    make_calling_back(&api, &upstream, json!({"timeout": 60})).await;
    let body =
        json!({"arguments": {"n": "1"}, "options": {"mode": "async", "timeout": 300, "callId": "one"}});
    let id = accepted_task(&execute(&api, "calls", body).await);
    let waiting = wait_for_status(&api, &id, "waiting").await;
    assert_eq!(waiting["waitingFor"], "callback", "{waiting}");
    assert_eq!(send_callback(&callback_in(&posts(&upstream)[0]), &json!({"answer": 42})).await.status, 200);
    wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(posts(&upstream).len(), 1);
    eventually("the call is logged", async || api.get("/api/tool-calls/one").await.status == 200).await;
    let rows = api.get("/api/tool-calls?tool=calls").await;
    assert_eq!(rows.data()["items"].as_array().expect("rows").len(), 1, "once: {}", rows.body);
    // A task without a callback ends when it is cancelled.
    let body = json!({"arguments": {"n": "2"}, "options": {"mode": "async", "timeout": 300}});
    let id = accepted_task(&execute(&api, "calls", body).await);
    wait_for_status(&api, &id, "waiting").await;
    assert_eq!(api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await.status, 200);
    wait_for_status(&api, &id, "unknown").await;
}

#[tokio::test]
async fn missing_callback_is_a_timeout() {
    let (_server, api) = start(&[]).await;
    let upstream = accepting().await;
    make_calling_back(&api, &upstream, json!({"timeout": 1})).await;
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    let failed = wait_for_status(&api, &id, "failed").await;
    assert_eq!(failed["result"]["error"]["kind"], "Timeout", "{failed}");
    assert_eq!(posts(&upstream).len(), 1, "the request is not sent again");
}

#[tokio::test]
async fn callback_delivers_the_result_of_a_call_whose_server_crashed() {
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "1000");
    let (server, api) = settings.start().await;
    // The upstream receives the request and never responds.
    let upstream = Upstream::start_async(async |_| std::future::pending().await).await;
    make_calling_back(&api, &upstream, json!({"timeout": 60})).await;
    let id = accepted_task(&execute(&api, "calls", arguments()).await);
    eventually("it was sent", async || posts(&upstream).len() == 1).await;
    server.kill().await;
    let (server, api) = settings.start().await;
    wait_for_status(&api, &id, "waiting").await;
    let url = callback_in(&posts(&upstream)[0]);
    let path = url.split_at(url.find("/api").expect("a path")).1;
    assert_eq!(send_callback(&format!("{}{path}", server.url), &json!({"answer": 42})).await.status, 200);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}));
    assert_eq!(posts(&upstream).len(), 1, "a write is sent once");
}
