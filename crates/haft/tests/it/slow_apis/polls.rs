//! Jobs whose upstream is polled for the result.

use std::time::Duration;

use haft_testkit::{Client, TestStorage, Upstream, eventually, http_response, json_reply};
use serde_json::{Value, json};

use super::{finished_job, make_polling, posts, running_job, worker};
use crate::http_tools::start;
use crate::survival::Settings;
use crate::tasks::{accepted_task, execute, make, task, wait_for_status};

async fn set_secret(api: &Client) {
    let put = api.put("/api/secrets/key", &json!({"value": "s3cr3t-value"})).await;
    assert!(put.status < 300, "{}", put.body);
}

#[tokio::test]
async fn job_is_polled_until_its_end_and_its_result_is_returned() {
    let (_server, api) = start(&[]).await;
    set_secret(&api).await;
    let upstream = worker(3, finished_job()).await;
    make_polling(&api, &upstream, "long", json!({})).await;
    let asked = execute(&api, "long", json!({"arguments": {"n": "1"}, "options": {"callId": "one"}})).await;
    assert_eq!(asked.status, 200, "a caller that waits gets the result: {}", asked.body);
    assert_eq!((&asked.data()["data"], &asked.data()["attempts"]), (&json!({"answer": 42}), &json!(1)));
    let seen = upstream.seen();
    let targets: Vec<_> = seen.iter().map(|seen| format!("{} {}", seen.method, seen.target)).collect();
    assert_eq!(targets, ["POST /jobs", "GET /jobs/job%207", "GET /jobs/job%207", "GET /jobs/job%207"]);
    assert!(
        seen.iter().all(|seen| seen.header("x-key") == Some("s3cr3t-value")),
        "every request has the secret"
    );
    assert!(seen[1].header("idempotency-key").is_none() && seen[1].body.is_empty());
    eventually("the call is logged", async || api.get("/api/tool-calls/one").await.status == 200).await;
    let record = api.get("/api/tool-calls?tool=long").await;
    let rows = record.data()["items"].as_array().expect("rows");
    assert_eq!(rows.len(), 1, "once: {}", record.body);
    assert!(
        rows[0]["duration"].as_f64().expect("a time") >= 300.0,
        "the duration counts from the first request: {}",
        rows[0]
    );
    assert!(!api.get("/api/tasks?callId=one").await.body.to_string().contains("s3cr3t"));
}

#[tokio::test]
async fn caller_that_does_not_wait_gets_a_task_with_progress() {
    let (_server, api) = start(&[]).await;
    set_secret(&api).await;
    let upstream = worker(1000, finished_job()).await;
    make_polling(&api, &upstream, "long", json!({})).await;
    let options = json!({"arguments": {"n": "1"}, "options": {"asyncAfter": 0.3}});
    let id = accepted_task(&execute(&api, "long", options).await);
    eventually("the task shows the progress", async || {
        task(&api, &id).await["progress"]
            == json!({"progress": 0.4, "total": 1.0, "fraction": 0.4, "message": "running"})
    })
    .await;
    let seen = task(&api, &id).await;
    assert!(matches!(seen["status"].as_str(), Some("waiting" | "queued" | "running")), "{seen}");
    let ended = api.post(&format!("/api/tasks/{id}/cancel"), &json!({})).await;
    assert_eq!(ended.status, 200, "{}", ended.body);
    let ended = wait_for_status(&api, &id, "unknown").await;
    assert_eq!(ended["result"]["error"]["kind"], "Unknown", "the job was started: {ended}");
    let call = ended["callId"].as_str().expect("an id").to_owned();
    let path = format!("/api/tool-calls/{call}");
    eventually("the call is logged", async || api.get(&path).await.status == 200).await;
    let poll_count = upstream.seen().len();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(upstream.seen().len() <= poll_count + 1, "polling has ended");
    assert_eq!(posts(&upstream).len(), 1);
}

