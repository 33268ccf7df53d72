//! Executes the calls of a response: concurrently, each once. Every failure is a result for the model.

use std::sync::Arc;

use haft_core::{BoxFuture, CallError, CallOptions, Effect, ErrorKind, Message, ToolExecutionResult};
use haft_engine::CallRequest;
use haft_runs::{Halt, PlannedStep};
use serde_json::Value;
use tokio::time::sleep;

use crate::call_history::{LoggedCalls, log_id};
use crate::call_plan::CallPlan;
use crate::call_result::{failed, from_json, to_json, too_large};
use crate::deferred_calls::DeferredCall;
use crate::event::ChatEvent;
use crate::transcript::{CallState, CallTask, StepCall, key};
use crate::turn_runner::TurnRunner;

haft_core::templates! {
    CUT_OFF = "chat.cutOff",
        "{tool} was stopped: the turn reached its limit of {most} seconds. Whether it took effect is unknown.",
        "{tool} 已中止：本轮的 {most} 秒已用完；是否生效未知";
}

/// A call of the last response, with its position.
#[derive(Clone)]
pub(crate) struct OpenCall {
    pub(crate) turn: u32,
    pub(crate) step: u32,
    pub(crate) index: usize,
    /// True if the model wrote the call as text.
    pub(crate) is_from_text: bool,
    pub(crate) call: StepCall,
}

impl OpenCall {
    /// The key of its step.
    pub(crate) fn key(&self) -> String {
        key::call(self.turn, self.step, self.index)
    }
}

impl TurnRunner<'_, '_> {
    /// Executes the open calls of the last response, as far as that is possible now.
    pub(crate) async fn run_calls(&mut self) -> Result<(), Halt> {
        let (mut inline, mut deferred) = (Vec::new(), Vec::new());
        for open in self.open_calls() {
            match self.plan_or_recover(&open).await {
                CallPlan::Known(result) => self.complete(&open, &result),
                CallPlan::Inline(request, effect) => inline.push((open, *request, effect)),
                CallPlan::Deferred(request, preflight, reason) => {
                    deferred.push(DeferredCall { open, request, preflight, reason });
                }
                CallPlan::Client => {}
            }
        }
        if !deferred.is_empty() {
            self.start_tasks(deferred).await?;
        }
        if !inline.is_empty() {
            self.run_inline(inline).await?;
        }
        self.read_results();
        self.notify_task_results();
        self.truncate_results().await;
        self.emit_results();
        Ok(())
    }

    /// Returns the calls of the last response that are not executed.
    fn open_calls(&self) -> Vec<OpenCall> {
        let Some(last) = self.last_step() else { return Vec::new() };
        let calls = last.calls.iter().enumerate();
        let open = calls.filter(|(_, call)| call.state == CallState::Running);
        let open = open.map(|(index, call)| OpenCall {
            turn: self.context.turn,
            step: last.step,
            index,
            is_from_text: last.response.calls.get(index).is_some_and(|call| call.is_from_text),
            call: call.clone(),
        });
        open.collect()
    }

    /// Decides how a call is executed. After a crash, its result may be in the call log, or be unknown.
    async fn plan_or_recover(&self, open: &OpenCall) -> CallPlan {
        let (cx, context) = (self.turn.cx, &self.context);
        let logged = LoggedCalls { conversations: self.turn.conversations, cx, caller: &context.caller };
        if cx.is_unknown(&open.key()) {
            let binding = context.toolbox.binding(&open.call.name);
            let options = CallOptions { binding, ..context.options(&open.call, self.turn.transcript) };
            return CallPlan::Known(logged.unknown(&open.call, options).await);
        }
        let result = match cx.run().crashes > 0 {
            true => logged.find(&open.call, true).await,
            false => None,
        };
        match result {
            Some(result) => {
                // The call was made before the crash, and counts as one call of the turn.
                let _ = context.allowance.take_call();
                CallPlan::Known(result)
            }
            None => self.plan(open).await,
        }
    }

    /// Stores the result of a call that is not executed inline, and emits it.
    pub(crate) fn complete(&self, open: &OpenCall, result: &Value) {
        self.turn.cx.put(&open.key(), result.clone());
        let labels = self.context.labels();
        from_json(result).iter().for_each(|result| self.turn.conversations.notify(&labels, result));
        if result.get("pending").is_none() {
            self.emit_result(open, result.clone());
        }
    }

    fn emit_result(&self, open: &OpenCall, result: Value) {
        let (step, call_id, name) = (open.step, open.call.call_id.clone(), open.call.name.clone());
        self.context.log.emit(ChatEvent::Result { step, call_id, name, result });
    }

