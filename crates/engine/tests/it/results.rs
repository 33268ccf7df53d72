//! Results that callers get, for successful, failed and rejected calls.

use haft_engine::{CallOptions, ErrorKind, Locale, Policy, Tool};
use serde_json::json;

use crate::support::{builder, call, call_with, failed, failing, mock};

#[tokio::test]
async fn a_success_has_the_documented_form() {
    let tools = builder().build();
    tools.register(mock(json!([{"data": {"temperature": 20}}]))).expect("registered");
    let options = CallOptions::default().call_id("call_7".parse().expect("an id"));
    let mut result = call_with(&tools, json!({}), options).await;
    result.execution_time = std::time::Duration::from_millis(245);
    assert_eq!(
        serde_json::to_value(&result).expect("written"),
        json!({"success": true, "data": {"temperature": 20}, "callId": "call_7", "toolName": "t",
               "executionTime": 245, "attempts": 1, "cached": false})
    );
}

#[tokio::test]
async fn a_failure_is_a_result() {
    let tools = builder().build();
    let schema = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    tools.register(mock(json!([])).input_schema(schema)).expect("registered");
    let result = call(&tools, json!({})).await;
    let written = serde_json::to_value(&result).expect("written");
    assert_eq!(written["success"], false);
    assert_eq!(
        written["error"],
        json!({"kind": "Validation", "message": "Invalid inputs: city: is required", "retryable": false,
               "details": {"errors": [{"path": "city", "message": "is required", "id": "required"}]}})
    );
    assert_eq!(written["attempts"], 0, "nothing was tried");
    assert_eq!(
        serde_json::to_value(result.localized(Locale::Zh)).expect("written")["error"]["message"],
        "输入无效：city: 是必填项"
    );
}

#[tokio::test]
async fn an_unknown_tool_is_reported_with_similar_names() {
    let tools = builder().build();
    for name in ["weather_now", "weather_week", "calculator"] {
        tools.register(Tool::new(name, "A mock.", "mock", json!({}))).expect("registered");
    }
    let result = tools.execute("weather", json!({}), CallOptions::default()).await.expect("an answer");
    let (kind, message) = failed(&result);
    assert_eq!(kind, ErrorKind::NotFound);
    assert_eq!(message, "there is no tool weather; did you mean weather_now, weather_week?");
    let details = result.error().expect("a failure").details(Locale::En);
    assert_eq!(details["what"], "tool");
    assert_eq!(details["closest"], json!(["weather_now", "weather_week"]));
    assert_eq!(&*result.tool_name, "weather");
}

#[tokio::test]
async fn an_inactive_tool_is_rejected() {
    let tools = builder().build();
    tools.register(mock(json!([])).inactive()).expect("registered");
    assert_eq!(
        failed(&call(&tools, json!({})).await),
        (ErrorKind::ToolDisabled, "t is switched off".to_owned())
    );
}

#[tokio::test]
async fn policy_decides_and_a_binding_can_only_tighten_it() {
    let kind_of = async |tool: Option<Policy>, bound: Option<Policy>| {
        let tools = builder().build();
        let definition = mock(json!([{"data": 1}]));
        tools
            .register(match tool {
                Some(policy) => definition.policy(policy),
                None => definition,
            })
            .expect("registered");
        let binding = haft_engine::Binding {
            policy: haft_engine::PolicyRule::read(bound, None).expect("a rule"),
            ..Default::default()
        };
        let result = call_with(&tools, json!({}), CallOptions::default().binding(binding.into())).await;
        result.error().map(|error| (error.kind(), error.message().id()))
    };
    let blocked = Some((ErrorKind::Denied, "policy.blocked"));
    let asks = Some((ErrorKind::Denied, "policy.needsApproval"));
    assert_eq!(kind_of(None, None).await, None);
    assert_eq!(kind_of(Some(Policy::Allow), None).await, None);
    assert_eq!(kind_of(Some(Policy::Block), None).await, blocked);
    assert_eq!(kind_of(Some(Policy::Ask), None).await, asks);
    assert_eq!(kind_of(None, Some(Policy::Block)).await, blocked);
    assert_eq!(kind_of(Some(Policy::Block), Some(Policy::Allow)).await, blocked);
    assert_eq!(kind_of(Some(Policy::Ask), Some(Policy::Allow)).await, asks);
}

#[tokio::test]
async fn arguments_are_checked_before_policy_and_policy_before_anything_runs() {
    let tools = builder().build();
    let schema = json!({"type": "object", "required": ["a"]});
    tools.register(mock(json!([])).input_schema(schema).policy(Policy::Block)).expect("registered");
    assert_eq!(failed(&call(&tools, json!({})).await).0, ErrorKind::Validation);
    assert_eq!(failed(&call(&tools, json!({"a": 1})).await).0, ErrorKind::Denied);
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_runs_nothing() {
    let tools = builder().build();
    let schema = json!({"type": "object", "required": ["a"], "properties": {"b": {"default": 2}}});
    tools.register(mock(json!([failing("Server")])).input_schema(schema)).expect("registered");
    let result = call_with(&tools, json!({"a": 1}), CallOptions::default().dry_run()).await;
    assert_eq!(result.data(), Some(&json!({"tool": "t", "arguments": {"a": 1, "b": 2}})));
    assert_eq!(result.attempts, 0);
    let refused = call_with(&tools, json!({}), CallOptions::default().dry_run()).await;
    assert_eq!(failed(&refused).0, ErrorKind::Validation);
}

#[tokio::test]
async fn options_have_the_limits_of_the_fields() {
    let tools = builder().build();
    tools.register(mock(json!([{"data": 1}]))).expect("registered");
    for (options, field) in [
        (CallOptions::default().timeout_ms(0), "options.timeout: 0 is not between 1 and 600000"),
        (CallOptions::default().timeout_ms(600_001), "options.timeout: 600001 is not between 1 and 600000"),
        (CallOptions::default().retries(11), "options.retries: 11 is not between 0 and 10"),
    ] {
        let result = call_with(&tools, json!({}), options).await;
        assert_eq!(failed(&result), (ErrorKind::Validation, format!("Invalid inputs: {field}")));
    }
}

#[tokio::test]
async fn strict_validation_does_not_coerce() {
    let tools = builder().build();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    tools.register(mock(json!([])).input_schema(schema)).expect("registered");
    assert_eq!(call(&tools, json!({"n": "3"})).await.data(), Some(&json!({"n": 3})));
    let strict = call_with(&tools, json!({"n": "3"}), CallOptions::default().strict()).await;
    assert_eq!(failed(&strict).1, "Invalid inputs: n: \"3\" is not of type \"integer\"");
}
