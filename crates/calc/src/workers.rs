//! The worker threads of the calculator: started on demand, at most two, each with its own engine. Spaces
//! take turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_core::{CallError, ErrorKind, Message, SpaceId};
use tokio::sync::oneshot;

use crate::engine::{Engine, Evaluation};
use crate::queue::{FairQueue, Limits, Pushed};
use crate::{BROKEN, BUSY};

/// Maximum number of threads. Each has an engine of about 10 MB.
const MAX_WORKERS: usize = 2;

/// Maximum number of waiting expressions, of all spaces and of one.
const LIMITS: Limits = Limits { total: 256, per_key: 192 };

/// Stack of a thread. QuickJS limits its own stack, which must fit with room to spare.
const THREAD_STACK: usize = 16 << 20;

/// An expression in the queue.
struct Job {
    expression: String,
    reply: oneshot::Sender<JobResult>,
    counted: JobCount,
}

/// The result of a job.
enum JobResult {
    Evaluated(Evaluation),
    /// Removed from the queue in favor of another space.
    Displaced,
    /// The engine failed.
    Broken,
}

/// The thread pool. Costs nothing until it is used.
#[derive(Default)]
pub(crate) struct Workers {
    jobs: OnceLock<Arc<Jobs>>,
}

struct Jobs {
    queue: Mutex<FairQueue<SpaceId, Job>>,
    is_pushed: Condvar,
    /// Set when the pool is dropped, so that its threads end.
    is_closed: AtomicBool,
    /// Number of started threads.
    started: Mutex<usize>,
    /// Number of expressions that wait or are evaluated.
    pending: Arc<AtomicUsize>,
}

/// Counts one expression until it is dropped.
struct JobCount(Arc<AtomicUsize>);

impl JobCount {
    fn increment(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for JobCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    pub(crate) async fn evaluate(&self, space: SpaceId, expression: String) -> Result<Evaluation, CallError> {
        let broken = || CallError::new(ErrorKind::Internal, Message::new(&BROKEN));
        let busy = || CallError::new(ErrorKind::Overloaded, Message::new(&BUSY)).that_did_nothing();
        let jobs = self.jobs.get_or_init(|| Arc::new(Jobs::new()));
        let counted = JobCount::increment(&jobs.pending);
        jobs.start_one_more_if_needed().map_err(|error| broken().caused_by(error))?;
        let (reply, result) = oneshot::channel();
        if !jobs.push(space, Job { expression, reply, counted }) {
            return Err(busy());
        }
        match result.await {
            Ok(JobResult::Evaluated(evaluation)) => Ok(evaluation),
            Ok(JobResult::Displaced) => Err(busy()),
            Ok(JobResult::Broken) | Err(_) => Err(broken()),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(jobs) = self.jobs.get() {
            // Under the lock, so that no thread misses the notification before it waits.
            let _queue = lock(&jobs.queue);
            jobs.is_closed.store(true, Ordering::Relaxed);
            jobs.is_pushed.notify_all();
        }
    }
}

impl Jobs {
    fn new() -> Self {
        Self {
            queue: Mutex::new(FairQueue::new(LIMITS)),
            is_pushed: Condvar::new(),
            is_closed: AtomicBool::new(false),
            started: Mutex::new(0),
            pending: Arc::default(),
        }
    }

    /// Queues an expression. Returns false if its space has no slot left.
    fn push(&self, space: SpaceId, job: Job) -> bool {
        let mut queue = lock(&self.queue);
        if queue.is_full() {
            queue.retain(|job| !job.reply.is_closed());
        }
        let pushed = queue.push(space, job);
        drop(queue);
        match pushed {
            Pushed::Refused(_) => return false,
            Pushed::Queued => {}
            Pushed::Replaced(job) => {
                // The caller may have disconnected.
                let _ = job.reply.send(JobResult::Displaced);
            }
        }
        self.is_pushed.notify_one();
        true
    }

    /// Waits for the next expression. Returns `None` when the pool is dropped.
    fn pop(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.pop() {
                return Some(job);
            }
            if self.is_closed.load(Ordering::Relaxed) {
                return None;
            }
            queue = self.is_pushed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Starts a thread if there are more expressions than threads. Each thread costs memory.
    fn start_one_more_if_needed(self: &Arc<Self>) -> std::io::Result<()> {
        let mut started = lock(&self.started);
        if *started >= MAX_WORKERS || self.pending.load(Ordering::Relaxed) <= *started {
            return Ok(());
        }
        let jobs = self.clone();
        std::thread::Builder::new().name("calculator".to_owned()).stack_size(THREAD_STACK).spawn(
            move || {
                while catch_unwind(AssertUnwindSafe(|| work(&jobs))).is_err() {
                    tracing::error!("A calculator thread panicked and continues with the next expression");
                }
            },
        )?;
        *started += 1;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Evaluates expressions until the pool is dropped.
fn work(jobs: &Jobs) {
    let mut engine: Option<Engine> = None;
    while let Some(job) = jobs.pop() {
        // The caller has disconnected.
        if job.reply.is_closed() {
            continue;
        }
        let reusable = engine.take().filter(|engine| !engine.is_worn());
        // A panic loses one result and one engine, but not the thread.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut ready = reusable.map_or_else(Engine::load, Ok)?;
            let evaluation = ready.evaluate(&job.expression);
            Ok::<_, String>((ready, evaluation))
        }));
        let result = match outcome {
            Ok(Ok((ready, evaluation))) => {
                engine = Some(ready);
                JobResult::Evaluated(evaluation)
            }
            Ok(Err(error)) => {
                tracing::error!(error, "The calculator's engine could not be loaded");
                JobResult::Broken
            }
            Err(_) => {
                tracing::error!("The calculator's engine panicked");
                JobResult::Broken
            }
        };
        let Job { reply, counted, .. } = job;
        // Decremented before the caller receives the result, because it may send the next expression
        // immediately.
        drop(counted);
        // The caller may have disconnected.
        let _ = reply.send(result);
    }
}
