//! Tools of several operations: a call ignores properties of other operations, and its record warns of them.

use std::sync::Arc;

use haft_core::builtin::{Builtin, BuiltinKind};
use haft_engine::{
    Arguments, BoxFuture, CallContext, CallError, CallOptions, CallRecord, CallRequest, Caller, ErrorKind,
    KindName, Locale, Source, SpaceId, Tool, ToolExecutionResult, ToolName, ToolOutput, ToolService,
    ToolSpec,
};
use serde_json::{Value, json};

use crate::support::MemorySink;

/// Returns its arguments.
struct Clock;

impl Builtin for Clock {
    fn spec(&self) -> ToolSpec {
        let form = |name: &str, property: &str| {
            json!({
                "properties": {"operation": {"const": name}, property: {"type": "string"}},
                "required": ["operation"], "additionalProperties": false,
            })
        };
        let spec = ToolSpec::new(ToolName::constant("clock"), "Returns the time.", KindName::from("builtin"));
        let schema = json!({"type": "object", "oneOf": [form("now", "zone"), form("diff", "date")]});
        ToolSpec { input_schema: Some(schema), ..spec }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(std::future::ready(Ok(arguments.as_value().clone().into())))
    }
}

fn clock() -> (ToolService, Arc<MemorySink>) {
    let sink = Arc::new(MemorySink::default());
    let tools = ToolService::builder().kind(BuiltinKind::default().with(Clock)).sink(sink.clone()).build();
    (tools, sink)
}

fn caller() -> Caller {
    let space = SpaceId::from(uuid::Uuid::nil());
    Caller { space, user: None, source: Source::Library, locale: Locale::En, request: None }
}

async fn execute(tools: &ToolService, tool: &str, arguments: Value) -> ToolExecutionResult {
    let request = CallRequest { tool: tool.to_owned(), arguments, options: CallOptions::default() };
    tools.call(&caller(), request).await.expect("the engine itself works")
}

/// Returns the names of ignored arguments in a record.
fn ignored(record: &CallRecord) -> Vec<&str> {
    record.warnings.iter().map(|warning| warning.path.as_str()).collect()
}

#[tokio::test]
async fn a_variant_with_a_flat_schema_ignores_properties_of_other_operations() {
    let text = json!({"type": "string"});
    let or = |value: &str| json!({"type": "string", "default": value});
    let (now, date) = (json!({"operation": "now"}), json!({"date": "x"}));
    let both = json!({"operation": "now", "date": "x"});
    for (properties, required, given, on_record, warnings) in [
        (json!({"operation": text, "date": text}), json!([]), &both, &now, vec!["date"]),
        // Properties that a variant requires or fills in are arguments of the variant, but not of the
        // operation.
        (json!({"operation": text, "date": text}), json!(["date"]), &both, &both, vec![]),
        (json!({"operation": text, "date": or("x")}), json!([]), &now, &both, vec![]),
        (json!({"operation": or("now"), "date": text}), json!([]), &date, &both, vec![]),
    ] {
        let (tools, sink) = clock();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let variant = Tool::new("variant", "A variant.", "builtin", json!({"tool": "clock"}))
            .input_schema(schema.clone());
        tools.register(variant).expect("registered");
        let result = execute(&tools, "variant", given.clone()).await;
        assert_eq!(result.data(), Some(&now), "{schema}: {result:?}");
        let mut unknown = both.clone();
        unknown["colour"] = json!("red");
        let result = execute(&tools, "variant", unknown).await;
        assert_eq!(result.error().map(CallError::kind), Some(ErrorKind::Validation), "{schema}: {result:?}");
        tools.close().await;
        let records = sink.records();
        assert_eq!(records[0].arguments.value().as_ref(), Some(on_record), "{schema}");
        assert_eq!(ignored(&records[0]), warnings, "{schema}");
    }
}

#[tokio::test]
async fn a_call_after_its_preflight_warns_of_ignored_arguments() {
    let flat = json!({"type": "object", "properties": {"operation": {"type": "string"}}});
    let variant = || Tool::new("variant", "A variant.", "builtin", json!({"tool": "clock"}));
    let (tools, sink) = clock();
    tools.register(variant().input_schema(flat)).expect("registered");
    for tool in ["clock", "variant"] {
        let given = json!({"operation": "now", "date": "x"});
        let options = CallOptions::default();
        let request = CallRequest { tool: tool.to_owned(), arguments: given, options };
        let foreseen = tools.preflight(&caller(), request).await.expect("let in");
        // Like a task, with the stored arguments.
        let (arguments, options) = (Value::clone(&foreseen.arguments), CallOptions::default().strict());
        let request = CallRequest { tool: tool.to_owned(), arguments, options };
        let result = tools.call(&caller(), request).await.expect("the engine itself works");
        assert_eq!(result.data(), Some(&json!({"operation": "now"})), "{tool}: {result:?}");
    }
    tools.close().await;
    let records = sink.records();
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(ignored(record), ["date"], "{}", record.tool_name);
        assert_eq!(record.arguments.value(), Some(json!({"operation": "now"})), "{}", record.tool_name);
    }
}
