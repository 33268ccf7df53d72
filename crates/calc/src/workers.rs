//! The threads that evaluate: started when needed, at most two, each with an engine of its own. Spaces take turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use haft_core::{CallError, ErrorKind, Message, SpaceId};
use tokio::sync::oneshot;

use crate::engine::{Answer, Engine};
use crate::queue::{FairQueue, Limits, Pushed};
use crate::{BROKEN, BUSY};

/// Threads, and so engines of about 10 MB each.
const MOST_WORKERS: usize = 2;

/// Expressions that may wait for a thread, of all spaces and of one.
const LIMITS: Limits = Limits { total: 256, per_key: 192 };

/// QuickJS counts its own stack; the thread's must hold it with room to spare.
const THREAD_STACK: usize = 16 << 20;

/// An expression on its way to a thread.
struct Job {
    expression: String,
    reply: oneshot::Sender<Reply>,
    counted: UnderWay,
}

/// What comes back for an expression.
enum Reply {
    Answer(Answer),
    /// Another space needed its slot.
    Displaced,
    /// The engine failed.
    Broken,
}

/// The pool. Costs nothing until it is used.
#[derive(Default)]
pub(crate) struct Workers {
    jobs: OnceLock<Arc<Jobs>>,
}

struct Jobs {
    queue: Mutex<FairQueue<SpaceId, Job>>,
    is_pushed: Condvar,
    /// The pool is gone, and its threads end.
    is_closed: AtomicBool,
    /// How many threads there are.
    started: Mutex<usize>,
    /// How many expressions are waiting or at work.
    under_way: Arc<AtomicUsize>,
}

/// Counts one expression for as long as it lives.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    pub(crate) async fn evaluate(&self, space: SpaceId, expression: String) -> Result<Answer, CallError> {
        let broken = || CallError::new(ErrorKind::Internal, Message::new(&BROKEN));
        let busy = || CallError::new(ErrorKind::Overloaded, Message::new(&BUSY)).that_did_nothing();
        let jobs = self.jobs.get_or_init(|| Arc::new(Jobs::new()));
        let counted = UnderWay::begin(&jobs.under_way);
        jobs.start_one_more_if_needed().map_err(|error| broken().caused_by(error))?;
        let (reply, answer) = oneshot::channel();
        if !jobs.push(space, Job { expression, reply, counted }) {
            return Err(busy());
        }
        match answer.await {
            Ok(Reply::Answer(answer)) => Ok(answer),
            Ok(Reply::Displaced) => Err(busy()),
            Ok(Reply::Broken) | Err(_) => Err(broken()),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(jobs) = self.jobs.get() {
            // Under the lock, so that no thread begins to wait in between.
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
            under_way: Arc::default(),
        }
    }

    /// Queues an expression; false when its space has no slot left.
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
                // The caller may have gone meanwhile.
                let _ = job.reply.send(Reply::Displaced);
            }
        }
        self.is_pushed.notify_one();
        true
    }

    /// Waits for the next expression; none when the pool is gone.
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

    /// A second thread is worth its memory only once there is more than one expression.
    fn start_one_more_if_needed(self: &Arc<Self>) -> std::io::Result<()> {
        let mut started = lock(&self.started);
        if *started >= MOST_WORKERS || self.under_way.load(Ordering::Relaxed) <= *started {
            return Ok(());
        }
        let jobs = self.clone();
        std::thread::Builder::new().name("calculator".to_owned()).stack_size(THREAD_STACK).spawn(
            move || {
                while catch_unwind(AssertUnwindSafe(|| work(&jobs))).is_err() {
                    tracing::error!(
                        "A thread of the calculator panicked, and goes on with the next expression"
                    );
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

/// Evaluates until the pool is gone.
fn work(jobs: &Jobs) {
    let mut engine: Option<Engine> = None;
    while let Some(job) = jobs.pop() {
        // Nobody waits for the answer any more.
        if job.reply.is_closed() {
            continue;
        }
        let kept = engine.take().filter(|engine| !engine.is_worn());
        // A panic costs one answer and one engine, never the thread.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut ready = kept.map_or_else(Engine::load, Ok)?;
            let answer = ready.evaluate(&job.expression);
            Ok::<_, String>((ready, answer))
        }));
        let answer = match outcome {
            Ok(Ok((ready, answer))) => {
                engine = Some(ready);
                Reply::Answer(answer)
            }
            Ok(Err(error)) => {
                tracing::error!(error, "The calculator's engine could not be loaded");
                Reply::Broken
            }
            Err(_) => {
                tracing::error!("The calculator's engine panicked");
                Reply::Broken
            }
        };
        let Job { reply, counted, .. } = job;
        // Counted as done before the caller hears of it, who may send the next one at once.
        drop(counted);
        // The caller may have gone meanwhile.
        let _ = reply.send(answer);
    }
}
