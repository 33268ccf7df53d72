//! Reads a stream of server-sent events, one at a time.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

/// Maximum time to wait for an event.
const TIMEOUT: Duration = Duration::from_secs(20);

const DONE: &str = "[DONE]";

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub struct SseEvent {
    /// The number at the start of the event's id. `None` if the event has no id.
    pub id: Option<u64>,
    /// The complete id, which is the cursor to resume from. `None` if the event has no id.
    pub place: Option<String>,
    /// `message` if the event has no name.
    pub name: String,
    /// The parsed JSON, or the string `[DONE]` that ends an OpenAI stream.
    pub data: Value,
}

/// An open stream of events. Dropping it closes the connection.
pub struct EventStream {
    response: Response,
    /// Bytes received and not returned yet.
    unread: Vec<u8>,
}

impl EventStream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, unread: Vec::new() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the next event, or `None` if the server ended the stream.
    pub async fn next(&mut self) -> Option<SseEvent> {
        timeout(TIMEOUT, self.take()).await.expect("an event, or the end, comes in time")
    }

    /// Returns the next event. Panics if the stream has ended.
    pub async fn event(&mut self) -> SseEvent {
        self.next().await.expect("one more event")
    }

    /// Returns all events up to and including the first with this name. Panics if the stream ends before.
    pub async fn until(&mut self, name: &str) -> Vec<SseEvent> {
        let mut events = vec![self.event().await];
        while events.last().is_some_and(|event| event.name != name) {
            events.push(self.event().await);
        }
        events
    }

    /// Returns all events until the server ends the stream.
    pub async fn all(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Returns the raw text until the server ends the stream.
    pub async fn remaining_text(mut self) -> String {
        while self.read().await {}
        String::from_utf8(self.unread).expect("text")
    }

    async fn take(&mut self) -> Option<SseEvent> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                let event = event(std::str::from_utf8(&block).expect("text"));
                if event.is_some() {
                    return event;
                }
            }
            if !self.read().await {
                return None;
            }
        }
    }

    /// Reads the next chunk. Returns false at the end of the stream or if the connection breaks.
    async fn read(&mut self) -> bool {
        match self.response.chunk().await {
            Ok(Some(bytes)) => {
                self.unread.extend_from_slice(&bytes);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }
}

/// Parses one event. Returns `None` for a heartbeat, which has no data.
fn event(block: &str) -> Option<SseEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = field("data")?;
    Some(SseEvent {
        id: field("id").and_then(|id| id.split(['.', '-']).next()?.parse().ok()),
        place: field("id").map(str::to_owned),
        name: field("event").unwrap_or("message").to_owned(),
        data: if data == DONE { DONE.into() } else { serde_json::from_str(data).expect("JSON") },
    })
}
