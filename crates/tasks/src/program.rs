//! The program of a task: it waits for an approval if the policy asks for one, makes the call, and retries it later if
//! the tool is unavailable.
//!
//! The engine makes the call, with its checks, retries and record. The call id is the key that the upstream sees on
//! every attempt, before and after a crash.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{CallInfo, Consent, ProgressSink};
use haft_core::{
    BoxFuture, CallError, CallId, Caller, Effect, ErrorKind, ErrorReason, Locale, Message, Progress,
    ResultDelivery, ToolExecutionResult,
};
use haft_engine::{CallRequest, DeferrableOutcome, ToolService};
use haft_runs::{
    GiveUpReason, Halt, Program, ProgressReporter, RunContext, RunEnd, RunStatus, StepOutcome, Wait,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::deferred::{self, CALLBACK};
use super::logged_result::end_log_id;
use super::{CallHistory, CallRun, Callbacks, approval};

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

/// The name of this program.
pub(super) const NAME: &str = "call";

/// The key of the step that makes the call.
pub(super) const CALL: &str = "call";
/// The prefix of the keys of pauses before a retry.
pub(super) const RETRY: &str = "retry:";

/// The default number of retries over time.
const MAX_RETRIES: u32 = 3;

/// The pause before the first retry. It doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// Executes tasks.
pub struct CallProgram {
    pub(super) tools: ToolService,
    pub(super) callbacks: Arc<dyn Callbacks>,
    pub(super) history: Arc<dyn CallHistory>,
}

/// Why the step of the call has no output.
enum CallStop {
    Failed(Box<ToolExecutionResult>),
    /// The upstream may have accepted the call, and will send a callback if it has.
    MaybeAccepted,
    Halt(Halt),
}

impl From<Halt> for CallStop {
    fn from(halt: Halt) -> Self {
        Self::Halt(halt)
    }
}

/// The consequence of an attempt to make the call.
enum AttemptOutcome {
    End(RunEnd),
    RetryAfter(Wait),
}

impl CallProgram {
    pub fn new(tools: ToolService, callbacks: Arc<dyn Callbacks>, history: Arc<dyn CallHistory>) -> Self {
        Self { tools, callbacks, history }
    }

    /// Makes the call of a task, and retries it over time.
    async fn execute(&self, context: &RunContext) -> Result<RunEnd, Halt> {
        loop {
            match self.attempt(context).await? {
                AttemptOutcome::End(end) => return Ok(end),
                AttemptOutcome::RetryAfter(wait) => {
                    context.wait(wait).await?;
                }
            }
        }
    }

    async fn attempt(&self, context: &RunContext) -> Result<AttemptOutcome, Halt> {
        let end = |end| Ok(AttemptOutcome::End(end));
        let mut call = CallRun::of(context.run())?.approved_in(context);
        let caller = call.caller(context.run());
        if context.is_unknown(CALL) && context.find(CALLBACK).is_none() {
            return end(self.end_of_lost_call(context).await);
        }
        let is_sent = context.find(CALL).is_some();
        // A call that was sent is repeated in the version that a person approved, whatever version is current.
        let approved = if is_sent { approval::approved_version(context) } else { None };
        if let Some(message) = call.check_retry(&self.tools, &caller, approved).await? {
            let kind = if is_sent_write(context) { ErrorKind::Unknown } else { ErrorKind::Denied };
            return end(self.refuse(context, &call, &caller, CallError::new(kind, message)).await?);
        }
        // The result of a deferred call is awaited even if its tool has changed or is gone.
        if let Some(deferred) = context.output(CALL).as_deref().and_then(deferred::deferred) {
            return end(self.resume(context, &call, &caller, deferred).await?);
        }
        if context.run().crashes > 0
            && let Some(result) = self.logged(context, &call).await
        {
            return match result.is_success() {
                true => end(call.ended(&result)),
                false => self.after_failure(context, &call, Effect::Write, &result),
            };
        }
        if is_sent && context.output(CALLBACK).is_some() {
            return end(self.end_by_callback(context, &call, &caller).await?);
        }
        if !is_sent && let Some(error) = approval::refusal(context, &call)? {
            return end(self.refuse(context, &call, &caller, error).await?);
        }
        call.pinned = call.pinned.or(approved);
        self.send(context, call, &caller).await
    }

    /// Asks for an approval if the policy needs one, and makes the call.
    async fn send(
        &self,
        context: &RunContext,
        mut call: CallRun,
        caller: &Caller,
    ) -> Result<AttemptOutcome, Halt> {
        let is_sent = context.find(CALL).is_some();
        let preflighted = self.tools.preflight(caller, call.request()).await;
        if preflighted.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable) {
            return Err(Halt::Release);
        }
        if !is_sent && preflighted.as_ref().is_err_and(|error| error.kind() == ErrorKind::Validation) {
            self.ask_without_edit(context, &call).await?;
        }
        let mut consent = Consent::None;
        if let Ok(preflighted) = &preflighted
            && (call.asks || preflighted.asks)
        {
            // A call that may have been sent is not asked about again.
            if !is_sent && let Some(arguments) = self.ask(context, &call, preflighted, false).await? {
                call.arguments = arguments;
            }
            // The consent holds for this version, also if the tool changes before the call is made.
            call.pinned = Some(preflighted.tool.version);
            consent = Consent::Given;
        }
        // A call that does not pass the preflight is made to record its error. If it passes after all, its effect is
        // not known here.
        let effect = preflighted.as_ref().map_or(Effect::Write, |preflighted| preflighted.effect);
        let delivery = preflighted.as_ref().map_or(ResultDelivery::Now, |preflighted| preflighted.reply);
        let mut request = call.request();
        request.options.consent = consent;
        request.options.log_id = Some(Self::log_id(context, &call));
        let mut waits = Vec::new();
        if let ResultDelivery::Callback { within } = delivery {
            deferred::expect_callback(context, within);
            let url = self.callback_url(context).ok_or(Halt::Release)?;
            request.options.callback_url = Some(url);
            waits.push(deferred::callback_wait(deferred::attempt_of(context), Some(within)));
        }
        let (cancel, reporter) = (context.cancellation().clone(), context.reporter());
        let sent = context.step_with_waits(CALL, effect, waits, || async {
            let failed = |error| failure(call.call_id.clone(), &call.name, error);
            let result = match self.call_upstream(caller, request, cancel, reporter).await {
                Ok(DeferrableOutcome::Completed(result)) if result.is_success() => {
                    return Ok(rendered(&result, caller.locale));
                }
                Ok(DeferrableOutcome::Deferred(call)) => return Ok(deferred::stored(&call)),
                Ok(DeferrableOutcome::RetryLater(_)) => return Err(CallStop::MaybeAccepted),
                Ok(DeferrableOutcome::Completed(result)) => result,
                // Nothing was sent.
                Err(error) => failed(error),
            };
            Err(CallStop::Failed(Box::new(result)))
        });
        match sent.await {
            Ok(StepOutcome::Done(output)) => match deferred::deferred(&output) {
                Some(deferred) => {
                    Ok(AttemptOutcome::End(self.resume(context, &call, caller, deferred).await?))
                }
                None => Ok(AttemptOutcome::End(RunEnd {
                    status: RunStatus::Succeeded,
                    output: Value::clone(&output),
                    is_dead_letter: false,
                })),
            },
            Ok(StepOutcome::Unknown) | Err(CallStop::MaybeAccepted) => {
                let end = match delivery {
                    ResultDelivery::Callback { .. } => self.end_by_callback(context, &call, caller).await?,
                    ResultDelivery::Now | ResultDelivery::Polled => self.end_of_lost_call(context).await,
                };
                Ok(AttemptOutcome::End(end))
            }
            Err(CallStop::Failed(result)) => self.after_failure(context, &call, effect, &result),
            Err(CallStop::Halt(halt)) => Err(halt),
        }
    }

    /// Returns the end that the callback of a call reports. The status is unknown if no callback arrived in time.
    async fn end_by_callback(
        &self,
        context: &RunContext,
        call: &CallRun,
        caller: &Caller,
    ) -> Result<RunEnd, Halt> {
        match self.wait_for_callback(context, call, caller).await? {
            Some(end) => Ok(end),
            None => Ok(self.end_of_lost_call(context).await),
        }
    }

    /// Makes a call until it has a result or is deferred, and reports its progress.
    pub(super) async fn call_upstream(
        &self,
        caller: &Caller,
        mut request: CallRequest,
        cancel: CancellationToken,
        reporter: ProgressReporter,
    ) -> Result<DeferrableOutcome, CallError> {
        let (progress, received) = watch::channel(None);
        request.options.cancel = Some(cancel);
        request.options.progress = Some(Arc::new(ProgressSender(progress)));
        tokio::select! {
            outcome = self.tools.call_or_defer(caller, request) => outcome,
            () = reporter.report_all(received) => Err(CallError::text(ErrorKind::Internal, "reporting ended")),
        }
    }

    /// Decides how the run continues after a failed call: with a retry after a pause, or with its end.
    fn after_failure(
        &self,
        context: &RunContext,
        call: &CallRun,
        effect: Effect,
        result: &ToolExecutionResult,
    ) -> Result<AttemptOutcome, Halt> {
        let retry = |key: String, details, pause| {
            context.remove(CALL);
            context.remove(CALLBACK);
            Ok(AttemptOutcome::RetryAfter(Wait {
                key,
                kind: "retry".to_owned(),
                details,
                timeout: Some(pause),
            }))
        };
        let Some(error) = result.error() else { return Ok(AttemptOutcome::End(call.ended(result))) };
        if error.reason() == Some(ErrorReason::NeedsApproval) {
            // The policy changed after the preflight. The next attempt asks for the approval.
            return retry(format!("{RETRY}asking"), None, Duration::ZERO);
        }
        if error.kind() == ErrorKind::Cancelled {
            if !context.cancellation().is_cancelled() {
                return Err(Halt::Release);
            }
            if !effect.is_repeatable() && result.attempts > 0 {
                let message = Message::new(&CANCELLED_LATE).with("tool", &call.name);
                let error = CallError::new(ErrorKind::Unknown, message);
                return Ok(AttemptOutcome::End(call.ended(&failure(
                    call.call_id.clone(),
                    &call.name,
                    error,
                ))));
            }
            return Ok(AttemptOutcome::End(call.ended(result)));
        }
        let retries = u32::try_from(context.count(RETRY)).unwrap_or(u32::MAX);
        if !is_temporary(error.kind()) || retries >= call.retries.unwrap_or(MAX_RETRIES) {
            return Ok(AttemptOutcome::End(call.ended(result)));
        }
        let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(retries));
        let pause = doubled.max(error.requested_pause().unwrap_or_default()).min(LONGEST_PAUSE);
        retry(format!("{RETRY}{}", retries + 1), Some(error.to_json(call.locale)), pause)
    }

    /// Ends a call that must not be made, and records that once, also if the process crashes before the run ends.
    async fn refuse(
        &self,
        context: &RunContext,
        call: &CallRun,
        caller: &Caller,
        error: CallError,
    ) -> Result<RunEnd, Halt> {
        let mut request = call.request();
        request.options.log_id = Some(end_log_id(context.run().id, call.user_retries));
        let result = self.tools.record_without_running(caller, request, error).await?;
        Ok(call.ended(&result))
    }

    /// The end of a write that was sent before a crash: its logged result, or `unknown`.
    async fn end_of_lost_call(&self, context: &RunContext) -> RunEnd {
        self.end_with_record(context, None).await
    }

    /// Ends a task whose call has no result, and writes the record that its process could not write. `reason` is
    /// `None` if the call was lost in a crash.
    async fn end_with_record(&self, context: &RunContext, reason: Option<GiveUpReason>) -> RunEnd {
        self.recorded_end(context, reason).await.unwrap_or_else(|error| {
            tracing::error!(run.id = %context.run().id, %error, "The call log entry of a failed run could not be written");
            let output = json!({"success": false, "error": error.to_json(Locale::En)});
            RunEnd { status: RunStatus::Failed, output, is_dead_letter: true }
        })
    }

    async fn recorded_end(
        &self,
        context: &RunContext,
        reason: Option<GiveUpReason>,
    ) -> Result<RunEnd, CallError> {
        let run = context.run();
        let call =
            CallRun::of(run).map_err(|_| CallError::text(ErrorKind::Internal, "the run cannot be read"))?;
        let call = call.approved_in(context);
        let may_be_logged =
            !matches!(reason, Some(GiveUpReason::Failed(_))) && context.output(CALL).is_none();
        if may_be_logged && let Some(result) = self.logged(context, &call).await {
            return Ok(call.ended(&result));
        }
        let message = |template| Message::new(template).with("tool", &call.name);
        let unknown = |template| CallError::new(ErrorKind::Unknown, message(template));
        let error = match (reason, is_sent_write(context)) {
            (None, _) | (Some(GiveUpReason::Crashes), true) => unknown(&LOST),
            (Some(GiveUpReason::Crashes), false) => {
                CallError::new(ErrorKind::Internal, message(&DEAD).with("deaths", run.crashes))
            }
            (Some(GiveUpReason::Cancelled), true) => unknown(&CANCELLED_LATE),
            (Some(GiveUpReason::Cancelled), false) => {
                CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED))
            }
            (Some(GiveUpReason::Denied), true) => unknown(&NO_ACCESS_LATE),
            (Some(GiveUpReason::Denied), false) => {
                context.denial().unwrap_or_else(|| CallError::text(ErrorKind::Denied, "denied"))
            }
            (Some(GiveUpReason::Failed(error)), _) => error,
        };
        let request = deferred::resuming(context, &call);
        let result = self.tools.record_without_running(&call.caller(run), request, error).await?;
        Ok(call.ended(&result))
    }
}

