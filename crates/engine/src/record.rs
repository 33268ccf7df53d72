//! The queue of call records before the sink: bounded, batched, and drained on shutdown.
//!
//! A slot for the record is reserved before the call runs, so that no call runs unrecorded. Backpressure:
//! if the sink cannot keep up and the queue of the call log is full, calls are rejected as `Overloaded`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use haft_core::error::ROOT;
use haft_core::{
    AgentId, BoxFuture, CallError, CallId, ConversationId, ErrorKind, KindName, Message, RequestId, Source,
    SpaceId, ToolId, TraceParent, UserId, Violation,
};
use jiff::Timestamp;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::lock::lock;
use crate::truncation::TruncatedJson;
use crate::writer::{BATCH, Writer};
use haft_supervisor::Supervisor;

haft_core::templates! {
    FULL = "record.full",
        "the call log queue is full, so the call was rejected; try again shortly",
        "调用日志写入繁忙，为避免漏记已拒绝此次调用；请稍后重试";
    CLOSED = "record.closed",
        "the engine is stopping and accepts no more calls",
        "引擎正在停止，不再接受调用";
    NOT_KEPT = "record.notKept",
        "the call log rejected the arguments and the result of this call",
        "调用日志无法保存此次调用的参数和结果";
}

/// Approximate maximum size of waiting records. Above it, calls are rejected as if the queue were full.
const MAX_BYTES: usize = 64 << 20;

/// The name in the record of an unknown tool, if the name given by the caller cannot be stored.
const UNKNOWN: &str = "(unknown)";

/// Delay before the next batch is written. It avoids waking the writer for every call; a crash loses at most
/// the records of this period.
const BATCH_DELAY: Duration = Duration::from_millis(25);

/// Minimum capacity for delayed batches. A shorter queue would fill up during the delay, so it is written
/// immediately.
const SHORT_QUEUE: usize = 1024;

/// The record of one finished call.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// A UUIDv7 of the start of the call, unique to it.
    pub id: Uuid,
    pub call_id: CallId,
    /// `None` if the caller named a tool that does not exist.
    pub tool: Option<(ToolId, u64)>,
    pub tool_name: Arc<str>,
    /// The kind of the tool, if the tool exists.
    pub kind: Option<KindName>,
    pub space: SpaceId,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    /// The logged call that this one repeats.
    pub replay_of: Option<CallId>,
    /// The span of the caller's trace that the call is part of.
    pub trace_parent: Option<TraceParent>,
    pub source: Source,
    /// The request of the call, if it came over the network.
    pub request: Option<RequestId>,
    /// With the defaults and coercions applied so far.
    pub arguments: TruncatedJson,
    pub outcome: Result<TruncatedJson, CallError>,
    pub attempts: u32,
    pub cached: bool,
    /// Paths of arguments that were coerced.
    pub coerced: Vec<String>,
    /// Ignored arguments, and violations of the output schema.
    pub warnings: Vec<Violation>,
    pub duration: Duration,
    pub started_at: Timestamp,
}

impl CallRecord {
    /// Returns the approximate size in memory, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let outcome = match &self.outcome {
            Ok(result) => result.text().len(),
            Err(error) => error.weight(),
        };
        let coerced = self.coerced.iter().map(|path| size_of::<String>() + path.len()).sum::<usize>();
        let warnings = self.warnings.iter().map(Violation::weight).sum::<usize>();
        size_of::<Self>() + self.arguments.text().len() + outcome + coerced + warnings
    }

    /// Returns the record without any text of the caller or the tool, for a sink that rejects the full
    /// record.
    pub(crate) fn stub(&self) -> Self {
        let outcome = match &self.outcome {
            Ok(_) => Ok(TruncatedJson::default()),
            Err(error) => Err(CallError::new(error.kind(), Message::new(&NOT_KEPT))),
        };
        Self {
            tool_name: if self.tool.is_some() { self.tool_name.clone() } else { UNKNOWN.into() },
            arguments: TruncatedJson::default(),
            outcome,
            coerced: Vec::new(),
            warnings: vec![Violation::new(ROOT, Message::new(&NOT_KEPT))],
            ..self.clone()
        }
    }
}

/// The destination of call records.
pub trait CallSink: Send + Sync {
    /// Writes these records: all of them, or none.
    ///
    /// After a failure it is called again with the same records until it succeeds. A [`CallError`] that is
    /// not retryable means that one of the records is permanently rejected: the batch is then bisected until
    /// that record is alone, and its stub is written instead.
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>>;
}

/// Why a sink did not write records.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// The state of the record queue at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordQueue {
    /// Running calls; each has reserved a slot for its record.
    pub under_way: usize,
    /// Records that wait to be written.
    pub waiting: usize,
    /// Maximum number of running calls and waiting records together.
    pub capacity: usize,
    /// Approximate size in bytes of waiting records, including records that are being written.
    pub bytes: usize,
    /// Number of calls that were rejected because the queue was full.
    pub refused: u64,
    /// Time since the first failed write that was not followed by a success.
    pub failing_for: Option<Duration>,
}

