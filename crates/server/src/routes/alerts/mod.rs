//! Alerts: `POST/GET /api/alerts`, `GET/PUT/DELETE /api/alerts/{id}`. Watching over them is elsewhere.

pub(crate) mod input;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::alert::{Alert, AlertEvaluation, AlertState, Metric, number};
use haft_core::id::AlertId;
use haft_core::{CallError, ErrorKind, Message, SpaceId, Template, ToolId, UserId};
use haft_engine::now;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::saving::{Saving, check_version};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters, if_match};
use crate::visitors::Visitor;

haft_core::templates! {
    NO_SUCH_ALERT = "alerts.notFound",
        "there is no alert {name}",
        "没有告警 {name}";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/alerts", create)
            .needs(Needs::Edit)
            .says("Create an alert; it fires when its metric stays above a value for long enough")
            .dry_run()
            .takes("AlertInput")
            .answers(201, "Alert"),
        Route::get("/alerts", list)
            .needs(Needs::Read)
            .says("List alerts with their state, oldest first")
            .pages()
            .answers(200, "AlertPage"),
        Route::get("/alerts/{id}", read)
            .needs(Needs::Read)
            .says("Get an alert with its state")
            .answers(200, "Alert"),
        Route::put("/alerts/{id}", replace)
            .needs(Needs::Edit)
            .says("Replace an alert; its state is kept, and a webhook that is sent masked is not changed")
            .dry_run()
            .takes("AlertInput")
            .answers(200, "Alert"),
        Route::delete("/alerts/{id}", remove)
            .needs(Needs::Edit)
            .says("Delete an alert; no webhook is called, even if the alert is firing")
            .answers(200, "Alert"),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, input::TEMPLATES].into_iter().flatten().copied()
}

/// An alert as the API shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: AlertId,
    space_id: SpaceId,
    owner_id: Option<UserId>,
    name: Option<String>,
    metric: Metric,
    tool: Option<ToolId>,
    tool_name: Option<String>,
    above: Value,
    for_seconds: u32,
    webhook: Option<String>,
    state: AlertState,
    value: Option<Value>,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    since: Option<Timestamp>,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    last_fired_at: Option<Timestamp>,
    #[serde(serialize_with = "haft_core::timestamp::serialize_optional")]
    last_resolved_at: Option<Timestamp>,
    webhook_error: Option<String>,
    version: u64,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    created_at: Timestamp,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    updated_at: Timestamp,
}

impl Shown {
    /// Only who may change the webhook sees what may be a credential in it.
    fn new(state: &AppState, visitor: &Visitor, alert: &Alert) -> Self {
        let (spec, standing) = (&alert.spec, &alert.standing);
        let webhook = if visitor.may(Needs::Edit) { spec.webhook.clone() } else { spec.masked_webhook() };
        Self {
            id: alert.id,
            space_id: alert.space_id,
            owner_id: alert.owner_id,
            name: spec.name.clone(),
            metric: spec.metric,
            tool: spec.tool.clone(),
            tool_name: state.tool_name(alert),
            above: number(spec.above),
            for_seconds: spec.for_seconds,
            webhook,
            state: alert.state(),
            value: standing.value.map(number),
            since: alert.since(),
            last_fired_at: standing.fired_at,
            last_resolved_at: standing.resolved_at,
            webhook_error: standing.webhook_error.clone(),
            version: alert.version,
            created_at: alert.created_at,
            updated_at: alert.updated_at,
        }
    }
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let page = page.checked()?;
    state.tools.make_ready(visitor.space).await?;
    let (alerts, next) = state.store.list_alerts(visitor.space, &page).await?;
    let alerts: Vec<Shown> = alerts.iter().map(|alert| Shown::new(&state, &visitor, alert)).collect();
    Ok(envelope::page(&alerts, next))
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let (space, owner) = (visitor.space, visitor.user.id);
    // A new alert has no id, version or dates yet to be equal to; its space and owner are known.
    let known = json!({"spaceId": space, "ownerId": owner});
    let spec = input::read(&state, space, body, None, &known, &[]).await?;
    if saving.dry_run {
        state.store.check_alert_limit(space).await?;
        let now = now();
        let alert = Alert {
            id: AlertId::from(Uuid::now_v7()),
            space_id: space,
            owner_id: Some(owner),
            spec,
            version: 1,
            created_at: now,
            updated_at: now,
            standing: AlertEvaluation::default(),
        };
        return Ok(envelope::success(StatusCode::OK, Shown::new(&state, &visitor, &alert)));
    }
    let alert = state.store_for(&visitor).create_alert(space, Some(owner), spec).await?;
    Ok(answer(StatusCode::CREATED, &state, &visitor, &alert).await?)
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let alert = find(&state, visitor.space, &id).await?;
    Ok(answer(StatusCode::OK, &state, &visitor, &alert).await?)
}

async fn replace(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let space = visitor.space;
    let before = find(&state, space, &id).await?;
    let known = serde_json::to_value(Shown::new(&state, &visitor, &before)).unwrap_or_default();
    let spec = input::read(&state, space, body, Some(&before.spec), &known, &[]).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    check_version(before.spec.title(), before.version, expected)?;
    if spec == before.spec {
        return Ok(answer(StatusCode::OK, &state, &visitor, &before).await?);
    }
    if saving.dry_run {
        let alert = Alert { spec, version: before.version + 1, updated_at: now(), ..before };
        return Ok(envelope::success(StatusCode::OK, Shown::new(&state, &visitor, &alert)));
    }
    let alert = state.store_for(&visitor).put_alert(space, before.id, spec, expected).await?;
    Ok(answer(StatusCode::OK, &state, &visitor, &alert).await?)
}

/// Answers what was there.
async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let alert = find(&state, visitor.space, &id).await?;
    state.store_for(&visitor).delete_alert(visitor.space, alert.id, if_match(&headers)?).await?;
    Ok(envelope::success(StatusCode::OK, Shown::new(&state, &visitor, &alert)))
}

/// An alert with its version for `If-Match`.
async fn answer(
    status: StatusCode,
    state: &AppState,
    visitor: &Visitor,
    alert: &Alert,
) -> Result<Response, CallError> {
    // The name of its tool is known once those of the space are.
    state.tools.make_ready(visitor.space).await?;
    Ok(tagged(envelope::success(status, Shown::new(state, visitor, alert)), alert.version))
}

/// The alert of that id: names are for people, and several may have the same.
async fn find(state: &AppState, space: SpaceId, id: &str) -> Result<Alert, CallError> {
    let found = match id.parse::<AlertId>() {
        Ok(id) => state.store.get_alert(space, id).await?,
        Err(_) => None,
    };
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_ALERT).with("name", id);
        CallError::new(ErrorKind::NotFound, message).detail("what", "alert")
    })
}
