//! What a task does: it may wait for a person first, and for better times when the tool is away.
//!
//! The call itself is the engine's, with its checks, retries and record. Its id is the key that the upstream sees on
//! every attempt, before and after a crash.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallInfo, Consent, ProgressSink};
use haft_core::{
    BoxFuture, CallError, CallId, Caller, Effect, ErrorKind, Locale, Message, Progress, ResultDelivery,
    ToolExecutionResult,
};
use haft_engine::{CallRequest, DeferrableOutcome, ToolService};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::later::{self, CALLBACK};
use super::logged::end_log_id;
use super::{CallHistory, CallRun, Callbacks, approval};
use crate::context::{Halt, Reporter, RunContext};
use crate::program::{GaveUp, Program};
use crate::run::{Ended, RunStatus, Wait};

haft_core::templates! {
    LOST = "task.lost",
        "{tool} was sent, then its process crashed. Whether it took effect is unknown, so it is not sent again automatically. Check the target system, then resolve or retry the task.",
        "{tool} 已发送，但发送它的进程随后终止；是否生效未知。系统不会自动重发：请先到对方系统核实，再确认或重试该任务";
    DEAD = "task.dead",
        "All {deaths} processes that executed {tool} crashed.",
        "执行 {tool} 的 {deaths} 个进程均中途终止";
    CANCELLED = "task.cancelled",
        "The task was cancelled.",
        "任务已取消";
    CANCELLED_LATE = "task.cancelledLate",
        "The task was cancelled after {tool} was sent. Whether it took effect is unknown.",
        "任务在 {tool} 发送后被取消；是否生效未知";
    NO_ACCESS_LATE = "task.noAccessLate",
        "The user who started the task may no longer call tools in this space, and {tool} was already sent. Whether it took effect is unknown.",
        "任务发起者已无权在此空间调用工具，而 {tool} 已发送；是否生效未知";
}

/// What a run of this program is called.
pub(super) const NAME: &str = "call";

/// What the engine says to a call that a person has to approve, and nobody has.
const NEEDS_APPROVAL: &str = "policy.needsApproval";

/// The step that is the call.
pub(super) const CALL: &str = "call";
pub(super) const RETRY: &str = "retry:";

/// Further times that a call is made later, where its tool does not say.
const LATER: u32 = 3;

/// The first pause before that, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// Calls of tools, as runs.
pub struct CallProgram {
    pub(super) tools: ToolService,
    pub(super) callbacks: Arc<dyn Callbacks>,
    pub(super) history: Arc<dyn CallHistory>,
}

impl CallProgram {
    pub fn new(tools: ToolService, callbacks: Arc<dyn Callbacks>, history: Arc<dyn CallHistory>) -> Self {
        Self { tools, callbacks, history }
    }

