//! Tasks: `GET /api/tasks[/{id}]`, `GET /api/tasks/summary`, `POST /api/tasks/{id}/cancel`, `/retry`, `/resolve`.

mod shown;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, RunId, Template};
use haft_runs::{Run, RunEnd, RunStatus};
use haft_store::RunFilter;
use haft_tasks::CallRun;
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) use self::shown::Shown;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{JsonBody, read_as_written};
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};
use crate::routes::tool_calls::agent_of;
use crate::tasks::Tasks;

haft_core::templates! {
    NO_SUCH_TASK = "tasks.notFound",
        "there is no task {name}",
        "没有任务 {name}";
    NO_TASKS = "tasks.none",
        "Tasks are not available here: no server is running. Start one with haft serve.",
        "任务由服务保存；请用 haft serve 启动服务";
    FAILED_BY_WORD = "tasks.resolvedFailed",
        "A person confirmed that it took no effect.",
        "经人工核实：未生效";
    DENIED = "tasks.denied",
        "A person denied {tool}, so the task cannot be retried. Make a new call.",
        "{tool} 已被人工拒绝，任务无法重试；请重新发起调用";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks", list)
            .needs(Needs::Read)
            .says("List tasks, newest first")
            .parameter("status", "string", "One or more of queued, running, waiting, succeeded, failed, cancelled and unknown, separated by commas")
            .parameter("tool", "string", "Only tasks of this tool, by id or name")
            .parameter("agent", "string", "Only tasks of this agent, by id or name")
            .parameter("conversation", "string", "Only tasks of this conversation, by id")
            .parameter("callId", "string", "Only the task of this call")
            .parameter("deadLetter", "boolean", "true: only dead letters, that is tasks that failed after all retries")
            .pages()
            .answers(200, "TaskPage"),
        Route::get("/tasks/summary", summary)
            .needs(Needs::Read)
            .says("Count the tasks of the space by status")
            .answers(200, "TaskSummary"),
        Route::get("/tasks/{id}", read)
            .needs(Needs::Read)
            .says("Get a task with its progress and result")
            .answers(200, "Task"),
        Route::post("/tasks/{id}/cancel", cancel)
            .needs(Needs::Call)
            .says("Cancel a task: at once if it waits, as soon as possible if it is running")
            .answers(200, "Task"),
        Route::post("/tasks/{id}/retry", retry)
            .needs(Needs::Call)
            .says("Retry a task that failed, was cancelled, or whose outcome is unknown")
            .answers(200, "Task"),
        Route::post("/tasks/{id}/resolve", resolve)
            .needs(Needs::Edit)
            .says("Resolve a task whose outcome is unknown")
            .takes("ResolveTask")
            .answers(200, "Task"),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, shown::TEMPLATES].into_iter().flatten().copied()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Filter {
    status: Option<String>,
    tool: Option<String>,
    agent: Option<String>,
    conversation: Option<String>,
    call_id: Option<String>,
    dead_letter: Option<bool>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let page = ListOf { limit: filter.limit, cursor: filter.cursor }.checked()?;
    let lane = match filter.tool {
        Some(tool) => {
            state.tools.make_ready(visitor.space).await?;
            let found = state.tools.in_space(visitor.space).get(&tool);
            Some(found.map_or(tool, |found| found.id.to_string()))
        }
        None => None,
    };
    let agent = match filter.agent {
        Some(agent) => {
            Some(agent_of(&state, visitor.space, &agent).await?.map_or(agent, |id| id.to_string()))
        }
        None => None,
    };
    let filter = RunFilter {
        statuses: filter.status.as_deref().map(shown::statuses).transpose()?.unwrap_or_default(),
        lane,
        agent,
        conversation: filter.conversation,
        call_id: filter.call_id,
        dead_letter: filter.dead_letter,
    };
    let (runs, next) = tasks(&state)?.journal.list(visitor.space, &filter, &page).await?;
    let items: Vec<Shown> = runs.iter().map(Shown::from).collect();
    Ok(envelope::page(items, next))
}

