//! Calling a tool: `POST /api/tools/{idOrName}/execute`.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use haft_core::agent::{Agent, Overrides};
use haft_core::call::{Freshness, RunMode, Validation};
use haft_core::duration::{self, Unit};
use haft_core::error::ROOT;
use haft_core::tool::input::{camel_case, camel_keys};
use haft_core::{
    AgentId, Binding, CallError, CallId, CallOptions, Caller, ConversationId, ErrorKind, Message, ToolSchema,
    Violation,
};
use haft_engine::CallRequest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Known;
use crate::body::JsonBody;
use crate::error::Failure;
use crate::query::Named;
use crate::request::{Asked, Keyed};
use crate::tasks::{self, How, Mode, key_of};

haft_core::templates! {
    NO_SUCH_AGENT = "execute.noSuchAgent",
        "there is no agent {name}",
        "没有智能体 {name}";
    NO_FIELD = "execute.noField",
        "The body has no field {names}. Put arguments under `arguments`.",
        "请求体没有字段 {names}。请将参数放在 `arguments` 下。";
    OPTION = "execute.option",
        "The body has no field {names}. Put it under `options`.",
        "请求体没有字段 {names}。请将其放在 `options` 下。";
    OPTIONS = "execute.options",
        "The body has no fields {names}. Put them under `options`.",
        "请求体没有字段 {names}。请将它们放在 `options` 下。";
    MISPLACED = "execute.misplaced",
        "{arguments} {options}",
        "{arguments}{options}";
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExecuteTool {
    #[serde(default = "no_arguments")]
    arguments: Value,
    #[serde(default)]
    options: Options,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    mode: Option<Mode>,
    async_after: Option<f64>,
    delay: Option<f64>,
    priority: Option<i32>,
    approval_timeout: Option<u64>,
    timeout: Option<u64>,
    retries: Option<u32>,
    retry_delay: Option<u64>,
    strict: Option<bool>,
    call_id: Option<CallId>,
    /// Its id or its name.
    agent_id: Option<String>,
    conversation_id: Option<ConversationId>,
    dry_run: Option<bool>,
}

fn no_arguments() -> Value {
    Value::Object(Map::new())
}

pub(crate) fn routes() -> Vec<Route> {
    let execute = Route::post("/tools/{id}/execute", execute).needs(Needs::Call);
    vec![
        execute
            .says("Call a tool and wait for its result, or start the call as a task")
            .takes("ExecuteTool")
            .answers(200, "ToolExecutionResult")
            .answers(202, "AcceptedTask"),
    ]
}

/// Calls a tool, now or as a task.
async fn execute(
    State(state): State<AppState>,
    Known(caller): Known,
    asked: Asked,
    Named(tool): Named,
    Keyed(key): Keyed,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let key = key.map(|key| key_of(&key, &tool, &body)).transpose()?;
    let ExecuteTool { arguments, mut options } = read(body)?;
    let agent = options.agent_id.take();
    let (options, mut how) = options.split();
    let mut options = options.trace(asked.trace.clone());
    how.key = key;
    if let Some(agent) = agent {
        // In a box: most calls need none of the room it takes.
        let agent = Box::pin(named_agent(&state, &caller, &agent)).await?;
        options.agent = Some(agent.id);
        if let Some(bound) = Box::pin(bound(&state, &caller, &agent, &tool)).await? {
            bound.apply(&mut options, &mut how);
        }
    }
    tasks::execute(&state, &caller, &asked, CallRequest { tool, arguments, options }, how).await
}

/// How an agent uses a tool.
pub(crate) struct Bound {
    pub(crate) binding: Arc<Binding>,
    overrides: Overrides,
}

impl Bound {
    /// All that it says holds, but for what the caller says about this call.
    fn apply(self, options: &mut CallOptions, how: &mut How) {
        let Overrides { run_async, timeout, retry_count, cache_ttl: _ } = self.overrides;
        options.timeout = options.timeout.or(timeout.map(Duration::from_millis));
        options.retries = options.retries.or(retry_count);
        how.mode = how.mode.or(run_async.map(|is_async| if is_async { Mode::Async } else { Mode::Sync }));
        options.binding = Some(self.binding);
    }
}

/// The agent of that id or name.
async fn named_agent(state: &AppState, caller: &Caller, name: &str) -> Result<Arc<Agent>, CallError> {
    // An id is known in any spelling.
    let id = name.parse::<AgentId>().map(|id| id.to_string());
    let found = state.store.agent(caller.space, id.as_deref().unwrap_or(name)).await?;
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_AGENT).with("name", name);
        CallError::new(ErrorKind::NotFound, message).detail("what", "agent")
    })
}

/// How an agent uses a tool, where the agent has it.
pub(crate) async fn bound(
    state: &AppState,
    caller: &Caller,
    agent: &Agent,
    tool: &str,
) -> Result<Option<Bound>, CallError> {
    let Some(tool) = state.tools_of(caller).await?.get(tool) else { return Ok(None) };
    let bound = agent.spec.bindings.iter().find(|binding| binding.tool_id == tool.id);
    let Some(bound) = bound else { return Ok(None) };
    let binding = bound.to_binding().map_err(|violation| CallError::invalid(vec![violation]))?;
    Ok(Some(Bound { binding: Arc::new(binding), overrides: bound.overrides.clone() }))
}

