//! What every request carries: an id that ties answers to log lines, and a language.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use haft_core::{Locale, RequestId, TraceParent, TraceState};
use uuid::Uuid;

use crate::door::{Entered, REQUEST_ID};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// The id that the caller gave, when it is a plain one.
fn given(headers: &HeaderMap) -> Option<RequestId> {
    headers.get(REQUEST_ID)?.to_str().ok()?.parse().ok()
}

/// What the log says of a request: never the whole address, for what stands behind `?` may be anything.
pub(crate) struct Exchange {
    pub(crate) method: Method,
    route: Option<MatchedPath>,
    started: Instant,
}

impl Exchange {
    pub(crate) fn of(request: &Request) -> Self {
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
    /// The trace that the request is part of, if its headers name one.
    pub(crate) trace: Option<(TraceParent, Option<TraceState>)>,
}

impl Asked {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let id = given(headers).unwrap_or_else(|| Uuid::now_v7().into());
        Self { id, locale: locale(headers), trace: trace(headers) }
    }

    /// The id as answers carry it.
    pub(crate) fn header(&self) -> HeaderValue {
        let value = match &self.id {
            RequestId::Made(id) => {
                HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
            }
            RequestId::Given(text) => HeaderValue::from_str(text),
        };
        value.unwrap_or_else(|_| HeaderValue::from_static("unknown"))
    }
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let entered = parts.extensions.get::<Entered>();
        Ok(entered.map_or_else(|| Self::of(&parts.headers), |entered| entered.asked.clone()))
    }
}

/// Reads the trace context of a request. Returns `None` unless there is exactly one valid `traceparent`.
fn trace(headers: &HeaderMap) -> Option<(TraceParent, Option<TraceState>)> {
    let mut parents = headers.get_all(TRACE_PARENT).iter();
    let only = parents.next().filter(|_| parents.next().is_none())?;
    let parent = TraceParent::parse(only.as_bytes())?;
    let states = headers.get_all(TRACE_STATE).iter();
    Some((parent, TraceState::parse(states.map(HeaderValue::as_bytes))))
}

/// What makes a request safe to send again, where it says so. Not all headers: most requests have none of this.
pub(crate) struct Keyed(pub(crate) Option<HeaderValue>);

impl<S: Sync> FromRequestParts<S> for Keyed {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.get(IDEMPOTENCY_KEY).cloned()))
    }
}

fn locale(headers: &HeaderMap) -> Locale {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    accepted.map(Locale::from_accept_language).unwrap_or_default()
}