#[tokio::test]
async fn status_202_names_the_address_to_poll_and_200_ends_the_job() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/now" => json_reply(200, &json!({"at": "once"})),
        "/start" => http_response(202, &[("location", "state/5?x=1"), ("retry-after", "0")], "{}"),
        "/state/5?x=1" => http_response(303, &[("location", "/result/5")], ""),
        "/result/5" => json_reply(200, &json!({"done": true})),
        "/nowhere" => json_reply(202, &json!({})),
        _ => json_reply(404, &json!({"no": seen.target})),
    })
    .await;
    for (name, path) in [("starts", "/start"), ("nowhere", "/nowhere"), ("now", "/now")] {
        let url = upstream.url(path);
        make(
            &api,
            json!({"name": name, "description": "d", "url": url, "method": "POST",
                          "config": {"poll": {"interval": 0.1}}}),
        )
        .await;
    }
    let done = execute(&api, "starts", json!({})).await;
    assert_eq!((done.status, &done.data()["data"]), (200, &json!({"done": true})), "{}", done.body);
    let now = execute(&api, "now", json!({})).await;
    assert_eq!((now.status, &now.data()["data"]), (200, &json!({"at": "once"})));
    let lost = execute(&api, "nowhere", json!({})).await;
    assert_eq!(lost.body["error"]["kind"], "Execution", "{}", lost.body);
    assert!(lost.body["message"].as_str().expect("a text").contains("did not say where to poll"));
}

#[tokio::test]
async fn job_that_fails_or_never_ends_is_a_failed_call() {
    let (_server, api) = start(&[]).await;
    set_secret(&api).await;
    let ends = json!({"status": "FAILED", "reason": "no such region, s3cr3t-value"});
    let upstream = worker(2, ends).await;
    make_polling(&api, &upstream, "fails", json!({})).await;
    let id = accepted_task(
        &execute(&api, "fails", json!({"arguments": {"n": "1"}, "options": {"mode": "async"}})).await,
    );
    let failed = wait_for_status(&api, &id, "failed").await;
    let error = &failed["result"]["error"];
    assert_eq!(error["kind"], "Execution", "{failed}");
    assert!(error["message"].as_str().expect("a text").contains("it failed: FAILED"), "{failed}");
    assert!(error["details"]["body"].as_str().expect("a body").contains("no such region, ***"), "{failed}");
    assert_eq!(failed["deadLetter"], true);
    // A retry starts another job.
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    eventually("the job is started again", async || posts(&upstream).len() == 2).await;
    wait_for_status(&api, &id, "failed").await;

    let endless = worker(usize::MAX, finished_job()).await;
    make_polling(&api, &endless, "endless", json!({"timeout": 1})).await;
    let timed_out = execute(&api, "endless", json!({"arguments": {"n": "1"}})).await;
    assert_eq!(
        (timed_out.status, &timed_out.body["error"]["kind"]),
        (504, &json!("Timeout")),
        "{}",
        timed_out.body
    );
    assert!(
        timed_out.body["message"].as_str().expect("a text").contains("did not finish it within 1 seconds")
    );
    assert_eq!(posts(&endless).len(), 1, "no second job is started");
}

#[tokio::test]
async fn conditions_replace_the_status_field() {
    let (_server, api) = start(&[]).await;
    let upstream = worker(3, json!({"status": {"code": 7}, "left": 0, "out": [1, 2]})).await;
    let url = upstream.url("/jobs");
    let poll = json!({"url": "/jobs/{{id}}", "done": "status.code == 7 and left = 0", "result": "out",
                      "failed": "status.code > 7", "interval": 0.1});
    let tool = json!({"name": "odd", "description": "d", "url": url, "method": "POST",
                      "config": {"poll": poll, "responseFilter": "[1]"}});
    make(&api, tool).await;
    let done = execute(&api, "odd", json!({})).await;
    assert_eq!((done.status, &done.data()["data"]), (200, &json!(2)), "the filter is last: {}", done.body);
}

