//! What tools promise through the API: circuit breakers, refusals at save, defaults, traces, built-in tools.

mod breaker;
mod built_ins;
mod definitions;
mod traces;

use haft_testkit::{Client, Reply};
use serde_json::{Value, json};

async fn execute(api: &Client, tool: &str, arguments: Value) -> Reply {
    api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
}
