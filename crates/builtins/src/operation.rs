//! Built-in tools that consist of small pure operations: the argument `operation` selects the other fields.

use haft_core::builtin::Builtin;
use haft_core::tool::Title;
use haft_core::{Arguments, BoxFuture, CallContext, CallError, ErrorKind, Message, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

haft_core::templates! {
    UNKNOWN_OPERATION = "builtins.unknownOperation",
        "Unknown operation: {operation}",
        "未知的操作类型: {operation}";
}

/// One operation: its fields and its function.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// JSON Schemas of the fields in addition to `operation`.
    pub(crate) fields: fn() -> Value,
    pub(crate) required: &'static [&'static str],
    pub(crate) run: fn(&Arguments) -> Result<Value, CallError>,
}

/// A tool that consists of operations.
pub(crate) struct Operations {
    pub(crate) name: &'static str,
    pub(crate) title: (&'static str, &'static str),
    pub(crate) icon: &'static str,
    pub(crate) about: &'static str,
    pub(crate) about_zh: &'static str,
    pub(crate) operations: &'static [Operation],
}

impl Builtin for Operations {
    fn spec(&self) -> ToolSpec {
        let forms: Vec<Value> = self.operations.iter().map(Operation::form).collect();
        let names: Vec<&str> = self.operations.iter().map(|operation| operation.name).collect();
        let (en, zh) = self.title;
        let mut spec = crate::spec(self.name, self.about);
        spec.description_zh = Some(self.about_zh);
        spec.title = Some(Title::Localized { en: en.to_owned(), zh: zh.to_owned() });
        spec.icon = Some(self.icon.to_owned());
        spec.category = Some("utility".to_owned());
        spec.input_schema = Some(json!({"type": "object", "oneOf": forms}));
        spec.output_schema = Some(json!({
            "type": "object",
            "required": ["operation", "result"],
            "properties": {"operation": {"enum": names}, "result": {"description": "The result of the operation."}},
        }));
        spec
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move {
            let wanted = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
            let Some(operation) = self.operations.iter().find(|operation| operation.name == wanted) else {
                return Err(crate::failure(Message::new(&UNKNOWN_OPERATION).with("operation", wanted)));
            };
            let result = if operation.is_heavy(arguments) {
                let (run, arguments) = (operation.run, arguments.clone());
                let work = tokio::task::spawn_blocking(move || run(&arguments));
                match work.await {
                    Ok(result) => result?,
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => return Err(CallError::text(ErrorKind::Cancelled, error.to_string())),
                }
            } else {
                (operation.run)(arguments)?
            };
            Ok(json!({"operation": wanted, "result": result}).into())
        })
    }
}

/// Number of values above which an operation runs on a blocking thread.
const HEAVY: usize = 1_000;

/// Operations whose cost does not depend on the size of their arguments.
const SEARCHES: [&str; 3] = ["regexReplace", "match", "query"];

impl Operation {
    fn is_heavy(&self, arguments: &Arguments) -> bool {
        let values = haft_core::json::size(arguments.as_value()).values;
        values > if SEARCHES.contains(&self.name) { HEAVY / 50 } else { HEAVY }
    }

    fn form(&self) -> Value {
        let mut properties = Map::from_iter([("operation".to_owned(), json!({"const": self.name}))]);
        if let Value::Object(fields) = (self.fields)() {
            properties.extend(fields);
        }
        let required: Vec<&str> = ["operation"].into_iter().chain(self.required.iter().copied()).collect();
        json!({
            "title": self.name,
            "description": self.about,
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}
