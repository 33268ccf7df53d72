//! Promises of tools through the API: circuit breakers, refusals when saving, defaults, traces, built-in
//! tools.

mod breaker;
mod built_ins;
mod definitions;
mod traces;

use haft_testkit::{Client, TestResponse};
use serde_json::{Value, json};

async fn execute(api: &Client, tool: &str, arguments: Value) -> TestResponse {
    api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
}
