//! The circuit breaker: rejects calls of a tool that keeps failing, and of tools whose upstream is unreachable.
//!
//! A breaker counts calls, not attempts. Each tool has one circuit per upstream, which counts all failures of
//! that upstream. All tools of a space with the same upstream share a second circuit, which counts failed
//! connections only. `CallPass::end` decides which errors count, `counts.rs` when a circuit opens. Circuits are
//! local to the process.

mod counts;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_core::{BreakerKey, CallError, ErrorKind, Message, SpaceId, ToolId};
use serde::Serialize;
use tokio::time::Instant;

use self::counts::{Breaker, Counts, Pass};
use crate::lock::lock;

haft_core::templates! {
    TOOL_PAUSED = "breaker.tool",
        "{circuit} is paused because its own calls kept failing (last failure: {error}). A trial call is allowed in {seconds} s.",
        "{circuit}自身的调用持续失败（最近一次：{error}），已暂停；{seconds} 秒后允许一次试探调用。";
    CONNECTION_PAUSED = "breaker.connection",
        "{circuit} is paused because connections to it kept failing in calls of {tools}. A trial call is allowed in {seconds} s.",
        "{circuit} 已暂停：{tools} 的调用持续无法连接；{seconds} 秒后允许一次试探调用。";
    TOOL_AT_UPSTREAM = "breaker.toolAtUpstream",
        "{tool} at {upstream}",
        "{tool}（上游：{upstream}）";
}

/// Maximum number of circuits before idle ones are dropped.
const MAX_IDLE_CIRCUITS: usize = 8192;

/// Minimum interval between two searches for idle circuits.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);

/// Conditions under which a circuit opens, and how long it stays open.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerSettings {
    /// Number of consecutive failures that opens the circuit.
    pub failures_in_a_row: u32,
    /// The circuit also opens if more than half of the calls within this time failed …
    pub window: Duration,
    /// … and there were at least this many calls.
    pub least_calls: u32,
    /// Time until a trial call is let through.
    pub open_for: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_in_a_row: 5,
            window: Duration::from_secs(60),
            least_calls: 20,
            open_for: Duration::from_secs(30),
        }
    }
}

/// The failures that a circuit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CircuitScope {
    /// Failed calls of one tool.
    Tool,
    /// Failed connections of all tools of the space to one upstream.
    Connection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CircuitState {
    Closed,
    Open,
    HalfOpen,
}

/// The state of one circuit, for operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Circuit {
    /// Unique within the space: `TOOL at UPSTREAM`, `TOOL`, or `UPSTREAM`.
    pub key: String,
    pub scope: CircuitScope,
    pub state: CircuitState,
    pub failures_in_a_row: u32,
    pub tool_id: Option<ToolId>,
    /// Name of that tool, for messages.
    #[serde(skip)]
    pub tool_name: Option<Arc<str>>,
    /// The key that the tool's kind gave, such as an origin.
    pub upstream: Option<String>,
    /// Names of the tools whose failures were counted most recently.
    pub failing_tools: Vec<Arc<str>>,
    pub last_error: Option<ErrorKind>,
    /// Seconds until a trial call is allowed; 0 unless it is open.
    pub retry_after: u64,
}

impl Circuit {
    pub fn is_closed(&self) -> bool {
        self.state == CircuitState::Closed
    }

    /// Returns the reason for rejecting calls. A rejected caller gets the same message.
    pub fn message(&self) -> Message {
        let template = match self.scope {
            CircuitScope::Tool => &TOOL_PAUSED,
            CircuitScope::Connection => &CONNECTION_PAUSED,
        };
        // The key is an untranslated identifier; the message names its two parts in the caller's language.
        let circuit = match (&self.tool_name, &self.upstream) {
            (Some(tool), Some(upstream)) => {
                Message::new(&TOOL_AT_UPSTREAM).with("tool", tool).with("upstream", upstream)
            }
            (Some(_), None) | (None, _) => Message::verbatim(self.key.as_str()),
        };
        let message = Message::new(template).with_messages("circuit", vec![circuit]);
        let message = message.with("seconds", self.retry_after);
        match self.scope {
            CircuitScope::Tool => {
                message.with("error", self.last_error.map(|error| error.to_string()).unwrap_or_default())
            }
            CircuitScope::Connection => message.with("tools", self.failing_tools.join(", ")),
        }
    }

