//! Rules that every task keeps: what a denial ends, whose rights and secrets count, and what the call log knows.

mod callbacks;
mod denials;
mod logged;
mod rights;
mod upgrades;

use haft_testkit::{Client, Upstream, json_reply};
use serde_json::{Value, json};

/// An upstream that counts payments, and a tool that asks a person before each.
async fn paying() -> (Upstream, Value) {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"paid": true}))).await;
    let tool = json!({
        "name": "pay", "description": "Pays.", "url": upstream.url("/"), "method": "POST",
        "params": {"amount": "{{amount}}"}, "policy": "ask",
        "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
    });
    (upstream, tool)
}

fn items(reply: &haft_testkit::Reply) -> Vec<Value> {
    reply.data()["items"].as_array().expect("a list").clone()
}

async fn decide(api: &Client, id: &str, decision: Value) -> haft_testkit::Reply {
    api.post(&format!("/api/approvals/{id}"), &decision).await
}
