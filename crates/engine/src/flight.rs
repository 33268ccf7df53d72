//! One call from its first moment to its last: whatever happens to it, subscribers and the sink are told once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::error::ROOT;
use haft_core::mask::Mask;
use haft_core::{
    CallError, CallId, CallOptions, Caller, ErrorKind, Later, Message, Parked, Reply, ToolExecutionResult,
    Violation,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::admit::AdmittedCall;
use crate::catalogue::{Entry, shown};
use crate::clean::{self, Cleaner, Secrets};
use crate::clock::{minted_at, now};
use crate::events::{CallEvent, Events, Stage};
use crate::excerpt::Excerpt;
use crate::execute;
use crate::record::{CallRecord, Place};

haft_core::templates! {
    FAILED = "call.failed",
        "the engine failed in the middle of the call",
        "引擎在调用过程中出现故障";
    NOT_CHECKED = "call.resultNotChecked",
        "the result is too large to be checked against its schema",
        "结果过大，未按 schema 校验";
    IGNORED = "call.ignoredArgument",
        "was ignored: it belongs to another operation",
        "已忽略：它属于另一个操作";
}

/// Checks of more steps would hold up other calls on the same thread.
pub(crate) const HEAVY: u64 = 1_000_000;

/// A call under way. Dropped before it lands, it counts as cancelled by a caller who went away.
pub(crate) struct Flight<'a> {
    caller: &'a Caller,
    options: &'a CallOptions,
    events: Option<&'a Events>,
    place: Option<Place>,
    /// The call's own, whatever its caller calls it.
    id: Uuid,
    call_id: CallId,
    tool_name: Arc<str>,
    entry: Option<Arc<Entry>>,
    /// As far as they are known.
    arguments: Option<Arc<Value>>,
    coerced: Vec<String>,
    /// Names of arguments that were ignored.
    ignored: Vec<String>,
    /// Of the call's secrets, once they are revealed.
    mask: Option<Arc<Mask>>,
    /// The result as text, where its kind had it.
    text: Option<Arc<str>>,
    attempts: u32,
    /// Where its caller does not wait for an answer that comes later.
    parks: bool,
    later: Option<Box<Later>>,
    started: Instant,
    started_at: Timestamp,
    landed: bool,
}

impl<'a> Flight<'a> {
    /// `tool` is what the caller called it, `entry` what was found under that name.
    pub(crate) fn start(
        caller: &'a Caller,
        options: &'a CallOptions,
        tool: &str,
        entry: Option<Arc<Entry>>,
        events: Option<&'a Events>,
        place: Option<Place>,
    ) -> Self {
        let resumed = options.resumed.as_deref();
        let known = resumed.map(|resumed| resumed.parked.id).or(options.log_id);
        let id = known.unwrap_or_else(Uuid::now_v7);
        let flight = Self {
            caller,
            options,
            events,
            place,
            id,
            call_id: options.call_id.clone().unwrap_or_else(|| CallId::from(id)),
            tool_name: entry.as_ref().map_or_else(|| shown(tool).into(), |entry| entry.name.clone()),
            entry,
            arguments: None,
            coerced: Vec::new(),
            ignored: Vec::new(),
            mask: None,
            text: None,
            attempts: resumed.map_or(0, |resumed| resumed.parked.attempts),
            parks: false,
            later: None,
            started: started(id, resumed.is_some()),
            started_at: minted_at(id),
            landed: false,
        };
        if resumed.is_none() {
            flight.tell(|| Stage::Started);
        }
        flight
    }

    /// An answer that comes later is not waited for.
    pub(crate) fn set_parking(&mut self) {
        self.parks = true;
    }

    pub(crate) fn parks(&self) -> bool {
        self.parks
    }

    /// The answer comes later, and nobody waits for it here.
    pub(crate) fn comes_later(&mut self, later: Box<Later>) {
        self.later = Some(later);
    }

