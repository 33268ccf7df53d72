//! `POST /api/artifacts`: a file on its way from a form into the store, a piece at a time.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use haft_core::artifact::{Artifact, LARGEST, NewArtifact, too_large};
use haft_store::Upload;

use super::Shown;
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::form::FileForm;
use crate::visitors::Visitor;

/// A form is so much larger than its file at most.
const AROUND: u64 = 64 << 10;

pub(super) async fn upload(
    State(state): State<AppState>,
    Who(visitor): Who,
    request: Request,
) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    let mut form = FileForm::of(&parts.headers, body)?;
    let kept = keep(&state, &visitor, &parts.headers, &mut form).await;
    if kept.is_err() {
        form.drain().await;
    }
    Ok(envelope::success(StatusCode::CREATED, Shown::of(&state, &parts.headers, kept?)))
}

async fn keep(
    state: &AppState,
    visitor: &Visitor,
    headers: &HeaderMap,
    form: &mut FileForm,
) -> Result<Artifact, Failure> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > LARGEST + AROUND) {
        return Err(too_much());
    }
    let head = form.file().await?;
    let file = NewArtifact::new(&head.name, &head.media_type)?;
    let quota = state.settings.artifact_quota();
    let mut upload = state.store.begin_artifact(visitor.space, visitor.user.id, &file, quota).await?;
    let received = receive(form, &mut upload).await;
    if received.is_err() {
        upload.abandon().await;
    }
    received
}

async fn receive(form: &mut FileForm, upload: &mut Upload) -> Result<Artifact, Failure> {
    while let Some(piece) = form.piece().await? {
        if piece.len() as u64 > upload.room() {
            return Err(too_much());
        }
        upload.write(&piece).await?;
    }
    form.end().await?;
    Ok(upload.finish().await?)
}

fn too_much() -> Failure {
    Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, too_large())
}
