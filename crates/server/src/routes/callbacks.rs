//! `POST /api/callbacks/{id}?sig=…`: an upstream brings the answer that a run waits for. The signature is who may.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::{CallError, CallbackBody, ErrorKind, Message, RunId};
use haft_runs::Journal as _;
use haft_store::{LinkTarget, SignedLink};
use haft_tasks::CALLBACK;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::tasks::tasks;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::body::read_bytes;
use crate::envelope;
use crate::error::Failure;
use crate::query::{Named, Parameters};

haft_core::templates! {
    NOT_OURS = "callbacks.notOurs",
        "The callback address does not exist or has expired.",
        "没有此回调地址，或其已过期";
    TAKEN = "callbacks.taken",
        "The result was already delivered, or the task no longer waits for it.",
        "结果已送达，或已无人等待";
    BUSY = "callbacks.busy",
        "A previous callback is still being processed. Retry in a moment.",
        "正在处理先前送达的内容；请稍后重试";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/callbacks/{id}", bring)
            .needs(Needs::Nothing)
            .says("Deliver the result that a task waits for, to the callback address that its tool passed on")
            .parameter("sig", "string", "Signature of the callback address")
            .takes("CallbackBody")
            .answers(200, "CallbackTaken"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sig {
    sig: Option<String>,
}

async fn bring(
    State(state): State<AppState>,
    Named(id): Named,
    Parameters(Sig { sig }): Parameters<Sig>,
    request: Request,
) -> Result<Response, Failure> {
    let not_ours = || CallError::new(ErrorKind::NotFound, Message::new(&NOT_OURS)).detail("what", "callback");
    let run = id.parse::<RunId>().map_err(|_| not_ours())?;
    let signed = sig.and_then(|sig| state.store.signed(LinkTarget::Callback(run), &sig, Timestamp::now()));
    let SignedLink { space, number, .. } = signed.ok_or_else(not_ours)?;
    let (parts, body) = request.into_parts();
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let bytes = read_bytes(&parts, body).await?;
    let journal = &tasks(&state)?.journal;
    let came = CallbackBody { content_type, body: STANDARD.encode(&bytes) };
    let came = serde_json::to_value(came).unwrap_or_default();
    if journal.deliver(run, CALLBACK.to_owned(), Some(haft_tasks::attempt(number)), came).await? {
        return Ok(envelope::success(StatusCode::OK, json!({"taken": true})));
    }
    let steps = journal.steps(space, run).await?;
    let run = journal.read(space, run).await?.ok_or_else(not_ours)?;
    let waits = steps.into_iter().find(|step| step.key == CALLBACK);
    // An address that was given out for another attempt is of no use either.
    let is_meant = waits.is_some_and(|step| step.details == Some(haft_tasks::attempt(number)));
    if run.status.is_final() || !is_meant {
        return Err(CallError::new(ErrorKind::Conflict, Message::new(&TAKEN)).into());
    }
    Err(CallError::new(ErrorKind::Unavailable, Message::new(&BUSY)).into())
}
