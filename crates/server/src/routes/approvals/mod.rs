//! What people are asked: `GET /api/approvals[/{id}]`, `POST /api/approvals/{id}`, `POST /api/approvals/{id}/link`.
//!
//! An approval has the id of its task. Whoever holds a link to one reads and decides it without signing in.

mod link;

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::call::Consent;
use haft_core::{CallError, ErrorKind, Locale, Message, RunId, SpaceId, Template};
use haft_runs::{Run, Step, StepState};
use haft_store::Approval;
use haft_tasks::{CallRun, Decision};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::link::{Asker, Signature};
use super::tasks::{Shown as ShownTask, tasks};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{MaybeWho, Who};
use crate::body::{JsonBody, read_as_written};
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};
use crate::request::Asked;

haft_core::templates! {
    NO_SUCH_APPROVAL = "approvals.notFound",
        "there is no approval {name}",
        "没有审批 {name}";
    NOT_ASKED = "approvals.notAsked",
        "This was decided already, has expired, or now asks about another version of the tool.",
        "该审批已处理、已过期，或当前询问的是该工具的另一版本";
    TOOL_CHANGED = "approvals.toolChanged",
        "The tool changed to version {version} after version {approved} was approved, so it needs another approval.",
        "版本 {approved} 获批后，工具已更改为版本 {version}，因此再次询问";
    EDIT_REFUSED = "approvals.editRefused",
        "The tool changed to version {version} after version {approved} was approved. Version {version} does not accept the edited arguments, so the original arguments need another approval.",
        "版本 {approved} 获批后，工具已更改为版本 {version}。版本 {version} 不接受修改后的参数，因此以原参数再次询问";
}

/// A question that is about to be asked is waited for so long, and looked for this often.
const SOON: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/approvals", list)
            .needs(Needs::Read)
            .says("List calls that wait for approval, oldest first")
            .pages()
            .answers(200, "ApprovalPage"),
        Route::get("/approvals/{id}", read)
            .needs(Needs::ReadOrLink)
            .says("Get an approval, pending or decided")
            .parameter("sig", "string", "Signature of a link; replaces a token")
            .answers(200, "Approval"),
        Route::post("/approvals/{id}/link", link::make)
            .needs(Needs::Edit)
            .says("Create a link that lets any holder decide on the call without signing in, as long as the call waits")
            .answers(200, "ApprovalLink"),
        Route::post("/approvals/{id}", decide)
            .needs(Needs::EditOrLink)
            .says("Approve a call, optionally with edited arguments, or deny it")
            .parameter("sig", "string", "Signature of a link; replaces a token")
            .takes("DecideApproval")
            .answers(200, "Task"),
    ]
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    id: RunId,
    space_id: SpaceId,
    tool_id: &'a Value,
    tool_name: &'a Value,
    version: &'a Value,
    effect: &'a Value,
    arguments: &'a Value,
    /// The rule that asks, where there is one.
    because: &'a Value,
    /// What the person should know, such as that an approved tool changed.
    notice: Option<String>,
    call_id: Option<&'a str>,
    agent_id: Option<&'a str>,
    conversation_id: Option<&'a str>,
    user_id: Option<haft_core::UserId>,
    status: &'static str,
    decision: Option<Value>,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    asked_at: Timestamp,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    expires_at: Option<Timestamp>,
}

impl<'a> Shown<'a> {
    fn of(approval: &'a Approval, locale: Locale) -> Self {
        let Approval { run, step } = approval;
        let field =
            |name: &str| step.details.as_ref().and_then(|details| details.get(name)).unwrap_or(&Value::Null);
        let said = step.output.as_deref().and_then(|said| Decision::deserialize(said).ok());
        let status = match (step.state, &said) {
            (StepState::Waiting, _) => "waiting",
            (_, Some(said)) if said.is_approved => "approved",
            (_, Some(_)) => "denied",
            (_, None) => "expired",
        };
        Self {
            id: run.id,
            space_id: run.space,
            tool_id: field("toolId"),
            tool_name: field("toolName"),
            version: field("version"),
            effect: field("effect"),
            arguments: field("arguments"),
            because: field("because"),
            notice: field("approvedVersion").as_u64().map(|approved| {
                let is_edit_refused = *field("isEditRefused") == true;
                let template = if is_edit_refused { &EDIT_REFUSED } else { &TOOL_CHANGED };
                let message = Message::new(template).with("version", version_of(step));
                message.with("approved", approved).render(locale)
            }),
            call_id: run.labels.call_id.as_deref(),
            agent_id: run.labels.agent.as_deref(),
            conversation_id: run.labels.conversation.as_deref(),
            user_id: run.user,
            status,
            decision: said.map(|said| {
                let Decision { note, arguments, shown, by, by_link, .. } = said;
                let arguments = shown.or(arguments);
                json!({"note": note, "arguments": arguments, "userId": by, "byLink": by_link})
            }),
            asked_at: run.created_at,
            expires_at: step.deadline,
        }
    }
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let journal = &tasks(&state)?.journal;
    let (found, next) = journal.approvals(visitor.space, &page.checked()?).await?;
    let items: Vec<Shown> = found.iter().map(|approval| Shown::of(approval, asked.locale)).collect();
    Ok(envelope::page_of(items, next, journal.count_approvals(visitor.space).await?))
}

