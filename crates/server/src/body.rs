//! Bodies of requests: JSON, read strictly, refused before it is buffered when it is too large, and given up
//! when it does not come.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, json};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::decode_error;
use crate::door::Entered;
use crate::error::Failure;

/// The maximum size of a body whose sender is known.
const LARGEST: usize = 10 * 1024 * 1024;

/// The maximum size of a body whose sender is not known: a login, or a decision by a signed link.
const LARGEST_OF_STRANGER: usize = 16 * 1024;

/// The maximum time without any byte of a body.
const SILENCE: Duration = Duration::from_secs(30);

/// The maximum time for a whole body, unless the operator sets another.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(120);

/// The maximum size of a body that is read only to keep the connection usable, and the time for it.
const DISCARDED: usize = 16 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(1);

haft_core::templates! {
    NOT_JSON = "body.notJson",
        "The body must be JSON. Send the header Content-Type: application/json",
        "请求体必须是 JSON：请发送请求头 Content-Type: application/json";
    MALFORMED = "body.malformed",
        "The body is not valid JSON: {reason}.",
        "请求体不是合法的 JSON：{reason}。";
    TOO_LARGE = "body.tooLarge",
        "The body is larger than {limit} bytes.",
        "请求体超过 {limit} 字节";
    INTERRUPTED = "body.interrupted",
        "The body ended before it was complete.",
        "请求体不完整";
    LATE = "body.late",
        "The body did not arrive within {seconds} seconds.",
        "请求体未在 {seconds} 秒内全部到达";
    SLOW = "body.slow",
        "No data of the body arrived for {seconds} seconds.",
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
        let bytes = read_at_most(limit_of(&parts), &parts, body).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out, which is an empty object.
pub(crate) struct MaybeJsonBody(pub(crate) Value);

impl<S: Sync> FromRequest<S> for MaybeJsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if is_json(&parts.headers) {
            let bytes = read_at_most(limit_of(&parts), &parts, body).await?;
            return if bytes.is_empty() { Ok(Self::left_out()) } else { parse(&bytes).map(Self) };
        }
        match BodyReader::new(body, timeout_of(&parts)).next().await? {
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
    json::parse(bytes).map_err(|error| malformed(&error))
}

pub(crate) fn malformed(error: &serde_json::Error) -> Failure {
    let message = Message::new(&MALFORMED).with_messages("reason", vec![decode_error::of_json(error)]);
    Failure::with_status(StatusCode::BAD_REQUEST, message)
}

pub(crate) fn not_json() -> Failure {
    Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, Message::new(&NOT_JSON))
}

/// What a body says, in camelCase or snake_case; an unknown field is an error that names it. `T` is a struct.
pub(crate) fn read<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    read_as_written(camel_keys(body))
}

/// The same where names within the body are somebody's own, and stay as they are.
pub(crate) fn read_as_written<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    // Serde would take a list for the fields of a struct.
    if !body.is_object() {
        return Err(decode_error::not_an_object());
    }
    serde_path_to_error::deserialize(body).map_err(|error| decode_error::of_body(&error))
}

/// The maximum size of a JSON body. Little is buffered for a sender who is not known.
fn limit_of(parts: &Parts) -> usize {
    let is_known = parts.extensions.get::<Entered>().is_some_and(|entered| entered.visitor.is_some());
    if is_known { LARGEST } else { LARGEST_OF_STRANGER }
}

/// Reads a body of any kind, for a handler that has checked who sends it.
pub(crate) async fn read_bytes(parts: &Parts, body: Body) -> Result<Bytes, Failure> {
    read_at_most(LARGEST, parts, body).await
}

/// The time in which a whole body must arrive.
fn timeout_of(parts: &Parts) -> Duration {
    parts.extensions.get::<Connection>().map_or(BODY_TIMEOUT, |connection| connection.body_timeout)
}

