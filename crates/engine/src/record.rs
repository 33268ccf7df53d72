//! Records of calls on their way to a sink: bounded, many at a time, none lost on a clean stop.
//!
//! A place for the record is kept before the call runs, so that no call ever
//! runs unrecorded: when the sink cannot follow, calls are refused instead.

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

use crate::excerpt::Excerpt;
use crate::lock::lock;
use crate::supervisor::Supervisor;
use crate::writer::{BATCH, Writer};

haft_core::templates! {
    FULL = "record.full",
        "the call log cannot keep up, so no call is made unrecorded; try again shortly",
        "调用日志写入繁忙，为避免漏记已拒绝此次调用；请稍后重试";
    CLOSED = "record.closed",
        "the engine is stopping and takes no more calls",
        "引擎正在停止，不再接受调用";
    NOT_KEPT = "record.notKept",
        "the call log did not take what this call was given and what was answered",
        "调用日志无法保存此次调用的参数和结果";
}

/// About so many bytes of records may wait. Past that calls are refused as if all places were taken.
const MOST_BYTES: usize = 64 << 20;

/// The name of a tool that is not there, where that of the caller cannot be kept.
const UNKNOWN: &str = "(unknown)";

/// So long records are gathered before the next batch is written. It saves waking the
/// writer for every call; a crash loses no more than this.
const GATHERING: Duration = Duration::from_millis(25);

/// A queue shorter than this would fill up while records are gathered, so it is emptied at once.
const SHORT_QUEUE: usize = 1024;

/// What is known of one finished call.
#[derive(Debug, Clone)]
pub struct CallRecord {
    /// A UUIDv7 of the moment at which the call began, and no other call's.
    pub id: Uuid,
    pub call_id: CallId,
    /// None when the caller named a tool that does not exist.
    pub tool: Option<(ToolId, u64)>,
    pub tool_name: Arc<str>,
    /// Of the tool, where there is one.
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
    /// The request that it came with, where it came over the network.
    pub request: Option<RequestId>,
    /// With defaults filled in and coerced, as far as they got.
    pub arguments: Excerpt,
    pub outcome: Result<Excerpt, CallError>,
    pub attempts: u32,
    pub cached: bool,
    /// Paths of arguments that were coerced.
    pub coerced: Vec<String>,
    /// How the result differs from the output schema.
    pub warnings: Vec<Violation>,
    pub duration: Duration,
    pub started_at: Timestamp,
}

impl CallRecord {
    /// About how many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let outcome = match &self.outcome {
            Ok(result) => result.text().len(),
            Err(error) => error.weight(),
        };
        let coerced = self.coerced.iter().map(|path| size_of::<String>() + path.len()).sum::<usize>();
        let warnings = self.warnings.iter().map(Violation::weight).sum::<usize>();
        size_of::<Self>() + self.arguments.text().len() + outcome + coerced + warnings
    }

    /// What is kept where a sink refuses the rest: who called what, when, and how that ended. Nothing in it
    /// is in the words of a caller or of a tool.
    pub(crate) fn stub(&self) -> Self {
        let outcome = match &self.outcome {
            Ok(_) => Ok(Excerpt::default()),
            Err(error) => Err(CallError::new(error.kind(), Message::new(&NOT_KEPT))),
        };
        Self {
            tool_name: if self.tool.is_some() { self.tool_name.clone() } else { UNKNOWN.into() },
            arguments: Excerpt::default(),
            outcome,
            coerced: Vec::new(),
            warnings: vec![Violation::new(ROOT, Message::new(&NOT_KEPT))],
            ..self.clone()
        }
    }
}

/// Where records are kept.
pub trait CallSink: Send + Sync {
    /// Keeps these records, all or none.
    ///
    /// After a failure it is called again with the same ones, for as long as it takes. A [`CallError`] that
    /// has no use in being tried again says that one of them is refused for good: then they are given in
    /// halves until that one stands alone, and a stub is given in its place.
    fn write<'a>(&'a self, records: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>>;
}

