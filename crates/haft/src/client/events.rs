//! Responses that are event streams (SSE), over HTTP or in this process.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, header};
use haft_egress::{Limits, Request, RequestPolicy, StreamedResponse};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::{Duration, timeout};
use tower::ServiceExt;
use url::Url;

use super::{ApiClient, ApiResponse, Transport, parse_response};

/// Time without data after which a stream counts as disconnected. Servers send a keep-alive every 15 s.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(45);

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// An open event stream.
pub(crate) struct Events {
    source: Source,
    /// Bytes that are received but not yet parsed.
    unparsed: Vec<u8>,
}

enum Source {
    InProcess(Body),
    Http(Box<StreamedResponse>),
}

impl ApiClient {
    /// Opens an event stream after the event `last`. Returns the response if it is not an event stream.
    pub(crate) async fn events(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        last: Option<&str>,
    ) -> anyhow::Result<Result<Events, ApiResponse>> {
        let mut headers = self.headers()?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            headers.insert(LAST_EVENT, HeaderValue::from_str(last)?);
        }
        match &self.transport {
            Transport::InProcess(router) => {
                let mut request = axum::http::Request::new(Body::from(body));
                *request.method_mut() = method;
                *request.uri_mut() = path.parse()?;
                *request.headers_mut() = headers;
                let (head, body) = router.clone().oneshot(request).await?.into_parts();
                if is_events(head.headers.get(header::CONTENT_TYPE)) {
                    return Ok(Ok(Events::of(Source::InProcess(body))));
                }
                Ok(Err(parse_response(head.status, &body.collect().await?.to_bytes())?))
            }
            Transport::Http { egress, base } => {
                let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
                let mut request = Request::new(method, &Url::parse(&url)?)?;
                request.headers = headers;
                request.body = body.into();
                // No limits: a conversation may last long. Half the maximum, since the limiter adds to it.
                let limits = Limits { deadline: None, bytes: usize::MAX / 2 };
                let opened = egress.open(RequestPolicy::Operator, request, limits).await;
                let opened = opened.map_err(|error| self.request_error(base, &error))?;
                if is_events(opened.headers().get(header::CONTENT_TYPE)) {
                    return Ok(Ok(Events::of(Source::Http(Box::new(opened)))));
                }
                let response = opened.whole().await.map_err(|error| self.request_error(base, &error))?;
                Ok(Err(parse_response(response.status, &response.body)?))
            }
        }
    }
}

fn is_events(kind: Option<&HeaderValue>) -> bool {
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

impl Events {
    fn of(source: Source) -> Self {
        Self { source, unparsed: Vec::new() }
    }

    /// Returns the next event. Returns `None` if the stream has ended or is disconnected.
    ///
    /// Cancel-safe: dropping the future loses no data.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.unparsed.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unparsed.drain(..end + 2).collect();
                if let Some(event) = parse(&String::from_utf8_lossy(&block)) {
                    return Some(event);
                }
            }
            let next_chunk = timeout(SILENCE_TIMEOUT, self.source.next_chunk()).await.ok()??;
            self.unparsed.extend_from_slice(&next_chunk);
        }
    }
}

impl Source {
    async fn next_chunk(&mut self) -> Option<Bytes> {
        match self {
            Self::Http(opened) => opened.chunk().await.ok()?,
            Self::InProcess(body) => loop {
                if let Ok(data) = body.frame().await?.ok()?.into_data() {
                    return Some(data);
                }
            },
        }
    }
}

/// Parses the lines of one event. Returns `None` for a block without data, which is a keep-alive.
fn parse(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let rest = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(rest.strip_prefix(' ').unwrap_or(rest).to_owned())
    };
    let data = serde_json::from_str(&field("data")?).ok()?;
    Some(Event { id: field("id"), name: field("event").unwrap_or_default(), data })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn events_are_parsed_across_chunk_boundaries() {
        let text = "retry: 2000\n\n:\n\nid: 1-a-2\nevent: message.delta\ndata: {\"text\":\"Grüße\"}\n\nevent: done\ndata: {}\n\nid: 9";
        for size in [1, 2, 7, text.len()] {
            let chunks: Vec<Vec<u8>> = text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            let chunks = futures_util::stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
            let mut events = Events::of(Source::InProcess(Body::from_stream(chunks)));
            let first = events.next().await.expect("an event");
            assert_eq!((first.id.as_deref(), first.name.as_str()), (Some("1-a-2"), "message.delta"));
            assert_eq!(first.data, json!({"text": "Grüße"}));
            let second = events.next().await.expect("an event");
            assert_eq!((second.id, second.name.as_str()), (None, "done"));
            assert_eq!(events.next().await, None, "half an event is none");
        }
    }
}