#[tokio::test]
async fn job_outlives_the_server_that_started_it() {
    let place = TestStorage::new();
    let settings = Settings::of(&place).with("HAFT_TASK_LEASE_MS", "1000");
    let (mut server, mut api) = settings.start().await;
    set_secret(&api).await;
    let upstream = worker(12, finished_job()).await;
    make_polling(&api, &upstream, "long", json!({"interval": 0.2})).await;
    let id = accepted_task(
        &execute(&api, "long", json!({"arguments": {"n": "1"}, "options": {"mode": "async"}})).await,
    );
    for poll_count in [3, 6] {
        eventually("the job is polled", async || upstream.seen().len() >= poll_count).await;
        server.kill().await;
        (server, api) = settings.start().await;
    }
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert_eq!(done["result"]["data"], json!({"answer": 42}), "{done}");
    assert_eq!(posts(&upstream).len(), 1, "the job was started once");
}

#[tokio::test]
async fn poll_address_of_an_upstream_cannot_leave_allowed_hosts_or_get_secrets() {
    let (_server, api) = start(&[]).await;
    set_secret(&api).await;
    let stranger = Upstream::start(|_| json_reply(200, &json!({"status": "done", "result": 1}))).await;
    let elsewhere = format!("http://localhost:{}/jobs/1", stranger.address.port());
    let upstream = Upstream::start(move |seen| match seen.target.as_str() {
        "/there" => json_reply(202, &json!({"next": elsewhere})),
        "/inside" => json_reply(202, &json!({"next": "http://169.254.169.254/latest"})),
        "/file" => json_reply(202, &json!({"next": "file:///etc/passwd"})),
        "/secret" => json_reply(202, &json!({"next": "/jobs?key=s3cr3t-value"})),
        _ => json_reply(200, &running_job()),
    })
    .await;
    let tool = |name: &str, path: &str, allowed: Value| {
        json!({"name": name, "description": "d", "url": upstream.url(path), "method": "POST",
               "config": {"poll": {"url": "{{next}}", "status": "status", "interval": 0.1},
                          "headers": {"X-Key": "secret://key"}, "security": {"allowedDomains": allowed}}})
    };
    let own = json!([upstream.address.to_string()]);
    for (name, path, kind) in [
        ("there", "/there", "Permission"),
        ("inside", "/inside", "Permission"),
        ("file", "/file", "Permission"),
        ("secret", "/secret", "Permission"),
    ] {
        make(&api, tool(name, path, own.clone())).await;
        let refused = execute(&api, name, json!({})).await;
        assert_eq!(refused.body["error"]["kind"], kind, "{name}: {}", refused.body);
        assert!(!refused.body.to_string().contains("s3cr3t"), "{}", refused.body);
    }
    assert!(stranger.seen().is_empty());
    // If the author allows the other origin, it is polled without credentials.
    let both = json!([upstream.address.to_string(), format!("localhost:{}", stranger.address.port())]);
    make(&api, tool("known", "/there", both)).await;
    let done = execute(&api, "known", json!({})).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(stranger.seen().iter().all(|seen| seen.header("x-key").is_none()), "{:?}", stranger.seen());
}

#[tokio::test]
async fn failed_poll_is_repeated() {
    let (_server, api) = start(&[]).await;
    let poll_count = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |seen| match seen.method.as_str() {
        "POST" => json_reply(202, &json!({"id": "1"})),
        _ => match poll_count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 | 1 => json_reply(503, &json!({})),
            _ => json_reply(200, &finished_job()),
        },
    })
    .await;
    make(
        &api,
        json!({"name": "shaky", "description": "d", "url": upstream.url("/jobs"), "method": "POST",
                      "retryDelay": 50,
                      "config": {"poll": {"url": "/jobs/{{id}}", "status": "status", "interval": 0.1}}}),
    )
    .await;
    let done = execute(&api, "shaky", json!({})).await;
    assert_eq!((done.status, posts(&upstream).len()), (200, 1), "{}", done.body);
}

