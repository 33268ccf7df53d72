//! Decides how a call of a response is executed: inline, as a task, by the client, or not at all.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{
    Binding, CallError, CallOptions, Effect, ErrorKind, ExhaustedAllowance, Message, Policy, PolicyRule,
    ResultDelivery, Violation,
};
use haft_engine::{CallRequest, PreflightedCall};
use serde_json::{Map, Value, json};

use crate::call_result::{failed, succeeded};
use crate::tool_calls::OpenCall;
use crate::toolbox::{BoundTool, CallTarget};
use crate::transcript::{StepCall, TaskReason};
use crate::turn_runner::TurnRunner;

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
        "Not executed: the turn has used all its {most} calls. Answer with the available information.",
        "未执行：本轮的 {most} 个调用已用完；请根据已有信息回答";
    BINDING_ONLY = "chat.bindingOnly",
        "can be set by the agent's binding only; leave it out",
        "只能由智能体的绑定设置；请去掉该参数";
    OUTER_SPENT = "chat.outerCalls",
        "Not executed: the calling turn has used all its calls. Answer with the available information.",
        "未执行：发起询问的那一轮的调用次数已用完；请根据已有信息回答";
}

/// Maximum number of calls of one response.
const MAX_CALLS: usize = 32;

/// How a call is executed.
pub(crate) enum CallPlan {
    /// Not at all: the result is known.
    Known(Value),
    /// Inline, with this effect.
    Inline(Box<CallRequest>, Effect),
    /// Deferred: the call becomes a task.
    Deferred(Box<CallRequest>, Box<PreflightedCall>, TaskReason),
    /// By the client.
    Client,
}

impl TurnRunner<'_, '_> {
    /// Decides how a call is executed, and counts it.
    pub(crate) async fn plan(&self, open: &OpenCall) -> CallPlan {
        let (context, call) = (&self.context, &open.call);
        let refuse = |error: CallError| {
            CallPlan::Known(failed(&call.call_id, &call.name, error, context.caller.locale))
        };
        if let Err(error) = self.count(open) {
            return refuse(error);
        }
        let Some(target) = context.toolbox.target(&call.name) else {
            let near = context.toolbox.near(&call.name).join(", ");
            let message = Message::new(&NO_TOOL).with("tool", &call.name).with("near", near);
            return refuse(CallError::new(ErrorKind::NotFound, message));
        };
        if matches!(target, CallTarget::Client) {
            return CallPlan::Client;
        }
        let Value::Object(fields) = &call.arguments else { return refuse(not_an_object(call)) };
        match target {
            CallTarget::Tool(bound) if bound.binding_only.iter().any(|name| fields.contains_key(name)) => {
                let names = bound.binding_only.iter().filter(|name| fields.contains_key(*name));
                let message = |name: &String| Violation::new(name.as_str(), Message::new(&BINDING_ONLY));
                refuse(CallError::invalid(names.map(message).collect()))
            }
            CallTarget::Tool(bound) => self.plan_tool(open, &bound, fields).await,
            CallTarget::FindTools => CallPlan::Known(self.find_tools(call, fields)),
            CallTarget::TaskResult => CallPlan::Known(self.task_result(call, fields)),
            CallTarget::ReadResult => CallPlan::Known(self.read_result(call, fields).await),
            CallTarget::Client => CallPlan::Client,
        }
    }

    /// Counts a call. Returns an error if a limit is reached.
    fn count(&self, open: &OpenCall) -> Result<(), CallError> {
        let exceeded = |message: Message| CallError::new(ErrorKind::BudgetExceeded, message);
        if open.index >= MAX_CALLS {
            return Err(exceeded(Message::new(&TOO_MANY_AT_ONCE).with("most", MAX_CALLS)));
        }
        match self.context.allowance.take_call() {
            Ok(()) => Ok(()),
            Err(ExhaustedAllowance::Own) => {
                Err(exceeded(Message::new(&TOO_MANY).with("most", self.context.budget.calls)))
            }
            Err(ExhaustedAllowance::Outer) => Err(exceeded(Message::new(&OUTER_SPENT))),
        }
    }

