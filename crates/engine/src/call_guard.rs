//! The guard of one call, from start to end. Emits its events and writes its record exactly once, even if it
//! is cancelled or panics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::error::ROOT;
use haft_core::mask::Mask;
use haft_core::{
    CallError, CallId, CallOptions, Caller, DeferredCall, ErrorKind, Message, PendingResult, ResultDelivery,
    ToolExecutionResult, Violation,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::admit::AdmittedCall;
use crate::catalog::{Entry, displayable};
use crate::clock::{minted_at, now};
use crate::events::{CallEvent, Events, Stage};
use crate::execute;
use crate::record::{CallRecord, RecordSlot};
use crate::redaction::{self, RecordRedaction, RecordSecrets};
use crate::truncation::TruncatedJson;

haft_core::templates! {
    FAILED = "call.failed",
        "the engine failed during the call",
        "引擎在调用过程中出现故障";
    NOT_CHECKED = "call.resultNotChecked",
        "the result is too large to be checked against its schema",
        "结果过大，未按 schema 校验";
    IGNORED = "call.ignoredArgument",
        "was ignored: it belongs to another operation",
        "已忽略：它属于另一个操作";
}

/// Maximum number of validation steps on an async thread. More would delay other calls.
pub(crate) const HEAVY: u64 = 1_000_000;

/// A running call. Dropped before it is completed, it counts as cancelled by a caller that disconnected.
pub(crate) struct CallGuard<'a> {
    caller: &'a Caller,
    options: &'a CallOptions,
    events: Option<&'a Events>,
    slot: Option<RecordSlot>,
    /// The call's own id; `call_id` may be set by its caller.
    id: Uuid,
    call_id: CallId,
    tool_name: Arc<str>,
    entry: Option<Arc<Entry>>,
    /// The arguments in their current state: given, merged or coerced.
    arguments: Option<Arc<Value>>,
    coerced: Vec<String>,
    /// Names of arguments that were ignored.
    ignored: Vec<String>,
    /// Masks the call's secrets, once they are revealed.
    mask: Option<Arc<Mask>>,
    /// The result as JSON text, if its kind provides it.
    text: Option<Arc<str>>,
    attempts: u32,
    /// The caller does not wait for a deferred result.
    may_defer: bool,
    pending: Option<Box<PendingResult>>,
    started: Instant,
    started_at: Timestamp,
    is_completed: bool,
}

impl<'a> CallGuard<'a> {
    /// Starts a call. `tool` is the name given by the caller, `entry` the tool found by it.
    pub(crate) fn start(
        caller: &'a Caller,
        options: &'a CallOptions,
        tool: &str,
        entry: Option<Arc<Entry>>,
        events: Option<&'a Events>,
        slot: Option<RecordSlot>,
    ) -> Self {
        let resumed = options.resumed.as_deref();
        let known = resumed.map(|resumed| resumed.parked.id).or(options.log_id);
        let id = known.unwrap_or_else(Uuid::now_v7);
        let guard = Self {
            caller,
            options,
            events,
            slot,
            id,
            call_id: options.call_id.clone().unwrap_or_else(|| CallId::from(id)),
            tool_name: entry.as_ref().map_or_else(|| displayable(tool).into(), |entry| entry.name.clone()),
            entry,
            arguments: None,
            coerced: Vec::new(),
            ignored: Vec::new(),
            mask: None,
            text: None,
            attempts: resumed.map_or(0, |resumed| resumed.parked.attempts),
            may_defer: false,
            pending: None,
            started: started(id, resumed.is_some()),
            started_at: minted_at(id),
            is_completed: false,
        };
        if resumed.is_none() {
            guard.emit(|| Stage::Started);
        }
        guard
    }

    /// Allows the call to end with a deferred result instead of waiting for it.
    pub(crate) fn allow_deferral(&mut self) {
        self.may_defer = true;
    }

    pub(crate) fn may_defer(&self) -> bool {
        self.may_defer
    }

    /// Stores a deferred result that the call does not wait for.
    pub(crate) fn set_pending(&mut self, pending: Box<PendingResult>) {
        self.pending = Some(pending);
    }

