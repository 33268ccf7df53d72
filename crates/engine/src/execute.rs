//! Execution, the second half of a call: cache, breaker, rate limit, bulkhead, then attempts under a
//! deadline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::call::{CallInfo, Freshness, ProgressSink};
use haft_core::mask::Mask;
use haft_core::secret::SecretOwner;
use haft_core::{
    Artifacts, CallContext, CallError, CallOptions, DeferredCall, Effect, ErrorKind, Message, PendingResult,
    ResumedCall, RetryPolicy, SecretRef, Secrets, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::admit::AdmittedCall;
use crate::breaker::{CallBreaker, CallPass};
use crate::cache::{CallKey, ResultCache};
use crate::call_guard::CallGuard;
use crate::events::both;
use crate::secrets::reveal;
use crate::service::Inner;

/// Maximum duration of a call, whatever its definition or the upstream requests.
const MAX_DURATION: Duration = Duration::from_secs(3600);

haft_core::templates! {
    TIMED_OUT = "call.timedOut",
        "{tool} did not respond within {milliseconds} ms",
        "{tool} 在 {milliseconds} 毫秒内没有响应";
    CANCELLED = "call.cancelled",
        "the call was cancelled",
        "调用已取消";
    PANICKED = "call.panicked",
        "{tool} stopped unexpectedly: {reason}",
        "{tool} 意外中止：{reason}";
}

/// A result, and whether it comes from the cache.
pub(crate) type CallData = (Arc<Value>, bool);

/// Executes an admitted call until it is done or cancelled.
pub(crate) async fn execute(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
) -> Result<CallData, CallError> {
    let cancelled = || CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED));
    let outer = guard.options().cancel.clone();
    if outer.as_ref().is_some_and(|token| token.is_cancelled()) || engine.stop.is_cancelled() {
        return Err(cancelled());
    }
    // The work is polled first: most calls end without waiting for anything else.
    tokio::select! {
        biased;
        outcome = run_or_cached(engine, call, guard) => outcome,
        () = cancellation(outer.as_ref()) => Err(cancelled()),
        () = engine.stop.cancelled() => Err(cancelled()),
    }
}