async fn read(
    State(state): State<AppState>,
    MaybeWho(visitor): MaybeWho,
    asked: Asked,
    Named(id): Named,
    Parameters(signature): Parameters<Signature>,
) -> Result<Response, Failure> {
    let asker = Asker::of(&state, visitor, &id, &signature).await?;
    let found = find(&state, asker.space, &id).await?;
    asker.may_see(&found)?;
    Ok(envelope::success(StatusCode::OK, Shown::of(&found, asked.locale)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    decision: Word,
    arguments: Option<Value>,
    note: Option<String>,
    /// The version of the tool that the person looked at. An approval of another version is refused.
    version: Option<u64>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

async fn decide(
    State(state): State<AppState>,
    MaybeWho(visitor): MaybeWho,
    Named(id): Named,
    Parameters(signature): Parameters<Signature>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let asker = Asker::of(&state, visitor, &id, &signature).await?;
    let Decide { decision, arguments, note, version } = read_as_written(body)?;
    let found = find(&state, asker.space, &id).await?;
    asker.may_see(&found)?;
    let Approval { run, step } = found;
    let is_approved = decision == Word::Approve;
    // A denial holds for the call, whatever version of the tool is asked about.
    let is_another = is_approved && version.is_some_and(|version| version != version_of(&step));
    if step.state != StepState::Waiting || is_another {
        return Err(CallError::new(ErrorKind::Conflict, Message::new(&NOT_ASKED)).into());
    }
    let (arguments, shown) = match arguments.filter(|_| is_approved) {
        Some(edited) => {
            let (arguments, shown) = edit(&state, &run, &step, edited).await?;
            (Some(arguments), shown)
        }
        None => (None, None),
    };
    let Asker { space, user: by, by_link } = asker;
    let by_link = by_link.is_some();
    let said = Decision { is_approved, arguments, shown, note, by: Some(by), by_link };
    let said = serde_json::to_value(said).unwrap_or_default();
    let journal = &tasks(&state)?.journal;
    let answer = (step.key.as_str(), said);
    let run = journal.decide(space, run.id, Some(by), is_approved, answer).await?;
    Ok(envelope::success(StatusCode::OK, ShownTask::from(&run)))
}

/// The version of the tool that a step asks about.
fn version_of(step: &Step) -> u64 {
    step.details.as_ref().and_then(|details| details["version"].as_u64()).unwrap_or_default()
}

/// Arguments that a person gives in place of those that were shown, and how they are shown, where that differs.
/// What does not fit is said now, and the call still waits.
async fn edit(
    state: &AppState,
    run: &Run,
    step: &Step,
    edited: Value,
) -> Result<(Value, Option<Value>), CallError> {
    let call =
        CallRun::of(run).map_err(|_| CallError::text(ErrorKind::Internal, "the task cannot be read"))?;
    // The question shows the edit of an earlier approval.
    let steps = tasks(state)?.journal.steps(run.space, run.id).await?;
    let call = call.with_edits(steps.iter());
    let caller = call.caller(run);
    let shown = step.details.as_ref().map(|details| &details["arguments"]);
    let mut request = call.request();
    request.arguments = restored(edited, shown, &call.arguments);
    request.options.consent = Consent::Given;
    let binding = request.options.binding.clone();
    let arguments = state.tools.preflight(&caller, request).await?.arguments;
    let shown =
        state.tools.redact_arguments(&caller, &call.tool, binding.as_deref(), &arguments).await?.for_people;
    let shown = (shown != *arguments).then_some(shown);
    Ok((arguments.as_ref().clone(), shown))
}

/// What was sent back as it was shown is what it was, also where it was shown masked.
fn restored(edited: Value, shown: Option<&Value>, original: &Value) -> Value {
    if Some(&edited) == shown {
        return original.clone();
    }
    match edited {
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| {
                let shown = shown.and_then(|shown| shown.get(&name));
                let value = restored(value, shown, original.get(&name).unwrap_or(&Value::Null));
                (name, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => edited,
    }
}

/// Every message of this folder.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, link::TEMPLATES].into_iter().flatten().copied()
}

/// Whoever was told that a person is asked may come before the question does.
async fn find_soon(state: &AppState, space: SpaceId, id: RunId) -> Result<Option<Approval>, CallError> {
    let journal = &tasks(state)?.journal;
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = journal.approval(space, id).await? {
            return Ok(Some(found));
        }
        let is_coming = journal
            .get(space, id)
            .await?
            .is_some_and(|run| !run.status.is_final() && CallRun::of(&run).is_ok_and(|call| call.asks));
        if !is_coming || Instant::now() >= deadline {
            return Ok(None);
        }
        sleep(LOOK).await;
    }
}

async fn find(state: &AppState, space: SpaceId, id: &str) -> Result<Approval, CallError> {
    let found = match id.parse::<RunId>() {
        Ok(id) => find_soon(state, space, id).await?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_APPROVAL).with("name", id);
        CallError::new(ErrorKind::NotFound, message).detail("what", "approval")
    })
}
