//! Built-in tools that are a list of small pure operations: `operation` decides which other fields exist.

use haft_core::builtin::Builtin;
use haft_core::tool::Title;
use haft_core::{Arguments, BoxFuture, CallContext, CallError, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

/// One operation: its own fields, and what it does.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// JSON Schemas of the fields beside `operation`.
    pub(crate) fields: fn() -> Value,
    pub(crate) required: &'static [&'static str],
    pub(crate) run: fn(&Arguments) -> Result<Value, CallError>,
}

/// A tool made of operations.
pub(crate) struct Operations {
    pub(crate) name: &'static str,
    pub(crate) title: (&'static str, &'static str),
    pub(crate) icon: &'static str,
    pub(crate) about: &'static str,
    pub(crate) operations: &'static [Operation],
}

impl Builtin for Operations {
    fn spec(&self) -> ToolSpec {
        let forms: Vec<Value> = self.operations.iter().map(Operation::form).collect();
        let names: Vec<&str> = self.operations.iter().map(|operation| operation.name).collect();
        let (en, zh) = self.title;
        let mut spec = crate::spec(self.name, self.about);
        spec.title = Some(Title::Localized { en: en.to_owned(), zh: zh.to_owned() });
        spec.icon = Some(self.icon.to_owned());
        spec.category = Some("utility".to_owned());
        spec.input_schema = Some(json!({"type": "object", "oneOf": forms}));
        spec.output_schema = Some(json!({
            "type": "object",
            "required": ["operation", "result"],
            "properties": {"operation": {"enum": names}, "result": {"description": "What the operation gives."}},
        }));
        spec
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let wanted = arguments.get("operation").and_then(Value::as_str).unwrap_or_default();
        let found = self.operations.iter().find(|operation| operation.name == wanted);
        let answer = match found {
            Some(operation) => (operation.run)(arguments),
            None => Err(crate::failed(format!("Unknown operation: {wanted}"))),
        };
        let answer = answer.map(|result| json!({"operation": wanted, "result": result}).into());
        Box::pin(std::future::ready(answer))
    }
}

impl Operation {
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