/// Completes when the caller cancels. Without a token it never completes.
async fn cancellation(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Runs the call, or returns its result from the cache if the tool has one.
async fn run_or_cached(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
) -> Result<CallData, CallError> {
    let spec = &call.entry.version.spec;
    let times = Times::of(spec, guard.options());
    let bound = guard.options().binding.as_ref().and_then(|binding| binding.cache_ttl);
    let ttl = Duration::from_secs(bound.unwrap_or(spec.cache_ttl));
    let is_cacheable = !ttl.is_zero() && call.entry.effect == Effect::Read && !guard.may_defer();
    let cached = engine.cache.as_ref().filter(|_| is_cacheable);
    match cached {
        // Boxed to keep the common future small: most calls use no cache.
        Some(cache) => Box::pin(run_through_cache(engine, call, guard, times, (cache, ttl))).await,
        None => {
            let breaker = pass_limits(engine, call, guard)?;
            run_guarded(engine, call, guard, breaker, times).await.map(|data| (data, false))
        }
    }
}

/// Returns the result from the cache, or runs the call: alone, or once for all concurrent equal calls.
async fn run_through_cache(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
    times: Times,
    (cache, ttl): (&ResultCache, Duration),
) -> Result<CallData, CallError> {
    let spec = &call.entry.version.spec;
    let caller = guard.caller();
    let is_own = |secret: &SecretRef| secret.owner == SecretOwner::Caller;
    let prepared = &call.entry.prepared;
    // A result that depends on the caller's own secrets or files is cached for this caller only.
    let is_personal = prepared.secrets().iter().any(is_own) || prepared.reads_own_files(&call.arguments);
    let user = caller.user.filter(|_| is_personal);
    let key = CallKey::new(caller.space, user, (call.entry.number, ttl), &call.arguments);
    let wants_fresh = guard.options().freshness == Freshness::Fresh;
    if !wants_fresh && let Some(data) = cache.get(&key).await {
        return Ok((data, true));
    }
    // Limits count each caller before it joins a shared execution.
    let breaker = pass_limits(engine, call, guard)?;
    if times.are_overridden || wants_fresh {
        return run_and_cache(engine, call, guard, breaker, times, (cache, key, ttl)).await;
    }
    let shared = cache.get_or_make(key, ttl, run_guarded(engine, call, guard, breaker, times));
    timeout_at(times.deadline, shared).await.unwrap_or_else(|_| Err(timed_out(spec, times.total)))
}

/// Runs the call alone and caches its result. Used for calls with their own timeouts or retries, which must
/// not apply to others, and for calls that request a fresh result.
async fn run_and_cache(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
    breaker: Option<CallBreaker>,
    times: Times,
    (cache, key, ttl): (&ResultCache, CallKey, Duration),
) -> Result<CallData, CallError> {
    let data = run_guarded(engine, call, guard, breaker, times).await?;
    cache.insert(key, ttl, data.clone()).await;
    Ok((data, false))
}

/// Timeouts and deadline of a call.
#[derive(Clone, Copy)]
struct Times {
    attempt: Duration,
    total: Duration,
    deadline: Instant,
    /// The call options override timeouts or retries of the tool.
    are_overridden: bool,
    /// The timeout of an attempt is shorter than the tool's own. Exceeding it is no failure of the upstream.
    are_shortened: bool,
}

impl Times {
    fn of(spec: &ToolSpec, options: &CallOptions) -> Self {
        let own = Duration::from_millis(spec.timeout);
        let attempt = options.timeout.unwrap_or(own).min(MAX_DURATION);
        let total = Duration::from_millis(spec.total_timeout)
            .max(options.timeout.unwrap_or_default())
            .min(MAX_DURATION);
        Self {
            attempt,
            total,
            deadline: Instant::now() + total,
            are_overridden: options.timeout.or(options.retry_delay).is_some() || options.retries.is_some(),
            are_shortened: attempt < own,
        }
    }
}

/// Checks the circuit breaker and counts the call against the caller's rate limit.
fn pass_limits(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &CallGuard<'_>,
) -> Result<Option<CallBreaker>, CallError> {
    let (entry, caller, now) = (&call.entry, guard.caller(), Instant::now());
    let resumed = guard.options().resumed.as_deref();
    // The result was delivered by a callback; nothing is sent to the upstream.
    if resumed.is_some_and(|resumed| resumed.came.is_some()) {
        return Ok(None);
    }
    let breaker = engine.breakers.as_ref().map(|breakers| {
        let upstream = entry.prepared.breaker_key(&call.arguments);
        breakers.of_call(caller.space, (&entry.version.id, &entry.name), upstream, now)
    });
    if let Some(breaker) = &breaker {
        breaker.check(now)?;
    }
    // A resumed call was counted when it started.
    let is_counted = engine.limits_on && resumed.is_none();
    if let Some(limiter) = entry.limiter.as_ref().filter(|_| is_counted) {
        limiter.take(&entry.version.spec.name, caller.user, now)?;
    }
    Ok(breaker)
}

/// Acquires a bulkhead slot and secrets, makes the attempts, and counts the outcome in the breaker.
async fn run_guarded(
    engine: &Inner,
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
    breaker: Option<CallBreaker>,
    times: Times,
) -> Result<Arc<Value>, CallError> {
    let entry = &call.entry;
    let spec = &entry.version.spec;
    let is_delivered = guard.options().resumed.as_ref().is_some_and(|resumed| resumed.came.is_some());
    let slot = match entry.bulkhead.as_ref().filter(|_| engine.limits_on && !is_delivered) {
        Some(bulkhead) => Some(bulkhead.enter(&spec.name, times.deadline).await?),
        None => None,
    };
    let options = guard.options();
    let secrets = if entry.prepared.secrets().is_empty() {
        engine.no_secrets.clone()
    } else {
        let revealing = reveal(engine.secrets.as_deref(), entry, guard.caller());
        let revealed = timeout_at(times.deadline, Box::pin(revealing)).await;
        revealed.unwrap_or_else(|_| Err(timed_out(spec, times.total)))?
    };
    let mask = secrets.mask().cloned();
    guard.set_mask(mask.clone());
    let progress = both(guard.options().progress.clone(), engine.progress.clone());
    let artifacts = engine.artifacts.clone();
    let mut context = context(progress, call, guard, slot, times.deadline, secrets, artifacts);
    if let Some(resumed) = &options.resumed {
        context = context.resuming(resumed.clone());
    }
    let mut pass = breaker.map(|breaker| breaker.enter(Instant::now())).transpose()?;
    let outcome = run_attempts(call, guard, context, mask.as_deref(), &mut pass, times).await;
    if let Some(pass) = pass {
        let error = outcome.as_ref().err();
        // A timeout that the caller shortened is no failure of the upstream.
        let is_caller_timeout =
            times.are_shortened && error.is_some_and(|error| error.kind() == ErrorKind::Timeout);
        if !is_caller_timeout {
            pass.end(error, Instant::now());
        }
    }
    outcome
}

/// Makes attempts until one succeeds or none is left.
async fn run_attempts(
    call: &AdmittedCall,
    guard: &mut CallGuard<'_>,
    mut context: CallContext,
    mask: Option<&Mask>,
    pass: &mut Option<CallPass>,
    times: Times,
) -> Result<Arc<Value>, CallError> {
    let entry = &call.entry;
    let spec = &entry.version.spec;
    let options = guard.options();
    let first_pause = options.retry_delay.unwrap_or(Duration::from_millis(spec.retry_delay));
    let retries = |context: &CallContext| {
        // Fetching a deferred result is a read, whatever the effect of the call.
        let effect = if context.resumed().is_some() { Effect::Read } else { entry.effect };
        RetryPolicy::new(effect, spec.retry_count, options.retries, first_pause)
    };
    let mut retry = retries(&context);
    let mut pauses = retry.pauses();
    loop {
        if context.resumed().is_none() {
            guard.set_attempt(context.attempt());
        }
        let error = match run_attempt(call, &context, times).await {
            Ok(ToolOutput { later: Some(later), .. }) if guard.may_defer() => {
                guard.set_pending(later);
                return Ok(Arc::default());
            }
            Ok(ToolOutput { later: Some(later), .. }) => {
                // The upstream accepted the call; the duration of its work says nothing about its health.
                if let Some(pass) = pass.take() {
                    pass.end(None, Instant::now());
                }
                context = Box::pin(wait_for_poll(spec, &context, *later, times)).await?;
                retry = retries(&context);
                pauses = retry.pauses();
                continue;
            }
            Ok(mut output) => {
                if let Some(mask) = mask.filter(|_| !output.is_masked) {
                    mask.value(&mut output.data);
                    output.text = None;
                }
                guard.set_text(output.text);
                return Ok(Arc::new(output.data));
            }
            Err(error) => match mask {
                Some(mask) => error.masked(mask),
                None => error,
            },
        };
        if !retry.repeats(&error) {
            return Err(error.that_must_not_be_repeated());
        }
        let Some(pause) = pauses.next() else { return Err(error) };
        let jittered = pause.mul_f64(fastrand::f64());
        let pause = jittered.max(error.requested_pause().unwrap_or_default()).min(MAX_DURATION);
        let next = Instant::now() + pause;
        let may_retry = pass.as_ref().is_none_or(CallPass::may_retry);
        if !may_retry || next >= times.deadline {
            return Err(error);
        }
        guard.emit_retrying(error.kind(), pause);
        sleep(pause).await;
        context = context.next_attempt();
    }
}

/// Waits until a deferred result is due to be polled. Returns an error if that is after the deadline.
async fn wait_for_poll(
    spec: &ToolSpec,
    context: &CallContext,
    later: PendingResult,
    times: Times,
) -> Result<CallContext, CallError> {
    if let Some(progress) = later.progress.clone() {
        context.progress(progress);
    }
    let next = Instant::now() + later.after.unwrap_or(MAX_DURATION);
    if next >= times.deadline {
        return Err(timed_out(spec, times.total).that_must_not_be_repeated());
    }
    sleep_until(next).await;
    let parked = DeferredCall { id: Uuid::nil(), attempts: context.attempt(), later };
    Ok(context.resuming(Arc::new(ResumedCall { parked, came: None })))
}

/// Makes one attempt, with its own cancellation token.
async fn run_attempt(
    call: &AdmittedCall,
    context: &CallContext,
    times: Times,
) -> Result<ToolOutput, CallError> {
    // Signals the tool's code that the attempt has ended, however it ended.
    let _ends = context.cancellation().clone().drop_guard();
    run_with_timeout(call, context, times).await
}

async fn run_with_timeout(
    call: &AdmittedCall,
    context: &CallContext,
    times: Times,
) -> Result<ToolOutput, CallError> {
    let entry = &call.entry;
    let start = Instant::now();
    let until = (start + times.attempt).min(times.deadline);
    let work = AssertUnwindSafe(async { entry.prepared.run(&call.arguments, context).await });
    match timeout_at(until, work.catch_unwind()).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => {
            let message = Message::new(&PANICKED).with("tool", &entry.name).with("reason", reason(&*panic));
            Err(CallError::new(ErrorKind::Execution, message))
        }
        Err(_) => Err(timed_out(&entry.version.spec, until - start)),
    }
}

