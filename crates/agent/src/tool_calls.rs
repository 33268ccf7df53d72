//! Carrying out the calls of an answer: all at the same time, each once, and every failure an answer to the model.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{
    Binding, BoxFuture, CallError, CallId, CallOptions, Effect, ErrorKind, ExhaustedAllowance, Message,
    Policy, PolicyRule, ResultDelivery, RunId, ToolExecutionResult, Violation,
};
use haft_engine::{CallRequest, PreflightedCall};
use haft_runs::{Halt, NewRun, PlannedStep, RunContext, Wait};
use haft_tasks::NewTask;
use serde_json::{Map, Value, json};
use tokio::time::sleep;
use uuid::Uuid;

use crate::call_history::log_id;
use crate::call_result::{failed, from_json, succeeded, to_json};
use crate::conversations::Conversations;
use crate::event::ChatEvent;
use crate::toolbox::{BoundTool, CallTarget};
use crate::transcript::{CallState, CallTask, StepCall, TaskReason, Transcript, key};
use crate::turn_context::TurnContext;

haft_core::templates! {
    NO_TOOL = "chat.noTool",
        "There is no tool {tool}. Available tools: {near}",
        "没有工具 {tool}；可用的有：{near}";
    NOT_JSON = "chat.notJson",
        "The arguments of {tool} are not a JSON object: {reason}. Write them again.",
        "{tool} 的参数不是 JSON 对象：{reason}；请重新给出";
    TOO_MANY_AT_ONCE = "chat.tooManyAtOnce",
        "Not executed: one response can make at most {most} calls. Make fewer calls at once.",
        "未执行：一次回答最多可发起 {most} 个调用；请减少同时调用的数量";
    TOO_MANY = "chat.tooMany",
        "Not executed: the turn has used all its {most} calls. Answer with what is known.",
        "未执行：本轮的 {most} 个调用已用完；请根据已有信息回答";
    BINDING_ONLY = "chat.bindingOnly",
        "can be set by the agent's binding only; leave it out",
        "只能由智能体的绑定设置；请去掉该参数";
    OUTER_SPENT = "chat.outerCalls",
        "Not executed: the calling turn has used all its calls. Answer with what is known.",
        "未执行：发起询问的那一轮的调用次数已用完；请根据已有信息回答";
    CUT_OFF = "chat.cutOff",
        "{tool} was stopped: the turn reached its limit of {most} seconds. Whether it took effect is unknown.",
        "{tool} 已中止：本轮的 {most} 秒已用完；是否生效未知";
}

/// So many calls one answer may make.
const MOST_AT_ONCE: usize = 32;

/// The step of a call that waits for the task it became.
const TASK: &str = "task";

/// What is to be done with a call.
enum CallPlan {
    /// It is answered without a tool.
    Told(Value),
    Call(Box<CallRequest>, Effect),
    Task(Box<CallRequest>, Box<PreflightedCall>, TaskReason),
    /// Whoever asked carries it out.
    Client,
}

