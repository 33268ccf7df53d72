//! Ollama's model metadata. Every fake model has the same context length.

use serde_json::{Value, json};

use crate::model::rules::{Checked, filled, object};

/// Context length of each fake Ollama model, in tokens.
pub const OLLAMA_CONTEXT: u32 = 20_480;

/// Validates a request for metadata and builds the response.
pub(in crate::model) fn show_model(body: &Value) -> Checked<Value> {
    object(body, "the request")?;
    filled(&body["model"], "model is required")?;
    let info =
        json!({"general.architecture": "test", "test.context_length": OLLAMA_CONTEXT, "test.block_count": 4});
    Ok(json!({
        "modelfile": "FROM test", "parameters": "stop                           \"<|end|>\"",
        "details": {"family": "test"}, "model_info": info, "capabilities": ["completion", "tools"],
    }))
}