    fn refusal(&self, pause: Duration) -> CallError {
        let error = CallError::new(ErrorKind::CircuitOpen, self.message())
            .detail("circuit", self.key.as_str())
            .detail("failingTools", self.failing_tools.iter().map(|name| &**name).collect::<Vec<_>>())
            // The key holds the tool's name, which may change while the circuit is open.
            .detail("toolId", self.tool_id.as_ref().map(ToolId::to_string))
            .detail("upstream", self.upstream.as_deref());
        error.retry_after(pause).that_did_nothing()
    }
}

/// Identifies a circuit. Without a tool, it is the circuit shared by all tools with this upstream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CircuitId {
    space: SpaceId,
    tool: Option<ToolId>,
    upstream: Option<BreakerKey>,
}

/// All circuits of this process.
pub(crate) struct Breakers {
    settings: BreakerSettings,
    circuits: Mutex<Circuits>,
}

#[derive(Default)]
struct Circuits {
    by_id: HashMap<CircuitId, Slot>,
    cleaned_up: Option<Instant>,
}

struct Slot {
    /// Name of the tool that used the circuit last.
    tool_name: Arc<str>,
    counts: Arc<Mutex<Counts>>,
}

impl Slot {
    fn describe(&self, id: &CircuitId, now: Instant) -> Circuit {
        lock(&self.counts).describe(id, &self.tool_name, now)
    }
}

impl Breakers {
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        Self { settings, circuits: Mutex::default() }
    }

    /// Returns the breaker of one call: the tool's own circuit and, if its kind returns a key, the shared
    /// one.
    pub(crate) fn of_call(
        &self,
        space: SpaceId,
        (tool, name): (&ToolId, &Arc<str>),
        upstream: Option<BreakerKey>,
        now: Instant,
    ) -> CallBreaker {
        let shared =
            upstream.clone().map(|upstream| CircuitId { space, tool: None, upstream: Some(upstream) });
        let own = CircuitId { space, tool: Some(tool.clone()), upstream };
        let mut circuits = lock(&self.circuits);
        self.clean_up(&mut circuits, now);
        let mut breaker = |id: CircuitId| {
            let new = || Slot { tool_name: name.clone(), counts: Arc::new(Mutex::new(Counts::new(now))) };
            let slot = circuits.by_id.entry(id.clone()).or_insert_with(new);
            if !Arc::ptr_eq(&slot.tool_name, name) {
                slot.tool_name = name.clone();
            }
            Breaker { settings: self.settings, id, tool_name: name.clone(), counts: slot.counts.clone() }
        };
        CallBreaker { tool: breaker(own), connection: shared.map(breaker) }
    }

    fn clean_up(&self, circuits: &mut Circuits, now: Instant) {
        let is_due =
            circuits.cleaned_up.is_none_or(|last| now.saturating_duration_since(last) >= CLEANUP_INTERVAL);
        if circuits.by_id.len() > MAX_IDLE_CIRCUITS && is_due {
            circuits.cleaned_up = Some(now);
            let idle = self.settings.window.max(self.settings.open_for) * 2;
            circuits.by_id.retain(|_, slot| {
                Arc::strong_count(&slot.counts) > 1 || !lock(&slot.counts).is_idle(now, idle)
            });
        }
    }

    pub(crate) fn list(&self, space: SpaceId, now: Instant) -> Vec<Circuit> {
        let circuits = lock(&self.circuits);
        let of_space = circuits.by_id.iter().filter(|(id, _)| id.space == space);
        let mut listed: Vec<Circuit> = of_space.map(|(id, slot)| slot.describe(id, now)).collect();
        listed.sort_by(|a, b| a.key.cmp(&b.key));
        listed
    }

    /// Returns the circuits of all spaces that are open or half-open.
    pub(crate) fn not_closed(&self, now: Instant) -> Vec<(SpaceId, String)> {
        let circuits = lock(&self.circuits);
        let described = circuits.by_id.iter().map(|(id, slot)| (id.space, slot.describe(id, now)));
        described
            .filter(|(_, circuit)| !circuit.is_closed())
            .map(|(space, circuit)| (space, circuit.key))
            .collect()
    }

    /// Returns the circuits that calls of one tool pass: its own, and those of its upstreams.
    ///
    /// The upstreams are the ones called by any version, and `live`, the upstream of the live version: other tools
    /// may have opened its circuit before the first call of this tool.
    pub(crate) fn list_of(
        &self,
        space: SpaceId,
        tool: &ToolId,
        live: Option<&BreakerKey>,
        now: Instant,
    ) -> Vec<Circuit> {
        let mut circuits = self.list(space, now);
        let is_own = |circuit: &Circuit| circuit.tool_id.as_ref() == Some(tool);
        let called =
            circuits.iter().filter(|circuit| is_own(circuit)).map(|circuit| circuit.upstream.clone());
        let upstreams: Vec<Option<String>> =
            called.chain(live.map(|key| Some(key.as_str().to_owned()))).collect();
        circuits.retain(|circuit| match circuit.scope {
            CircuitScope::Tool => is_own(circuit),
            CircuitScope::Connection => upstreams.contains(&circuit.upstream),
        });
        circuits
    }

    /// Closes the circuit with this key. Returns false if there is none.
    pub(crate) fn reset(&self, space: SpaceId, key: &str, now: Instant) -> bool {
        self.reset_keys(space, &[key], now)
    }

    /// Closes all circuits that calls of one tool pass. Returns false if there are none.
    pub(crate) fn reset_of(
        &self,
        space: SpaceId,
        tool: &ToolId,
        live: Option<&BreakerKey>,
        now: Instant,
    ) -> bool {
        let circuits = self.list_of(space, tool, live, now);
        let keys: Vec<&str> = circuits.iter().map(|circuit| circuit.key.as_str()).collect();
        self.reset_keys(space, &keys, now)
    }

    fn reset_keys(&self, space: SpaceId, keys: &[&str], now: Instant) -> bool {
        let circuits = lock(&self.circuits);
        let mut is_found = false;
        for (id, slot) in circuits.by_id.iter().filter(|(id, _)| id.space == space) {
            if keys.contains(&slot.describe(id, now).key.as_str()) {
                lock(&slot.counts).close(now);
                is_found = true;
            }
        }
        is_found
    }
}

