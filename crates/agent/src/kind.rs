//! Agents as tools: one agent calls another, and receives its response as the result of the call.
//!
//! The inner turn is ephemeral; only its calls are recorded.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use haft_core::kind::{ConfigError, Kind, Prepared, ToolContext, ToolOutput};
use haft_core::{
    Allowance, Arguments, BoxFuture, CallContext, CallError, Caller, Effect, ErrorKind, Message, Source,
    Violation,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::conversation_input::{ConversationInput, ModelParameters};
use crate::conversations::Conversations;
use crate::ephemeral_turn::{EnclosingTurn, EphemeralTurn};
use crate::inbox::{ChatMessage, ChatRole, TurnRequest, UserMessage};
use crate::transcript::FinishReason;
use crate::turn_log::TurnLog;

haft_core::templates! {
    NO_NAME = "agentKind.noName",
        "must be the name or the id of an agent",
        "必须是智能体的名称或 id";
    UNKNOWN_FIELD = "agentKind.unknownField",
        "is not a field of this config; the only field is agent",
        "不是智能体配置的字段；可用字段为 agent";
    TOO_DEEP = "agentKind.tooDeep",
        "Agents can call agents at most {most} levels deep.",
        "智能体之间最多嵌套调用 {most} 层";
    UNAVAILABLE = "agentKind.nobody",
        "Agents cannot be called here: no server is running. Start one with haft serve.",
        "此处没有可询问智能体的服务；请用 haft serve 启动服务";
    FAILED = "agentKind.failed",
        "The agent {agent} could not answer: {reason}",
        "智能体 {agent} 未能回答：{reason}";
}

/// The name of the kind whose tools call an agent.
pub(crate) const NAME: &str = "agent";

/// Maximum depth of agents and flows that call each other.
const DEEPEST: u32 = 8;

/// The kind of tools that call an agent. Cheap to clone; clones share the conversations.
#[derive(Clone, Default)]
pub struct AgentKind(Arc<OnceLock<Conversations>>);

impl AgentKind {
    /// Sets the conversations that execute the turns of called agents.
    pub fn set_conversations(&self, conversations: Conversations) {
        // There is one in a process.
        let _ = self.0.set(conversations);
    }
}

impl Kind for AgentKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let config = tool.config;
        let unknown = config.keys().find(|name| !["agent", "agentId"].contains(&name.as_str()));
        if let Some(unknown) = unknown {
            return Err(Violation::new(unknown.as_str(), Message::new(&UNKNOWN_FIELD)).into());
        }
        let named = config.get("agent").or_else(|| config.get("agentId")).and_then(Value::as_str);
        let Some(agent) = named.filter(|name| !name.trim().is_empty()) else {
            return Err(Violation::new("agent", Message::new(&NO_NAME)).into());
        };
        Ok(Arc::new(OtherAgent { agent: agent.to_owned(), conversations: self.0.clone() }))
    }
}

/// An agent that other agents may call.
struct OtherAgent {
    agent: String,
    conversations: Arc<OnceLock<Conversations>>,
}

impl OtherAgent {
    async fn ask(&self, arguments: &Arguments, context: &CallContext) -> Result<ToolOutput, CallError> {
        if context.depth() > DEEPEST {
            let message = Message::new(&TOO_DEEP).with("most", DEEPEST);
            return Err(CallError::new(ErrorKind::BudgetExceeded, message));
        }
        let unavailable = || CallError::new(ErrorKind::Unavailable, Message::new(&UNAVAILABLE));
        let conversations = self.conversations.get().ok_or_else(unavailable)?;
        let agent = conversations.agent(context.space(), &self.agent).await?;
        let text = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
        let (space, user, locale) = (context.space(), context.user(), context.locale());
        let caller =
            Caller { space, user, source: Source::Chat, locale, request: context.request().cloned() };
        let (request, trace) = (context.request().map(ToString::to_string), context.trace().cloned());
        let first = UserMessage {
            id: Uuid::now_v7().to_string(),
            messages: vec![ChatMessage::text(ChatRole::User, text)],
            replaces: None,
            tools: Vec::new(),
            asked: TurnRequest { at: Timestamp::now(), locale, request, terms: None, trace },
        };
        let input = ConversationInput {
            agent: Some(agent.id),
            first,
            source: Source::Chat,
            asking: ModelParameters::default(),
            client_tools: Vec::new(),
        };
        let (depth, conversation) = (context.depth(), context.conversation());
        // The result contains the cost of the turn, which an outer turn counts after a crash.
        let meter = Arc::new(Allowance::meter(context.allowance().cloned()));
        let enclosing = EnclosingTurn { depth, conversation, allowance: Some(meter.clone()) };
        let log = Arc::new(TurnLog::ephemeral());
        let turn = EphemeralTurn { input, log, enclosing, cancel: context.cancellation().clone() };
        let conversations = conversations.clone();
        // Each level uses a separate task: the stack of one task overflows at eight levels.
        let mut inner = JoinSet::new();
        inner.spawn(async move { conversations.run_ephemeral(&caller, turn).await });
        let Some(ended) = inner.join_next().await else { return Err(failed_task("it was not started")) };
        let turn = ended.map_err(failed_task)??;
        let (steps, (calls, tokens)) = (turn.steps.len(), meter.metered());
        let failed = |why: &str| self.failed(why).detail("calls", calls).detail("tokens", tokens);
        let refusal = turn.refusal().map(str::to_owned);
        let Some(end) = turn.end else { return Err(failed("it did not end")) };
        match (end.finish, end.error) {
            (FinishReason::Error, Some(error)) => Err(failed(error["message"].as_str().unwrap_or_default())),
            (FinishReason::Cancelled, _) => Err(crate::model_request::cancelled()),
            (finish, _) => {
                let data = json!({
                    "answer": refusal.unwrap_or(end.text), "finishReason": finish.as_str(), "steps": steps, "calls": calls,
                    "tokens": tokens,
                });
                Ok(data.into())
            }
        }
    }

    fn failed(&self, reason: &str) -> CallError {
        let message = Message::new(&FAILED).with("agent", &self.agent).with("reason", reason);
        CallError::new(ErrorKind::Execution, message)
    }
}

fn failed_task(reason: impl Display) -> CallError {
    CallError::text(ErrorKind::Internal, format!("The turn of the inner agent failed: {reason}"))
}

impl Prepared for OtherAgent {
    /// Its tools, and its model's provider, may use secrets of the caller.
    fn acts_for_caller(&self) -> bool {
        true
    }

    /// Its tools may do anything.
    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn input_schema(&self) -> Option<Value> {
        Some(json!({
            "type": "object",
            "properties": {"message": {
                "type": "string",
                "description": "The request to the agent, with all the information that it needs: it sees nothing else.",
            }},
            "required": ["message"],
            "additionalProperties": false,
        }))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(self.ask(arguments, context))
    }
}