    /// Whether a failure is not the end of a call that parks: looking for its answer failed in a way that passes, or
    /// it may have been taken on, and whoever took it calls back.
    pub(crate) fn may_go_on(&self, error: &CallError) -> bool {
        if !self.parks {
            return false;
        }
        let kind = error.kind();
        if self.options.resumed.is_some() {
            let is_ours = matches!(
                kind,
                ErrorKind::CircuitOpen
                    | ErrorKind::Overloaded
                    | ErrorKind::Unavailable
                    | ErrorKind::Cancelled
            );
            return is_ours || error.is_retryable();
        }
        let reply = self.entry.as_ref().map(|entry| entry.prepared.reply());
        let is_heard = matches!(reply, Some(Reply::CalledBack { .. })) && self.attempts > 0;
        let may_be_taken = matches!(kind, ErrorKind::Timeout | ErrorKind::Network | ErrorKind::Server);
        is_heard && may_be_taken && !error.did_nothing()
    }

    /// Leaves a call that was parked as it was: nothing came of looking, and it may be looked at again.
    pub(crate) fn miss(&mut self) {
        self.landed = true;
    }

    /// Leaves the call as it is, to go on another time, where its answer comes later. Nothing is on record of it
    /// until it lands.
    pub(crate) fn park(&mut self) -> Option<Box<Parked>> {
        let later = *self.later.take()?;
        self.landed = true;
        Some(Box::new(Parked { id: self.id, attempts: self.attempts, later }))
    }

    pub(crate) fn call_id(&self) -> &CallId {
        &self.call_id
    }