impl Conversations {
    /// Carries out what is open of the last answer, as far as that goes now.
    pub(crate) async fn carry(
        &self,
        cx: &RunContext,
        at: &TurnContext,
        transcript: &mut Transcript,
    ) -> Result<(), Halt> {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return Ok(()) };
        let (step, calls) = (last.step, last.calls.clone());
        let from_text: Vec<bool> = last.response.calls.iter().map(|call| call.is_from_text).collect();
        let has_crashed = cx.run().crashes > 0;
        let mut plans = Vec::with_capacity(calls.len());
        for (place, call) in calls.iter().enumerate() {
            let is_lost = cx.is_unknown(&key::call(at.turn, step, place));
            plans.push(match &call.state {
                CallState::Running if is_lost => {
                    let binding = at.toolbox.binding(&call.name);
                    let options = CallOptions { binding, ..at.options(call, transcript) };
                    Some(CallPlan::Told(self.unknown(cx, &at.caller, call, options).await))
                }
                CallState::Running => {
                    let is_from_text = from_text.get(place).copied().unwrap_or_default();
                    let logged = match has_crashed {
                        true => self.logged(cx, &at.caller, call, true).await,
                        false => None,
                    };
                    Some(match logged {
                        Some(result) => {
                            // It was made before the crash, and counts as one call of the turn.
                            let _ = at.allowance.take_call();
                            CallPlan::Told(result)
                        }
                        None => self.plan(at, transcript, call, place, is_from_text).await,
                    })
                }
                CallState::Awaited(_) | CallState::Pending(_) | CallState::Done(_) => None,
            });
        }
        let (mut inline, mut tasks) = (Vec::new(), Vec::new());
        for (place, plan) in plans.into_iter().enumerate() {
            let (Some(plan), Some(call)) = (plan, calls.get(place)) else { continue };
            match plan {
                CallPlan::Told(result) => {
                    self.arrived(cx, at, step, (place, call), &result);
                }
                CallPlan::Call(request, effect) => inline.push((place, call, *request, effect)),
                CallPlan::Task(request, preflight, reason) => {
                    tasks.push((place, call, request, preflight, reason))
                }
                CallPlan::Client => {}
            }
        }
        if !tasks.is_empty() {
            let mut news = Vec::new();
            for (place, call, request, preflight, reason) in tasks {
                match self.task(at, step, (place, call), &request, &preflight, reason).await {
                    Ok(new) => news.push((place, reason, new)),
                    Err(error) => {
                        let result = failed(&call.call_id, &call.name, error, at.caller.locale);
                        self.arrived(cx, at, step, (place, call), &result);
                    }
                }
            }
            self.start_tasks(cx, at, step, news, &calls).await?;
        }
        if !inline.is_empty() {
            let planned = inline.into_iter().map(|(place, call, request, effect)| PlannedStep {
                key: key::call(at.turn, step, place),
                effect,
                work: self.call(at, step, call, request),
            });
            cx.run_all(planned.collect()).await?;
        }
        self.look(cx, at, step, transcript);
        self.hear_tasks(cx, at, transcript);
        self.shorten_all(cx, at, transcript).await;
        at.tell_results(transcript);
        Ok(())
    }

    /// Tells who listens of what came of tasks that the turn waited for, once.
    fn hear_tasks(&self, cx: &RunContext, at: &TurnContext, transcript: &Transcript) {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return };
        for (place, call) in last.calls.iter().enumerate() {
            let (Some(task), CallState::Done(result)) = (&call.task, &call.state) else { continue };
            let key = key::notified(at.turn, last.step, place);
            if task.reason == TaskReason::Async || cx.output(&key).is_some() {
                continue;
            }
            if let Some(result) = from_json(result) {
                self.done(at.logged(), &result);
            }
            cx.put(&key, Value::Bool(true));
        }
    }

    /// Waits for the tasks that the turn cannot go on without.
    pub(crate) fn awaited(&self, at: &TurnContext, transcript: &Transcript) -> Result<(), Halt> {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return Ok(()) };
        let waits = last.calls.iter().enumerate().filter_map(|(place, call)| match &call.state {
            CallState::Awaited(task) => Some(wait(at, last.step, place, task.reason)),
            CallState::Running | CallState::Pending(_) | CallState::Done(_) => None,
        });
        let waits: Vec<Wait> = waits.collect();
        if waits.is_empty() { Ok(()) } else { Err(Halt::Suspend(waits)) }
    }

    /// Reads from the journal what has come of the last answer's calls.
    pub(crate) fn look(&self, cx: &RunContext, at: &TurnContext, step: u32, transcript: &mut Transcript) {
        let tasks = cx.output(&key::tasks(at.turn, step));
        let Some(last) = transcript.turns.last_mut().and_then(|turn| turn.steps.last_mut()) else { return };
        for (place, call) in last.calls.iter_mut().enumerate() {
            if let Some(output) = cx.output(&key::call(at.turn, step, place)) {
                call.state = CallState::read(&output);
            } else if let Some(task) =
                tasks.as_ref().and_then(|tasks| CallTask::read(&tasks[place.to_string()]))
            {
                call.state = CallState::Awaited(task);
            }
            if let Some(task) = tasks.as_ref().and_then(|tasks| CallTask::read(&tasks[place.to_string()])) {
                call.task = Some(task);
            }
        }
    }

    /// Notes what came of a call.
    fn arrived(
        &self,
        cx: &RunContext,
        at: &TurnContext,
        step: u32,
        (place, call): (usize, &StepCall),
        result: &Value,
    ) {
        cx.put(&key::call(at.turn, step, place), result.clone());
        from_json(result).iter().for_each(|result| self.done(at.logged(), result));
        let (call_id, name, result) = (call.call_id.clone(), call.name.clone(), result.clone());
        if result.get("pending").is_none() {
            at.log.emit(ChatEvent::Result { step, call_id, name, result });
        }
    }

    /// Decides what is to be done with a call.
    async fn plan(
        &self,
        at: &TurnContext,
        transcript: &Transcript,
        call: &StepCall,
        place: usize,
        is_from_text: bool,
    ) -> CallPlan {
        let refuse =
            |error: CallError| CallPlan::Told(failed(&call.call_id, &call.name, error, at.caller.locale));
        if place >= MOST_AT_ONCE {
            let message = Message::new(&TOO_MANY_AT_ONCE).with("most", MOST_AT_ONCE);
            return refuse(CallError::new(ErrorKind::BudgetExceeded, message));
        }
        if let Err(short) = at.allowance.take_call() {
            let message = match short {
                ExhaustedAllowance::Own => Message::new(&TOO_MANY).with("most", at.budget.calls),
                ExhaustedAllowance::Outer => Message::new(&OUTER_SPENT),
            };
            return refuse(CallError::new(ErrorKind::BudgetExceeded, message));
        }
        let Some(how) = at.toolbox.target(&call.name) else {
            let near = at.toolbox.near(&call.name).join(", ");
            let message = Message::new(&NO_TOOL).with("tool", &call.name).with("near", near);
            return refuse(CallError::new(ErrorKind::NotFound, message));
        };
        if matches!(how, CallTarget::Client) {
            return CallPlan::Client;
        }
        let Value::Object(fields) = &call.arguments else {
            let written =
                call.arguments.as_str().map(str::to_owned).unwrap_or_else(|| call.arguments.to_string());
            let reason = haft_core::json::parse(written.as_bytes()).err();
            let reason =
                reason.map_or_else(|| "it is something else".to_owned(), |reason| reason.to_string());
            let message = Message::new(&NOT_JSON).with("tool", &call.name).with("reason", reason);
            return refuse(CallError::new(ErrorKind::Validation, message));
        };
        match how {
            CallTarget::Tool(bound) if bound.binding_only.iter().any(|name| fields.contains_key(name)) => {
                let names = bound.binding_only.iter().filter(|name| fields.contains_key(*name));
                let message = |name: &String| Violation::new(name.as_str(), Message::new(&BINDING_ONLY));
                refuse(CallError::invalid(names.map(message).collect()))
            }
            CallTarget::Tool(bound) => {
                self.plan_tool(at, transcript, call, &bound, fields, is_from_text).await
            }
            CallTarget::FindTools => CallPlan::Told(at.find_tools(call, fields)),
            CallTarget::TaskResult => CallPlan::Told(at.task_result(call, fields, transcript)),
            CallTarget::ReadResult => CallPlan::Told(self.read_result(at, call, fields).await),
            CallTarget::Client => CallPlan::Client,
        }
    }

    async fn plan_tool(
        &self,
        at: &TurnContext,
        transcript: &Transcript,
        call: &StepCall,
        bound: &Arc<BoundTool>,
        fields: &Map<String, Value>,
        is_from_text: bool,
    ) -> CallPlan {
        let mut binding = bound.binding.clone();
        let mut requirements =
            self.0.tools.call_requirements(&at.caller, &bound.id, binding.as_deref()).await;
        let only_reads = requirements.as_ref().is_ok_and(|requirements| {
            requirements.as_ref().is_some_and(|requirements| requirements.effect == Effect::Read)
        });
        if is_from_text && !only_reads {
            // A text may only look like a call, so a person decides whether it is one.
            binding = Some(Arc::new(asking(binding.as_deref())));
            requirements = self.0.tools.call_requirements(&at.caller, &bound.id, binding.as_deref()).await;
        }
        let options = CallOptions {
            timeout: bound.overrides.timeout.map(Duration::from_millis),
            retries: bound.overrides.retry_count,
            binding,
            ..at.options(call, transcript)
        };
        let request =
            CallRequest { tool: bound.id.clone(), arguments: Value::Object(fields.clone()), options };
        let Ok(Some(requirements)) = requirements else {
            // Calling it says why it cannot be called.
            return CallPlan::Call(Box::new(request), Effect::Write);
        };
        // Where nobody would hear of its result later, it is waited for.
        let is_async = bound.is_async && at.is_kept;
        if !is_async && !requirements.may_ask && requirements.reply == ResultDelivery::Now {
            return CallPlan::Call(Box::new(request), requirements.effect);
        }
        let Ok(preflight) = self.0.tools.preflight(&at.caller, request.clone()).await else {
            return CallPlan::Call(Box::new(request), requirements.effect);
        };
        let reason = match (is_async, preflight.asks, preflight.reply) {
            (true, _, _) => TaskReason::Async,
            (false, true, _) => TaskReason::Approval,
            (false, false, ResultDelivery::Now) => {
                return CallPlan::Call(Box::new(request), preflight.effect);
            }
            (false, false, ResultDelivery::Polled | ResultDelivery::Callback { .. }) => TaskReason::Later,
        };
        CallPlan::Task(Box::new(request), Box::new(preflight), reason)
    }

    /// Makes a call here and now.
    fn call<'a>(
        &'a self,
        at: &'a TurnContext,
        step: u32,
        call: &'a StepCall,
        mut request: CallRequest,
    ) -> BoxFuture<'a, Result<Value, Halt>> {
        Box::pin(async move {
            let locale = at.caller.locale;
            request.options.log_id = log_id(&call.call_id);
            let (call_id, name) = (call.call_id.clone(), call.name.clone());
            let mut result = match self.call_in_time(at, request).await {
                Ok(result) => {
                    self.done(at.logged(), &result);
                    to_json(&result, locale)
                }
                Err(error) => {
                    let result = failed(&call_id, &name, error, locale);
                    from_json(&result).iter().for_each(|result| self.done(at.logged(), result));
                    result
                }
            };
            self.shorten(at, &call_id, &name, &mut result).await;
            at.log.emit(ChatEvent::Result { step, call_id, name, result: result.clone() });
            Ok(result)
        })
    }

    /// Makes a call, and stops it when the time of the turn is over.
    async fn call_in_time(
        &self,
        at: &TurnContext,
        request: CallRequest,
    ) -> Result<ToolExecutionResult, CallError> {
        let stop = at.cancel.child_token();
        let options = CallOptions { cancel: Some(stop.clone()), ..request.options };
        let over = async {
            sleep(at.left()).await;
            stop.cancel();
            std::future::pending().await
        };
        let mut result = tokio::select! {
            result = self.0.tools.call(&at.caller, CallRequest { options, ..request }) => result?,
            result = over => result,
        };
        let is_cancelled = result.error().is_some_and(|error| error.kind() == ErrorKind::Cancelled);
        if is_cancelled && stop.is_cancelled() && !at.cancel.is_cancelled() {
            let most = at.budget.time.as_secs();
            let message = Message::new(&CUT_OFF).with("tool", &*result.tool_name).with("most", most);
            result.outcome = Err(CallError::new(ErrorKind::BudgetExceeded, message));
        }
        Ok(result)
    }

    /// The run that a call becomes.
    async fn task(
        &self,
        at: &TurnContext,
        step: u32,
        (place, call): (usize, &StepCall),
        request: &CallRequest,
        preflight: &PreflightedCall,
        reason: TaskReason,
    ) -> Result<NewRun, CallError> {
        let binding = request.options.binding.as_deref();
        let shown = self
            .0
            .tools
            .redact_arguments(&at.caller, &request.tool, binding, &preflight.arguments)
            .await?
            .for_record;
        let shown = (shown != *preflight.arguments).then_some(shown);
        // What nobody waits for is heard among what is sent to the conversation.
        let parent = match reason {
            TaskReason::Async => format!("{}:{}", haft_runs::INBOX, call.call_id),
            TaskReason::Approval | TaskReason::Later => key::call(at.turn, step, place),
        };
        let task = NewTask {
            id: task_id(&call.call_id),
            delay: Duration::ZERO,
            priority: None,
            approval_timeout: None,
            key: None,
            max_crashes: self.0.max_crashes,
            parent: at.is_durable.then_some((at.conversation, parent)),
        };
        Ok(task.run(&at.caller, request, preflight, shown))
    }

    /// Starts what became tasks. Whatever happens, each is started once: its id is that of its call.
    async fn start_tasks(
        &self,
        cx: &RunContext,
        at: &TurnContext,
        step: u32,
        news: Vec<(usize, TaskReason, NewRun)>,
        calls: &[StepCall],
    ) -> Result<(), Halt> {
        let awaited = news.iter().filter(|(_, reason, _)| *reason != TaskReason::Async);
        let waits: Vec<Wait> = awaited.map(|(place, reason, _)| wait(at, step, *place, *reason)).collect();
        let tasks: Vec<(usize, CallTask)> = news
            .iter()
            .map(|(place, reason, new)| (*place, CallTask { task_id: new.id.to_string(), reason: *reason }))
            .collect();
        let told: Map<String, Value> =
            tasks.iter().map(|(place, task)| (place.to_string(), json!(task))).collect();
        let runs = self.runs()?.clone();
        let mut refused = Vec::new();
        // The call ids are known to the journal before anything is begun under them.
        cx.persist().await?;
        let key = key::tasks(at.turn, step);
        let failures = &mut refused;
        let started = cx.step_with_waits::<_, Halt>(&key, Effect::Idempotent, waits, || async move {
            for (place, _, new) in news {
                match runs.start(new).await {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::Unavailable => return Err(Halt::Release),
                    Err(error) => failures.push((place, error)),
                }
            }
            Ok(Value::Object(told))
        });
        started.await?;
        for (place, task) in tasks {
            let Some(call) = calls.get(place) else { continue };
            if let Some((_, error)) = refused.iter().find(|(refused, _)| *refused == place) {
                // The queue is full: the model is told, and may try again later. So is who listens, once.
                cx.put(&key::notified(at.turn, step, place), Value::Bool(true));
                let result = failed(&call.call_id, &call.name, CallError::clone(error), at.caller.locale);
                self.arrived(cx, at, step, (place, call), &result);
            } else if task.reason == TaskReason::Async {
                self.arrived(cx, at, step, (place, call), &json!({"pending": task}));
            }
        }
        Ok(())
    }
}

