//! Bodies of imports: JSON of up to 64 MB, compressed or not. The slot of an import is taken when its bytes are here.

use std::io::Read as _;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use haft_core::error::ROOT;
use haft_core::{CallError, Message, Violation, json};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::gate::{ImportSlot, SMALL_BYTES};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{interrupted, is_json, malformed, not_json, read};
use crate::error::Failure;

/// No body is larger, neither as it comes nor decompressed.
pub(super) const LARGEST: usize = 64 << 20;

/// Values and names within a body. A few bytes each of the text, they take many times that in memory.
const MOST_VALUES: usize = 2_000_000;

/// The maximum time until the whole body must be here.
const UPLOAD_TIME: Duration = Duration::from_secs(60);

/// The maximum time and number of bytes of a body that is discarded before its refusal is sent.
const DISCARD_TIME: Duration = Duration::from_secs(20);
const DISCARD_BYTES: usize = 1 << 30;

haft_core::templates! {
    TOO_LARGE = "import.bodyTooLarge",
        "The body is larger than {limit} MB. Import a part of the document.",
        "请求体超过 {limit} MB；请只导入文档的一部分";
    TOO_MANY_VALUES = "import.bodyTooManyValues",
        "contains more than {limit} values; import a part of the document",
        "包含超过 {limit} 个值；请只导入文档的一部分";
    ENCODING = "import.encoding",
        "Content-Encoding {encoding} is not supported; send gzip, or leave it out",
        "不支持 Content-Encoding {encoding}；请使用 gzip 或不设置";
    NOT_GZIP = "import.notGzip",
        "The body is not valid gzip, although Content-Encoding says so: {reason}",
        "请求体不是 Content-Encoding 声明的 gzip：{reason}";
    SLOW = "import.slowBody",
        "The body did not arrive within {seconds} seconds.",
        "请求体未在 {seconds} 秒内到达";
}

/// The body of an import, with the slot that it holds.
pub(crate) struct ImportBody {
    bytes: Bytes,
    is_gzip: bool,
    pub(crate) slot: ImportSlot,
}

impl FromRequest<AppState> for ImportBody {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Failure> {
        let (mut parts, mut body) = request.into_parts();
        if !is_json(&parts.headers) {
            return Err(not_json());
        }
        let is_gzip = is_gzip(&parts.headers)?;
        let announced = announced_length(&parts.headers);
        if announced.is_some_and(|length| length > LARGEST) {
            return Err(refused(&mut body, too_large()).await);
        }
        let is_small = !is_gzip && announced.is_some_and(|length| length <= SMALL_BYTES);
        if is_small {
            let bytes = read_bytes(&mut body).await?;
            return Ok(Self { bytes, is_gzip, slot: state.imports.small().await? });
        }
        let Who(visitor) = Who::from_request_parts(&mut parts, state).await?;
        let admission = match state.imports.admit(visitor.user.id).await {
            Ok(admission) => admission,
            Err(error) => return Err(refused(&mut body, error.into()).await),
        };
        let bytes = match read_bytes(&mut body).await {
            Ok(bytes) => bytes,
            Err(failure) => {
                drop(admission);
                return Err(refused(&mut body, failure).await);
            }
        };
        Ok(Self { bytes, is_gzip, slot: state.imports.large(admission).await? })
    }
}

impl ImportBody {
    /// What the body says. An unknown field is an error that names it.
    pub(crate) async fn read<T: DeserializeOwned + Send + 'static>(self) -> Result<(T, ImportSlot), Failure> {
        let Self { bytes, is_gzip, slot } = self;
        let reading = slot.run(move |_| Ok(parse(&bytes, is_gzip).and_then(|body| Ok(read(body)?)))).await;
        Ok((reading??, slot))
    }
}

fn parse(bytes: &[u8], is_gzip: bool) -> Result<Value, Failure> {
    let inflated;
    let text = if is_gzip {
        inflated = inflate(bytes)?;
        &inflated
    } else {
        bytes
    };
    if values_in(text) > MOST_VALUES {
        let message = Message::new(&TOO_MANY_VALUES).with("limit", MOST_VALUES);
        return Err(CallError::invalid(vec![Violation::new(ROOT, message)]).into());
    }
    json::parse(text).map_err(|error| malformed(&error))
}

/// Decompresses a body, and stops at the limit.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut inflated = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(LARGEST as u64 + 1);
    decoder.read_to_end(&mut inflated).map_err(|error| {
        let message = Message::new(&NOT_GZIP).with("reason", error);
        Failure::with_status(StatusCode::BAD_REQUEST, message)
    })?;
    if inflated.len() > LARGEST { Err(too_large()) } else { Ok(inflated) }
}

