//! Calls that become tasks: approvals, asynchronous tools, and upstreams that respond later.

use std::time::Duration;

use haft_core::{CallError, CallId, Effect, ErrorKind, RunId};
use haft_engine::{CallRequest, PreflightedCall};
use haft_runs::{Halt, INBOX, NewRun, Wait};
use haft_tasks::NewTask;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::call_result::{failed, from_json};
use crate::tool_calls::OpenCall;
use crate::transcript::{CallState, CallTask, TaskReason, key};
use crate::turn_runner::TurnRunner;

/// The kind of a wait for the end of a task.
const TASK: &str = "task";

/// A call that becomes a task.
pub(crate) struct DeferredCall {
    pub(crate) open: OpenCall,
    pub(crate) request: Box<CallRequest>,
    pub(crate) preflight: Box<PreflightedCall>,
    pub(crate) reason: TaskReason,
}

impl DeferredCall {
    fn wait(&self) -> Wait {
        wait(self.open.key(), self.reason)
    }
}

impl TurnRunner<'_, '_> {
    /// Starts tasks. Each is started once, even after a crash: its id is the id of its call.
    pub(crate) async fn start_tasks(&self, deferred: Vec<DeferredCall>) -> Result<(), Halt> {
        let (mut calls, mut runs) = (Vec::new(), Vec::new());
        for deferred in deferred {
            match self.new_task(&deferred).await {
                Ok(run) => {
                    runs.push((deferred.open.index, run));
                    calls.push(deferred);
                }
                Err(error) => self.complete_failed(&deferred.open, error),
            }
        }
        let Some(step) = calls.first().map(|call| call.open.step) else { return Ok(()) };
        let awaited = calls.iter().filter(|call| call.reason != TaskReason::Async);
        let waits: Vec<Wait> = awaited.map(DeferredCall::wait).collect();
        let task = |call: &DeferredCall| CallTask {
            task_id: task_id(&call.open.call.call_id).to_string(),
            reason: call.reason,
        };
        let stored: Map<String, Value> =
            calls.iter().map(|call| (call.open.index.to_string(), json!(task(call)))).collect();
        let (cx, worker) = (self.turn.cx, self.turn.conversations.runs()?.clone());
        let mut refused = Vec::new();
        // The journal must contain the call ids before tasks with these ids start.
        cx.persist().await?;
        let key = key::tasks(self.context.turn, step);
        let failures = &mut refused;
        let started = cx.step_with_waits::<_, Halt>(&key, Effect::Idempotent, waits, || async move {
            for (index, run) in runs {
                match worker.start(run).await {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Unavailable => return Err(Halt::Release),
                    Err(error) => failures.push((index, error)),
                }
            }
            Ok(Value::Object(stored))
        });
        started.await?;
        for call in calls {
            let open = &call.open;
            if let Some((_, error)) = refused.iter().find(|(index, _)| *index == open.index) {
                // The queue is full: the model may retry later. Listeners are notified once.
                cx.put(&key::notified(open.turn, open.step, open.index), Value::Bool(true));
                self.complete_failed(open, CallError::clone(error));
            } else if call.reason == TaskReason::Async {
                self.complete(open, &json!({"pending": task(&call)}));
            }
        }
        Ok(())
    }

    fn complete_failed(&self, open: &OpenCall, error: CallError) {
        let call = &open.call;
        let result = failed(&call.call_id, &call.name, error, self.context.caller.locale);
        self.complete(open, &result);
    }

    /// Returns the run of a task.
    async fn new_task(&self, deferred: &DeferredCall) -> Result<NewRun, CallError> {
        let (context, cx) = (&self.context, self.turn.cx);
        let DeferredCall { open, request, preflight, reason } = deferred;
        let binding = request.options.binding.as_deref();
        let tools = &self.turn.conversations.0.tools;
        let redacted = tools
            .redact_arguments(&context.caller, &request.tool, binding, &preflight.arguments)
            .await?
            .for_record;
        let redacted = (redacted != *preflight.arguments).then_some(redacted);
        // The result of an asynchronous call is sent to the inbox of the conversation.
        let parent = match reason {
            TaskReason::Async => format!("{INBOX}:{}", open.call.call_id),
            TaskReason::Approval | TaskReason::Later => cx.scoped(deferred.wait()).key,
        };
        let task = NewTask {
            id: task_id(&open.call.call_id),
            delay: Duration::ZERO,
            priority: None,
            approval_timeout: None,
            key: None,
            max_crashes: self.turn.conversations.0.max_crashes,
            parent: context.mode.is_durable().then_some((context.conversation, parent)),
        };
        Ok(task.run(&context.caller, request, preflight, redacted))
    }

    /// Notifies listeners of the results of tasks for which the turn waited, once.
    pub(crate) fn notify_task_results(&self) {
        let Some(last) = self.last_step() else { return };
        for (index, call) in last.calls.iter().enumerate() {
            let (Some(task), CallState::Done(result)) = (&call.task, &call.state) else { continue };
            let key = key::notified(self.context.turn, last.step, index);
            if task.reason == TaskReason::Async || self.turn.cx.output(&key).is_some() {
                continue;
            }
            if let Some(result) = from_json(result) {
                self.turn.conversations.notify(&self.context.labels(), &result);
            }
            self.turn.cx.put(&key, Value::Bool(true));
        }
    }

    /// Returns the waits for tasks without which the turn cannot continue.
    pub(crate) fn awaited_tasks(&self) -> Vec<Wait> {
        let Some(last) = self.last_step() else { return Vec::new() };
        let waits = last.calls.iter().enumerate().filter_map(|(index, call)| match &call.state {
            CallState::Awaited(task) => {
                Some(wait(key::call(self.context.turn, last.step, index), task.reason))
            }
            CallState::Running | CallState::Pending(_) | CallState::Done(_) => None,
        });
        waits.collect()
    }
}

/// The id of the task that a call becomes: the id of the call.
pub(crate) fn task_id(call: &CallId) -> RunId {
    RunId::from(Uuid::try_parse(call.as_str()).unwrap_or_else(|_| Uuid::now_v7()))
}

fn wait(key: String, reason: TaskReason) -> Wait {
    let kind = match reason {
        TaskReason::Approval => "decision",
        TaskReason::Later | TaskReason::Async => TASK,
    };
    Wait { key, kind: kind.to_owned(), details: None, timeout: None }
}
