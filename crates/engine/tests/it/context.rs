//! The tool-call context of a conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_engine::context::{ContextTool, ToolCall, ToolCallContext, ToolCallResult};
use haft_engine::{Locale, ToolExecutionResult};
use jiff::Timestamp;
use serde_json::json;

use crate::support::{builder, mock};

fn result(id: &str) -> ToolExecutionResult {
    ToolExecutionResult {
        call_id: id.parse().expect("an id"),
        tool_name: "t".into(),
        outcome: Ok(Arc::new(json!({"n": 1}))),
        execution_time: Duration::from_millis(5),
        attempts: 1,
        cached: false,
    }
}

#[test]
fn it_contains_definitions_calls_and_results() {
    let tools = builder().build();
    let added = tools.register(mock(json!([])).run_async()).expect("registered");
    let context = ToolCallContext::default();
    let at = Timestamp::UNIX_EPOCH;
    context.set_tool_definitions(vec![ContextTool::from(&added.spec)]);
    context.set_tool_calls(vec![ToolCall {
        call_id: "c1".parse().expect("an id"),
        name: "t".to_owned(),
        arguments: json!({"a": 1}),
        step: 1,
        at,
    }]);
    let pending = ToolCallResult::Pending {
        call_id: "c1".parse().expect("an id"),
        tool_name: "t".into(),
        task_id: "r1".to_owned(),
    };
    context.set_tool_call_result(1, at, pending);
    let shown = context.to_json(Locale::En);
    assert_eq!(
        shown["toolDefinitions"],
        json!([{"name": "t", "description": "A mock.", "parameters": {"type": "object", "properties": {}}, "async": true}])
    );
    assert_eq!(
        shown["toolCalls"],
        json!([{"callId": "c1", "name": "t", "arguments": {"a": 1}, "step": 1, "at": "1970-01-01T00:00:00.000Z"}])
    );
    assert_eq!(
        shown["toolResults"],
        json!([{"callId": "c1", "toolName": "t", "taskId": "r1", "step": 1, "at": "1970-01-01T00:00:00.000Z", "status": "pending"}])
    );
    context.set_tool_call_result(2, at, ToolCallResult::Done(result("c1")));
    context.set_tool_call_result(2, at, ToolCallResult::Done(result("c2")));
    let results = &context.to_json(Locale::En)["toolResults"];
    assert_eq!(results.as_array().map(Vec::len), Some(2), "the result took the place of the pending one");
    assert_eq!(
        results[0],
        json!({"success": true, "data": {"n": 1}, "callId": "c1", "toolName": "t", "executionTime": 5, "attempts": 1,
               "cached": false, "step": 2, "at": "1970-01-01T00:00:00.000Z", "status": "done"})
    );
}

#[test]
fn a_listener_that_fails_or_panics_does_not_affect_the_others() {
    let context = Arc::new(ToolCallContext::default());
    let heard = Arc::new(AtomicU32::new(0));
    context.add_listener(|_: &ToolExecutionResult| anyhow::bail!("no"));
    context.add_listener(|_: &ToolExecutionResult| panic!("oh no"));
    let (count, inner) = (heard.clone(), context.clone());
    context.add_listener(move |_: &ToolExecutionResult| {
        count.fetch_add(1, Ordering::Relaxed);
        // A listener may use its context.
        assert!(inner.to_json(Locale::En)["toolResults"].is_array());
        Ok(())
    });
    context.set_tool_call_result(1, Timestamp::UNIX_EPOCH, ToolCallResult::Done(result("c1")));
    context.set_tool_call_result(1, Timestamp::UNIX_EPOCH, ToolCallResult::Done(result("c2")));
    let pending = ToolCallResult::Pending {
        call_id: "c3".parse().expect("an id"),
        tool_name: "t".into(),
        task_id: "r".to_owned(),
    };
    context.set_tool_call_result(1, Timestamp::UNIX_EPOCH, pending);
    assert_eq!(heard.load(Ordering::Relaxed), 2, "once per result, and not for pending calls");
}
