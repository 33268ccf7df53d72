//! The second half of a call: cache, breaker, rate limit, bulkhead, then attempts under a deadline.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_core::call::{CallInfo, ProgressSink};
use haft_core::{CallContext, CallError, Effect, ErrorKind, Message, RetryPolicy, ToolOutput};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::admit::AdmittedCall;
use crate::breaker::Breaker;
use crate::cache::CallKey;
use crate::flight::Flight;
use crate::service::Inner;

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

/// Runs an admitted call. Answers the data, and whether it was kept from an earlier call.
pub(crate) async fn execute(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
) -> Result<(Arc<Value>, bool), CallError> {
    let options = flight.options();
    // Ends with this function, however that comes about, so that the tool's code
    // learns that nobody waits any more.
    let cancel = match &options.cancel {
        Some(outer) => outer.child_token(),
        None => CancellationToken::new(),
    };
    let _ends = cancel.clone().drop_guard();
    let work = cached_or_made(engine, call, flight, &cancel);
    tokio::select! {
        biased;
        () = cancel.cancelled(), if options.cancel.is_some() => {
            Err(CallError::new(ErrorKind::Cancelled, Message::new(&CANCELLED)))
        }
        outcome = work => outcome,
    }
}

async fn cached_or_made(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    cancel: &CancellationToken,
) -> Result<(Arc<Value>, bool), CallError> {
    let version = &call.entry.version;
    match &engine.cache {
        Some(cache) if version.spec.cache_ttl > 0 && call.entry.effect == Effect::Read => {
            let space = flight.caller().space;
            let key = CallKey::new(space, version.id.clone(), version.version, &call.arguments);
            let ttl = Duration::from_secs(version.spec.cache_ttl);
            cache.get_or_make(key, ttl, make(engine, call, flight, cancel)).await
        }
        _ => make(engine, call, flight, cancel).await.map(|data| (data, false)),
    }
}

/// Passes the limits and makes attempts until one succeeds or no more are due.
async fn make(
    engine: &Inner,
    call: &AdmittedCall,
    flight: &mut Flight<'_>,
    cancel: &CancellationToken,
) -> Result<Arc<Value>, CallError> {
    let entry = &call.entry;
    let spec = &entry.version.spec;
    let (caller, options) = (flight.caller(), flight.options());
    let start = Instant::now();
    let attempt_time = options.timeout.unwrap_or(Duration::from_millis(spec.timeout));
    let total_time = Duration::from_millis(spec.total_timeout).max(options.timeout.unwrap_or_default());
    let deadline = start + total_time;

    let breaker = engine.breakers.as_ref().and_then(|breakers| {
        let key = entry.prepared.breaker_key(&call.arguments)?;
        Some(breakers.circuit(caller.space, key, start))
    });
    if let Some(breaker) = &breaker {
        breaker.check(start)?;
    }
    let limits = engine.limits_on;
    if let Some(limiter) = entry.limiter.as_ref().filter(|_| limits) {
        limiter.take(&spec.name, caller.user, start)?;
    }
    let _place = match entry.bulkhead.as_ref().filter(|_| limits) {
        Some(bulkhead) => Some(bulkhead.enter(&spec.name, deadline).await?),
        None => None,
    };

    let mut context = context(engine.progress.clone(), call, flight, cancel.clone(), deadline);
    let retry = RetryPolicy::new(
        entry.effect,
        options.retries.or(spec.retry_count),
        options.retry_delay.unwrap_or(Duration::from_millis(spec.retry_delay)),
    );
    let mut pauses = retry.pauses();
    loop {
        flight.attempting(context.attempt());
        let attempt = Attempt { call, context: &context, time: attempt_time, deadline };
        let error = match attempt.make(breaker.as_ref()).await {
            Ok(output) => return Ok(Arc::new(output.data)),
            Err(error) => error,
        };
        if !retry.repeats(&error) {
            return Err(error.that_must_not_be_repeated());
        }
        let Some(pause) = pauses.next() else { return Err(error) };
        let jittered = pause.mul_f64(fastrand::f64());
        let pause = jittered.max(error.pause_asked_for().unwrap_or_default());
        let open = breaker.as_ref().is_some_and(|breaker| breaker.check(Instant::now() + pause).is_err());
        if open || Instant::now() + pause >= deadline {
            return Err(error);
        }
        flight.retrying(error.kind(), pause);
        sleep(pause).await;
        context = context.next_attempt();
    }
}

struct Attempt<'a> {
    call: &'a AdmittedCall,
    context: &'a CallContext,
    time: Duration,
    deadline: Instant,
}

impl Attempt<'_> {
    async fn make(&self, breaker: Option<&Breaker>) -> Result<ToolOutput, CallError> {
        let pass = breaker.map(|breaker| breaker.enter(Instant::now())).transpose()?;
        let outcome = self.run().await;
        if let Some(pass) = pass {
            pass.ended(outcome.as_ref().err().map(CallError::kind), Instant::now());
        }
        outcome
    }

    async fn run(&self) -> Result<ToolOutput, CallError> {
        let entry = &self.call.entry;
        let start = Instant::now();
        let until = (start + self.time).min(self.deadline);
        let work = AssertUnwindSafe(async { entry.prepared.run(&self.call.arguments, self.context).await });
        match timeout_at(until, work.catch_unwind()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => {
                let message =
                    Message::new(&PANICKED).with("tool", &entry.name).with("reason", reason(&*panic));
                Err(CallError::new(ErrorKind::Execution, message))
            }
            Err(_) => {
                let time = (until - start).as_millis();
                let message = Message::new(&TIMED_OUT).with("tool", &entry.name).with("milliseconds", time);
                Err(CallError::new(ErrorKind::Timeout, message))
            }
        }
    }
}

/// What a panic said.
fn reason(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

/// What the tool's code gets to know of a call.
pub(crate) fn context(
    progress: Option<Arc<dyn ProgressSink>>,
    call: &AdmittedCall,
    flight: &Flight<'_>,
    cancel: CancellationToken,
    deadline: Instant,
) -> CallContext {
    let (caller, options) = (flight.caller(), flight.options());
    CallContext::new(CallInfo {
        call_id: flight.call_id().clone(),
        tool: call.entry.version.spec.name.clone(),
        space: caller.space,
        user: caller.user,
        agent: options.agent,
        conversation: options.conversation,
        locale: caller.locale,
        deadline: deadline.into_std(),
        cancel,
        progress,
    })
}

/// What a call would do, for a dry run.
pub(crate) fn preview(call: &AdmittedCall, flight: &Flight<'_>) -> Value {
    let context = context(None, call, flight, CancellationToken::new(), Instant::now());
    let shown = call.entry.prepared.preview(&call.arguments, &context);
    shown.unwrap_or_else(
        || json!({"tool": call.entry.version.spec.name, "arguments": call.arguments.as_value()}),
    )
}
