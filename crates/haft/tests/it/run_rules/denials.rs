//! A denial ends its call, also when the tool has changed since the approval was shown. Edited arguments also
//! apply to later versions that accept them.

use axum::http::Method;
use haft_testkit::{Client, Upstream, eventually, json_reply};
use serde_json::{Value, json};

use super::{decide, items, payment_tool};
use crate::cli_over_http::{Desk, worked};
use crate::http_tools::start;
use crate::tasks::{accepted_task, execute, make, wait_for_status};

async fn waiting_payment(api: &Client) -> String {
    let id = accepted_task(&execute(api, "pay", json!({"arguments": {"amount": 500}})).await);
    wait_for_status(api, &id, "waiting").await;
    id
}

/// Asserts that the task ended as denied: nothing was sent, no approval is pending, and the call is logged
/// once.
async fn assert_denied(api: &Client, upstream: &Upstream, id: &str) {
    let ended = wait_for_status(api, id, "failed").await;
    assert_eq!(ended["result"]["error"]["kind"], "Denied", "{ended}");
    assert_eq!(ended["result"]["error"]["message"], "pay was not approved: no");
    assert_eq!(ended["deadLetter"], false);
    assert!(items(&api.get("/api/approvals").await).is_empty());
    assert!(upstream.seen().is_empty(), "nothing was sent");
    let call = ended["callId"].as_str().expect("an id").to_owned();
    eventually("the denial is logged", async || {
        let rows = items(&api.get("/api/tool-calls?kind=Denied").await);
        rows.iter().filter(|row| row["callId"] == call.as_str()).count() == 1
    })
    .await;
}

#[tokio::test]
async fn denial_holds_after_any_change_of_the_tool() {
    let (_server, api) = start(&[]).await;
    let (upstream, tool) = payment_tool().await;
    make(&api, tool.clone()).await;
    let patch = async |change: Value| {
        let changed = api.send_json(Method::PATCH, "/api/tools/pay", &change).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    };
    for change in [
        json!({"description": "Pays more."}),
        json!({"askWhen": "amount > 1000"}),
        json!({"askWhen": null, "policy": "allow"}),
        json!({"policy": "block"}),
        json!({"policy": "ask", "inputSchema": {"type": "object", "required": ["account"]}}),
        json!({"inputSchema": tool["inputSchema"], "description": "Pays."}),
    ] {
        restore_tool(&api, &tool).await;
        let id = waiting_payment(&api).await;
        patch(change).await;
        let denied = decide(&api, &id, json!({"decision": "deny", "note": "no"})).await;
        assert_eq!(denied.status, 200, "{}", denied.body);
        assert_denied(&api, &upstream, &id).await;
    }
    // The denial also holds after the tool is removed.
    restore_tool(&api, &tool).await;
    let id = waiting_payment(&api).await;
    let removed = api.delete("/api/tools/pay").await;
    assert!(removed.status < 300, "{}", removed.body);
    assert_eq!(decide(&api, &id, json!({"decision": "deny", "note": "no"})).await.status, 200);
    assert_denied(&api, &upstream, &id).await;
}

#[tokio::test]
async fn denied_task_cannot_be_retried() {
    let (_server, api) = start(&[]).await;
    let (upstream, tool) = payment_tool().await;
    make(&api, tool).await;
    let id = waiting_payment(&api).await;
    assert_eq!(decide(&api, &id, json!({"decision": "deny", "note": "no"})).await.status, 200);
    assert_denied(&api, &upstream, &id).await;
    let retry = format!("/api/tasks/{id}/retry");
    let refused = api.post(&retry, &json!({})).await;
    assert_eq!((refused.status, refused.kind()), (409, "Conflict"), "{}", refused.body);
    assert_eq!(refused.message(), "A person denied pay, so the task cannot be retried. Make a new call.");
    let chinese = api.with("accept-language", "zh").post(&retry, &json!({})).await;
    assert_eq!(chinese.message(), "pay 已被人工拒绝，任务无法重试；请重新发起调用");
    assert_denied(&api, &upstream, &id).await;
}

