//! Calls as tasks: when one becomes a run, how long its caller waits for it, and what the caller is answered.
//!
//! Carrying runs out is the worker's, and calling tools the engine's.

mod history;

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use haft_agent::Conversations;
use haft_core::call::RunMode;
use haft_core::{CallError, Caller, ErrorKind, Message, ResultDelivery, RunId};
use haft_engine::CallRequest;
use haft_runs::{Run, RunKey, RunStatus, Runs};
use haft_store::RunJournal;
use haft_tasks::NewTask;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

pub use self::history::LoggedCallHistory;
use crate::app::AppState;
use crate::envelope;
use crate::error::Failure;
use crate::request::Asked;

haft_core::templates! {
    BAD_KEY = "tasks.badKey",
        "An Idempotency-Key must have 1 to 255 visible ASCII characters.",
        "Idempotency-Key 须为 1 到 255 个可见 ASCII 字符";
    NOT_IN_BACKGROUND = "tasks.notInBackground",
        "Background calls are not available here: no server is running. Start one with haft serve and call the tool there.",
        "此处没有可在后台继续执行的服务；请用 haft serve 启动服务后再调用";
}

/// A caller who gave a key, and no time, waits as long as a call may take.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long the answer to a call that needs approval waits for the approval to be listed. On a busy server the answer
/// says `queued`, and the approval follows.
const UNTIL_LISTED: Duration = Duration::from_secs(1);

/// Runs, where they are kept, and how long.
#[derive(Clone)]
pub struct Tasks {
    pub runs: Runs,
    pub journal: RunJournal,
    pub conversations: Conversations,
    /// What has ended stays for so long.
    pub keep: Duration,
    /// Number of crashes without progress after which a task is a dead letter.
    pub max_crashes: u32,
}

/// How a caller wants a call to be made, beside the call itself.
#[derive(Debug, Default)]
pub(crate) struct How {
    pub(crate) mode: Option<Mode>,
    /// It turns into a task after so long.
    pub(crate) async_after: Option<Duration>,
    /// It begins after so long.
    pub(crate) delay: Option<Duration>,
    pub(crate) priority: Option<i32>,
    /// So many seconds a person has who is asked.
    pub(crate) approval_timeout: Option<u64>,
    pub(crate) key: Option<RunKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Sync,
    Async,
}

impl How {
    /// Whether the caller asked for more than a plain call.
    fn is_plain(&self) -> bool {
        self.mode != Some(Mode::Async)
            && self.async_after.is_none()
            && self.delay.is_none()
            && self.key.is_none()
    }
}

/// The key of a request, with a digest of what it is used for.
pub(crate) fn key_of(value: &HeaderValue, tool: &str, body: &Value) -> Result<RunKey, Failure> {
    let key = value.to_str().ok().filter(|key| (1..=255).contains(&key.len()));
    let key = key.filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()));
    let Some(key) = key else {
        return Err(Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&BAD_KEY)));
    };
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash.update(sorted(body).to_string().as_bytes());
    let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(RunKey { key: key.to_owned(), digest })
}

/// The same value whatever the order of its fields.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields.into_iter().map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Makes a call in the way that its caller, its tool and its policy want.
pub(crate) async fn execute(
    state: &AppState,
    caller: &Caller,
    asked: &Asked,
    request: CallRequest,
    how: How,
) -> Result<Response, Failure> {
    if request.options.run == RunMode::Dry {
        // Nothing is sent, so nobody is asked.
        let options = request.options.approved();
        return plain(state, caller, asked, CallRequest { options, ..request }).await;
    }
    let Some(tasks) = state.tasks.get() else {
        return match how.is_plain() {
            true => plain(state, caller, asked, request).await,
            false => Err(CallError::new(ErrorKind::BadRequest, Message::new(&NOT_IN_BACKGROUND)).into()),
        };
    };
    let binding = request.options.binding.as_deref();
    let bearing = state.tools.call_requirements(caller, &request.tool, binding).await?;
    let is_plain = bearing.is_none_or(|bearing| {
        !bearing.may_ask && (!bearing.is_async || how.mode.is_some()) && bearing.reply == ResultDelivery::Now
    });
    if is_plain && how.is_plain() {
        return plain(state, caller, asked, request).await;
    }
    // In a box: plain calls need none of the room it takes.
    Box::pin(tasks.execute(state, caller, asked, request, how)).await
}

