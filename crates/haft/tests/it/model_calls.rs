//! What models are shown of tools, and which of their answers are calls: through every dialect.

mod date;
mod echoed_key;
mod last_answer;
mod many_calls;
mod operations;
mod prose;
mod search;

use haft_testkit::{Client, Dialect, ModelServer};
use serde_json::{Value, json};

/// Adds a provider of a space that asks the model of a test in a dialect; returns its name.
async fn provider(api: &Client, model: &ModelServer, dialect: Dialect, more: Value) -> String {
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
