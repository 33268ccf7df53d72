//! Rules of every task: effects of a denial, permissions and secrets of its user, and results in the call
//! log.

mod callbacks;
mod denials;
mod logged_results;
mod rights;
mod upgrades;

use haft_testkit::{Client, Upstream, json_reply};
use serde_json::{Value, json};

/// An upstream that receives payments, and a tool that needs an approval for each.
async fn payment_tool() -> (Upstream, Value) {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"paid": true}))).await;
    let tool = json!({
        "name": "pay", "description": "Pays.", "url": upstream.url("/"), "method": "POST",
        "params": {"amount": "{{amount}}"}, "policy": "ask",
        "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
    });
    (upstream, tool)
}

fn items(reply: &haft_testkit::TestResponse) -> Vec<Value> {
    reply.data()["items"].as_array().expect("a list").clone()
}

async fn decide(api: &Client, id: &str, decision: Value) -> haft_testkit::TestResponse {
    api.post(&format!("/api/approvals/{id}"), &decision).await
}
