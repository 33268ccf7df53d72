//! The writer of records: takes them off the queue and writes them to the sink in batches.
//!
//! A temporary failure is retried until it succeeds. If the sink permanently rejects a record, the others are
//! written, and a stub of that one.

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use haft_core::CallError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::lock::lock;
use crate::record::{CallRecord, CallSink, SinkError, Waiting};

/// Maximum number of records in a batch.
pub(crate) const BATCH: usize = 512;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

pub(crate) struct Writer {
    pub(crate) sink: Arc<dyn CallSink>,
    pub(crate) records: mpsc::Receiver<CallRecord>,
    pub(crate) closing: CancellationToken,
    pub(crate) waiting: Arc<Waiting>,
    /// Delay before the next batch.
    pub(crate) batch_delay: Duration,
    /// The records that are being written. They stay here if the writer panics, and are written after its restart.
    pub(crate) batch: Vec<CallRecord>,
    /// The parts of the batch that are not written yet, the next one last.
    pub(crate) unwritten: Vec<Range<usize>>,
}

impl Writer {
    /// Writes until all senders are dropped.
    pub(crate) async fn run(&mut self) {
        loop {
            if self.batch.is_empty() {
                if self.records.recv_many(&mut self.batch, BATCH).await == 0 {
                    return;
                }
                self.unwritten.push(0..self.batch.len());
            }
            write(&*self.sink, &self.batch, &mut self.unwritten, &self.waiting).await;
            let bytes: usize = self.batch.iter().map(CallRecord::weight).sum();
            self.batch.clear();
            self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
            if !self.batch_delay.is_zero() && self.records.len() < BATCH {
                tokio::select! {
                    () = tokio::time::sleep(self.batch_delay) => {}
                    () = self.waiting.batch.notified() => {}
                    () = self.closing.cancelled() => {}
                }
            }
        }
    }
}

/// Writes the unwritten parts of a batch in their order, and retries until it succeeds.
async fn write(
    sink: &dyn CallSink,
    batch: &[CallRecord],
    unwritten: &mut Vec<Range<usize>>,
    waiting: &Waiting,
) {
    let mut pause = FIRST_PAUSE;
    while let Some(part) = unwritten.last().cloned() {
        let records = batch.get(part.clone()).unwrap_or_default();
        let Err(error) = write_once(sink, records).await else {
            *lock(&waiting.failing_since) = None;
            unwritten.pop();
            pause = FIRST_PAUSE;
            continue;
        };
        if is_permanent(&error) {
            if let [record] = records {
                if write_stub(sink, record, &error).await {
                    *lock(&waiting.failing_since) = None;
                    unwritten.pop();
                    continue;
                }
            } else {
                let middle = part.start + part.len() / 2;
                unwritten.pop();
                unwritten.extend([middle..part.end, part.start..middle]);
                continue;
            }
        }
        lock(&waiting.failing_since).get_or_insert_with(Instant::now);
        tracing::warn!(records = records.len(), %error, "The call log could not be written; trying again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Writes the stub of a rejected record. Returns false if the stub is rejected too: then the record is not
/// the cause.
async fn write_stub(sink: &dyn CallSink, record: &CallRecord, refusal: &SinkError) -> bool {
    let stub = record.stub();
    if write_once(sink, std::slice::from_ref(&stub)).await.is_err() {
        return false;
    }
    let cause = refusal.source().map(ToString::to_string);
    tracing::error!(
        call.id = %stub.call_id, tool.name = %stub.tool_name, error = %refusal, cause,
        "The call log permanently rejected a record; only a stub of the call is recorded"
    );
    true
}

/// Returns true if the same records would be rejected again.
fn is_permanent(error: &SinkError) -> bool {
    error.downcast_ref::<CallError>().is_some_and(|error| !error.may_be_sent_again())
}

/// Writes once. A panic of the sink is a failure like any other.
async fn write_once(sink: &dyn CallSink, records: &[CallRecord]) -> Result<(), SinkError> {
    let written = AssertUnwindSafe(async { sink.write(records).await }).catch_unwind().await;
    written.unwrap_or_else(|_| Err("the sink panicked".into()))
}