    pub(crate) fn caller(&self) -> &'a Caller {
        self.caller
    }

    pub(crate) fn options(&self) -> &'a CallOptions {
        self.options
    }

    pub(crate) fn admitted(&mut self, call: &mut AdmittedCall) {
        self.coerced = std::mem::take(&mut call.coerced);
        self.ignored = call.ignored.keys().cloned().collect();
        self.arguments = Some(call.arguments.shared());
    }

    pub(crate) fn refused(&mut self, arguments: Arc<Value>, coerced: Vec<String>) {
        self.arguments = Some(arguments);
        self.coerced = coerced;
    }

    /// What its record may not hold.
    pub(crate) fn masked_by(&mut self, mask: Option<Arc<Mask>>) {
        self.mask = mask;
    }

    /// The tool whose secrets the record may hold, as long as nobody has looked them up.
    pub(crate) fn unmasked(&self) -> Option<&Arc<Entry>> {
        let entry = self.entry.as_ref().filter(|entry| !entry.prepared.secrets().is_empty());
        entry.filter(|_| self.place.is_some() && self.mask.is_none())
    }

    pub(crate) fn written_as(&mut self, text: Option<Arc<str>>) {
        self.text = text;
    }

    pub(crate) fn attempting(&mut self, attempt: u32) {
        self.attempts = attempt;
    }

    pub(crate) fn retrying(&self, error: ErrorKind, pause: Duration) {
        self.tell(|| Stage::Retrying { error, pause });
    }

    /// Ends the call: tells subscribers, leaves the record, answers.
    pub(crate) fn land(mut self, outcome: Result<(Arc<Value>, bool), CallError>) -> ToolExecutionResult {
        let cached = outcome.as_ref().is_ok_and(|(_, cached)| *cached);
        let outcome = outcome.map(|(data, _)| data).map_err(|error| match &self.mask {
            Some(mask) => error.masked(mask),
            None => error,
        });
        let duration = self.finish(&outcome, cached);
        ToolExecutionResult {
            call_id: self.call_id.clone(),
            tool_name: self.tool_name.clone(),
            outcome,
            execution_time: duration,
            attempts: self.attempts,
            cached,
        }
    }

    fn finish(&mut self, outcome: &Result<Arc<Value>, CallError>, cached: bool) -> Duration {
        self.landed = true;
        let duration = self.started.elapsed();
        self.tell(|| match outcome {
            Ok(_) => Stage::Completed { duration, cached },
            Err(error) if error.kind() == ErrorKind::Cancelled => Stage::Cancelled { duration },
            Err(error) => Stage::Failed { duration, error: error.kind() },
        });
        if let Some(place) = self.place.take() {
            place.fill(self.record(outcome, cached, duration));
        }
        duration
    }

    fn record(
        &mut self,
        outcome: &Result<Arc<Value>, CallError>,
        cached: bool,
        duration: Duration,
    ) -> CallRecord {
        let (given, coerced) = (self.arguments.take(), std::mem::take(&mut self.coerced));
        let text = self.text.take();
        let cleaner = self.cleaner();
        let arguments = given.map(|given| cleaner.arguments(&given)).unwrap_or_default();
        let kept = match outcome {
            Ok(data) => {
                let kept = text.and_then(Excerpt::whole).unwrap_or_else(|| Excerpt::of(data));
                Ok(clean::result(kept, data, &arguments))
            }
            Err(error) => Err(cleaner.error(error, &arguments)),
        };
        CallRecord {
            id: self.id,
            call_id: self.call_id.clone(),
            tool: self.entry.as_ref().map(|entry| (entry.version.id.clone(), entry.version.version)),
            tool_name: self.tool_name.clone(),
            kind: self.entry.as_ref().map(|entry| entry.version.spec.kind.clone()),
            space: self.caller.space,
            user: self.caller.user,
            agent: self.options.agent,
            conversation: self.options.conversation,
            replay_of: self.options.replay_of.clone(),
            trace_parent: self.options.trace_parent,
            source: self.caller.source,
            request: self.caller.request.clone(),
            arguments,
            outcome: kept,
            attempts: self.attempts,
            cached,
            coerced: cleaner.paths(coerced),
            warnings: self.warnings(outcome),
            duration,
            started_at: self.started_at,
        }
    }

    fn cleaner(&self) -> Cleaner<'_> {
        let prepared = self.entry.as_ref().map(|entry| &*entry.prepared);
        let has_secrets = prepared.is_some_and(|prepared| !prepared.secrets().is_empty());
        let secrets = match &self.mask {
            Some(mask) => Secrets::Known(mask),
            None if has_secrets => Secrets::Unknown,
            None => Secrets::None,
        };
        Cleaner { secrets, redactor: prepared.and_then(|prepared| prepared.redactor()) }
    }

    /// Arguments that were ignored, and a result that is not as promised: the call goes through, the record says so.
    fn warnings(&self, outcome: &Result<Arc<Value>, CallError>) -> Vec<Violation> {
        let schema = self.entry.as_ref().and_then(|entry| entry.output());
        let ignored = self.ignored.iter().map(|name| Violation::new(name.as_str(), Message::new(&IGNORED)));
        let misfits = match (schema, outcome) {
            (Some(schema), Ok(data)) if schema.steps(data) > HEAVY => {
                vec![Violation::new(ROOT, Message::new(&NOT_CHECKED))]
            }
            (Some(schema), Ok(data)) => schema.violations(data),
            _ => Vec::new(),
        };
        ignored.chain(misfits).collect()
    }

    fn tell(&self, stage: impl FnOnce() -> Stage) {
        let Some(events) = self.events else { return };
        events.publish(|| CallEvent {
            stage: stage(),
            call_id: self.call_id.clone(),
            tool: self.tool_name.clone(),
            space: self.caller.space,
            agent: self.options.agent,
            conversation: self.options.conversation,
            attempt: self.attempts,
            at: now(),
        });
    }
}

/// When a call began. One that was parked began earlier, maybe in another process.
fn started(id: Uuid, is_resumed: bool) -> Instant {
    let at = Instant::now();
    let ago = if is_resumed { now().duration_since(minted_at(id)) } else { SignedDuration::ZERO };
    Duration::try_from(ago).ok().and_then(|ago| at.checked_sub(ago)).unwrap_or(at)
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        // One that was parked goes on another time, whoever carried it on.
        if !self.landed && self.options.resumed.is_none() {
            let (kind, template) = if std::thread::panicking() {
                (ErrorKind::Internal, &FAILED)
            } else {
                (ErrorKind::Cancelled, &execute::CANCELLED)
            };
            self.finish(&Err(CallError::new(kind, Message::new(template))), false);
        }
    }
}