async fn read_at_most(limit: usize, parts: &Parts, body: Body) -> Result<Bytes, Failure> {
    let check = |length: usize| {
        if length <= limit {
            return Ok(());
        }
        let message = Message::new(&TOO_LARGE).with("limit", limit);
        Err(Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message))
    };
    let headers = &parts.headers;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    check(announced.unwrap_or_default())?;
    let mut reader = BodyReader::new(body, timeout_of(parts));
    let Some(first) = reader.next().await? else { return Ok(Bytes::new()) };
    check(first.len())?;
    let mut next = reader.next().await?;
    // Most come in one piece, and are taken as they are.
    if next.is_none() {
        return Ok(first);
    }
    let mut whole = BytesMut::from(first);
    while let Some(bytes) = next {
        check(whole.len() + bytes.len())?;
        whole.extend_from_slice(&bytes);
        next = reader.next().await?;
    }
    Ok(whole.freeze())
}

/// Reads and discards a small body, so that the connection can be reused.
pub(crate) async fn discard_small(body: Body) {
    if body.size_hint().lower() > DISCARDED as u64 {
        return;
    }
    let mut reader = BodyReader::new(body, DISCARD_TIME);
    let mut read = 0;
    while read <= DISCARDED
        && let Ok(Some(bytes)) = reader.next().await
    {
        read += bytes.len();
    }
}

/// Reads a body piece by piece, with one deadline for all of it.
pub(crate) struct BodyReader {
    body: Body,
    limit: Duration,
    deadline: Instant,
}

impl BodyReader {
    pub(crate) fn new(body: Body, limit: Duration) -> Self {
        Self { body, limit, deadline: Instant::now() + limit }
    }

    /// Returns the next piece, or `None` at the end. Fails if nothing comes for too long, or at the deadline.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        // It is mostly known where a body ends; then there is nothing to wait for.
        while !self.body.is_end_stream() {
            let silence = Instant::now() + SILENCE;
            let Ok(frame) = timeout_at(silence.min(self.deadline), self.body.frame()).await else {
                let (template, limit) =
                    if silence < self.deadline { (&SLOW, SILENCE) } else { (&LATE, self.limit) };
                let message = Message::new(template).with("seconds", limit.as_secs());
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
}

/// The body ended where there should be more of it.
pub(crate) fn interrupted() -> Failure {
    Failure::with_status(StatusCode::BAD_REQUEST, Message::new(&INTERRUPTED))
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
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

    fn parts() -> Parts {
        Request::new(Body::empty()).into_parts().0
    }

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
            let read = read_bytes(&parts(), body(pieces, SILENCE / 2)).await.expect("all of it");
            assert_eq!(read, pieces.concat(), "{pieces:?}");
        }
        let silent: [&[&str]; 2] = [&["{}"], &["{", "}"]];
        for pieces in silent {
            let refused = read_bytes(&parts(), body(pieces, SILENCE * 2)).await;
            let refused = refused.expect_err("nobody waits for it").into_response();
            assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT, "{pieces:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn body_has_one_deadline_however_steadily_it_comes() {
        let pieces = [" "; 20];
        let refused = read_bytes(&parts(), body(&pieces, SILENCE / 2)).await;
        let refused = refused.expect_err("it took five minutes").into_response();
        assert_eq!(refused.status(), StatusCode::REQUEST_TIMEOUT);
        let begun = Instant::now();
        discard_small(body(&pieces, SILENCE / 2)).await;
        assert_eq!(begun.elapsed(), DISCARD_TIME);
    }

    #[tokio::test]
    async fn the_limit_holds_however_the_body_comes() {
        let large = vec![b' '; LARGEST + 1];
        let portions: Vec<Result<Bytes, Infallible>> =
            large.chunks(1 << 20).map(|part| Ok(Bytes::copy_from_slice(part))).collect();
        for body in [Body::from(large.clone()), Body::from_stream(stream::iter(portions))] {
            let refused = read_bytes(&parts(), body).await.expect_err("too large").into_response();
            assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        }
        let fits = read_bytes(&parts(), Body::from(vec![b' '; LARGEST])).await.expect("read");
        assert_eq!(fits.len(), LARGEST);
    }
}