fn timed_out(spec: &ToolSpec, time: Duration) -> CallError {
    let message = Message::new(&TIMED_OUT).with("tool", &spec.name).with("milliseconds", time.as_millis());
    CallError::new(ErrorKind::Timeout, message)
}

/// Returns the message of a panic.
fn reason(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

/// Builds the context that the tool's code receives.
fn context(
    progress: Option<Arc<dyn ProgressSink>>,
    call: &AdmittedCall,
    guard: &CallGuard<'_>,
    slot: Option<OwnedSemaphorePermit>,
    deadline: Instant,
    secrets: Arc<Secrets>,
    artifacts: Option<Arc<dyn Artifacts>>,
) -> CallContext {
    let (caller, options) = (guard.caller(), guard.options());
    CallContext::new(CallInfo {
        call_id: guard.call_id().clone(),
        tool: call.entry.version.spec.name.clone(),
        space: caller.space,
        user: caller.user,
        agent: options.agent,
        conversation: options.conversation,
        request: caller.request.clone(),
        locale: caller.locale,
        deadline: deadline.into_std(),
        secrets,
        artifacts,
        progress,
        depth: options.depth,
        allowance: options.allowance.clone(),
        callback_url: options.callback_url.clone(),
        trace: options.trace_parent.map(|parent| (parent, options.trace_state.clone())),
        place: slot.map(|slot| Box::new(slot) as Box<dyn std::any::Any + Send + Sync>),
    })
}

/// Returns a preview of the call, for a dry run.
pub(crate) fn preview(call: &AdmittedCall, guard: &CallGuard<'_>) -> Result<Value, CallError> {
    let context = context(None, call, guard, None, Instant::now(), Arc::default(), None);
    let preview = call.entry.prepared.preview(&call.arguments, &context)?;
    Ok(preview.unwrap_or_else(
        || json!({"tool": call.entry.version.spec.name, "arguments": call.arguments.as_value()}),
    ))
}