async fn summary(State(state): State<AppState>, Who(visitor): Who) -> Result<Response, Failure> {
    let summary = tasks(&state)?.journal.summary(visitor.space).await?;
    Ok(envelope::success(StatusCode::OK, summary))
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let (_, run) = find(&state, visitor.space, &id).await?;
    Ok(envelope::success(StatusCode::OK, Shown::from(&run)))
}

async fn cancel(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let (tasks, run) = find(&state, visitor.space, &id).await?;
    let ended = call_of(&run)?.cancelled();
    let run = tasks.journal.cancel(visitor.space, run.id, Some(visitor.user.id), ended).await?;
    Ok(envelope::success(StatusCode::OK, Shown::from(&run)))
}

async fn retry(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let (tasks, run) = find(&state, visitor.space, &id).await?;
    if CallRun::is_denied(&tasks.journal.steps(visitor.space, run.id).await?) {
        let message = Message::new(&DENIED).with("tool", &run.labels.name);
        return Err(CallError::new(ErrorKind::Conflict, message).into());
    }
    let input = call_of(&run)?.retried(&state.tools, &run, visitor.user.id).await?;
    let run =
        tasks.journal.retry(visitor.space, run.id, visitor.user.id, &input, &CallRun::REPEATED_STEPS).await?;
    Ok(envelope::success(StatusCode::OK, Shown::from(&run)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolve {
    status: Resolved,
    #[serde(default)]
    data: Value,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Resolved {
    Succeeded,
    Failed,
}

async fn resolve(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let Resolve { status, data } = read_as_written(body)?;
    let (tasks, run) = find(&state, visitor.space, &id).await?;
    let call = call_of(&run)?;
    let facts = json!({"callId": call.call_id, "toolName": call.name, "executionTime": 0, "attempts": 1, "cached": false});
    let mut output = match status {
        Resolved::Succeeded => json!({"success": true, "data": data}),
        Resolved::Failed => {
            let error =
                CallError::new(ErrorKind::Execution, Message::new(&FAILED_BY_WORD)).detail("data", data);
            json!({"success": false, "error": error.to_json(call.locale)})
        }
    };
    if let (Some(output), Value::Object(facts)) = (output.as_object_mut(), facts) {
        output.extend(facts);
    }
    let status = match status {
        Resolved::Succeeded => RunStatus::Succeeded,
        Resolved::Failed => RunStatus::Failed,
    };
    let ended = RunEnd { status, output, is_dead_letter: false };
    let run = tasks.journal.resolve(visitor.space, run.id, Some(visitor.user.id), ended).await?;
    Ok(envelope::success(StatusCode::OK, Shown::from(&run)))
}

/// The tasks of this server.
pub(super) fn tasks(state: &AppState) -> Result<&Tasks, CallError> {
    state.tasks.get().ok_or_else(|| CallError::new(ErrorKind::BadRequest, Message::new(&NO_TASKS)))
}

/// A task of a space.
async fn find<'a>(
    state: &'a AppState,
    space: haft_core::SpaceId,
    id: &str,
) -> Result<(&'a Tasks, Run), CallError> {
    let tasks = tasks(state)?;
    let run = match id.parse::<RunId>() {
        Ok(id) => tasks.journal.get(space, id).await?.filter(|run| run.program == "call"),
        Err(_) => None,
    };
    let none = || {
        CallError::new(ErrorKind::NotFound, Message::new(&NO_SUCH_TASK).with("name", id))
            .detail("what", "task")
    };
    Ok((tasks, run.ok_or_else(none)?))
}

fn call_of(run: &Run) -> Result<CallRun, CallError> {
    CallRun::of(run).map_err(|_| CallError::text(ErrorKind::Internal, "the task cannot be read"))
}
