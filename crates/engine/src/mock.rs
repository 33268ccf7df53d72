//! The mock kind: returns results from the tool's definition, so that an agent can be built before its API
//! exists.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, ConfigError, Effect, ErrorKind, Kind, Message,
    Prepared, ToolContext, ToolOutput, Violation,
};
use serde::Deserialize;
use serde_json::Value;

haft_core::templates! {
    UNREADABLE = "mock.config",
        "{reason}; a mock has a list of answers, each with data or an error of kind and message",
        "{reason}；mock 工具的 answers 是一个列表，每项包含 data，或带 kind 和 message 的 error";
}

/// Returns the scripted results in order, and then the last one repeatedly. Without a script it returns the
/// arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct MockKind;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    #[serde(default)]
    answers: Vec<Scripted>,
    /// Calls with the same key share a circuit breaker.
    breaker_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Scripted {
    data: Option<Value>,
    error: Option<ScriptedError>,
    /// Delay of the result in milliseconds.
    #[serde(default)]
    delay: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScriptedError {
    kind: ErrorKind,
    message: String,
    /// Milliseconds that the upstream asks to wait.
    retry_after: Option<u64>,
    /// The attempt changed nothing, so it may be repeated whatever the effect.
    #[serde(default)]
    did_nothing: bool,
}

impl Kind for MockKind {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let config: Config = Config::deserialize(tool.config).map_err(|error| {
            Violation::new(haft_core::error::ROOT, Message::new(&UNREADABLE).with("reason", error))
        })?;
        let breaker_key = config.breaker_key.map(BreakerKey::new);
        Ok(Arc::new(Mock { answers: config.answers, breaker_key, turn: AtomicUsize::new(0) }))
    }
}

struct Mock {
    answers: Vec<Scripted>,
    breaker_key: Option<BreakerKey>,
    turn: AtomicUsize,
}

impl Prepared for Mock {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn breaker_key(&self, _: &Arguments) -> Option<BreakerKey> {
        self.breaker_key.clone()
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move {
            let Some(last) = self.answers.len().checked_sub(1) else {
                return Ok(arguments.as_value().clone().into());
            };
            let turn = self.turn.fetch_add(1, Ordering::Relaxed).min(last);
            let answer = &self.answers[turn];
            if answer.delay > 0 {
                tokio::time::sleep(Duration::from_millis(answer.delay)).await;
            }
            match &answer.error {
                None => Ok(answer.data.clone().unwrap_or_default().into()),
                Some(scripted) => Err(scripted.error()),
            }
        })
    }
}

impl ScriptedError {
    fn error(&self) -> CallError {
        let mut error = CallError::text(self.kind, self.message.clone());
        // A mock has no connections: its network errors stand for failed connections.
        if self.kind == ErrorKind::Network {
            error = error.that_could_not_connect();
        }
        if let Some(pause) = self.retry_after {
            error = error.retry_after(Duration::from_millis(pause));
        }
        if self.did_nothing { error.that_did_nothing() } else { error }
    }
}
