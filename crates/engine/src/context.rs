//! The tool-call context of one conversation: its tool definitions, calls and results.
//!
//! Listeners are notified of every result. A listener that fails or panics is logged and does not affect the
//! others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use haft_core::schema::any_arguments;
use haft_core::timestamp::rfc3339;
use haft_core::{CallId, Locale, ToolExecutionResult, ToolName, ToolSpec};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::lock::lock;

/// A tool of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextTool {
    pub name: ToolName,
    pub description: String,
    pub parameters: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(rename = "async")]
    pub run_async: bool,
}

impl From<&ToolSpec> for ContextTool {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.input_schema.clone().unwrap_or_else(any_arguments),
            output_schema: spec.output_schema.clone(),
            run_async: spec.run_async,
        }
    }
}

/// A call requested by the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub call_id: CallId,
    /// The name as the model wrote it; there may be no such tool.
    pub name: String,
    pub arguments: Value,
    /// The step of the conversation, from 1.
    pub step: u32,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    pub at: Timestamp,
}

/// The state of a call.
#[derive(Debug, Clone)]
pub enum ToolCallResult {
    Done(ToolExecutionResult),
    /// The call runs as a task; its result is set when the task ends.
    Pending {
        call_id: CallId,
        tool_name: Arc<str>,
        task_id: String,
    },
}

impl ToolCallResult {
    fn call_id(&self) -> &CallId {
        match self {
            Self::Done(result) => &result.call_id,
            Self::Pending { call_id, .. } => call_id,
        }
    }
}

/// Receives results of calls.
pub trait ToolCallListener: Send + Sync {
    fn on_tool_call(&self, result: &ToolExecutionResult) -> anyhow::Result<()>;
}

impl<F: Fn(&ToolExecutionResult) -> anyhow::Result<()> + Send + Sync> ToolCallListener for F {
    fn on_tool_call(&self, result: &ToolExecutionResult) -> anyhow::Result<()> {
        self(result)
    }
}

/// The listeners of a context. A listener that fails or panics is logged and does not affect the others.
#[derive(Default)]
pub struct Listeners(Mutex<Vec<Arc<dyn ToolCallListener>>>);

impl Listeners {
    pub fn add(&self, listener: impl ToolCallListener + 'static) {
        lock(&self.0).push(Arc::new(listener));
    }

    pub fn notify(&self, result: &ToolExecutionResult) {
        // A listener may add others, so the lock is not held while listeners run.
        let listeners = lock(&self.0).clone();
        for listener in listeners {
            let (call, tool) = (&result.call_id, &result.tool_name);
            match catch_unwind(AssertUnwindSafe(|| listener.on_tool_call(result))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(call.id = %call, tool.name = %tool, %error, "A tool-call listener failed");
                }
                Err(_) => {
                    tracing::error!(call.id = %call, tool.name = %tool, "A tool-call listener panicked");
                }
            }
        }
    }
}

/// The tools, calls and results of one conversation. Thread-safe.
#[derive(Default)]
pub struct ToolCallContext {
    state: Mutex<State>,
    listeners: Listeners,
}

#[derive(Default)]
struct State {
    definitions: Vec<ContextTool>,
    calls: Vec<ToolCall>,
    results: Vec<(u32, Timestamp, ToolCallResult)>,
}

impl ToolCallContext {
    pub fn set_tool_definitions(&self, definitions: Vec<ContextTool>) {
        lock(&self.state).definitions = definitions;
    }

    pub fn set_tool_calls(&self, calls: Vec<ToolCall>) {
        lock(&self.state).calls = calls;
    }

    /// Sets the result of a call, replacing an earlier one. Listeners are notified of results, not of pending
    /// calls.
    pub fn set_tool_call_result(&self, step: u32, at: Timestamp, result: ToolCallResult) {
        let mut state = lock(&self.state);
        let row = (step, at, result.clone());
        match state.results.iter_mut().find(|(_, _, earlier)| earlier.call_id() == result.call_id()) {
            Some(earlier) => *earlier = row,
            None => state.results.push(row),
        }
        drop(state);
        if let ToolCallResult::Done(result) = &result {
            self.listeners.notify(result);
        }
    }

    pub fn add_listener(&self, listener: impl ToolCallListener + 'static) {
        self.listeners.add(listener);
    }

    /// Returns the context as JSON in one language: `{toolDefinitions, toolCalls, toolResults}`.
    pub fn to_json(&self, locale: Locale) -> Value {
        let state = lock(&self.state);
        let results = state.results.iter().map(|(step, at, result)| {
            let (mut row, status) = match result {
                ToolCallResult::Done(result) => (json!(result.localized(locale)), "done"),
                ToolCallResult::Pending { call_id, tool_name, task_id } => {
                    (json!({"callId": call_id, "toolName": tool_name, "taskId": task_id}), "pending")
                }
            };
            row["step"] = json!(step);
            row["at"] = json!(rfc3339(*at));
            row["status"] = json!(status);
            row
        });
        json!({
            "toolDefinitions": state.definitions,
            "toolCalls": state.calls,
            "toolResults": results.collect::<Vec<_>>(),
        })
    }
}
