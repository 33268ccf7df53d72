//! An answer on its way: frame by frame, as slowly and as badly as the test wants it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::vec::IntoIter;

use axum::body::Body;
use futures_util::stream;
use serde_json::Value;

use super::reply::ModelReply;

/// What is written at once.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// Whether it holds something that the model says, and not only what goes with it.
    pub(super) is_fragment: bool,
}

impl Frame {
    /// A server-sent event.
    pub(super) fn event(data: &Value) -> Self {
        Self { bytes: format!("data: {data}\n\n").into_bytes(), is_fragment: false }
    }

    /// One that has a name.
    pub(super) fn named(name: &str, data: &Value) -> Self {
        Self { bytes: format!("event: {name}\ndata: {data}\n\n").into_bytes(), is_fragment: false }
    }

    pub(super) fn line(document: &Value) -> Self {
        Self { bytes: format!("{document}\n").into_bytes(), is_fragment: false }
    }

    pub(super) fn fragment(self) -> Self {
        Self { is_fragment: true, ..self }
    }

    /// Where the frame is torn in two on its way: within a character if one is long enough.
    fn tear(&self) -> usize {
        let long = self.bytes.iter().position(|byte| *byte >= 0x80);
        long.map_or(self.bytes.len() / 2, |first| first + 1)
    }
}

/// How many answers are on their way, and how many never arrived.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) under_way: AtomicUsize,
    pub(super) dropped: AtomicUsize,
}

/// One answer on its way. Dropped before its end, it counts as one whose client has left.
pub(super) struct UnderWay {
    counts: Arc<Counts>,
    has_ended: bool,
}

impl UnderWay {
    pub(super) fn begin(counts: &Arc<Counts>) -> Self {
        counts.under_way.fetch_add(1, Ordering::SeqCst);
        Self { counts: counts.clone(), has_ended: false }
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.has_ended {
            self.counts.dropped.fetch_add(1, Ordering::SeqCst);
        }
        self.counts.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ModelReply {
    /// Waits as the test wants before each fragment.
    pub(super) async fn wait(&self) {
        if let Some(permits) = &self.hold {
            permits.acquire().await.expect("an open semaphore").forget();
        }
        if let Some(pause) = self.pause {
            tokio::time::sleep(pause).await;
        }
    }
}

struct Flow {
    frames: IntoIter<Frame>,
    /// The second half of a frame that was torn.
    torn: Option<Vec<u8>>,
    reply: ModelReply,
    fragments: usize,
    under_way: UnderWay,
}

/// The body that brings the frames.
pub(super) fn body(frames: Vec<Frame>, reply: ModelReply, under_way: UnderWay) -> Body {
    let flow = Flow { frames: frames.into_iter(), torn: None, reply, fragments: 0, under_way };
    Body::from_stream(stream::unfold(flow, |mut flow| async move {
        let next = flow.next().await;
        next.map(|bytes| (bytes, flow))
    }))
}

/// A body that comes at once.
pub(super) fn whole(document: &Value, mut under_way: UnderWay) -> Body {
    under_way.end();
    Body::from(document.to_string())
}

impl Flow {
    async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        // What was given before is on its way before anything else is: half a character, or all before a cut.
        tokio::task::yield_now().await;
        if let Some(rest) = self.torn.take() {
            self.note_end();
            return Some(Ok(rest));
        }
        if self.reply.cut_after == Some(self.fragments) {
            self.under_way.end();
            return Some(Err(io::Error::other("the test wants the connection to break")));
        }
        let frame = self.frames.next()?;
        if frame.is_fragment {
            self.reply.wait().await;
            self.fragments += 1;
        }
        let tear = frame.tear();
        let mut first = frame.bytes;
        self.torn = Some(first.split_off(tear));
        Some(Ok(first))
    }

    /// Whoever has the last frame may leave, and has missed nothing.
    fn note_end(&mut self) {
        let is_cut = self.reply.cut_after == Some(self.fragments);
        if self.frames.len() == 0 && !is_cut {
            self.under_way.end();
        }
    }
}