    async fn plan_tool(
        &self,
        open: &OpenCall,
        bound: &Arc<BoundTool>,
        fields: &Map<String, Value>,
    ) -> CallPlan {
        let (context, tools) = (&self.context, &self.turn.conversations.0.tools);
        let mut binding = bound.binding.clone();
        let mut requirements = tools.call_requirements(&context.caller, &bound.id, binding.as_deref()).await;
        let only_reads = requirements
            .as_ref()
            .is_ok_and(|known| known.as_ref().is_some_and(|known| known.effect == Effect::Read));
        if open.is_from_text && !only_reads {
            // A text may resemble a call by chance, so a person approves the call.
            binding = Some(Arc::new(with_approval(binding.as_deref())));
            requirements = tools.call_requirements(&context.caller, &bound.id, binding.as_deref()).await;
        }
        let options = CallOptions {
            timeout: bound.overrides.timeout.map(Duration::from_millis),
            retries: bound.overrides.retry_count,
            binding,
            ..context.options(&open.call, self.turn.transcript)
        };
        let request =
            CallRequest { tool: bound.id.clone(), arguments: Value::Object(fields.clone()), options };
        let Ok(Some(requirements)) = requirements else {
            // The call itself returns the error.
            return CallPlan::Inline(Box::new(request), Effect::Write);
        };
        // Without an inbox for later results, the turn waits for the result.
        let is_async = bound.is_async && context.mode.receives_results();
        if !is_async && !requirements.may_ask && requirements.reply == ResultDelivery::Now {
            return CallPlan::Inline(Box::new(request), requirements.effect);
        }
        let Ok(preflight) = tools.preflight(&context.caller, request.clone()).await else {
            return CallPlan::Inline(Box::new(request), requirements.effect);
        };
        let reason = match (is_async, preflight.asks, preflight.reply) {
            (true, _, _) => TaskReason::Async,
            (false, true, _) => TaskReason::Approval,
            (false, false, ResultDelivery::Now) => {
                return CallPlan::Inline(Box::new(request), preflight.effect);
            }
            (false, false, ResultDelivery::Polled | ResultDelivery::Callback { .. }) => TaskReason::Later,
        };
        CallPlan::Deferred(Box::new(request), Box::new(preflight), reason)
    }

    fn find_tools(&self, call: &StepCall, fields: &Map<String, Value>) -> Value {
        let query = fields.get("query").and_then(Value::as_str).unwrap_or_default();
        let found = self.context.toolbox.search(query).into_iter();
        let found: Vec<Value> = found.map(crate::toolbox::search_result).collect();
        succeeded(&call.call_id, &call.name, json!({"tools": found}))
    }

    fn task_result(&self, call: &StepCall, fields: &Map<String, Value>) -> Value {
        let requested = fields.get("callId").and_then(Value::as_str).unwrap_or_default();
        let transcript = &*self.turn.transcript;
        let data = match transcript.task_output(requested) {
            Some(output) => output.clone(),
            None if transcript.pending().any(|(call, _)| call.call_id.as_str() == requested) => {
                json!({"status": "pending", "callId": requested})
            }
            None => {
                json!({"status": "unknown", "callId": requested, "note": "no call of this id is pending"})
            }
        };
        succeeded(&call.call_id, &call.name, data)
    }
}

/// The error of a call whose arguments are not a JSON object.
fn not_an_object(call: &StepCall) -> CallError {
    let written = call.arguments.as_str().map(str::to_owned).unwrap_or_else(|| call.arguments.to_string());
    let reason = haft_core::json::parse(written.as_bytes()).err();
    let reason = reason.map_or_else(|| "it is something else".to_owned(), |reason| reason.to_string());
    let message = Message::new(&NOT_JSON).with("tool", &call.name).with("reason", reason);
    CallError::new(ErrorKind::Validation, message)
}

/// Returns a binding under which a person approves each call. A binding that blocks calls is unchanged.
fn with_approval(binding: Option<&Binding>) -> Binding {
    let binding = binding.cloned().unwrap_or_default();
    match binding.policy.strictest() {
        Policy::Block => binding,
        Policy::Allow | Policy::Ask => {
            let policy = PolicyRule::read(Some(Policy::Ask), None).unwrap_or_default();
            Binding { policy, ..binding }
        }
    }
}