/// An upper bound of the values and names in JSON text, found without building any.
fn values_in(text: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

fn announced_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Failure> {
    let Some(encoding) = headers.get(header::CONTENT_ENCODING) else { return Ok(false) };
    let encoding = String::from_utf8_lossy(encoding.as_bytes());
    match encoding.trim().to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => Ok(true),
        "identity" | "" => Ok(false),
        other => {
            let other: String = other.chars().take(40).collect();
            let message = Message::new(&ENCODING).with("encoding", other);
            Err(Failure::with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
        }
    }
}

fn too_large() -> Failure {
    let message = Message::new(&TOO_LARGE).with("limit", LARGEST >> 20);
    Failure::with_status(StatusCode::PAYLOAD_TOO_LARGE, message)
}

async fn read_bytes(body: &mut Body) -> Result<Bytes, Failure> {
    let deadline = Instant::now() + UPLOAD_TIME;
    let mut whole = BytesMut::new();
    while !body.is_end_stream() {
        let frame = timeout_at(deadline, body.frame()).await.map_err(|_| {
            let message = Message::new(&SLOW).with("seconds", UPLOAD_TIME.as_secs());
            Failure::with_status(StatusCode::REQUEST_TIMEOUT, message)
        })?;
        let Some(frame) = frame else { break };
        let Ok(bytes) = frame.map_err(|_| interrupted())?.into_data() else { continue };
        if whole.len() + bytes.len() > LARGEST {
            return Err(too_large());
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze())
}

/// The refusal of a request whose body may still arrive: a client that is still sending would see a broken connection
/// instead of the answer.
async fn refused(body: &mut Body, failure: Failure) -> Failure {
    discard(body).await;
    failure
}

/// Reads what still comes of a body that is refused, within limits, and keeps nothing of it.
async fn discard(body: &mut Body) {
    let deadline = Instant::now() + DISCARD_TIME;
    let mut discarded = 0;
    while !body.is_end_stream() && discarded < DISCARD_BYTES {
        let Ok(Some(Ok(frame))) = timeout_at(deadline, body.frame()).await else { return };
        discarded += frame.data_ref().map_or(0, Bytes::len);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::Write as _;

    use axum::response::IntoResponse;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use futures_util::stream;
    use serde_json::json;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn status(failure: Failure) -> StatusCode {
        failure.into_response().status()
    }

    #[test]
    fn compressed_and_plain_bodies_mean_the_same() {
        let text = br#"{"spec": "a, [b] {c}", "dryRun": true}"#;
        let value = json!({"spec": "a, [b] {c}", "dryRun": true});
        assert_eq!(parse(text, false).expect("plain"), value);
        assert_eq!(parse(&gzip(text), true).expect("gzip"), value);
        assert_eq!(status(parse(text, true).expect_err("not gzip")), StatusCode::BAD_REQUEST);
        let cut = gzip(text);
        assert_eq!(status(parse(&cut[..cut.len() - 9], true).expect_err("cut")), StatusCode::BAD_REQUEST);
        assert_eq!(status(parse(b"{", false).expect_err("not JSON")), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn decompression_stops_at_the_limit() {
        let bomb = gzip(&vec![b' '; LARGEST + (1 << 20)]);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(status(inflate(&bomb).expect_err("too large")), StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (text, count) in [
            ("1", 1),
            ("[1,2]", 3),
            (r#"{"a": 1, "b": [2]}"#, 6),
            (r#""a,b:[{""#, 1),
            (r#"["a\",b", "\\"]"#, 3),
        ] {
            assert_eq!(values_in(text.as_bytes()), count, "{text}");
        }
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert_eq!(status(parse(many.as_bytes(), false).expect_err("too many")), StatusCode::BAD_REQUEST);
    }

    #[tokio::test]
    async fn a_body_without_a_length_is_limited_as_well() {
        let chunk = Bytes::from(vec![b' '; 1 << 20]);
        let chunks = (0..=LARGEST >> 20).map(move |_| Ok::<_, Infallible>(chunk.clone()));
        let mut body = Body::from_stream(stream::iter(chunks));
        assert_eq!(
            status(read_bytes(&mut body).await.expect_err("too large")),
            StatusCode::PAYLOAD_TOO_LARGE
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_given_up() {
        let mut body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
        assert_eq!(status(read_bytes(&mut body).await.expect_err("slow")), StatusCode::REQUEST_TIMEOUT);
        discard(&mut body).await;
    }
}
