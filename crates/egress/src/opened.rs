//! A response with a streamed body, under the same limits as a buffered one.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use haft_core::CallError;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use crate::decode::Decoder;
use crate::failure;
use crate::request::{Limits, Request};
use crate::response::{EgressResponse, refuse_announced};

/// Time to wait for the end of a body after its last bytes.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// A streamed response. Dropping it closes the connection.
pub struct StreamedResponse {
    response: Response<Incoming>,
    request: Request,
    was_redirected: bool,
    limits: Limits,
    /// `None` until the first chunk is read.
    decoder: Option<Decoder>,
    is_over: bool,
}

impl fmt::Debug for StreamedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("status", &self.status()).finish_non_exhaustive()
    }
}

impl StreamedResponse {
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

    /// Returns the next decoded chunk. Returns `None` at the end. Chunks are as large as they arrive.
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

    /// Reads the whole body of a response that has not been read yet. Of a failure, only the beginning is
    /// read.
    pub async fn whole(self) -> Result<EgressResponse, CallError> {
        let Self { response, request, was_redirected, limits, .. } = self;
        let reading = EgressResponse::read(response, &request, was_redirected, limits.bytes);
        match limits.deadline {
            None => reading.await,
            Some(deadline) => {
                timeout_at(deadline, reading).await.unwrap_or_else(|_| Err(failure::too_slow(&request.to)))
            }
        }
    }

    /// Returns the connection to the pool after all relevant data was read: waits briefly for the end of the
    /// body, and closes the connection if there is more.
    pub async fn drain(mut self) {
        let end = Instant::now() + DRAIN_TIMEOUT;
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
        // A coding may hold back its last bytes until the end of the stream.
        let last = self.decoder.take().map(Decoder::finish).transpose()?.unwrap_or_default();
        Ok((!last.is_empty()).then_some(last))
    }
}