#[tokio::test]
async fn task_whose_approval_expired_can_be_retried() {
    let (_server, api) = start(&[]).await;
    let (_upstream, tool) = payment_tool().await;
    make(&api, tool).await;
    let body = json!({"arguments": {"amount": 500}, "options": {"approvalTimeout": 1}});
    let id = accepted_task(&execute(&api, "pay", body).await);
    assert_eq!(wait_for_status(&api, &id, "failed").await["result"]["error"]["kind"], "Denied");
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
}

/// Restores the given version of the tool.
async fn restore_tool(api: &Client, tool: &Value) {
    let put = api.put("/api/tools/pay", tool).await;
    assert!(put.status < 300, "{}", put.body);
}

#[tokio::test]
async fn approval_of_an_older_version_requests_another_with_a_notice() {
    let (_server, api) = start(&[]).await;
    let (upstream, tool) = payment_tool().await;
    make(&api, tool).await;
    let id = waiting_payment(&api).await;
    let path = format!("/api/approvals/{id}");
    assert_eq!(api.get(&path).await.data()["notice"], Value::Null);
    for description in ["Pays more.", "Pays most."] {
        let changed =
            api.send_json(Method::PATCH, "/api/tools/pay", &json!({"description": description})).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
    }
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 200);
    eventually("version 3 waits for an approval", async || api.get(&path).await.data()["version"] == 3).await;
    let notice = "The tool changed to version 3 after version 1 was approved, so it needs another approval.";
    assert_eq!(api.get(&path).await.data()["notice"], notice);
    assert_eq!(items(&api.get("/api/approvals").await)[0]["notice"], notice);
    let chinese = api.with("accept-language", "zh").get(&path).await;
    assert_eq!(chinese.data()["notice"], "版本 1 获批后，工具已更改为版本 3，因此再次询问");
    // A page that still shows version 1 approves nothing, but its denial counts.
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 1})).await.status, 409);
    assert!(upstream.seen().is_empty());
    let denied = decide(&api, &id, json!({"decision": "deny", "version": 1, "note": "no"})).await;
    assert_eq!(denied.status, 200, "{}", denied.body);
    assert_denied(&api, &upstream, &id).await;
}

#[tokio::test]
async fn new_version_waits_for_an_approval_with_the_edited_arguments() {
    let (_server, api) = start(&[]).await;
    let (upstream, tool) = payment_tool().await;
    assert!(api.put("/api/secrets/key", &json!({"value": "s3cr3t-value"})).await.status < 300);
    let (plain, mut secret) = (tool.clone(), tool);
    secret["headers"] = json!({"X-Key": "secret://key"});
    secret["params"]["text"] = json!("{{text}}");
    secret["inputSchema"]["properties"]["text"] = json!({"type": "string"});
    make(&api, plain.clone()).await;
    // The second decision has no arguments, or sends back the arguments that the approval shows.
    for (tool, edit, shown, is_sent_back) in [
        (&plain, json!({"amount": 50}), json!({"amount": 50}), false),
        (&plain, json!({"amount": 50}), json!({"amount": 50}), true),
        (&secret, json!({"amount": 50, "text": "s3cr3t-value"}), json!({"amount": 50, "text": "***"}), true),
    ] {
        restore_tool(&api, tool).await;
        let id = waiting_payment(&api).await;
        let path = format!("/api/approvals/{id}");
        let version = api.get(&path).await.data()["version"].as_u64().expect("a version");
        let change = json!({"description": format!("Pays, after version {version}.")});
        assert_eq!(api.send_json(Method::PATCH, "/api/tools/pay", &change).await.status, 200);
        let approved =
            decide(&api, &id, json!({"decision": "approve", "version": version, "arguments": edit})).await;
        assert_eq!(approved.status, 200, "{}", approved.body);
        let next = version + 1;
        eventually("the new version waits for an approval", async || {
            api.get(&path).await.data()["version"] == next
        })
        .await;
        let asked = api.get(&path).await;
        assert_eq!(asked.data()["arguments"], shown, "{}", asked.body);
        let notice = format!(
            "The tool changed to version {next} after version {version} was approved, so it needs another approval."
        );
        assert_eq!(asked.data()["notice"], notice.as_str());
        let before = upstream.seen().len();
        let mut decision = json!({"decision": "approve", "version": next});
        if is_sent_back {
            decision["arguments"] = shown;
        }
        assert_eq!(decide(&api, &id, decision).await.status, 200);
        wait_for_status(&api, &id, "succeeded").await;
        let seen = upstream.seen();
        assert_eq!((seen.len(), seen[before].json()), (before + 1, edit));
    }
}

