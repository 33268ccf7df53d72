//! Answers that come event by event, on the same ways as all others.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, Method, header};
use haft_egress::{Limits, Opened, Policy, Request};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::{Duration, timeout};
use tower::ServiceExt;
use url::Url;

use super::{Answer, Door, Way, read};

/// A server that has nothing to say says so every 15 seconds; one that does not is gone.
const SILENCE: Duration = Duration::from_secs(45);

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// One event, as a server wrote it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Events that are still coming.
pub(crate) struct Events {
    source: Source,
    /// What came of the next event.
    begun: Vec<u8>,
}

enum Source {
    Here(Body),
    Network(Box<Opened>),
}

impl Door {
    /// Asks for events, after the last one that was seen. The answer when there are none.
    pub(crate) async fn events(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        last: Option<&str>,
    ) -> anyhow::Result<Result<Events, Answer>> {
        let mut headers = self.headers()?;
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            headers.insert(LAST_EVENT, HeaderValue::from_str(last)?);
        }
        match &self.way {
            Way::Here(router) => {
                let mut request = axum::http::Request::new(Body::from(body));
                *request.method_mut() = method;
                *request.uri_mut() = path.parse()?;
                *request.headers_mut() = headers;
                let (head, body) = router.clone().oneshot(request).await?.into_parts();
                if is_events(head.headers.get(header::CONTENT_TYPE)) {
                    return Ok(Ok(Events::of(Source::Here(body))));
                }
                Ok(Err(read(head.status, &body.collect().await?.to_bytes())?))
            }
            Way::Network { egress, base } => {
                let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
                let mut request = Request::new(method, &Url::parse(&url)?)?;
                request.headers = headers;
                request.body = body.into();
                // Nobody knows how long a conversation goes on. The guard counts a little beyond its limit.
                let limits = Limits { deadline: None, bytes: usize::MAX / 2 };
                let opened = egress.open(Policy::Operator, request, limits).await;
                let opened = opened.map_err(|error| self.unanswered(base, &error))?;
                if is_events(opened.headers().get(header::CONTENT_TYPE)) {
                    return Ok(Ok(Events::of(Source::Network(Box::new(opened)))));
                }
                let answer = opened.whole().await.map_err(|error| self.unanswered(base, &error))?;
                Ok(Err(read(answer.status, &answer.body)?))
            }
        }
    }
}

fn is_events(kind: Option<&HeaderValue>) -> bool {
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

impl Events {
    fn of(source: Source) -> Self {
        Self { source, begun: Vec::new() }
    }

    /// The next event; nothing when the stream has ended or broke off. A future of it may be dropped: what
    /// was read by then is kept.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.begun.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.begun.drain(..end + 2).collect();
                if let Some(event) = parse(&String::from_utf8_lossy(&block)) {
                    return Some(event);
                }
            }
            let piece = timeout(SILENCE, self.source.piece()).await.ok()??;
            self.begun.extend_from_slice(&piece);
        }
    }
}

impl Source {
    async fn piece(&mut self) -> Option<Bytes> {
        match self {
            Self::Network(opened) => opened.chunk().await.ok()?,
            Self::Here(body) => loop {
                if let Ok(data) = body.frame().await?.ok()?.into_data() {
                    return Some(data);
                }
            },
        }
    }
}

/// An event out of its lines. A block without data only says that somebody is there.
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
    async fn events_are_put_together_from_pieces() {
        let text = "retry: 2000\n\n:\n\nid: 1-a-2\nevent: message.delta\ndata: {\"text\":\"Grüße\"}\n\nevent: done\ndata: {}\n\nid: 9";
        for size in [1, 2, 7, text.len()] {
            let pieces: Vec<Vec<u8>> = text.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
            let mut events = Events::of(Source::Here(Body::from_stream(pieces)));
            let first = events.next().await.expect("an event");
            assert_eq!((first.id.as_deref(), first.name.as_str()), (Some("1-a-2"), "message.delta"));
            assert_eq!(first.data, json!({"text": "Grüße"}));
            let second = events.next().await.expect("an event");
            assert_eq!((second.id, second.name.as_str()), (None, "done"));
            assert_eq!(events.next().await, None, "half an event is none");
        }
    }
}
