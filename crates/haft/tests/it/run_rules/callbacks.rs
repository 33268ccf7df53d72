//! The callback address is known to the upstream only: no result shows it.

use haft_testkit::{Client, Upstream, eventually, http_response, json_reply};
use serde_json::{Value, json};

use crate::http_tools::start;
use crate::slow_apis::{callback_in, posts, send_callback};
use crate::tasks::{accepted_task, execute, make, wait_for_status};

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the task and the log entry of its call, as text.
async fn record_text(api: &Client, ended: &Value) -> String {
    let path = format!("/api/tool-calls/{}", ended["callId"].as_str().expect("an id"));
    eventually("the call is logged", async || api.get(&path).await.status == 200).await;
    format!("{ended} {}", api.get(&path).await.body)
}

#[tokio::test]
async fn echoed_callback_address_is_redacted_in_results_and_errors() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start(|seen| match seen.target.as_str() {
        "/refuses" => http_response(400, &[("content-type", "text/plain")], format!("no: {}", seen.text())),
        "/jobs" => json_reply(202, &json!({})),
        _ => json_reply(200, &json!({"status": "running"})),
    })
    .await;
    for name in ["jobs", "refuses"] {
        let tool = json!({"name": name, "description": "Calls back.", "url": upstream.url(&format!("/{name}")),
                          "method": "POST", "config": {"body": {"notify": "{{callbackUrl}}"}}});
        make(&api, tool).await;
    }
    let id = accepted_task(&execute(&api, "jobs", json!({"options": {"mode": "async"}})).await);
    wait_for_status(&api, &id, "waiting").await;
    let url = callback_in(&posts(&upstream)[0]);
    let signature = url.split("sig=").nth(1).expect("a signature").to_owned();
    let echo = json!({"plain": url, "encoded": percent(&url), "twice": percent(&percent(&url))});
    assert_eq!(send_callback(&url, &echo).await.status, 200);
    let done = wait_for_status(&api, &id, "succeeded").await;
    assert!(done["result"]["data"]["plain"].as_str().expect("a text").ends_with("?sig=***"), "{done}");
    for field in ["encoded", "twice"] {
        let text = done["result"]["data"][field].as_str().expect("a text");
        assert!(text.ends_with("***") && text.len() < echo[field].as_str().expect("a text").len(), "{text}");
    }
    assert!(!record_text(&api, &done).await.contains(&signature));

    let id = accepted_task(&execute(&api, "refuses", json!({"options": {"mode": "async"}})).await);
    let failed = wait_for_status(&api, &id, "failed").await;
    let url = callback_in(posts(&upstream).last().expect("a request"));
    let signature = url.split("sig=").nth(1).expect("a signature");
    let shown = record_text(&api, &failed).await;
    assert!(shown.contains("sig=***") && !shown.contains(signature), "{shown}");
}
