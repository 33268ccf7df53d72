//! The built-in `stop_response`: ends the agent's turn with a text.

use haft_core::builtin::Builtin;
use haft_core::tool::Title;
use haft_core::{Arguments, BoxFuture, CallContext, CallError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

pub(crate) struct StopResponse;

impl Builtin for StopResponse {
    fn spec(&self) -> ToolSpec {
        let about =
            "Ends the turn with this message as the answer. Use it when nothing more is to be done or said.";
        let mut spec = crate::spec("stop_response", about);
        spec.description_zh = Some("以这条消息作为回答并结束本轮。当没有更多要做或要说的事情时使用。");
        spec.title = Some(Title::Localized { en: "Stop".to_owned(), zh: "结束回答".to_owned() });
        spec.icon = Some("octagon".to_owned());
        spec.category = Some("utility".to_owned());
        spec.input_schema = Some(json!({
            "type": "object",
            "properties": {"message": {"type": "string", "maxLength": 100_000, "description": "The final message for the user."}},
            "required": ["message"],
            "additionalProperties": false,
        }));
        spec.output_schema = Some(json!({
            "type": "object",
            "properties": {"message": {"type": "string"}, "control": {"const": "stop"}},
            "required": ["message", "control"],
        }));
        spec
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        Box::pin(std::future::ready(Ok(json!({"message": message, "control": "stop"}).into())))
    }
}
