//! Circuit breakers: calls of a tool, or connections to an upstream, that keep failing are refused for a while.
//!
//! A breaker counts calls, not attempts. Each tool has a circuit for each key that its kind gives, which counts the
//! tool's own failures. All tools of a space with the same key share a second circuit, which counts failed connections
//! only. Circuits are kept per process; what counts as a failure is in `counts.rs`.

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

/// Circuits that are idle are dropped when there are more than this.
const MAX_IDLE_CIRCUITS: usize = 8192;

/// Shortest time between two searches for idle circuits.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(1);

/// When a circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BreakerSettings {
    /// Number of failed calls in a row that opens it.
    pub failures_in_a_row: u32,
    /// Opens when over half of the calls within this time failed …
    pub window: Duration,
    /// … and there were at least this many.
    pub least_calls: u32,
    /// After this time one trial call is let through.
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

/// Whose failures a circuit counts.
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
    /// Names of the tools whose failures it counted most recently.
    pub failing_tools: Vec<Arc<str>>,
    pub last_error: Option<ErrorKind>,
    /// Seconds until a trial call is allowed; 0 unless it is open.
    pub retry_after: u64,
}

impl Circuit {
    pub fn is_closed(&self) -> bool {
        self.state == CircuitState::Closed
    }

    /// Why calls are refused, in the words that a refused caller gets.
    pub fn message(&self) -> Message {
        let template = match self.scope {
            CircuitScope::Tool => &TOOL_PAUSED,
            CircuitScope::Connection => &CONNECTION_PAUSED,
        };
        // The key is an identifier, and English; a message names the two parts in its language.
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

/// Identifies a circuit. Without a tool it is the one that all tools with this upstream share.
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
    /// Name of the tool that used it last.
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

    /// The breaker of one call: the tool's own circuit, and the one it shares where its kind gives a key.
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

    /// The circuits of all spaces that are open or half-open.
    pub(crate) fn not_closed(&self, now: Instant) -> Vec<(SpaceId, String)> {
        let circuits = lock(&self.circuits);
        let described = circuits.by_id.iter().map(|(id, slot)| (id.space, slot.describe(id, now)));
        described
            .filter(|(_, circuit)| !circuit.is_closed())
            .map(|(space, circuit)| (space, circuit.key))
            .collect()
    }

    /// The circuits that calls of one tool pass: its own, and those of its upstreams.
    ///
    /// The upstreams are those that it has called in any version, and `live`, that of its live version: other tools
    /// may have opened that circuit before the first call of this one.
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

    /// Closes the circuit of that key; false when there is none.
    pub(crate) fn reset(&self, space: SpaceId, key: &str, now: Instant) -> bool {
        self.reset_keys(space, &[key], now)
    }

    /// Closes all circuits that calls of one tool pass; false when there are none.
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

/// The circuits that one call has to pass.
pub(crate) struct CallBreaker {
    tool: Breaker,
    connection: Option<Breaker>,
}

impl CallBreaker {
    /// Whether the call could be made now. Takes nothing.
    pub(crate) fn check(&self, now: Instant) -> Result<(), CallError> {
        self.tool.check(now)?;
        self.connection.as_ref().map_or(Ok(()), |connection| connection.check(now))
    }

    /// Lets the call through, as the trial where a circuit was open.
    pub(crate) fn enter(&self, now: Instant) -> Result<CallPass, CallError> {
        let tool = self.tool.enter(now)?;
        let connection = self.connection.as_ref().map(|connection| connection.enter(now)).transpose()?;
        Ok(CallPass { tool, connection })
    }
}

/// One call under way. Dropped without an outcome it is not counted, and gives a trial back.
pub(crate) struct CallPass {
    tool: Pass,
    connection: Option<Pass>,
}

impl CallPass {
    /// Whether the call may make another attempt: calls beside it may have opened a circuit meanwhile.
    pub(crate) fn may_retry(&self) -> bool {
        self.tool.is_current() && self.connection.as_ref().is_none_or(Pass::is_current)
    }

    /// Counts the outcome of the call, whatever number of attempts it took.
    ///
    /// The tool's circuit counts every failure of the upstream. The shared one counts failed connections; an upstream
    /// that answers, even with an error, is reachable. It does not count timeouts and other network errors, such as
    /// an unreachable token endpoint: they do not tell whether the upstream can be reached.
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