async fn plain(
    state: &AppState,
    caller: &Caller,
    asked: &Asked,
    request: CallRequest,
) -> Result<Response, Failure> {
    let result = state.tools.call(caller, request).await?;
    Ok(envelope::outcome(&result, asked))
}

impl Tasks {
    async fn execute(
        &self,
        state: &AppState,
        caller: &Caller,
        asked: &Asked,
        request: CallRequest,
        how: How,
    ) -> Result<Response, Failure> {
        let Ok(foreseen) = state.tools.preflight(caller, request.clone()).await else {
            // It would not be let in; calling it says so, and leaves its record.
            return plain(state, caller, asked, request).await;
        };
        let is_async = match how.mode {
            Some(Mode::Async) => true,
            Some(Mode::Sync) => false,
            None => foreseen.tool.spec.run_async || how.delay.is_some(),
        };
        let is_queued = is_async || foreseen.asks;
        let comes_later = foreseen.reply != ResultDelivery::Now;
        if !is_queued && how.async_after.is_none() && how.key.is_none() && !comes_later {
            return plain(state, caller, asked, request).await;
        }
        let shown = state.tools.redact_arguments(
            caller,
            &request.tool,
            request.options.binding.as_deref(),
            &foreseen.arguments,
        );
        let shown = shown.await?.for_record;
        let shown = (shown != *foreseen.arguments).then_some(shown);
        let task = NewTask {
            id: RunId::from(Uuid::now_v7()),
            delay: how.delay.unwrap_or_default(),
            priority: how.priority,
            approval_timeout: how.approval_timeout,
            key: how.key,
            max_crashes: self.max_crashes,
            parent: None,
        };
        let new = task.run(caller, &request, &foreseen, shown);
        let run = if is_queued { self.runs.start(new).await? } else { self.runs.start_here(new).await?.0 };
        let patience = match (is_queued, how.async_after) {
            (_, Some(pause)) => pause,
            (true, None) => Duration::ZERO,
            // It goes on as a task when the caller has waited as long as for any call.
            (false, None) if comes_later => Duration::from_millis(foreseen.tool.spec.total_timeout),
            (false, None) => LONGEST,
        };
        let run = if !patience.is_zero() {
            self.runs.wait_for(caller.space, run.id, patience).await?.unwrap_or(run)
        } else if foreseen.asks && run.status == RunStatus::Queued {
            // The caller is told of a task whose approval is listed already.
            let is_listed = |status: RunStatus| status == RunStatus::Waiting || status.is_final();
            self.runs.wait_until(caller.space, run.id, UNTIL_LISTED, is_listed).await?.unwrap_or(run)
        } else {
            run
        };
        Ok(answer(&run, asked))
    }
}

/// What a caller is told of a run: its outcome, or that it is not over.
pub(crate) fn answer(run: &Run, asked: &Asked) -> Response {
    match &run.output {
        Some(output) if run.status.is_final() => envelope::kept_outcome(output, asked),
        Some(_) | None => {
            let status = shown_status(run.status);
            let task = json!({"taskId": run.id, "callId": run.labels.call_id, "status": status});
            envelope::success(StatusCode::ACCEPTED, task)
        }
    }
}

/// How a run stands, in the words of the API: what waits for its time is queued.
pub(crate) fn shown_status(status: RunStatus) -> &'static str {
    let is_scheduled = status == RunStatus::Scheduled;
    if is_scheduled { RunStatus::Queued.as_str() } else { status.as_str() }
}
