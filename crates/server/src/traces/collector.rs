//! The way to a collector: OTLP's requests through the egress guard, to the address that the operator wrote.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method, header};
use haft_core::{BoxFuture, CallError, Locale};
use haft_egress::{Egress, Limits, Request, RequestPolicy};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Response};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

/// One attempt may take so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// A collector has little to say.
const LARGEST_ANSWER: usize = 64 << 10;

/// Why the collector could not be reached the last time, in words: the exporter itself does not tell.
#[derive(Clone, Default)]
pub(super) struct LastFailure(Arc<Mutex<Option<String>>>);

impl LastFailure {
    fn keep(&self, error: &CallError) {
        let message = error.message().render(Locale::En);
        let words = match error.details(Locale::En).get("cause").and_then(Value::as_str) {
            Some(cause) => format!("{message} ({cause})"),
            None => message,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A client that knows one address, and no headers but the operator's.
pub(super) struct Collector {
    egress: Egress,
    endpoint: Url,
    headers: HeaderMap,
    failure: LastFailure,
}

impl Collector {
    pub(super) fn new(egress: Egress, endpoint: Url, headers: HeaderMap, failure: LastFailure) -> Self {
        Self { egress, endpoint, headers, failure }
    }

    async fn post(&self, asked: opentelemetry_http::Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = asked.into_parts();
        let mut request = Request::new(Method::POST, &self.endpoint)?;
        // Whatever the exporter found in the environment by itself stays out.
        request.headers = self.headers.clone();
        request.content_type = head.headers.get(header::CONTENT_TYPE).cloned();
        request.body = body;
        let limits = Limits { deadline: Some(Instant::now() + PATIENCE), bytes: LARGEST_ANSWER };
        let answer = self.egress.send(RequestPolicy::Operator, request, limits).await;
        let answer = answer.inspect_err(|error| self.failure.keep(error))?;
        let mut response = Response::new(answer.body);
        *response.status_mut() = answer.status;
        *response.headers_mut() = answer.headers;
        Ok(response)
    }
}

impl HttpClient for Collector {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: opentelemetry_http::Request<Bytes>,
    ) -> BoxFuture<'async_trait, Result<Response<Bytes>, HttpError>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.post(request))
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}
