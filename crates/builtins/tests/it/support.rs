//! The built-in tools in an engine.

use std::sync::OnceLock;

use haft_engine::{
    CallOptions, CallRequest, Caller, ErrorKind, Locale, Source, SpaceId, ToolExecutionResult, ToolService,
};
use serde_json::Value;

pub(crate) fn tools() -> &'static ToolService {
    static TOOLS: OnceLock<ToolService> = OnceLock::new();
    TOOLS.get_or_init(|| ToolService::builder().kind(haft_builtins::kind()).build())
}

pub(crate) async fn call(tool: &str, arguments: Value, locale: Locale) -> ToolExecutionResult {
    let tools = tools();
    let caller = Caller {
        space: SpaceId::from(uuid::Uuid::nil()),
        user: None,
        source: Source::Library,
        locale,
        request: None,
    };
    let request = CallRequest { tool: tool.to_owned(), arguments, options: CallOptions::default() };
    tools.call(&caller, request).await.expect("the engine itself works")
}

/// Data, or kind and message, in one language.
pub(crate) async fn call_in(
    tool: &str,
    arguments: Value,
    locale: Locale,
) -> Result<Value, (ErrorKind, String)> {
    match call(tool, arguments, locale).await.outcome {
        Ok(data) => Ok(Value::clone(&data)),
        Err(error) => Err((error.kind(), error.message().render(locale))),
    }
}

/// The result of one operation, or its error message.
pub(crate) async fn run(tool: &str, arguments: Value) -> Result<Value, String> {
    let answer = call_in(tool, arguments, Locale::En).await;
    answer.map(|data| data["result"].clone()).map_err(|(_, message)| message)
}
