//! What the address and the headers of a request say: which thing, which part of a list, upon which version.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use haft_core::{CallError, Message, Violation};
use haft_store::Page;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::decode_error;
use crate::error::Failure;

haft_core::templates! {
    BAD_PATH = "address.badPath",
        "The path cannot be read: it must be UTF-8, percent-encoded.",
        "路径无法读取：必须是经过百分号编码的 UTF-8。";
    BAD_IF_MATCH = "address.badIfMatch",
        "If-Match must be a version such as \"3\"",
        "If-Match 必须是版本号，例如 \"3\"";
    BAD_LIMIT = "address.badLimit",
        "must be between 1 and {most}",
        "必须在 1 到 {most} 之间";
}

const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

/// The id or name in the path.
pub(crate) struct Named(pub(crate) String);

/// The two of a path: a thing, and one within it.
pub(crate) struct NamedWithin(pub(crate) String, pub(crate) String);

async fn path<T: DeserializeOwned + Send, S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<T, Failure> {
    let read = Path::<T>::from_request_parts(parts, state).await;
    read.map(|Path(names)| names)
        .map_err(|_| Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&BAD_PATH)))
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        path(parts, state).await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for NamedWithin {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        path(parts, state).await.map(|(outer, inner)| Self(outer, inner))
    }
}

/// The parameters behind `?`. A type that denies unknown fields makes unknown parameters an error.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(parameters)| Self(parameters))
            .map_err(|error| CallError::invalid(vec![decode_error::of_query(&error.body_text())]).into())
    }
}

/// Which part of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListOf {
    pub(crate) limit: Option<u32>,
    pub(crate) cursor: Option<String>,
}

impl ListOf {
    pub(crate) fn checked(self) -> Result<Page, CallError> {
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=LARGEST_PAGE).contains(&limit) {
            let message = Message::new(&BAD_LIMIT).with("most", LARGEST_PAGE);
            return Err(CallError::invalid(vec![Violation::new("limit", message)]));
        }
        Ok(Page { limit, cursor: self.cursor })
    }
}

/// Whether something goes although it is still of use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forced {
    #[serde(default)]
    pub(crate) force: bool,
}

/// Whether who asks has already what a tag stands for.
pub(crate) fn has_already(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .any(|known| known == "*" || tag == known.trim_start_matches("W/"))
}

/// The version a change builds upon, where the request says so.
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let text = value.to_str().ok().map(|text| text.trim().trim_matches('"'));
    match text.and_then(|text| text.parse().ok()) {
        Some(version) => Ok(Some(version)),
        None => Err(Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&BAD_IF_MATCH))),
    }
}
