//! The second half of a call: cache, breaker, rate limit, bulkhead, then attempts under a deadline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::call::{CallInfo, Freshness, ProgressSink};
use haft_core::mask::Mask;
use haft_core::secret::SecretOwner;
use haft_core::{
    Artifacts, CallContext, CallError, CallOptions, Effect, ErrorKind, Later, Message, Parked, Resumed,
    RetryPolicy, SecretRef, Secrets, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::admit::AdmittedCall;
use crate::breaker::{CallBreaker, CallPass};
use crate::cache::{AnswerCache, CallKey};
use crate::events::both;
use crate::flight::Flight;
use crate::secrets::reveal;
use crate::service::Inner;

/// No call takes longer, whatever a definition or an upstream says.
const LONGEST: Duration = Duration::from_secs(3600);

haft_core::templates! {
    TIMED_OUT = "call.timedOut",
        "{tool} did not answer within {milliseconds} ms",
        "{tool} 在 {milliseconds} 毫秒内没有响应";
    CANCELLED = "call.cancelled",
        "the call was cancelled",
        "调用已取消";
    PANICKED = "call.panicked",
        "{tool} stopped unexpectedly: {reason}",
        "{tool} 意外中止：{reason}";
}

/// An answer, and whether it was kept from an earlier call.
pub(crate) type Answered = (Arc<Value>, bool);

/// Runs an admitted call, until it is done or cancelled.
pub(crate) async fn execute(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
) -> Result<Answered, CallError> {
    let cancelled = || CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED));
    let outer = flight.options().cancel.clone();
    if outer.as_ref().is_some_and(|token| token.is_cancelled()) || engine.stop.is_cancelled() {
        return Err(cancelled());
    }
    // The work first: what is done at once is not worth waiting for anything else.
    tokio::select! {
        biased;
        outcome = answer(engine, call, flight) => outcome,
        () = cancellation(outer.as_ref()) => Err(cancelled()),
        () = engine.stop.cancelled() => Err(cancelled()),
    }
}

