//! An answer whose body is read as it comes, under the same rules as one that is read at once.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use haft_core::CallError;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, refuse_announced};
use crate::decode::Decoder;
use crate::failure;
use crate::request::{Limits, Request};

/// The end of a body comes with its last bytes, or nearly so.
const MOMENT: Duration = Duration::from_millis(50);

/// An answer that has begun. Dropping it ends the connection.
pub struct Opened {
    response: Response<Incoming>,
    request: Request,
    was_redirected: bool,
    limits: Limits,
    /// Nothing before the first piece is asked for.
    decoder: Option<Decoder>,
    is_over: bool,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl Opened {
    pub(crate) fn new(
        response: Response<Incoming>,
        request: Request,
        was_redirected: bool,
        limits: Limits,
    ) -> Self {
        Self { response, request, was_redirected, limits, decoder: None, is_over: false }
    }

    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next piece, decoded; nothing at the end. Pieces are as large as the wire makes them.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, CallError> {
        if self.is_over {
            return Ok(None);
        }
        let read = match self.limits.deadline {
            None => self.read().await,
            Some(deadline) => match timeout_at(deadline, self.read()).await {
                Ok(read) => read,
                Err(_) => Err(failure::too_slow(&self.request.to)),
            },
        };
        self.is_over |= !matches!(read, Ok(Some(_)));
        read
    }

    /// All that is left to read of an answer of which nothing was read yet. Of a failure the beginning is enough.
    pub async fn whole(self) -> Result<Answer, CallError> {
        let Self { response, request, was_redirected, limits, .. } = self;
        let reading = Answer::read(response, &request, was_redirected, limits.bytes);
        match limits.deadline {
            None => reading.await,
            Some(deadline) => {
                timeout_at(deadline, reading).await.unwrap_or_else(|_| Err(failure::too_slow(&request.to)))
            }
        }
    }

    /// Lets the connection serve again, when all that matters was read: waits a moment for the end of the
    /// body, and ends the connection if there is more.
    pub async fn let_go(mut self) {
        let end = Instant::now() + MOMENT;
        self.limits.deadline = Some(self.limits.deadline.map_or(end, |deadline| deadline.min(end)));
        let _ = self.chunk().await;
    }

    async fn read(&mut self) -> Result<Option<Bytes>, CallError> {
        if self.decoder.is_none() {
            refuse_announced(self.response.headers(), self.limits.bytes)?;
        }
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => none.insert(Decoder::new(self.response.headers(), self.limits.bytes)?),
        };
        while let Some(frame) = self.response.body_mut().frame().await {
            let frame = frame.map_err(|error| failure::of_transfer(&self.request.to, &error))?;
            let Ok(chunk) = frame.into_data() else { continue };
            decoder.write(chunk)?;
            let piece = decoder.take()?;
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
        self.is_over = true;
        // A coding may keep its last bytes back until it knows that nothing follows.
        let last = self.decoder.take().map(Decoder::finish).transpose()?.unwrap_or_default();
        Ok((!last.is_empty()).then_some(last))
    }
}
