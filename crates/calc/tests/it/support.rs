//! The calculator in an engine.

use haft_core::Locale;
use haft_core::builtin::BuiltinKind;
use haft_engine::{CallOptions, ErrorKind, ToolService};
use serde_json::{Value, json};

pub(crate) fn engine() -> ToolService {
    ToolService::builder().kind(BuiltinKind::default().with(haft_calc::calculator())).build()
}

/// Data, or kind and message.
pub(crate) async fn evaluate(tools: &ToolService, expression: &str) -> Result<Value, (ErrorKind, String)> {
    let arguments = json!({"expression": expression});
    let result = tools
        .execute("calculator", arguments, CallOptions::default())
        .await
        .expect("the engine itself works");
    match result.outcome {
        Ok(data) => Ok(Value::clone(&data)),
        Err(error) => Err((error.kind(), error.message().render(Locale::En))),
    }
}
