//! Bodies of requests: JSON, read strictly, refused before it is buffered when it is too large.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use haft_core::error::ROOT;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, Violation, json};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Failure;

/// No body is larger.
const LARGEST: usize = 10 * 1024 * 1024;

haft_core::templates! {
    NOT_JSON = "body.notJson",
        "the body must be JSON: send the header Content-Type: application/json",
        "请求体必须是 JSON：请发送请求头 Content-Type: application/json";
    MALFORMED = "body.malformed",
        "the body is not good JSON: {reason}",
        "请求体不是合法的 JSON：{reason}";
    TOO_LARGE = "body.tooLarge",
        "the body is larger than {limit} bytes",
        "请求体超过 {limit} 字节";
    INTERRUPTED = "body.interrupted",
        "the body ended before it was complete",
        "请求体不完整";
}

/// A JSON body.
pub(crate) struct JsonBody(pub(crate) Value);

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            let message = Message::new(&NOT_JSON);
            return Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
        }
        let bytes = read_bytes(&parts.headers, body).await?;
        json::parse(&bytes).map(Self).map_err(|error| {
            let message = Message::new(&MALFORMED).with("reason", error);
            Failure::with_status(StatusCode::BAD_REQUEST, message)
        })
    }
}

/// What a body says, in camelCase or snake_case; an unknown field is an error that names it.
pub(crate) fn read<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    serde_json::from_value(camel_keys(body)).map_err(|error| {
        // A value of the wrong type is quoted, and may be a secret.
        let said = error.to_string();
        let said = match said.rsplit_once(", expected ") {
            Some((_, expected)) if said.starts_with("invalid ") => format!("expected {expected}"),
            _ => said,
        };
        CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(said))])
    })
}

async fn read_bytes(headers: &HeaderMap, body: axum::body::Body) -> Result<Bytes, Failure> {
    let too_large = || {
        let message = Message::new(&TOO_LARGE).with("limit", LARGEST);
        Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > LARGEST) {
        return Err(too_large());
    }
    match Limited::new(body, LARGEST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&INTERRUPTED))),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json") || essence.to_ascii_lowercase().ends_with("+json")
}