    async fn call(&self, context: &mut RunContext) -> Result<Ended, Halt> {
        let mut call = CallRun::of(context.run())?.approved_in(context);
        let caller = call.caller(context.run());
        let is_sent = context.known(CALL).is_some();
        // A call that was sent is repeated in the version that a person approved, whatever version counts now.
        let approved = if is_sent { approval::approved_version(context) } else { None };
        if let Some(message) = call.check_retry(&self.tools, &caller, approved).await? {
            let is_write = context.known(CALL).is_some_and(|step| !step.effect.is_repeatable());
            let kind = if is_write { ErrorKind::Unknown } else { ErrorKind::Denied };
            return self.refuse(context, &call, &caller, CallError::new(kind, message)).await;
        }
        // What was taken on is looked for, whatever became of its tool.
        if let Some(parked) = context.given(CALL).and_then(later::parked) {
            return self.go_on(context, &call, &caller, parked).await;
        }
        if context.run().deaths > 0
            && let Some(result) = self.logged(context, &call).await
        {
            return match result.is_success() {
                true => Ok(call.ended(&result)),
                false => self.undone(context, &call, Effect::Write, &result),
            };
        }
        if is_sent && context.given(CALLBACK).is_some() {
            return self.hear(context, &call, &caller).await;
        }
        if !is_sent && let Some(error) = approval::refusal(context, &call)? {
            return self.refuse(context, &call, &caller, error).await;
        }
        call.pinned = call.pinned.or(approved);
        let foreseen = self.tools.preflight(&caller, call.request()).await;
        if foreseen.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable) {
            return Err(Halt::GivenBack);
        }
        if !is_sent && foreseen.as_ref().is_err_and(|error| error.kind() == ErrorKind::Validation) {
            self.ask_without_edit(context, &call).await?;
        }
        let mut consent = Consent::None;
        if let Ok(foreseen) = &foreseen
            && (call.asks || foreseen.asks)
        {
            // Nobody is asked again about what may have happened.
            if !is_sent && let Some(arguments) = self.ask(context, &call, foreseen, false).await? {
                call.arguments = arguments;
            }
            // The consent holds for this version, also if the tool changes before the call is made.
            call.pinned = Some(foreseen.tool.version);
            consent = Consent::Given;
        }
        // Making a call that cannot be let in any more says why; should it be let in after all, nobody knows more
        // of it than that it may have any effect.
        let effect = foreseen.as_ref().map_or(Effect::Write, |foreseen| foreseen.effect);
        let reply = foreseen.as_ref().map_or(ResultDelivery::Now, |foreseen| foreseen.reply);
        let mut request = call.request();
        request.options.consent = consent;
        request.options.log_id = Some(Self::log_id(context, &call));
        let mut waits = Vec::new();
        if let ResultDelivery::Callback { within } = reply {
            later::expect_callback(context, within);
            let url = self.callback_url(context).ok_or(Halt::GivenBack)?;
            request.options.callback_url = Some(url);
            waits.push(later::called_back(later::attempt_of(context), Some(within)));
        }
        let (cancel, reporter) = (context.cancellation().clone(), context.reporter());
        let mut failed = None;
        let made = context.step_with(CALL, effect, waits, || async {
            let (result, halt) = match self.fly(&caller, request, cancel, reporter).await {
                Ok(DeferrableOutcome::Completed(result)) if result.is_success() => {
                    return Ok(shown(&result, caller.locale));
                }
                Ok(DeferrableOutcome::Deferred(parked)) => return Ok(later::kept(&parked)),
                Ok(DeferrableOutcome::Completed(result)) => (result, Halt::Undone),
                // It may have been taken on.
                Ok(DeferrableOutcome::RetryLater(error)) => {
                    let result = failure(call.call_id.clone(), &call.name, error);
                    (result, Halt::Unknown { step: CALL.to_owned() })
                }
                // We failed before anything was sent.
                Err(error) => (failure(call.call_id.clone(), &call.name, error), Halt::Undone),
            };
            failed = Some(result);
            Err(halt)
        });
        match (made.await, failed) {
            (Ok(output), _) => match later::parked(&output) {
                Some(parked) => self.go_on(context, &call, &caller, parked).await,
                None => Ok(Ended {
                    status: RunStatus::Succeeded,
                    output: Arc::unwrap_or_clone(output),
                    is_dead_letter: false,
                }),
            },
            (Err(Halt::Undone), Some(result)) => self.undone(context, &call, effect, &result),
            // Whoever was to call back tells what became of it.
            (Err(Halt::Unknown { .. }), _) if matches!(reply, ResultDelivery::Callback { .. }) => {
                self.hear(context, &call, &caller).await
            }
            (Err(halt), _) => Err(halt),
        }
    }

    /// Makes a call as far as it comes, and writes down what it says of its progress.
    pub(super) async fn fly(
        &self,
        caller: &Caller,
        mut request: CallRequest,
        cancel: CancellationToken,
        reporter: Reporter,
    ) -> Result<DeferrableOutcome, CallError> {
        let (progress, told) = watch::channel(None);
        request.options.cancel = Some(cancel);
        request.options.progress = Some(Arc::new(Told(progress)));
        tokio::select! {
            made = self.tools.call_or_defer(caller, request) => made,
            () = reporter.report(told) => Err(CallError::text(ErrorKind::Internal, "reporting ended")),
        }
    }

    /// What follows from a call that failed: another one later, or the end.
    fn undone(
        &self,
        context: &mut RunContext,
        call: &CallRun,
        effect: Effect,
        result: &ToolExecutionResult,
    ) -> Result<Ended, Halt> {
        let Some(error) = result.error() else { return Err(Halt::Undone) };
        if error.message().id() == NEEDS_APPROVAL {
            // Its rules were changed in this moment: it is asked the next time.
            context.undo(CALL);
            context.undo(CALLBACK);
            let (key, for_what) = (format!("{RETRY}asking"), "retry".to_owned());
            return Err(Halt::Waiting(vec![Wait {
                key,
                for_what,
                shown: None,
                at_most: Some(Duration::ZERO),
            }]));
        }
        if error.kind() == ErrorKind::Cancelled {
            if !context.cancellation().is_cancelled() {
                return Err(Halt::GivenBack);
            }
            if !effect.is_repeatable() && result.attempts > 0 {
                let message = Message::new(&CANCELLED_LATE).with("tool", &call.name);
                let late =
                    failure(call.call_id.clone(), &call.name, CallError::new(ErrorKind::Unknown, message));
                return Ok(call.ended(&late));
            }
            return Ok(call.ended(result));
        }
        let rounds = u32::try_from(context.count(RETRY)).unwrap_or(u32::MAX);
        let most = call.retries.unwrap_or(LATER);
        if !passes(error.kind()) || rounds >= most {
            return Ok(call.ended(result));
        }
        let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(rounds));
        let pause = doubled.max(error.requested_pause().unwrap_or_default()).min(LONGEST_PAUSE);
        context.undo(CALL);
        context.undo(CALLBACK);
        Err(Halt::Waiting(vec![Wait {
            key: format!("{RETRY}{}", rounds + 1),
            for_what: "retry".to_owned(),
            shown: Some(error.to_json(call.locale)),
            at_most: Some(pause),
        }]))
    }

    /// Ends a call that may not be made, and logs that once, also if the process crashes before the run ends.
    async fn refuse(
        &self,
        context: &RunContext,
        call: &CallRun,
        caller: &Caller,
        error: CallError,
    ) -> Result<Ended, Halt> {
        let mut request = call.request();
        request.options.log_id = Some(end_log_id(context.run().id, call.user_retries));
        let result = self.tools.record_without_running(caller, request, error).await?;
        Ok(call.ended(&result))
    }

    /// Leaves the record of a call that its process did not live to leave.
    async fn settled(&self, context: &RunContext, why: GaveUp) -> Result<Ended, CallError> {
        let run = context.run();
        let call =
            CallRun::of(run).map_err(|_| CallError::text(ErrorKind::Internal, "the run cannot be read"))?;
        let call = call.approved_in(context);
        let is_crashed = !matches!(why, GaveUp::Failed(_)) && context.given(CALL).is_none();
        if is_crashed && let Some(result) = self.logged(context, &call).await {
            return Ok(call.ended(&result));
        }
        let say = |template| Message::new(template).with("tool", &call.name);
        let is_sent_write = context.known(CALL).is_some_and(|step| !step.effect.is_repeatable());
        let error = match why {
            GaveUp::Unknown => CallError::new(ErrorKind::Unknown, say(&LOST)),
            GaveUp::Deaths => CallError::new(ErrorKind::Internal, say(&DEAD).with("deaths", run.deaths)),
            GaveUp::Cancelled if is_sent_write => CallError::new(ErrorKind::Unknown, say(&CANCELLED_LATE)),
            GaveUp::Cancelled => CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED)),
            GaveUp::Denied if is_sent_write => CallError::new(ErrorKind::Unknown, say(&NO_ACCESS_LATE)),
            GaveUp::Denied => {
                context.denial().unwrap_or_else(|| CallError::text(ErrorKind::Denied, "denied"))
            }
            GaveUp::Failed(error) => error,
        };
        let request = later::resuming(context, &call);
        let result = self.tools.record_without_running(&call.caller(run), request, error).await?;
        Ok(call.ended(&result))
    }
}

