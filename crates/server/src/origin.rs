//! Which other sites' pages may use the API: those that the operator listed, and no others (CORS).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::AppState;

/// Answers what a browser asks before it lets a page of another site in, and says on answers who may read them.
pub(crate) async fn allow(State(state): State<AppState>, request: Request, next: Next) -> Response {
    let origin = allowed(&state, request.headers());
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let Some(origin) = origin else { return next.run(request).await };
    let mut response =
        if is_question { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if is_question {
        let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
        let names = "Authorization, Content-Type, If-Match, Idempotency-Key, Accept-Language, Haft-Space, \
                     Last-Event-ID";
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    }
    response
}

fn allowed(state: &AppState, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    state.settings.allowed_origins.iter().any(|allowed| allowed == text).then(|| origin.clone())
}
