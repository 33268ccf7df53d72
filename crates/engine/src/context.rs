//! The tool-call context of one conversation: which tools there are, what was called, what came back.
//!
//! Listeners hear of every result. One that fails or panics is logged and stops nobody.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use haft_core::schema::any_arguments;
use haft_core::timestamp::rfc3339;
use haft_core::{CallId, Locale, ToolExecutionResult, ToolName, ToolSpec};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::lock::lock;

/// A tool as the conversation knows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    pub name: ToolName,
    pub description: String,
    pub parameters: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(rename = "async")]
    pub run_async: bool,
}

impl From<&ToolSpec> for ToolDefinition {
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

/// A call that the model asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    pub call_id: CallId,
    /// As the model wrote it; there may be no such tool.
    pub name: String,
    pub arguments: Value,
    /// The step of the conversation, from 1.
    pub step: u32,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    pub at: Timestamp,
}

/// What came of a call, so far.
#[derive(Debug, Clone)]
pub enum ToolCallResult {
    Done(ToolExecutionResult),
    /// The call goes on as a task; its result comes by itself.
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

/// Hears of results.
pub trait ToolCallListener: Send + Sync {
    fn on_tool_call(&self, result: &ToolExecutionResult) -> anyhow::Result<()>;
}

impl<F: Fn(&ToolExecutionResult) -> anyhow::Result<()> + Send + Sync> ToolCallListener for F {
    fn on_tool_call(&self, result: &ToolExecutionResult) -> anyhow::Result<()> {
        self(result)
    }
}

/// Those who hear of results. One that fails or panics is logged and stops nobody.
#[derive(Default)]
pub struct Listeners(Mutex<Vec<Arc<dyn ToolCallListener>>>);

impl Listeners {
    pub fn add(&self, listener: impl ToolCallListener + 'static) {
        lock(&self.0).push(Arc::new(listener));
    }

    pub fn tell(&self, result: &ToolExecutionResult) {
        // Listeners may add others themselves, so no lock is held while they run.
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

/// What one conversation knows of its tools. Shared by reference; every method may be called from anywhere.
#[derive(Default)]
pub struct ToolCallContext {
    known: Mutex<Known>,
    listeners: Listeners,
}

#[derive(Default)]
struct Known {
    definitions: Vec<ToolDefinition>,
    calls: Vec<ToolCall>,
    results: Vec<(u32, Timestamp, ToolCallResult)>,
}

impl ToolCallContext {
    pub fn set_tool_definitions(&self, definitions: Vec<ToolDefinition>) {
        lock(&self.known).definitions = definitions;
    }

    pub fn set_tool_calls(&self, calls: Vec<ToolCall>) {
        lock(&self.known).calls = calls;
    }

    /// Notes what came of a call; a later result of the same call takes the place of the earlier.
    /// Listeners hear of results, not of calls that are still pending.
    pub fn set_tool_call_result(&self, step: u32, at: Timestamp, result: ToolCallResult) {
        let mut known = lock(&self.known);
        let row = (step, at, result.clone());
        match known.results.iter_mut().find(|(_, _, earlier)| earlier.call_id() == result.call_id()) {
            Some(earlier) => *earlier = row,
            None => known.results.push(row),
        }
        drop(known);
        if let ToolCallResult::Done(result) = &result {
            self.listeners.tell(result);
        }
    }

    pub fn add_listener(&self, listener: impl ToolCallListener + 'static) {
        self.listeners.add(listener);
    }

    /// The context as it is shown, in words of one language: `{toolDefinitions, toolCalls, toolResults}`.
    pub fn to_json(&self, locale: Locale) -> Value {
        let known = lock(&self.known);
        let results = known.results.iter().map(|(step, at, result)| {
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
            "toolDefinitions": known.definitions,
            "toolCalls": known.calls,
            "toolResults": results.collect::<Vec<_>>(),
        })
    }
}
