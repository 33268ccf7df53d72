//! A stream of server-sent events, read one by one.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

/// Nothing a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

const DONE: &str = "[DONE]";

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place among changes; nothing when the event has no id of its own.
    pub id: Option<u64>,
    /// The whole of it.
    pub place: Option<String>,
    /// `message` where the event has no name.
    pub name: String,
    /// A text only where it is the mark by which OpenAI ends a stream.
    pub data: Value,
}

/// A server that tells what happens. Dropped, it listens no longer.
pub struct EventStream {
    response: Response,
    /// What came and is not taken yet.
    unread: Vec<u8>,
}

impl EventStream {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, unread: Vec::new() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// The next event; nothing when the server ended the stream.
    pub async fn next(&mut self) -> Option<Event> {
        timeout(PATIENCE, self.take()).await.expect("an event, or the end, comes in time")
    }

    /// The next event, which there has to be.
    pub async fn event(&mut self) -> Event {
        self.next().await.expect("one more event")
    }

    /// All events up to one of this name, which there has to be.
    pub async fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = vec![self.event().await];
        while events.last().is_some_and(|event| event.name != name) {
            events.push(self.event().await);
        }
        events
    }

    /// All events until the server ends the stream.
    pub async fn all(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// All that comes until the server ends the stream, as it stands on the wire.
    pub async fn rest(mut self) -> String {
        while self.read().await {}
        String::from_utf8(self.unread).expect("text")
    }

    async fn take(&mut self) -> Option<Event> {
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

    /// Reads some more; false at the end, however that came.
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

/// What a block says; nothing when it only shows that the server is there.
fn event(block: &str) -> Option<Event> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let data = field("data")?;
    Some(Event {
        id: field("id").and_then(|id| id.split(['.', '-']).next()?.parse().ok()),
        place: field("id").map(str::to_owned),
        name: field("event").unwrap_or("message").to_owned(),
        data: if data == DONE { DONE.into() } else { serde_json::from_str(data).expect("JSON") },
    })
}
