//! The body of a response: its frames, with the delays and failures that a test requests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::vec::IntoIter;

use axum::body::Body;
use futures_util::stream;
use serde_json::Value;

use super::model_reply::ModelReply;

/// One event or line of a streamed response.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// True if the frame contains output of the model, not only protocol data.
    pub(super) is_fragment: bool,
}

impl Frame {
    /// Builds a server-sent event without a name.
    pub(super) fn event(data: &Value) -> Self {
        Self { bytes: format!("data: {data}\n\n").into_bytes(), is_fragment: false }
    }

    /// Builds a server-sent event with a name.
    pub(super) fn named(name: &str, data: &Value) -> Self {
        Self { bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes(), is_fragment: false }
    }

    /// Builds a line of JSON.
    pub(super) fn line(document: &Value) -> Self {
        Self { bytes: format!("{document}\n").into_bytes(), is_fragment: false }
    }

    /// Marks the frame as output of the model.
    pub(super) fn fragment(self) -> Self {
        Self { is_fragment: true, ..self }
    }

    /// Returns the offset at which the frame is split into two chunks: inside a multi-byte character if any.
    fn split_offset(&self) -> usize {
        let multi_byte = self.bytes.iter().position(|byte| *byte >= 0x80);
        multi_byte.map_or(self.bytes.len() / 2, |first| first + 1)
    }
}

/// Counts the active responses, and those whose client disconnected before their end.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) active: AtomicUsize,
    pub(super) dropped: AtomicUsize,
}

/// Counts one active response. Counts as a disconnect if dropped before `end` is called.
pub(super) struct ActiveReply {
    counts: Arc<Counts>,
    has_ended: bool,
}

impl ActiveReply {
    pub(super) fn begin(counts: &Arc<Counts>) -> Self {
        counts.active.fetch_add(1, Ordering::SeqCst);
        Self { counts: counts.clone(), has_ended: false }
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }
}

impl Drop for ActiveReply {
    fn drop(&mut self) {
        if !self.has_ended {
            self.counts.dropped.fetch_add(1, Ordering::SeqCst);
        }
        self.counts.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ModelReply {
    /// Waits for a permit and for the pause that the test requests before each fragment.
    pub(super) async fn wait(&self) {
        if let Some(permits) = &self.hold {
            permits.acquire().await.expect("an open semaphore").forget();
        }
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
    }
}

struct BodyState {
    frames: IntoIter<Frame>,
    /// The second half of a frame that was split.
    second_half: Option<Vec<u8>>,
    reply: ModelReply,
    fragments: usize,
    active: ActiveReply,
}

/// Builds a streamed body from frames.
pub(super) fn body(frames: Vec<Frame>, reply: ModelReply, active: ActiveReply) -> Body {
    let state = BodyState { frames: frames.into_iter(), second_half: None, reply, fragments: 0, active };
    Body::from_stream(stream::unfold(state, |mut state| async move {
        let next = state.next().await;
        next.map(|bytes| (bytes, state))
    }))
}

/// Builds a body of one document.
pub(super) fn whole(document: &Value, mut active: ActiveReply) -> Body {
    active.end();
    Body::from(document.to_string())
}

impl BodyState {
    async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        // Lets the server write the previous chunk first, so that the client receives it separately.
        tokio::task::yield_now().await;
        if let Some(second_half) = self.second_half.take() {
            self.check_end();
            return Some(Ok(second_half));
        }
        if self.reply.cut_after == Some(self.fragments) {
            self.active.end();
            return Some(Err(io::Error::other("connection broken as the test requests")));
        }
        let frame = self.frames.next()?;
        if frame.is_fragment {
            self.reply.wait().await;
            self.fragments += 1;
        }
        let offset = frame.split_offset();
        let mut first_half = frame.bytes;
        self.second_half = Some(first_half.split_off(offset));
        Some(Ok(first_half))
    }

    /// Marks the response as complete after the last frame. A client that disconnects then missed nothing.
    fn check_end(&mut self) {
        let is_cut = self.reply.cut_after == Some(self.fragments);
        if self.frames.len() == 0 && !is_cut {
            self.active.end();
        }
    }
}
