//! What Ollama tells of a model: every one of these was made for the same number of tokens.

use serde_json::{Value, json};

use crate::model::rules::{Checked, filled, object};

/// So many tokens each of its models reads and writes in all.
pub const OLLAMA_CONTEXT: u32 = 20_480;

pub(in crate::model) fn shown(body: &Value) -> Checked<Value> {
    object(body, "the request")?;
    filled(&body["model"], "model is required")?;
    let info =
        json!({"general.architecture": "test", "test.context_length": OLLAMA_CONTEXT, "test.block_count": 4});
    Ok(json!({
        "modelfile": "FROM test", "parameters": "stop                           \"<|end|>\"",
        "details": {"family": "test"}, "model_info": info, "capabilities": ["completion", "tools"],
    }))
}