impl TurnContext {
    /// Tells what became tasks and what has come, where that was not told yet.
    pub(crate) fn tell_results(&self, transcript: &Transcript) {
        let Some(last) = transcript.open().and_then(|turn| turn.steps.last()) else { return };
        let pending = last.calls.iter().filter_map(|call| ChatEvent::pending(last.step, call));
        let arrived = last.calls.iter().filter_map(|call| ChatEvent::arrived(last.step, call));
        pending.chain(arrived).for_each(|event| self.log.emit(event));
    }

    fn find_tools(&self, call: &StepCall, fields: &Map<String, Value>) -> Value {
        let query = fields.get("query").and_then(Value::as_str).unwrap_or_default();
        let found: Vec<Value> =
            self.toolbox.search(query).into_iter().map(crate::toolbox::search_result).collect();
        succeeded(&call.call_id, &call.name, json!({"tools": found}))
    }

    fn task_result(&self, call: &StepCall, fields: &Map<String, Value>, transcript: &Transcript) -> Value {
        let wanted = fields.get("callId").and_then(Value::as_str).unwrap_or_default();
        let data = match transcript.ended(wanted) {
            Some(output) => output.clone(),
            None if transcript.pending().any(|(call, _)| call.call_id.as_str() == wanted) => {
                json!({"status": "pending", "callId": wanted})
            }
            None => json!({"status": "unknown", "callId": wanted, "note": "no call of this id is pending"}),
        };
        succeeded(&call.call_id, &call.name, data)
    }
}

/// A binding under which a person is asked before each call. One that blocks stays as it is.
fn asking(binding: Option<&Binding>) -> Binding {
    let binding = binding.cloned().unwrap_or_default();
    match binding.policy.strictest() {
        Policy::Block => binding,
        Policy::Allow | Policy::Ask => {
            let policy = PolicyRule::read(Some(Policy::Ask), None).unwrap_or_default();
            Binding { policy, ..binding }
        }
    }
}

/// The task that a call becomes has the call's own id.
pub(crate) fn task_id(call: &CallId) -> RunId {
    RunId::from(Uuid::try_parse(call.as_str()).unwrap_or_else(|_| Uuid::now_v7()))
}

fn wait(at: &TurnContext, step: u32, place: usize, reason: TaskReason) -> Wait {
    let word = match reason {
        TaskReason::Approval => "decision",
        TaskReason::Later | TaskReason::Async => TASK,
    };
    Wait { key: key::call(at.turn, step, place), kind: word.to_owned(), details: None, timeout: None }
}