/// Ends when the caller cancels; never, when it cannot.
async fn cancellation(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Makes the call, or answers from the cache where the tool has one.
async fn answer(engine: &Inner, call: &AdmittedCall, flight: &mut Flight<'_>) -> Result<Answered, CallError> {
    let spec = &call.entry.version.spec;
    let times = Times::of(spec, flight.options());
    let bound = flight.options().binding.as_ref().and_then(|binding| binding.cache_ttl);
    let ttl = Duration::from_secs(bound.unwrap_or(spec.cache_ttl));
    let is_kept = !ttl.is_zero() && call.entry.effect == Effect::Read && !flight.parks();
    let cached = engine.cache.as_ref().filter(|_| is_kept);
    match cached {
        // In a box: most calls need none of the room it takes.
        Some(cache) => Box::pin(answer_by_cache(engine, call, flight, times, (cache, ttl))).await,
        None => {
            let breaker = pass_limits(engine, call, flight)?;
            make(engine, call, flight, breaker, times).await.map(|data| (data, false))
        }
    }
}

/// Answers from the cache, or makes the call: alone, or as one flight for all equal calls.
async fn answer_by_cache(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    times: Times,
    (cache, ttl): (&AnswerCache, Duration),
) -> Result<Answered, CallError> {
    let spec = &call.entry.version.spec;
    let caller = flight.caller();
    let is_own = |secret: &SecretRef| secret.owner == SecretOwner::Caller;
    let prepared = &call.entry.prepared;
    // What a caller's own secret fetched, or a caller's own file holds, is for that caller alone.
    let is_personal = prepared.secrets().iter().any(is_own) || prepared.reads_own_files(&call.arguments);
    let user = caller.user.filter(|_| is_personal);
    let key = CallKey::new(caller.space, user, (call.entry.number, ttl), &call.arguments);
    let wants_fresh = flight.options().freshness == Freshness::Fresh;
    if !wants_fresh && let Some(data) = cache.get(&key).await {
        return Ok((data, true));
    }
    // What counts against one caller is counted before it joins others.
    let breaker = pass_limits(engine, call, flight)?;
    if times.are_the_calls_own || wants_fresh {
        return make_and_keep(engine, call, flight, breaker, times, (cache, key, ttl)).await;
    }
    let shared = cache.get_or_make(key, ttl, make(engine, call, flight, breaker, times));
    timeout_at(times.deadline, shared).await.unwrap_or_else(|_| Err(timed_out(spec, times.total)))
}

/// A call with times of its own is no measure for others, and one that wants a fresh answer takes nobody
/// else's: it makes its answer alone.
async fn make_and_keep(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    breaker: Option<CallBreaker>,
    times: Times,
    (cache, key, ttl): (&AnswerCache, CallKey, Duration),
) -> Result<Answered, CallError> {
    let data = make(engine, call, flight, breaker, times).await?;
    cache.keep(key, ttl, data.clone()).await;
    Ok((data, false))
}

/// How long the call may take.
#[derive(Clone, Copy)]
struct Times {
    attempt: Duration,
    total: Duration,
    deadline: Instant,
    /// The caller asked for them, or for other retries.
    are_the_calls_own: bool,
    /// An attempt has less than the tool itself gives: it says nothing of the upstream that it ends.
    are_short: bool,
}

impl Times {
    fn of(spec: &ToolSpec, options: &CallOptions) -> Self {
        let own = Duration::from_millis(spec.timeout);
        let attempt = options.timeout.unwrap_or(own).min(LONGEST);
        let total =
            Duration::from_millis(spec.total_timeout).max(options.timeout.unwrap_or_default()).min(LONGEST);
        Self {
            attempt,
            total,
            deadline: Instant::now() + total,
            are_the_calls_own: options.timeout.or(options.retry_delay).is_some() || options.retries.is_some(),
            are_short: attempt < own,
        }
    }
}

/// The breaker lets the call try, and the caller has calls left.
fn pass_limits(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &Flight<'_>,
) -> Result<Option<CallBreaker>, CallError> {
    let (entry, caller, now) = (&call.entry, flight.caller(), Instant::now());
    let resumed = flight.options().resumed.as_deref();
    // What somebody brought is looked at; nothing is sent for that.
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
    // A call that goes on has been counted.
    let is_counted = engine.limits_on && resumed.is_none();
    if let Some(limiter) = entry.limiter.as_ref().filter(|_| is_counted) {
        limiter.take(&entry.version.spec.name, caller.user, now)?;
    }
    Ok(breaker)
}

/// Takes a place and makes the call; the breaker counts how it ended.
async fn make(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    breaker: Option<CallBreaker>,
    times: Times,
) -> Result<Arc<Value>, CallError> {
    let entry = &call.entry;
    let spec = &entry.version.spec;
    let is_brought = flight.options().resumed.as_ref().is_some_and(|resumed| resumed.came.is_some());
    let place = match entry.bulkhead.as_ref().filter(|_| engine.limits_on && !is_brought) {
        Some(bulkhead) => Some(bulkhead.enter(&spec.name, times.deadline).await?),
        None => None,
    };
    let options = flight.options();
    let secrets = if entry.prepared.secrets().is_empty() {
        engine.no_secrets.clone()
    } else {
        let revealing = reveal(engine.secrets.as_deref(), entry, flight.caller());
        let revealed = timeout_at(times.deadline, Box::pin(revealing)).await;
        revealed.unwrap_or_else(|_| Err(timed_out(spec, times.total)))?
    };
    let mask = secrets.mask().cloned();
    flight.masked_by(mask.clone());
    let progress = both(flight.options().progress.clone(), engine.progress.clone());
    let artifacts = engine.artifacts.clone();
    let mut context = context(progress, call, flight, place, times.deadline, secrets, artifacts);
    if let Some(resumed) = &options.resumed {
        context = context.resuming(resumed.clone());
    }
    let mut pass = breaker.map(|breaker| breaker.enter(Instant::now())).transpose()?;
    let outcome = attempts(call, flight, context, mask.as_deref(), &mut pass, times).await;
    if let Some(pass) = pass {
        let error = outcome.as_ref().err();
        // A caller with less patience than the tool has says nothing about the upstream.
        let is_impatient = times.are_short && error.is_some_and(|error| error.kind() == ErrorKind::Timeout);
        if !is_impatient {
            pass.end(error, Instant::now());
        }
    }
    outcome
}

/// Makes attempts until one succeeds or no more are due.
async fn attempts(
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    mut context: CallContext,
    mask: Option<&Mask>,
    pass: &mut Option<CallPass>,
    times: Times,
) -> Result<Arc<Value>, CallError> {
    let entry = &call.entry;
    let spec = &entry.version.spec;
    let options = flight.options();
    let first_pause = options.retry_delay.unwrap_or(Duration::from_millis(spec.retry_delay));
    let retries = |context: &CallContext| {
        // Looking for an answer changes nothing, whatever the call did.
        let effect = if context.resumed().is_some() { Effect::Read } else { entry.effect };
        RetryPolicy::new(effect, spec.retry_count, options.retries, first_pause)
    };
    let mut retry = retries(&context);
    let mut pauses = retry.pauses();
    loop {
        if context.resumed().is_none() {
            flight.attempting(context.attempt());
        }
        let error = match attempt(call, &context, times).await {
            Ok(ToolOutput { later: Some(later), .. }) if flight.parks() => {
                flight.comes_later(later);
                return Ok(Arc::default());
            }
            Ok(ToolOutput { later: Some(later), .. }) => {
                // The upstream took the call on; how long its work takes says nothing about its health.
                if let Some(pass) = pass.take() {
                    pass.end(None, Instant::now());
                }
                context = Box::pin(look_again(spec, &context, *later, times)).await?;
                retry = retries(&context);
                pauses = retry.pauses();
                continue;
            }
            Ok(mut output) => {
                if let Some(mask) = mask.filter(|_| !output.is_masked) {
                    mask.value(&mut output.data);
                    output.text = None;
                }
                flight.written_as(output.text);
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
        let pause = jittered.max(error.pause_asked_for().unwrap_or_default()).min(LONGEST);
        let next = Instant::now() + pause;
        let may_retry = pass.as_ref().is_none_or(CallPass::may_retry);
        if !may_retry || next >= times.deadline {
            return Err(error);
        }
        flight.retrying(error.kind(), pause);
        sleep(pause).await;
        context = context.next_attempt();
    }
}

/// Waits until it is time to look for an answer that comes later, where there is time for that.
async fn look_again(
    spec: &ToolSpec,
    context: &CallContext,
    later: Later,
    times: Times,
) -> Result<CallContext, CallError> {
    if let Some(progress) = later.progress.clone() {
        context.progress(progress);
    }
    let next = Instant::now() + later.after.unwrap_or(LONGEST);
    if next >= times.deadline {
        return Err(timed_out(spec, times.total).that_must_not_be_repeated());
    }
    sleep_until(next).await;
    let parked = Parked { id: Uuid::nil(), attempts: context.attempt(), later };
    Ok(context.resuming(Arc::new(Resumed { parked, came: None })))
}

/// One attempt, under a cancellation of its own.
async fn attempt(call: &AdmittedCall, context: &CallContext, times: Times) -> Result<ToolOutput, CallError> {
    // The tool's code learns that nobody waits for this attempt any more, however it ends.
    let _ends = context.cancellation().clone().drop_guard();
    run(call, context, times).await
}

async fn run(call: &AdmittedCall, context: &CallContext, times: Times) -> Result<ToolOutput, CallError> {
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

/// What a panic said.
fn reason(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

/// What the tool's code gets to know of a call.
fn context(
    progress: Option<Arc<dyn ProgressSink>>,
    call: &AdmittedCall,
    flight: &Flight<'_>,
    place: Option<OwnedSemaphorePermit>,
    deadline: Instant,
    secrets: Arc<Secrets>,
    artifacts: Option<Arc<dyn Artifacts>>,
) -> CallContext {
    let (caller, options) = (flight.caller(), flight.options());
    CallContext::new(CallInfo {
        call_id: flight.call_id().clone(),
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
        place: place.map(|place| Box::new(place) as Box<dyn std::any::Any + Send + Sync>),
    })
}

/// What a call would do, for a dry run.
pub(crate) fn preview(call: &AdmittedCall, flight: &Flight<'_>) -> Result<Value, CallError> {
    let context = context(None, call, flight, None, Instant::now(), Arc::default(), None);
    let shown = call.entry.prepared.preview(&call.arguments, &context)?;
    Ok(shown.unwrap_or_else(
        || json!({"tool": call.entry.version.spec.name, "arguments": call.arguments.as_value()}),
    ))
}
