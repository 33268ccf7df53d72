//! What every request carries: an id that ties answers to log lines, and a language.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use haft_core::Locale;
use uuid::Uuid;

use crate::error::{self, Failure};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request: the caller's own when it gave a plain one, else a new one.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) HeaderValue);

/// Gives the request its id, and the answer the same, also when a handler of ours panics.
pub(crate) async fn give_id(mut request: Request, next: Next) -> Response {
    let id =
        request.headers().get(REQUEST_ID).filter(|value| is_plain(value)).cloned().unwrap_or_else(new_id);
    request.extensions_mut().insert(RequestId(id.clone()));
    let locale = locale(request.headers());
    let has_body = request.headers().contains_key(header::CONTENT_LENGTH)
        || request.headers().contains_key(header::TRANSFER_ENCODING);
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let asked = || Asked { id: id.to_str().unwrap_or_default().to_owned(), locale };
    let mut response = answered.unwrap_or_else(|panic| error::panicked(&*panic, &asked()));
    // Here the language is known, so here a failure gets its words.
    if let Some(failure) = response.extensions_mut().remove::<Arc<Failure>>() {
        response = failure.answer(&asked());
    }
    // Who is refused before the body was read cannot use the connection again, and shall know.
    if has_body && matches!(response.status().as_u16(), 401 | 403 | 413 | 415) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn is_plain(value: &HeaderValue) -> bool {
    (1..=128).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
}

fn new_id() -> HeaderValue {
    let mut buffer = Uuid::encode_buffer();
    let text = Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// What an answer needs to know of its request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) locale: Locale,
}

impl Asked {
    pub(crate) fn of(parts: &Parts) -> Self {
        let id = parts.extensions.get::<RequestId>();
        let id = id.and_then(|id| id.0.to_str().ok()).unwrap_or_default().to_owned();
        Self { id, locale: locale(&parts.headers) }
    }
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

pub(crate) fn locale(headers: &HeaderMap) -> Locale {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    accepted.map(Locale::from_accept_language).unwrap_or_default()
}
