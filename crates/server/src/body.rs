//! Bodies of requests: JSON, read strictly, refused before it is buffered when it is too large.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use haft_core::{Message, json};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use crate::error::ApiError;
use crate::request::Asked;

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
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let asked = Asked::of(&parts);
        if !is_json(&parts.headers) {
            let message = Message::new(&NOT_JSON);
            return Err(ApiError::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, &asked));
        }
        let bytes = read(&parts.headers, body, &asked).await?;
        json::parse(&bytes).map(Self).map_err(|error| {
            let message = Message::new(&MALFORMED).with("reason", error);
            ApiError::with_status(StatusCode::BAD_REQUEST, message, &asked)
        })
    }
}

async fn read(headers: &HeaderMap, body: axum::body::Body, asked: &Asked) -> Result<Bytes, ApiError> {
    let too_large = || {
        let message = Message::new(&TOO_LARGE).with("limit", LARGEST);
        ApiError::with_status(StatusCode::PAYLOAD_TOO_LARGE, message, asked)
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > LARGEST) {
        return Err(too_large());
    }
    match Limited::new(body, LARGEST).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(ApiError::with_status(StatusCode::BAD_REQUEST, Message::new(&INTERRUPTED), asked)),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json") || essence.to_ascii_lowercase().ends_with("+json")
}