/// The circuits that one call passes.
pub(crate) struct CallBreaker {
    tool: Breaker,
    connection: Option<Breaker>,
}

impl CallBreaker {
    /// Returns an error if a circuit is open. Does not start a trial.
    pub(crate) fn check(&self, now: Instant) -> Result<(), CallError> {
        self.tool.check(now)?;
        self.connection.as_ref().map_or(Ok(()), |connection| connection.check(now))
    }

    /// Lets the call through; if a circuit was open, the call is its trial.
    pub(crate) fn enter(&self, now: Instant) -> Result<CallPass, CallError> {
        let tool = self.tool.enter(now)?;
        let connection = self.connection.as_ref().map(|connection| connection.enter(now)).transpose()?;
        Ok(CallPass { tool, connection })
    }
}

/// A running call. Dropped without an outcome, it is not counted and releases its trial.
pub(crate) struct CallPass {
    tool: Pass,
    connection: Option<Pass>,
}

impl CallPass {
    /// Returns true if the call may make another attempt. Concurrent calls may have opened a circuit since it
    /// began.
    pub(crate) fn may_retry(&self) -> bool {
        self.tool.is_current() && self.connection.as_ref().is_none_or(Pass::is_current)
    }

    /// Counts the outcome of the call, once for all its attempts.
    ///
    /// The tool's circuit counts every failure of the upstream. The shared one counts failed connections; an upstream
    /// that answers, even with an error, is reachable. It does not count timeouts and other network errors, such as
    /// an unreachable token endpoint: they do not show whether the upstream can be reached.
    pub(crate) fn end(self, error: Option<&CallError>, now: Instant) {
        let kind = error.map(CallError::kind);
        if kind == Some(ErrorKind::Cancelled) {
            return;
        }
        self.tool.end(kind.filter(|kind| kind.is_upstream_failure()), now);
        let Some(connection) = self.connection else { return };
        let could_not_connect = error.is_some_and(CallError::is_connection_failure);
        if could_not_connect || !matches!(kind, Some(ErrorKind::Network | ErrorKind::Timeout)) {
            connection.end(kind.filter(|_| could_not_connect), now);
        }
    }
}

#[cfg(test)]
mod tests;