/// Why a sink did not keep records.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// How full the way of records to the sink is, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordQueue {
    /// Calls under way: each keeps a place for its record.
    pub under_way: usize,
    /// Records that wait to be written.
    pub waiting: usize,
    /// So many places there are for both.
    pub capacity: usize,
    /// About so many bytes of records wait, those that are being written among them.
    pub bytes: usize,
    /// So many calls were refused so far because all places were taken, or too many bytes wait.
    pub refused: u64,
    /// The time since which the sink has failed to write, without a success in between.
    pub failing_for: Option<Duration>,
}

/// The way of records to the sink.
pub(crate) struct Recorder {
    sink: Arc<dyn CallSink>,
    sender: ArcSwapOption<mpsc::Sender<CallRecord>>,
    receiver: Mutex<Option<mpsc::Receiver<CallRecord>>>,
    writer: OnceLock<Mutex<Option<JoinHandle<()>>>>,
    closing: CancellationToken,
    waiting: Arc<Waiting>,
    gathering: Duration,
    refused: AtomicU64,
    supervisor: Supervisor,
}

/// What calls under way and the writer know of records that wait.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Told when a whole batch waits to be written.
    pub(crate) batch: Notify,
    /// About how much memory they take. Added before a record goes its way, and taken off once it is kept.
    pub(crate) bytes: AtomicUsize,
    /// The moment of the first failed write since the last success.
    pub(crate) failing_since: Mutex<Option<Instant>>,
}

/// A place kept for one record.
pub(crate) struct Place {
    permit: mpsc::OwnedPermit<CallRecord>,
    waiting: Arc<Waiting>,
}

impl Place {
    pub(crate) fn fill(self, record: CallRecord) {
        self.waiting.bytes.fetch_add(record.weight(), Ordering::Relaxed);
        let sender = self.permit.send(record);
        // Calls can be quicker than the time in which records are gathered.
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
            gathering: if capacity < SHORT_QUEUE { Duration::ZERO } else { GATHERING },
            refused: AtomicU64::new(0),
            supervisor,
        }
    }

    pub(crate) fn queue(&self) -> RecordQueue {
        // Each place holds on to what is known of them all; and so do we, and the writer once it runs.
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

    /// Keeps a place, or refuses the call that wants one.
    pub(crate) async fn reserve(&self) -> Result<Place, CallError> {
        self.writer.get_or_init(|| Mutex::new(self.start_writer()));
        if let Some(place) = self.try_reserve() {
            return Ok(place);
        }
        // Quick calls in a row can keep a runtime of one thread from ever writing; let it, once.
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

    fn try_reserve(&self) -> Option<Place> {
        if self.waiting.bytes.load(Ordering::Relaxed) > MOST_BYTES {
            return None;
        }
        let sender = self.sender.load().as_ref().map(|sender| mpsc::Sender::clone(sender))?;
        let permit = sender.try_reserve_owned().ok()?;
        Some(Place { permit, waiting: self.waiting.clone() })
    }

    fn start_writer(&self) -> Option<JoinHandle<()>> {
        let receiver = lock(&self.receiver).take()?;
        // Behind a lock, so that the next start finds what a panic left behind.
        let writer = Arc::new(AsyncMutex::new(Writer {
            sink: self.sink.clone(),
            records: receiver,
            closing: self.closing.clone(),
            waiting: self.waiting.clone(),
            gathering: self.gathering,
            batch: Vec::with_capacity(BATCH),
            unwritten: Vec::new(),
        }));
        let start = move || {
            let writer = writer.clone();
            async move { writer.lock().await.run().await }
        };
        // It ends with its senders, and close() waits for it.
        Some(self.supervisor.spawn("call log writer", start))
    }

    /// Takes no more calls and waits until every record is written.
    pub(crate) async fn close(&self) {
        self.sender.store(None);
        self.closing.cancel();
        let writer = self.writer.get().and_then(|slot| lock(slot).take());
        if let Some(writer) = writer {
            let _ = writer.await;
        }
    }
}
