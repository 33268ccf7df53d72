//! The one form of every answer of `/api`: `{code, message, data}`, with `error` beside it when it failed.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, ToolExecutionResult};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error;
use crate::request::Asked;

#[derive(Serialize)]
struct Envelope<'a, T> {
    code: u16,
    message: &'a str,
    data: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// An answer that worked.
pub(crate) fn success(status: StatusCode, data: impl Serialize) -> Response {
    write(status, &Envelope { code: status.as_u16(), message: "success", data, error: None })
}

/// A page of a list.
pub(crate) fn page(items: impl Serialize, next: Option<String>) -> Response {
    success(StatusCode::OK, json!({"items": items, "nextCursor": next}))
}

/// The same, with how many there are in all.
pub(crate) fn page_of(items: impl Serialize, next: Option<String>, total: u64) -> Response {
    success(StatusCode::OK, json!({"items": items, "nextCursor": next, "total": total}))
}

/// The same answer with the version of what it shows, for `If-Match`.
pub(crate) fn tagged(mut response: Response, version: u64) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// An answer that did not.
pub(crate) fn failure(status: StatusCode, error: &CallError, asked: &Asked) -> Response {
    let message = error.message().render(asked.locale);
    let error = error_body(error, asked);
    write(
        status,
        &Envelope { code: status.as_u16(), message: &message, data: Value::Null, error: Some(error) },
    )
}

/// The outcome of a call: a failed one has its kind's status, and the result in `data` all the same.
pub(crate) fn outcome(result: &ToolExecutionResult, asked: &Asked) -> Response {
    let data = result.localized(asked.locale);
    let Some(failure) = result.error() else {
        return success(StatusCode::OK, data);
    };
    let status = error::status(failure.kind());
    let message = failure.message().render(asked.locale);
    let error = Some(error_body(failure, asked));
    let mut response = write(status, &Envelope { code: status.as_u16(), message: &message, data, error });
    error::add_headers(&mut response, failure);
    response
}

/// The outcome of a call as it was kept, in the words that it had then.
pub(crate) fn kept_outcome(output: &Value, asked: &Asked) -> Response {
    let Some(failure) = output.get("error").filter(|error| !error.is_null()) else {
        return success(StatusCode::OK, output);
    };
    let kind = failure.get("kind").cloned().unwrap_or_default();
    let status =
        serde_json::from_value(kind.clone()).map_or(StatusCode::INTERNAL_SERVER_ERROR, error::status);
    let message = failure.get("message").and_then(Value::as_str).unwrap_or_default();
    let details = failure.get("details").cloned().unwrap_or_default();
    let error = Some(json!({"kind": kind, "details": details, "requestId": asked.id}));
    write(status, &Envelope { code: status.as_u16(), message, data: output, error })
}

/// A failure of which there is more to tell than its error, as it was kept.
pub(crate) fn kept_failure(
    status: StatusCode,
    failure: &Value,
    data: impl Serialize,
    asked: &Asked,
) -> Response {
    let message = failure["message"].as_str().unwrap_or_default();
    let error = json!({"kind": failure["kind"], "details": failure["details"], "requestId": asked.id});
    write(status, &Envelope { code: status.as_u16(), message, data, error: Some(error) })
}

fn error_body(error: &CallError, asked: &Asked) -> Value {
    let mut details = error.details(asked.locale);
    if crate::error::is_inner(error.kind()) {
        details.shift_remove("cause");
    }
    json!({"kind": error.kind(), "details": details, "requestId": asked.id})
}

fn write(status: StatusCode, envelope: &impl Serialize) -> Response {
    match serde_json::to_vec(envelope) {
        Ok(bytes) => {
            let mut response = Response::new(Body::from(bytes));
            *response.status_mut() = status;
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => error::internal(error).into_response(),
    }
}