#[tokio::test]
async fn edit_that_the_new_version_refuses_is_dropped_with_a_notice() {
    let (_server, api) = start(&[]).await;
    let upstream = Upstream::start(|_| json_reply(400, &json!({}))).await;
    let (_, mut tool) = payment_tool().await;
    tool["url"] = json!(upstream.url("/"));
    make(&api, tool).await;
    let id = waiting_payment(&api).await;
    let edited = json!({"decision": "approve", "arguments": {"amount": 50}});
    assert_eq!(decide(&api, &id, edited).await.status, 200);
    wait_for_status(&api, &id, "failed").await;
    let schema = json!({"type": "object", "properties": {"amount": {"type": "number", "minimum": 100}}});
    let changed = api.send_json(Method::PATCH, "/api/tools/pay", &json!({"inputSchema": schema})).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(api.post(&format!("/api/tasks/{id}/retry"), &json!({})).await.status, 200);
    wait_for_status(&api, &id, "waiting").await;
    let path = format!("/api/approvals/{id}");
    let asked = api.get(&path).await;
    assert_eq!(asked.data()["arguments"], json!({"amount": 500}), "{}", asked.body);
    let notice = "The tool changed to version 2 after version 1 was approved. Version 2 does not accept the edited \
                  arguments, so the original arguments need another approval.";
    assert_eq!(asked.data()["notice"], notice);
    let chinese = api.with("accept-language", "zh").get(&path).await;
    let notice = "版本 1 获批后，工具已更改为版本 2。版本 2 不接受修改后的参数，因此以原参数再次询问";
    assert_eq!(chinese.data()["notice"], notice);
    assert_eq!(decide(&api, &id, json!({"decision": "approve", "version": 2})).await.status, 200);
    wait_for_status(&api, &id, "failed").await;
    let sent: Vec<Value> = upstream.seen().iter().map(|seen| seen.json()).collect();
    assert_eq!(sent, [json!({"amount": 50}), json!({"amount": 500})]);
}

#[tokio::test]
async fn denial_from_the_command_line_holds_for_a_tool_that_apply_changed() {
    let desk = Desk::new("denials").await;
    let (upstream, mut tool) = payment_tool().await;
    make(&desk.api, tool.clone()).await;
    let id = waiting_payment(&desk.api).await;
    tool["description"] = json!("Pays more.");
    let file = desk.write("pay.json", &tool.to_string());
    let applied = worked(desk.haft(&["apply", "-f", &file]).await);
    assert_eq!(applied.stderr, "1 updated\n");
    worked(desk.haft(&["approvals", "deny", &id, "--note", "no"]).await);
    assert_denied(&desk.api, &upstream, &id).await;
    // Approving an older version requests another approval, and the list gives the reason.
    let id = waiting_payment(&desk.api).await;
    tool["description"] = json!("Pays most.");
    let file = desk.write("pay.json", &tool.to_string());
    worked(desk.haft(&["apply", "-f", &file]).await);
    worked(desk.haft(&["approvals", "approve", &id]).await);
    eventually("the list says that the tool changed", async || {
        let listed = worked(desk.haft(&["approvals"]).await).stdout;
        listed.contains("The tool changed to version 3 after version 2 was approved")
    })
    .await;
    assert!(upstream.seen().is_empty());
}