    async fn run_inline(&self, calls: Vec<(OpenCall, CallRequest, Effect)>) -> Result<(), Halt> {
        let planned = calls.into_iter().map(|(open, request, effect)| PlannedStep {
            key: open.key(),
            effect,
            work: self.call(open, request),
        });
        self.turn.cx.run_all(planned.collect()).await.map(drop)
    }

    /// Executes a call inline, and emits its result.
    fn call(&self, open: OpenCall, mut request: CallRequest) -> BoxFuture<'_, Result<Value, Halt>> {
        Box::pin(async move {
            let (locale, labels) = (self.context.caller.locale, self.context.labels());
            request.options.log_id = log_id(&open.call.call_id);
            let mut result = match self.call_with_timeout(request).await {
                Ok(result) => {
                    self.turn.conversations.notify(&labels, &result);
                    to_json(&result, locale)
                }
                Err(error) => {
                    let result = failed(&open.call.call_id, &open.call.name, error, locale);
                    let read = from_json(&result);
                    read.iter().for_each(|result| self.turn.conversations.notify(&labels, result));
                    result
                }
            };
            self.truncate_result(&open.call, &mut result).await;
            self.emit_result(&open, result.clone());
            Ok(result)
        })
    }

    /// Executes a call, and cancels it when the time of the turn is over.
    async fn call_with_timeout(&self, request: CallRequest) -> Result<ToolExecutionResult, CallError> {
        let context = &self.context;
        let stop = context.cancel.child_token();
        let options = CallOptions { cancel: Some(stop.clone()), ..request.options };
        let timed_out = async {
            sleep(context.time_left()).await;
            stop.cancel();
            std::future::pending().await
        };
        let tools = &self.turn.conversations.0.tools;
        let mut result = tokio::select! {
            result = tools.call(&context.caller, CallRequest { options, ..request }) => result?,
            result = timed_out => result,
        };
        let is_cancelled = result.error().is_some_and(|error| error.kind() == ErrorKind::Cancelled);
        if is_cancelled && stop.is_cancelled() && !context.cancel.is_cancelled() {
            let most = context.budget.time.as_secs();
            let message = Message::new(&CUT_OFF).with("tool", &*result.tool_name).with("most", most);
            result.outcome = Err(CallError::new(ErrorKind::BudgetExceeded, message));
        }
        Ok(result)
    }

    /// Reads the results of the last response's calls from the journal.
    pub(crate) fn read_results(&mut self) {
        let (cx, turn) = (self.turn.cx, self.context.turn);
        let steps = self.turn.transcript.turns.last_mut().map(|turn| &mut turn.steps);
        let Some(last) = steps.and_then(|steps| steps.last_mut()) else { return };
        let tasks = cx.output(&key::tasks(turn, last.step));
        for (index, call) in last.calls.iter_mut().enumerate() {
            let task = tasks.as_ref().and_then(|tasks| CallTask::read(&tasks[index.to_string()]));
            if let Some(output) = cx.output(&key::call(turn, last.step, index)) {
                call.state = CallState::read(&output);
            } else if let Some(task) = &task {
                call.state = CallState::Awaited(task.clone());
            }
            if task.is_some() {
                call.task = task;
            }
        }
    }

    /// Truncates the large results of tasks. Other results are truncated when they arrive.
    async fn truncate_results(&mut self) {
        let Some(last) = self.last_step() else { return };
        let is_large = |call: &StepCall| match &call.state {
            CallState::Done(result) => too_large(result).is_some(),
            CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => false,
        };
        let large = last.calls.iter().enumerate().filter(|(_, call)| is_large(call));
        let large: Vec<(usize, StepCall)> = large.map(|(index, call)| (index, call.clone())).collect();
        let step = last.step;
        for (index, call) in large {
            let CallState::Done(result) = &call.state else { continue };
            let mut result = Value::clone(result);
            self.truncate_result(&call, &mut result).await;
            self.turn.cx.put(&key::call(self.context.turn, step, index), result.clone());
            let steps = self.turn.transcript.turns.last_mut().map(|turn| &mut turn.steps);
            let last = steps.and_then(|steps| steps.last_mut());
            if let Some(call) = last.and_then(|last| last.calls.get_mut(index)) {
                call.state = CallState::Done(Arc::new(result));
            }
        }
    }

    /// Emits tasks and results that are not in the log yet.
    pub(crate) fn emit_results(&self) {
        let Some(last) = self.last_step() else { return };
        let pending = last.calls.iter().filter_map(|call| ChatEvent::pending(last.step, call));
        let results = last.calls.iter().filter_map(|call| ChatEvent::arrived(last.step, call));
        pending.chain(results).for_each(|event| self.context.log.emit(event));
    }
}