impl Options {
    /// What the engine is told, and what is about when and for whom it is called.
    fn split(self) -> (CallOptions, How) {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let how = How {
            mode: self.mode,
            async_after: self.async_after.map(seconds),
            delay: self.delay.map(seconds).filter(|delay| !delay.is_zero()),
            priority: self.priority,
            approval_timeout: self.approval_timeout,
            key: None,
        };
        let options = CallOptions {
            timeout: self.timeout.map(Duration::from_millis),
            retries: self.retries,
            retry_delay: self.retry_delay.map(Duration::from_millis),
            validation: if self.strict == Some(true) { Validation::Strict } else { Validation::Gentle },
            freshness: Freshness::Cached,
            run: if self.dry_run == Some(true) { RunMode::Dry } else { RunMode::Real },
            call_id: self.call_id,
            conversation: self.conversation_id,
            replay_of: None,
            trace_parent: None,
            ..CallOptions::default()
        };
        (options, how)
    }
}

/// Reads the body; what is wrong with it is said by the schema, all at once and in the caller's language.
fn read(mut body: Value) -> Result<ExecuteTool, CallError> {
    if let Some(arguments) = nothing_else(&mut body) {
        return Ok(ExecuteTool { arguments, options: Options::default() });
    }
    if let Some(error) = unknown_fields(&body) {
        return Err(error);
    }
    if let Some(options) = body.get_mut("options") {
        *options = camel_keys(options.take());
        if let Value::Object(fields) = options {
            duration::read_fields(fields, &DURATIONS);
        }
    }
    if let Ok(schema) = &*BODY {
        let violations = schema.violations(&body);
        if !violations.is_empty() {
            return Err(CallError::invalid(violations));
        }
    }
    serde_json::from_value(body)
        .map_err(|error| CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))]))
}

/// Arguments that stand beside `arguments`, and options that stand beside `options`.
fn unknown_fields(body: &Value) -> Option<CallError> {
    let unknown = body.as_object()?.keys().map(String::as_str).filter(|name| !FIELDS.contains(name));
    let unknown = unknown.take(MOST_NAMED);
    let (options, arguments): (Vec<&str>, Vec<&str>) = unknown.partition(|name| is_option(name));
    if options.is_empty() && arguments.is_empty() {
        return None;
    }
    let about = |template, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        Message::new(template).with("names", names.join(", "))
    };
    let of_options = about(if options.len() == 1 { &OPTION } else { &OPTIONS }, &options);
    let of_arguments = about(&NO_FIELD, &arguments);
    let message = match (arguments.is_empty(), options.is_empty()) {
        (true, _) => of_options,
        (false, true) => of_arguments,
        (false, false) => Message::new(&MISPLACED)
            .with_messages("arguments", vec![of_arguments])
            .with_messages("options", vec![of_options]),
    };
    let violations = |template, names: &[&str]| -> Vec<Violation> {
        names.iter().map(|name| Violation::new(*name, about(template, &[*name]))).collect()
    };
    let all = [violations(&NO_FIELD, &arguments), violations(&OPTION, &options)].concat();
    Some(CallError::invalid_with(message, all))
}

/// Whether a name, in either spelling, is that of an option.
fn is_option(name: &str) -> bool {
    let Ok(schema) = &*BODY else { return false };
    schema.document()["properties"]["options"]["properties"].get(camel_case(name)).is_some()
}

/// The fields of a body.
const FIELDS: [&str; 2] = ["arguments", "options"];

/// Unknown fields that a message names.
const MOST_NAMED: usize = 10;

/// Options that a duration such as `30s` may stand for.
const DURATIONS: [(&str, Unit); 5] = [
    ("timeout", Unit::Milliseconds),
    ("retryDelay", Unit::Milliseconds),
    ("asyncAfter", Unit::Seconds),
    ("delay", Unit::Seconds),
    ("approvalTimeout", Unit::Seconds),
];

/// The arguments of the ordinary body, told at a glance: it holds nothing else.
fn nothing_else(body: &mut Value) -> Option<Value> {
    let fields = body.as_object_mut().filter(|fields| fields.len() == 1)?;
    fields.get_mut("arguments").map(Value::take)
}

static BODY: LazyLock<Result<ToolSchema, Vec<Violation>>> = LazyLock::new(|| {
    ToolSchema::of_arguments(&json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "arguments": {},
            "options": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "mode": {"enum": ["sync", "async", null]},
                    "asyncAfter": {"type": ["number", "null"], "minimum": 0, "maximum": 3600},
                    "delay": {"type": ["number", "null"], "minimum": 0, "maximum": 31_536_000},
                    "priority": {"type": ["integer", "null"], "minimum": -1000, "maximum": 1000},
                    "approvalTimeout": {"type": ["integer", "null"], "minimum": 1, "maximum": 2_592_000},
                    "timeout": {"type": ["integer", "null"], "minimum": 0},
                    "retries": {"type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX},
                    "retryDelay": {"type": ["integer", "null"], "minimum": 0},
                    "strict": {"type": ["boolean", "null"]},
                    "callId": {"type": ["string", "null"], "pattern": "^[!-~]{1,128}$"},
                    "agentId": {"type": ["string", "null"], "minLength": 1, "maxLength": 64},
                    "conversationId": {"type": ["string", "null"], "format": "uuid"},
                    "dryRun": {"type": ["boolean", "null"]},
                },
            },
        },
    }))
});