#[tokio::test]
async fn invalid_poll_or_callback_is_refused_when_it_is_saved() {
    let (_server, api) = start(&[]).await;
    for (poll, path, says) in [
        (json!({"done": ["ok"]}), "config.poll.done", "status does not say where"),
        (json!({"done": "a >"}), "config.poll.done", "the condition is incomplete"),
        (json!({"status": "a["}), "config.poll.status", "JMESPath"),
        (json!({"url": "ftp://x/{{id}}"}), "config.poll.url", ""),
        (json!({"url": "/x/{{a b}}"}), "config.poll.url", "is not a variable"),
        (json!({"interval": 0}), "config.poll.interval", ""),
        (json!({"every": 1}), "config.poll", "every"),
    ] {
        let tool = json!({"name": "wrong", "description": "d", "url": "https://api.example.com/jobs",
                          "method": "POST", "config": {"poll": poll}});
        let refused = api.post("/api/tools", &tool).await;
        let message = refused.body.to_string();
        assert_eq!(refused.status, 400, "{poll}: {message}");
        assert!(message.contains(path) && message.contains(says), "{poll}: {message}");
    }
    for (config, says) in [
        (json!({"body": {"n": "{{callbackUrl}}"}, "poll": {}}), "cannot be combined with callbackUrl"),
        (json!({"callback": {}}), "the request does not use callbackUrl"),
    ] {
        let tool = json!({"name": "wrong", "description": "d", "url": "https://api.example.com/jobs",
                          "method": "POST", "config": config});
        let refused = api.post("/api/tools", &tool).await;
        assert!(refused.status == 400 && refused.body.to_string().contains(says), "{}", refused.body);
    }
}

#[tokio::test]
async fn tool_that_changes_during_a_job_starts_no_second_job() {
    let (_server, api) = start(&[]).await;
    set_secret(&api).await;
    let upstream = worker(1000, finished_job()).await;
    make_polling(&api, &upstream, "long", json!({})).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let body = json!({"arguments": {"n": "1"}, "options": {"mode": "async"}});
        ids.push(accepted_task(&execute(&api, "long", body).await));
    }
    eventually("both jobs are started", async || posts(&upstream).len() == 2).await;
    // A job of a deactivated tool is still polled. A job of a tool that has lost its poll definition fails.
    let off = api.send_json(axum::http::Method::PATCH, "/api/tools/long", &json!({"isActive": false})).await;
    assert_eq!(off.status, 200, "{}", off.body);
    let poll_count = upstream.seen().len();
    eventually("the jobs are polled", async || upstream.seen().len() > poll_count + 3).await;
    let plain = json!({"name": "long", "description": "d", "url": upstream.url("/jobs"), "method": "POST",
                       "config": {"params": {"n": "{{n}}"}}});
    assert_eq!(api.put("/api/tools/long", &plain).await.status, 200);
    for id in &ids {
        let failed = wait_for_status(&api, id, "failed").await;
        let message = failed["result"]["error"]["message"].as_str().expect("a text");
        assert!(message.contains("was changed while its result was pending"), "{failed}");
    }
    assert_eq!(posts(&upstream).len(), 2, "nothing is sent again");
}

#[tokio::test]
async fn failed_poll_leaves_one_log_entry_with_the_final_result() {
    let (_server, api) = start(&[]).await;
    let poll_count = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |seen| match seen.method.as_str() {
        "POST" => json_reply(202, &json!({"id": "1"})),
        _ if poll_count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 => json_reply(503, &json!({})),
        _ => json_reply(200, &finished_job()),
    })
    .await;
    make(
        &api,
        json!({"name": "shaky", "description": "d", "url": upstream.url("/jobs"), "method": "POST",
               "retryCount": 0,
               "config": {"poll": {"url": "/jobs/{{id}}", "status": "status", "interval": 0.1}}}),
    )
    .await;
    let id =
        accepted_task(&execute(&api, "shaky", json!({"options": {"mode": "async", "callId": "one"}})).await);
    wait_for_status(&api, &id, "succeeded").await;
    eventually("the call is logged", async || api.get("/api/tool-calls/one").await.status == 200).await;
    let rows = api.get("/api/tool-calls?tool=shaky").await;
    let rows = rows.data()["items"].as_array().expect("rows").clone();
    assert_eq!((rows.len(), &rows[0]["status"]), (1, &json!("success")), "{rows:?}");
    assert_eq!(posts(&upstream).len(), 1);
}