impl Program for CallProgram {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run<'a>(&'a self, context: &'a RunContext) -> BoxFuture<'a, Result<RunEnd, Halt>> {
        Box::pin(self.execute(context))
    }

    fn give_up<'a>(&'a self, context: &'a RunContext, reason: GiveUpReason) -> BoxFuture<'a, RunEnd> {
        Box::pin(self.end_with_record(context, Some(reason)))
    }
}

/// Returns true if the call is a write that was sent, or may have been.
fn is_sent_write(context: &RunContext) -> bool {
    context.find(CALL).is_some_and(|step| !step.effect.is_repeatable())
}

/// Returns true for errors that may pass, and after which certainly nothing was done.
fn is_temporary(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::RateLimit | ErrorKind::CircuitOpen | ErrorKind::Overloaded | ErrorKind::Unavailable
    )
}

/// A result as JSON, with its message in a language.
pub(super) fn rendered(result: &ToolExecutionResult, locale: Locale) -> Value {
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
    let message = "the stored task cannot be read";
    Halt::Failed(CallError::text(ErrorKind::Internal, message).caused_by(error))
}

/// Passes a tool's progress on to the reporter of the run.
struct ProgressSender(watch::Sender<Option<Progress>>);

impl ProgressSink for ProgressSender {
    fn progress(&self, _: &CallInfo, _: u32, progress: Progress) {
        self.0.send_replace(Some(progress));
    }
}
