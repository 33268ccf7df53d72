//! What every request carries: an id that ties answers to log lines, and a language.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use haft_core::{Locale, RequestId, TraceParent};
use uuid::Uuid;

use crate::error::{self, Failure};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");

/// Gives the request its id, and the answer the same, also when a handler of ours panics.
pub(crate) async fn give_id(mut request: Request, next: Next) -> Response {
    let asked = Asked {
        id: given(request.headers()).unwrap_or_else(|| Uuid::now_v7().into()),
        locale: locale(request.headers()),
    };
    request.extensions_mut().insert(asked.id.clone());
    let exchange = Exchange::of(&request);
    let has_body = request.headers().contains_key(header::CONTENT_LENGTH)
        || request.headers().contains_key(header::TRANSFER_ENCODING);
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|panic| error::panicked(&*panic).into_response());
    // Here the language is known, so here a failure gets its words.
    if let Some(failure) = response.extensions_mut().remove::<Arc<Failure>>() {
        failure.log(&asked, &exchange);
        response = failure.answer(&asked);
    }
    // Who is refused before the body was read cannot use the connection again, and shall know.
    if has_body && matches!(response.status().as_u16(), 401 | 403 | 413 | 415) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().insert(REQUEST_ID, header_of(&asked.id));
    response
}

/// The id that the caller gave, when it is a plain one.
fn given(headers: &HeaderMap) -> Option<RequestId> {
    headers.get(REQUEST_ID)?.to_str().ok()?.parse().ok()
}

fn header_of(id: &RequestId) -> HeaderValue {
    let value = match id {
        RequestId::Made(id) => {
            HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
        }
        RequestId::Given(text) => HeaderValue::from_str(text),
    };
    value.unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

/// What the log says of a request: never the whole address, for what stands behind `?` may be anything.
pub(crate) struct Exchange {
    pub(crate) method: Method,
    route: Option<MatchedPath>,
    started: Instant,
}

impl Exchange {
    fn of(request: &Request) -> Self {
        let route = request.extensions().get::<MatchedPath>().cloned();
        Self { method: request.method().clone(), route, started: Instant::now() }
    }

    /// The route as its table has it, with `{id}` for any id; nothing where there is none.
    pub(crate) fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    pub(crate) fn duration(&self) -> Duration {
        self.started.elapsed()
    }
}

/// What an answer needs to know of its request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) id: RequestId,
    pub(crate) locale: Locale,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let id = parts.extensions.get::<RequestId>().cloned();
        Ok(Self { id: id.unwrap_or_else(|| Uuid::nil().into()), locale: locale(&parts.headers) })
    }
}

/// The span of the caller's trace that a request is part of, where it told of one.
pub(crate) struct Traced(pub(crate) Option<TraceParent>);

impl<S: Sync> FromRequestParts<S> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let mut told = parts.headers.get_all(TRACE_PARENT).iter();
        // Of two there is no telling which is meant.
        let only = told.next().filter(|_| told.next().is_none());
        Ok(Self(only.and_then(|value| TraceParent::parse(value.as_bytes()))))
    }
}

pub(crate) fn locale(headers: &HeaderMap) -> Locale {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    accepted.map(Locale::from_accept_language).unwrap_or_default()
}
