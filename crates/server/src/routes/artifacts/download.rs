//! `GET /api/artifacts/{id}`: the bytes of a file, for its owner or by a link. Not in the envelope.
//!
//! What somebody uploaded is never shown as a page of ours: it is saved, and has its type only where that is
//! harmless.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use haft_core::CallError;
use haft_core::artifact::{self, Artifact, UNKNOWN_TYPE};
use haft_store::Store;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::hex;
use crate::app::AppState;
use crate::auth::MaybeWho;
use crate::error::Failure;
use crate::query::{Named, Parameters, has_already};
use crate::stored_artifacts::find;

/// Types that no browser runs anything of.
const HARMLESS: [&str; 10] = [
    "application/json",
    "application/pdf",
    "application/zip",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/csv",
    "text/markdown",
    "text/plain",
];

/// Should it be shown all the same: without scripts, without an origin, without anything from elsewhere.
const POLICY: &str = "sandbox; default-src 'none'";

/// What may stand in a header's extended value as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct By {
    sig: Option<String>,
}

pub(super) async fn download(
    State(state): State<AppState>,
    MaybeWho(visitor): MaybeWho,
    Named(id): Named,
    Parameters(By { sig }): Parameters<By>,
    asked: HeaderMap,
) -> Result<Response, Failure> {
    let who = visitor.map(|visitor| (visitor.space, visitor.user.id));
    let found = find(&state.store, who, &id, sig.as_deref()).await?;
    let file = found.ok_or_else(|| artifact::not_found(&id))?;
    let tag = HeaderValue::from_str(&format!("\"{}\"", hex(&file.sha256)));
    let tag = tag.unwrap_or(HeaderValue::from_static("\"\""));
    let mut response = if has_already(&asked, &tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let mut response = Response::new(stream(state.store.clone(), &file));
        response.headers_mut().extend([
            (header::CONTENT_LENGTH, HeaderValue::from(file.size)),
            (header::CONTENT_TYPE, content_type(&file)),
            (header::CONTENT_DISPOSITION, disposition(&file)),
        ]);
        response
    };
    response.headers_mut().extend([
        (header::ETAG, tag),
        // It is asked for each time, since a link ends and a file may go.
        (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ]);
    Ok(response)
}

/// The bytes, each piece read when it is due. One that is gone by then ends the answer before its length.
fn stream(store: Store, file: &Artifact) -> Body {
    let (space, id, size) = (file.space_id, file.id, file.size);
    let pieces = futures_util::stream::try_unfold((store, 0, 0), move |(store, piece, sent)| async move {
        if sent >= size {
            return Ok::<_, CallError>(None);
        }
        let bytes = Bytes::from(store.read_artifact(space, id, piece).await?);
        let sent = sent + bytes.len() as u64;
        Ok(Some((bytes, (store, piece + 1, sent))))
    });
    Body::from_stream(pieces)
}

fn content_type(file: &Artifact) -> HeaderValue {
    let essence = file.media_type.split(';').next().unwrap_or_default();
    let is_harmless = HARMLESS.contains(&essence);
    let shown = HeaderValue::from_str(&file.media_type).ok().filter(|_| is_harmless);
    shown.unwrap_or(HeaderValue::from_static(UNKNOWN_TYPE))
}

/// It is saved under its name, in whatever language that is.
fn disposition(file: &Artifact) -> HeaderValue {
    let name = utf8_percent_encode(&file.name, PLAIN);
    let written = HeaderValue::from_str(&format!("attachment; filename*=UTF-8''{name}"));
    written.unwrap_or(HeaderValue::from_static("attachment"))
}
