//! Tools as models see them, and the parts of a response that are tool calls, in every dialect.

mod date;
mod echoed_key;
mod last_response;
mod many_calls;
mod operations;
mod prose;
mod search;

use haft_testkit::{Client, FakeDialect, ModelServer};
use serde_json::{Value, json};

/// Adds a provider for the model server of a test, in a dialect. Returns the provider's name.
async fn provider(api: &Client, model: &ModelServer, dialect: FakeDialect, more: Value) -> String {
    let name = format!("own-{}", dialect.kind());
    let mut provider = json!({
        "name": name, "kind": dialect.kind(), "baseUrl": model.base(dialect), "apiKey": "sk-own-key-0123456789",
    });
    for (field, value) in more.as_object().expect("an object") {
        provider[field] = value.clone();
    }
    let made = api.post("/api/providers", &provider).await;
    assert_eq!(made.status, 201, "{}", made.body);
    name
}