/// The record queue with its writer.
pub(crate) struct Recorder {
    sink: Arc<dyn CallSink>,
    sender: ArcSwapOption<mpsc::Sender<CallRecord>>,
    receiver: Mutex<Option<mpsc::Receiver<CallRecord>>>,
    writer: OnceLock<Mutex<Option<JoinHandle<()>>>>,
    closing: CancellationToken,
    waiting: Arc<Waiting>,
    batch_delay: Duration,
    refused: AtomicU64,
    supervisor: Supervisor,
}

/// The state shared by running calls and the writer.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Notified when a whole batch waits to be written.
    pub(crate) batch: Notify,
    /// Approximate size of waiting records. Increased before a record is sent, and decreased after it is
    /// written.
    pub(crate) bytes: AtomicUsize,
    /// Time of the first failed write since the last successful one.
    pub(crate) failing_since: Mutex<Option<Instant>>,
}

/// A slot reserved for one record.
pub(crate) struct RecordSlot {
    permit: mpsc::OwnedPermit<CallRecord>,
    waiting: Arc<Waiting>,
}

impl RecordSlot {
    pub(crate) fn send(self, record: CallRecord) {
        self.waiting.bytes.fetch_add(record.weight(), Ordering::Relaxed);
        let sender = self.permit.send(record);
        // Fast calls can fill a batch before the delay ends.
        if sender.max_capacity() - sender.capacity() >= BATCH {
            self.waiting.batch.notify_one();
        }
    }
}

impl Recorder {
    pub(crate) fn new(sink: Arc<dyn CallSink>, capacity: usize, supervisor: Supervisor) -> Self {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        Self {
            sink,
            sender: ArcSwapOption::from_pointee(sender),
            receiver: Mutex::new(Some(receiver)),
            writer: OnceLock::new(),
            closing: CancellationToken::new(),
            waiting: Arc::default(),
            batch_delay: if capacity < SHORT_QUEUE { Duration::ZERO } else { BATCH_DELAY },
            refused: AtomicU64::new(0),
            supervisor,
        }
    }

    pub(crate) fn queue(&self) -> RecordQueue {
        // Each slot holds a reference, and so do the recorder and, once it runs, the writer.
        let own = 1 + usize::from(self.writer.get().is_some());
        let under_way = Arc::strong_count(&self.waiting).saturating_sub(own);
        let sender = self.sender.load();
        let capacity = sender.as_ref().map_or(0, |sender| sender.max_capacity());
        let taken = capacity - sender.as_ref().map_or(0, |sender| sender.capacity());
        let (waiting, bytes) = (taken.saturating_sub(under_way), self.waiting.bytes.load(Ordering::Relaxed));
        let failing_since = *lock(&self.waiting.failing_since);
        RecordQueue {
            under_way,
            waiting,
            capacity,
            bytes,
            refused: self.refused.load(Ordering::Relaxed),
            failing_for: failing_since.map(|since| since.elapsed()),
        }
    }

    /// Reserves a slot, or rejects the call if the queue is full.
    pub(crate) async fn reserve(&self) -> Result<RecordSlot, CallError> {
        self.writer.get_or_init(|| Mutex::new(self.start_writer()));
        if let Some(slot) = self.try_reserve() {
            return Ok(slot);
        }
        // On a single-threaded runtime, fast calls in a row can starve the writer; yield to it once.
        tokio::task::yield_now().await;
        if self.closing.is_cancelled() {
            return Err(
                CallError::new(ErrorKind::Unavailable, Message::new(&CLOSED)).that_must_not_be_repeated()
            );
        }
        self.try_reserve().ok_or_else(|| {
            self.refused.fetch_add(1, Ordering::Relaxed);
            CallError::new(ErrorKind::Overloaded, Message::new(&FULL)).retry_after(Duration::from_secs(1))
        })
    }

    fn try_reserve(&self) -> Option<RecordSlot> {
        if self.waiting.bytes.load(Ordering::Relaxed) > MAX_BYTES {
            return None;
        }
        let sender = self.sender.load().as_ref().map(|sender| mpsc::Sender::clone(sender))?;
        let permit = sender.try_reserve_owned().ok()?;
        Some(RecordSlot { permit, waiting: self.waiting.clone() })
    }

    fn start_writer(&self) -> Option<JoinHandle<()>> {
        let receiver = lock(&self.receiver).take()?;
        // Behind a lock, so that a restart after a panic finds the unwritten records.
        let writer = Arc::new(AsyncMutex::new(Writer {
            sink: self.sink.clone(),
            records: receiver,
            closing: self.closing.clone(),
            waiting: self.waiting.clone(),
            batch_delay: self.batch_delay,
            batch: Vec::with_capacity(BATCH),
            unwritten: Vec::new(),
        }));
        let start = move || {
            let writer = writer.clone();
            async move { writer.lock().await.run().await }
        };
        // The task ends with its senders, and close() waits for it.
        Some(self.supervisor.spawn("call log writer", start))
    }

    /// Accepts no more calls and waits until every record is written.
    pub(crate) async fn close(&self) {
        self.sender.store(None);
        self.closing.cancel();
        let writer = self.writer.get().and_then(|slot| lock(slot).take());
        if let Some(writer) = writer {
            let _ = writer.await;
        }
    }
}
