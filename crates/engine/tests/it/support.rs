//! Engines and tools shared by the tests.

use std::sync::{Arc, Mutex};

use haft_engine::{
    BoxFuture, CallOptions, CallRecord, CallSink, ErrorKind, MockKind, SinkError, Tool, ToolExecutionResult,
    ToolService, ToolServiceBuilder,
};
use serde_json::{Value, json};

/// An engine with the mock kind and default settings.
pub(crate) fn builder() -> ToolServiceBuilder {
    ToolService::builder().kind(MockKind)
}

/// A tool `t` that returns these scripted results in turn.
pub(crate) fn mock(answers: Value) -> Tool {
    Tool::new("t", "A mock.", "mock", json!({"answers": answers}))
}

pub(crate) fn failing(kind: &str) -> Value {
    json!({"error": {"kind": kind, "message": "it failed"}})
}

pub(crate) async fn call(tools: &ToolService, arguments: Value) -> ToolExecutionResult {
    call_with(tools, arguments, CallOptions::default()).await
}

pub(crate) async fn call_with(
    tools: &ToolService,
    arguments: Value,
    options: CallOptions,
) -> ToolExecutionResult {
    tools.execute("t", arguments, options).await.expect("the engine itself works")
}

#[track_caller]
pub(crate) fn failed(result: &ToolExecutionResult) -> (ErrorKind, String) {
    let error = result.error().expect("a failure");
    (error.kind(), error.message().to_string())
}

/// A sink in memory that can be set to fail or to wait.
#[derive(Default)]
pub(crate) struct MemorySink {
    records: Mutex<Vec<CallRecord>>,
    batches: Mutex<Vec<usize>>,
    failures: Mutex<usize>,
    gate: Option<Arc<tokio::sync::Semaphore>>,
}

impl MemorySink {
    pub(crate) fn failing(times: usize) -> Self {
        Self { failures: Mutex::new(times), ..Self::default() }
    }

    /// Writes only when the gate has a permit.
    pub(crate) fn behind(gate: &Arc<tokio::sync::Semaphore>) -> Self {
        Self { gate: Some(gate.clone()), ..Self::default() }
    }

    pub(crate) fn records(&self) -> Vec<CallRecord> {
        self.records.lock().expect("a lock").clone()
    }

    pub(crate) fn batches(&self) -> Vec<usize> {
        self.batches.lock().expect("a lock").clone()
    }
}

impl CallSink for MemorySink {
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await?.forget();
            }
            {
                let mut failures = self.failures.lock().expect("a lock");
                if *failures > 0 {
                    *failures -= 1;
                    return Err("the disk is full".into());
                }
            }
            self.records.lock().expect("a lock").extend_from_slice(records);
            self.batches.lock().expect("a lock").push(records.len());
            Ok(())
        })
    }
}
