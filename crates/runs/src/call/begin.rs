//! A call as the run that is asked for: what is written down of it, so that any process can make it.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::Freshness;
use haft_core::{CallId, Caller, RunId};
use haft_engine::{CallRequest, PreflightedCall};
use serde_json::Value;
use uuid::Uuid;

use super::{CallRun, program};
use crate::run::{About, NewRun, Place, RunKey};

/// A person who is asked has a day, where nothing else is said.
const PATIENCE: u64 = 24 * 3600;

/// How a call that becomes a run begins.
#[derive(Debug, Clone)]
pub struct Begin {
    pub id: RunId,
    pub delay: Duration,
    /// The tool's when absent.
    pub priority: Option<i32>,
    /// So many seconds a person has who is asked.
    pub patience: Option<u64>,
    pub key: Option<RunKey>,
    pub most_deaths: u32,
    /// The run that hears of its end, and where.
    pub parent: Option<(RunId, String)>,
}

impl Begin {
    /// The run of a call that would be let in. `shown` are its arguments as they may be shown, where those differ.
    pub fn run(
        self,
        caller: &Caller,
        request: &CallRequest,
        foreseen: &PreflightedCall,
        shown: Option<Value>,
    ) -> NewRun {
        let (spec, options) = (&foreseen.tool.spec, &request.options);
        let call_id = options.call_id.clone().unwrap_or_else(|| CallId::from(Uuid::from(self.id)));
        let millis = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let call = CallRun {
            tool: foreseen.tool.id.to_string(),
            name: spec.name.to_string(),
            version: foreseen.tool.version,
            arguments: foreseen.arguments.as_ref().clone(),
            shown,
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
            asks: foreseen.asks,
            because: foreseen.because.clone(),
            patience: self.patience.unwrap_or(PATIENCE),
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
            about: About {
                lane: foreseen.tool.id.to_string(),
                lane_limit: spec.max_concurrency,
                name: spec.name.to_string(),
                call_id: Some(call_id.to_string()),
                agent: options.agent.map(|agent| agent.to_string()),
                conversation: options.conversation.map(|conversation| conversation.to_string()),
            },
            input: Arc::new(serde_json::to_value(call).unwrap_or_default()),
            priority: self.priority.unwrap_or(spec.priority),
            delay: self.delay,
            most_deaths: self.most_deaths,
            key: self.key,
            parent: self.parent,
            place: Place::Queue,
        }
    }
}