    /// Returns true if a deferrable call continues in spite of this error: polling failed temporarily, or the
    /// upstream may have accepted the call and will deliver its result by callback.
    pub(crate) fn may_continue(&self, error: &CallError) -> bool {
        if !self.may_defer {
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
        let reply = self.entry.as_ref().map(|entry| entry.prepared.result_delivery());
        let has_callback = matches!(reply, Some(ResultDelivery::Callback { .. })) && self.attempts > 0;
        let may_be_accepted = matches!(kind, ErrorKind::Timeout | ErrorKind::Network | ErrorKind::Server);
        has_callback && may_be_accepted && !error.did_nothing()
    }

    /// Leaves a deferred call unchanged after polling gave no result. It can be polled again.
    pub(crate) fn leave_pending(&mut self) {
        self.is_completed = true;
    }

    /// Suspends the call if its result is deferred. Its record is written when it completes.
    pub(crate) fn defer(&mut self) -> Option<Box<DeferredCall>> {
        let pending = *self.pending.take()?;
        self.is_completed = true;
        Some(Box::new(DeferredCall { id: self.id, attempts: self.attempts, later: pending }))
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

    /// Sets the mask for the record.
    pub(crate) fn set_mask(&mut self, mask: Option<Arc<Mask>>) {
        self.mask = mask;
    }

    /// Returns the tool whose secrets have to be looked up before the record is written, if they have not
    /// been.
    pub(crate) fn entry_to_mask(&self) -> Option<&Arc<Entry>> {
        let entry = self.entry.as_ref().filter(|entry| !entry.prepared.secrets().is_empty());
        entry.filter(|_| self.slot.is_some() && self.mask.is_none())
    }

    pub(crate) fn set_text(&mut self, text: Option<Arc<str>>) {
        self.text = text;
    }

    pub(crate) fn set_attempt(&mut self, attempt: u32) {
        self.attempts = attempt;
    }

    pub(crate) fn emit_retrying(&self, error: ErrorKind, pause: Duration) {
        self.emit(|| Stage::Retrying { error, pause });
    }

    /// Completes the call: emits its last event, writes its record, returns its result.
    pub(crate) fn complete(mut self, outcome: Result<(Arc<Value>, bool), CallError>) -> ToolExecutionResult {
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
        self.is_completed = true;
        let duration = self.started.elapsed();
        self.emit(|| match outcome {
            Ok(_) => Stage::Completed { duration, cached },
            Err(error) if error.kind() == ErrorKind::Cancelled => Stage::Cancelled { duration },
            Err(error) => Stage::Failed { duration, error: error.kind() },
        });
        if let Some(slot) = self.slot.take() {
            slot.send(self.record(outcome, cached, duration));
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
        let redaction = self.redaction();
        let arguments = given.map(|given| redaction.arguments(&given)).unwrap_or_default();
        let recorded = match outcome {
            Ok(data) => {
                let excerpt = text.and_then(TruncatedJson::whole).unwrap_or_else(|| TruncatedJson::of(data));
                Ok(redaction::result(excerpt, data, &arguments))
            }
            Err(error) => Err(redaction.error(error, &arguments)),
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
            outcome: recorded,
            attempts: self.attempts,
            cached,
            coerced: redaction.paths(coerced),
            warnings: self.warnings(outcome),
            duration,
            started_at: self.started_at,
        }
    }

    fn redaction(&self) -> RecordRedaction<'_> {
        let prepared = self.entry.as_ref().map(|entry| &*entry.prepared);
        let has_secrets = prepared.is_some_and(|prepared| !prepared.secrets().is_empty());
        let secrets = match &self.mask {
            Some(mask) => RecordSecrets::Known(mask),
            None if has_secrets => RecordSecrets::Unknown,
            None => RecordSecrets::None,
        };
        RecordRedaction { secrets, redactor: prepared.and_then(|prepared| prepared.redactor()) }
    }

    /// Returns warnings for the record: ignored arguments, and a result that does not conform to its schema.
    /// The call succeeds anyway.
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

    fn emit(&self, stage: impl FnOnce() -> Stage) {
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

/// Returns the start of a call. A resumed call may have started in another process.
fn started(id: Uuid, is_resumed: bool) -> Instant {
    let at = Instant::now();
    let ago = if is_resumed { now().duration_since(minted_at(id)) } else { SignedDuration::ZERO };
    Duration::try_from(ago).ok().and_then(|ago| at.checked_sub(ago)).unwrap_or(at)
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        // A resumed call stays pending: it can be resumed again.
        if !self.is_completed && self.options.resumed.is_none() {
            let (kind, template) = if std::thread::panicking() {
                (ErrorKind::Internal, &FAILED)
            } else {
                (ErrorKind::Cancelled, &execute::CANCELLED)
            };
            self.finish(&Err(CallError::new(kind, Message::new(template))), false);
        }
    }
}
