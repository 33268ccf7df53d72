//! Rust functions as tools: sync and async, with and without context, and their errors.

use std::time::Duration;

use haft_engine::{CallContext, CallError, CallOptions, ErrorKind, Tool, ToolService};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, schemars::JsonSchema)]
struct Greeting {
    name: String,
    #[serde(default)]
    times: u8,
}

#[derive(Serialize)]
struct Greeted {
    text: String,
}

async fn result_of(tool: Tool, arguments: Value) -> Result<Value, (ErrorKind, String)> {
    let tools = ToolService::builder().build();
    let name = tools.register(tool).expect("registered").spec.name.clone();
    let result = tools
        .execute(name.as_str(), arguments, CallOptions::default())
        .await
        .expect("the engine itself works");
    match result.outcome {
        Ok(data) => Ok(Value::clone(&data)),
        Err(error) => Err((error.kind(), error.message().to_string())),
    }
}

fn greet_now(greeting: Greeting) -> anyhow::Result<Greeted> {
    Ok(Greeted { text: format!("hello {}", greeting.name.repeat(greeting.times.max(1).into())) })
}

async fn greet_later(greeting: Greeting) -> anyhow::Result<Greeted> {
    tokio::task::yield_now().await;
    greet_now(greeting)
}

#[tokio::test]
async fn sync_and_async_functions_and_closures_are_tools() {
    let expected = Ok(json!({"text": "hello AdaAda"}));
    let arguments = json!({"name": "Ada", "times": "2"});
    assert_eq!(result_of(Tool::native("g", "Greets.", greet_now), arguments.clone()).await, expected);
    assert_eq!(result_of(Tool::native("g", "Greets.", greet_later), arguments.clone()).await, expected);
    let closure = Tool::native("g", "Greets.", |greeting: Greeting| async move { greet_now(greeting) });
    assert_eq!(result_of(closure, arguments.clone()).await, expected);
    let closure = Tool::native("g", "Greets.", |greeting: Greeting| greet_now(greeting));
    assert_eq!(result_of(closure, arguments).await, expected);
}

#[tokio::test]
async fn a_function_may_ask_for_its_context() {
    let tool = Tool::native_with("g", "Greets.", |greeting: Greeting, context: CallContext| async move {
        Ok(json!([greeting.name, context.tool(), context.attempt()]))
    });
    assert_eq!(result_of(tool, json!({"name": "Ada"})).await, Ok(json!(["Ada", "g", 1])));
    let tool =
        Tool::native_with("g", "Greets.", |greeting: Greeting, _: CallContext| Ok(json!(greeting.name)));
    assert_eq!(result_of(tool, json!({"name": "Ada"})).await, Ok(json!("Ada")));
    let tool = Tool::native_json("g", "Any.", json!({"type": "object"}), |arguments, context| async move {
        Ok(json!([arguments, context.tool()]))
    });
    assert_eq!(result_of(tool, json!({"x": 1})).await, Ok(json!([{"x": 1}, "g"])));
}

#[tokio::test]
async fn arguments_are_validated_by_the_schema_of_their_type() {
    let error =
        result_of(Tool::native("g", "Greets.", greet_now), json!({"times": 300})).await.expect_err("refused");
    assert_eq!(error.0, ErrorKind::Validation);
    assert_eq!(error.1, "Invalid inputs: name: is required, times: 300 is greater than the maximum of 255");
}

#[tokio::test]
async fn a_call_error_has_its_kind_and_others_are_execution_errors() {
    let plain = Tool::native_json("g", "Fails.", json!({}), |_, _| async move {
        let number: i32 = "x".parse()?;
        Ok(json!(number))
    });
    assert_eq!(
        result_of(plain, json!({})).await,
        Err((ErrorKind::Execution, "invalid digit found in string".to_owned()))
    );
    let typed = Tool::native_json("g", "Fails.", json!({}), |_, _| async move {
        Err::<Value, _>(CallError::text(ErrorKind::Permission, "not you").into())
    });
    assert_eq!(result_of(typed, json!({})).await, Err((ErrorKind::Permission, "not you".to_owned())));
    let bailing = Tool::native_json("g", "Fails.", json!({}), |_, _| -> anyhow::Result<Value> {
        anyhow::bail!("no luck")
    });
    assert_eq!(result_of(bailing, json!({})).await, Err((ErrorKind::Execution, "no luck".to_owned())));
    let unwritable = Tool::native_json("g", "Fails.", json!({}), |_, _| async move {
        Ok(std::collections::HashMap::from([((1, 2), 3)]))
    });
    assert_eq!(result_of(unwritable, json!({})).await.expect_err("no such JSON").0, ErrorKind::Execution);
}

#[tokio::test]
async fn a_blocking_function_times_out_and_panics_like_any_other() {
    let slow = Tool::native_json("g", "Blocks.", json!({}), |_, _| {
        std::thread::sleep(Duration::from_millis(300));
        Ok(json!(null))
    });
    assert_eq!(result_of(slow.timeout_ms(20), json!({})).await.expect_err("late").0, ErrorKind::Timeout);
    let panics =
        Tool::native_json("g", "Panics.", json!({}), |_, _| -> anyhow::Result<Value> { panic!("oh no") });
    assert_eq!(
        result_of(panics, json!({})).await,
        Err((ErrorKind::Execution, "g stopped unexpectedly: oh no".to_owned()))
    );
}

#[tokio::test]
async fn an_invalid_native_definition_is_rejected_with_all_errors() {
    let tools = ToolService::builder().build();
    let bad =
        Tool::native_json("no spaces", "", json!({"type": "object"}), |_, _| async move { Ok(json!(1)) });
    let error = tools.register(bad.timeout_ms(0)).expect_err("refused");
    let paths: Vec<&str> = error.violations().iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["name", "description", "timeout"]);
    let bad = Tool::native_json("g", "Bad.", json!({"type": "array"}), |_, _| async move { Ok(json!(1)) });
    let error = tools.register(bad.output_schema(json!({"type": "strng"}))).expect_err("refused");
    let paths: Vec<&str> = error.violations().iter().map(|violation| violation.path.as_str()).collect();
    assert_eq!(paths, ["inputSchema.type", "outputSchema.type"]);
}
