//! Files: `POST/GET /api/artifacts`, `GET/DELETE /api/artifacts/{id}`, `POST /api/artifacts/{id}/link`.
//!
//! Each is its owner's alone; to everyone else, whatever they may do here, it is not there.

mod download;
mod upload;

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::artifact::{self, Artifact, PATH, SIGNATURE};
use haft_core::id::ArtifactId;
use haft_core::{CallError, UserId};
use haft_store::{LinkTarget, SignedLink};
use jiff::Timestamp;
use serde::Serialize;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};
use crate::stored_artifacts::find;
use crate::visitors::Visitor;

/// A link holds so long.
const LIFETIME: Duration = Duration::from_secs(3600);

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/artifacts", upload::upload)
            .needs(Needs::Call)
            .says("Upload a file of up to 32 MiB; calls of the same user read it as `artifact://ID`")
            .takes("NewArtifact")
            .answers(201, "Artifact"),
        Route::get("/artifacts", list)
            .needs(Needs::Read)
            .says("List your own files, newest first")
            .pages()
            .answers(200, "ArtifactPage"),
        Route::get("/artifacts/{id}", download::download)
            .needs(Needs::ReadOrLink)
            .says("Download one of your own files, or the file of a link")
            .parameter("sig", "string", "Signature of a link; replaces a token")
            .answers(200, "ArtifactBytes"),
        Route::delete("/artifacts/{id}", remove)
            .needs(Needs::Call)
            .says("Delete one of your own files; links to it stop working")
            .answers(200, "Artifact"),
        Route::post("/artifacts/{id}/link", link)
            .needs(Needs::Call)
            .says("Create a link that lets any holder read one of your own files for an hour")
            .answers(200, "ArtifactLink"),
    ]
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    id: ArtifactId,
    name: String,
    url: String,
    #[serde(rename = "type")]
    media_type: String,
    size: u64,
    sha256: String,
    owner_id: UserId,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    created_at: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    url: String,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    expires_at: Timestamp,
}

impl Shown {
    fn of(state: &AppState, headers: &HeaderMap, artifact: Artifact) -> Self {
        Self {
            id: artifact.id,
            url: state.url_of(headers, &format!("{PATH}{}", artifact.id)),
            sha256: hex(&artifact.sha256),
            name: artifact.name,
            media_type: artifact.media_type,
            size: artifact.size,
            owner_id: artifact.owner_id,
            created_at: artifact.created_at,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The visitor's own file of that id.
async fn own(state: &AppState, visitor: &Visitor, id: &str) -> Result<Artifact, CallError> {
    let found = find(&state.store, Some((visitor.space, visitor.user.id)), id, None).await?;
    found.ok_or_else(|| artifact::not_found(id))
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    headers: HeaderMap,
    Parameters(list): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let page = list.checked()?;
    let (artifacts, next) = state.store.list_artifacts(visitor.space, visitor.user.id, &page).await?;
    let shown: Vec<Shown> =
        artifacts.into_iter().map(|artifact| Shown::of(&state, &headers, artifact)).collect();
    Ok(envelope::page(&shown, next))
}

async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let artifact = own(&state, &visitor, &id).await?;
    state.store.delete_artifact(visitor.space, visitor.user.id, artifact.id).await?;
    Ok(envelope::success(StatusCode::OK, Shown::of(&state, &headers, artifact)))
}

async fn link(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let artifact = own(&state, &visitor, &id).await?;
    let until = haft_engine::now().saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
    // A signature knows whole seconds.
    let expires_at = Timestamp::from_second(until.as_second()).unwrap_or(until);
    let signed =
        SignedLink { space: artifact.space_id, by: Some(visitor.user.id), until: expires_at, number: 0 };
    let signature = state.store.sign(LinkTarget::Artifact(artifact.id), signed)?;
    let url = state.url_of(&headers, &format!("{PATH}{}?{SIGNATURE}={signature}", artifact.id));
    Ok(envelope::success(StatusCode::OK, Link { url, expires_at }))
}
