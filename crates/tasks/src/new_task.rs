//! A call as a new run: its input has everything that any process needs to make the call.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::Freshness;
use haft_core::{CallId, Caller, RunId};
use haft_engine::{CallRequest, PreflightedCall};
use haft_runs::{Executor, NewRun, RunKey, RunLabels};
use serde_json::Value;
use uuid::Uuid;

use super::{CallRun, program};

/// The default timeout of an approval, in seconds.
const APPROVAL_TIMEOUT: u64 = 24 * 3600;

/// How a call starts as a run.
#[derive(Debug, Clone)]
pub struct NewTask {
    pub id: RunId,
    pub delay: Duration,
    /// The tool's priority if `None`.
    pub priority: Option<i32>,
    /// The timeout of an approval, in seconds.
    pub approval_timeout: Option<u64>,
    pub key: Option<RunKey>,
    pub max_crashes: u32,
    /// The run that receives its end, and the key of the step that waits for it.
    pub parent: Option<(RunId, String)>,
}

impl NewTask {
    /// Builds the run of a call that passed the preflight. `redacted` are its arguments with secrets removed, if they
    /// have any.
    pub fn run(
        self,
        caller: &Caller,
        request: &CallRequest,
        preflighted: &PreflightedCall,
        redacted: Option<Value>,
    ) -> NewRun {
        let (spec, options) = (&preflighted.tool.spec, &request.options);
        let call_id = options.call_id.clone().unwrap_or_else(|| CallId::from(Uuid::from(self.id)));
        let millis = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let call = CallRun {
            tool: preflighted.tool.id.to_string(),
            name: spec.name.to_string(),
            version: preflighted.tool.version,
            arguments: preflighted.arguments.as_ref().clone(),
            shown: redacted,
            call_id: call_id.clone(),
            user: caller.user,
            source: caller.source,
            locale: caller.locale,
            agent: options.agent,
            conversation: options.conversation,
            timeout: options.timeout.map(millis),
            retries: options.retries,
            retry_delay: options.retry_delay.map(millis),
            replay_of: options.replay_of.clone(),
            fresh: options.freshness == Freshness::Fresh,
            asks: preflighted.asks,
            because: preflighted.because.clone(),
            patience: self.approval_timeout.unwrap_or(APPROVAL_TIMEOUT),
            depth: options.depth,
            retried_by: None,
            user_retries: 0,
            trace: options.trace_parent.map(|parent| (parent, options.trace_state.clone())),
            pinned: options.binding.as_ref().and_then(|binding| binding.version),
        };
        NewRun {
            id: self.id,
            space: caller.space,
            user: caller.user,
            program: program::NAME,
            labels: RunLabels {
                lane: preflighted.tool.id.to_string(),
                lane_limit: spec.max_concurrency,
                name: spec.name.to_string(),
                call_id: Some(call_id.to_string()),
                agent: options.agent.map(|agent| agent.to_string()),
                conversation: options.conversation.map(|conversation| conversation.to_string()),
            },
            input: Arc::new(serde_json::to_value(call).unwrap_or_default()),
            priority: self.priority.unwrap_or(spec.priority),
            delay: self.delay,
            max_crashes: self.max_crashes,
            key: self.key,
            parent: self.parent,
            executor: Executor::AnyWorker,
        }
    }
}
