//! Bodies of requests: JSON, read strictly, refused before it is buffered when it is too large, and given up
//! when it does not come.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use haft_core::error::ROOT;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, Violation, json};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::timeout;

use crate::error::Failure;

/// No body is larger.
const LARGEST: usize = 10 * 1024 * 1024;

/// So long nothing at all of a body may come.
const PATIENCE: Duration = Duration::from_secs(30);

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
    SLOW = "body.slow",
        "nothing of the body came for {seconds} seconds",
        "{seconds} 秒内没有收到请求体的任何数据";
}

/// A JSON body.
pub(crate) struct JsonBody(pub(crate) Value);

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            return Err(not_json());
        }
        let bytes = read_bytes(&parts.headers, body).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out, which is an empty object.
pub(crate) struct MaybeJsonBody(pub(crate) Value);

impl<S: Sync> FromRequest<S> for MaybeJsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, mut body) = request.into_parts();
        if is_json(&parts.headers) {
            let bytes = read_bytes(&parts.headers, body).await?;
            return if bytes.is_empty() { Ok(Self::left_out()) } else { parse(&bytes).map(Self) };
        }
        match next_bytes(&mut body).await? {
            Some(_) => Err(not_json()),
            None => Ok(Self::left_out()),
        }
    }
}

impl MaybeJsonBody {
    fn left_out() -> Self {
        Self(Value::Object(Map::new()))
    }
}

fn parse(bytes: &[u8]) -> Result<Value, Failure> {
    json::parse(bytes).map_err(|error| {
        let message = Message::new(&MALFORMED).with("reason", error);
        Failure::with_status(StatusCode::BAD_REQUEST, message)
    })
}

fn not_json() -> Failure {
    Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, Message::new(&NOT_JSON))
}

/// What a body says, in camelCase or snake_case; an unknown field is an error that names it.
pub(crate) fn read<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    read_as_written(camel_keys(body))
}

/// The same where names within the body are somebody's own, and stay as they are.
pub(crate) fn read_as_written<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    serde_json::from_value(body).map_err(|error| {
        // A value of the wrong type is quoted, and may be a secret.
        let said = error.to_string();
        let said = match said.rsplit_once(", expected ") {
            Some((_, expected)) if said.starts_with("invalid ") => format!("expected {expected}"),
            _ => said,
        };
        CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(said))])
    })
}

/// A body of whatever kind, as it came.
pub(crate) async fn read_bytes(headers: &HeaderMap, mut body: Body) -> Result<Bytes, Failure> {
    let check = |length: usize| {
        if length <= LARGEST {
            return Ok(());
        }
        let message = Message::new(&TOO_LARGE).with("limit", LARGEST);
        Err(Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message))
    };
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    check(announced.unwrap_or_default())?;
    let Some(first) = next_bytes(&mut body).await? else { return Ok(Bytes::new()) };
    check(first.len())?;
    let mut next = next_bytes(&mut body).await?;
    // Most come in one piece, and are taken as they are.
    if next.is_none() {
        return Ok(first);
    }
    let mut whole = BytesMut::from(first);
    while let Some(bytes) = next {
        check(whole.len() + bytes.len())?;
        whole.extend_from_slice(&bytes);
        next = next_bytes(&mut body).await?;
    }
    Ok(whole.freeze())
}

/// What comes next of a body; nothing at its end, and a failure when nothing comes for too long.
pub(crate) async fn next_bytes(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    // It is mostly known where a body ends; then there is nothing to wait for.
    while !body.is_end_stream() {
        let Ok(frame) = timeout(PATIENCE, body.frame()).await else {
            let message = Message::new(&SLOW).with("seconds", PATIENCE.as_secs());
            return Err(Failure::with_status(StatusCode::REQUEST_TIMEOUT, message));
        };
        match frame {
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(_)) => return Err(interrupted()),
            None => break,
        }
    }
    Ok(None)
}

/// The body ended where there should be more of it.
pub(crate) fn interrupted() -> Failure {
    Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&INTERRUPTED))
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json") || essence.to_ascii_lowercase().ends_with("+json")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::response::IntoResponse;
    use futures_util::{StreamExt, stream};

    use super::*;

    /// A body whose pieces come one by one, each after so long.
    fn body(pieces: &[&'static str], pause: Duration) -> Body {
        let pieces: Vec<&'static str> = pieces.to_vec();
        Body::from_stream(stream::iter(pieces).then(move |piece| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, Infallible>(piece)
        }))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_but_not_silent() {
        let slow: [&[&str]; 4] = [&[], &["{}"], &["{", "}"], &["[1,", "2,", "3", "]"]];
        for pieces in slow {
            let read = read_bytes(&HeaderMap::new(), body(pieces, PATIENCE / 2)).await.expect("all of it");
            assert_eq!(read, pieces.concat(), "{pieces:?}");
        }
        let silent: [&[&str]; 2] = [&["{}"], &["{", "}"]];
        for pieces in silent {
            let refused = read_bytes(&HeaderMap::new(), body(pieces, PATIENCE * 2)).await;
            let refused = refused.expect_err("nobody waits for it").into_response();
            assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT, "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn the_limit_holds_however_the_body_comes() {
        let large = vec![b' '; LARGEST + 1];
        let portions: Vec<Result<Bytes, Infallible>> =
            large.chunks(1 << 20).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
        for body in [Body::from(large.clone()), Body::from_stream(stream::iter(portions))] {
            let refused = read_bytes(&HeaderMap::new(), body).await.expect_err("too large").into_response();
            assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        }
        let fits = read_bytes(&HeaderMap::new(), Body::from(vec![b' '; LARGEST])).await.expect("read");
        assert_eq!(fits.len(), LARGEST);
    }
}