impl Program for CallProgram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run<'a>(&'a self, context: &'a mut RunContext) -> BoxFuture<'a, Result<Ended, Halt>> {
        Box::pin(self.call(context))
    }

    fn gave_up<'a>(&'a self, context: &'a RunContext, why: GaveUp) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            self.settled(context, why).await.unwrap_or_else(|error| {
                tracing::error!(run.id = %context.run().id, %error, "The call log entry of a failed run could not be written");
                let output = json!({"success": false, "error": error.to_json(Locale::En)});
                Ended { status: RunStatus::Failed, output, is_dead_letter: true }
            })
        })
    }
}

/// Whether better times may come, and certainly nothing was done.
fn passes(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::RateLimit | ErrorKind::CircuitOpen | ErrorKind::Overloaded | ErrorKind::Unavailable
    )
}

pub(super) fn shown(result: &ToolExecutionResult, locale: Locale) -> Value {
    serde_json::to_value(result.localized(locale)).unwrap_or_default()
}

pub(super) fn failure(call_id: CallId, tool: &str, error: CallError) -> ToolExecutionResult {
    ToolExecutionResult {
        call_id,
        tool_name: tool.into(),
        outcome: Err(error),
        execution_time: Duration::ZERO,
        attempts: 0,
        cached: false,
    }
}

pub(super) fn unreadable(error: serde_json::Error) -> Halt {
    let message = "what is kept of the run cannot be read";
    Halt::Failed(CallError::text(ErrorKind::Internal, message).caused_by(error))
}

/// Passes a tool's progress on to whoever writes it down.
struct Told(watch::Sender<Option<Progress>>);

impl ProgressSink for Told {
    fn progress(&self, _: &CallInfo, _: u32, progress: Progress) {
        self.0.send_replace(Some(progress));
    }
}
