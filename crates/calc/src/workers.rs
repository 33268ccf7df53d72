//! The threads that evaluate: started when needed, at most two, each with an engine of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_core::{CallError, ErrorKind, Message};
use tokio::sync::oneshot;

use crate::engine::{Answer, Engine};
use crate::{BROKEN, BUSY};

/// Threads, and so engines of about 10 MB each.
const MOST_WORKERS: usize = 2;

/// Expressions that may wait for a thread.
const MOST_WAITING: usize = 256;

/// QuickJS counts its own stack; the thread's must hold it with room to spare.
const THREAD_STACK: usize = 16 << 20;

/// An expression on its way to a thread.
struct Job {
    expression: String,
    reply: oneshot::Sender<Option<Answer>>,
    counted: UnderWay,
}

/// The pool. Costs nothing until it is used.
#[derive(Default)]
pub(crate) struct Workers {
    jobs: OnceLock<Jobs>,
}

struct Jobs {
    sender: SyncSender<Job>,
    receiver: Arc<Mutex<Receiver<Job>>>,
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
    pub(crate) async fn evaluate(&self, expression: String) -> Result<Answer, CallError> {
        let broken = || CallError::new(ErrorKind::Internal, Message::new(&BROKEN));
        let jobs = self.jobs.get_or_init(Jobs::new);
        let counted = UnderWay::begin(&jobs.under_way);
        jobs.start_one_more_if_needed().map_err(|error| broken().caused_by(error))?;
        let (reply, answer) = oneshot::channel();
        match jobs.sender.try_send(Job { expression, reply, counted }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                return Err(CallError::new(ErrorKind::Overloaded, Message::new(&BUSY)).that_did_nothing());
            }
            Err(TrySendError::Disconnected(_)) => return Err(broken()),
        }
        answer.await.ok().flatten().ok_or_else(broken)
    }
}

impl Jobs {
    fn new() -> Self {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let receiver = Arc::new(Mutex::new(receiver));
        Self { sender, receiver, started: Mutex::new(0), under_way: Arc::default() }
    }

    /// A second thread is worth its memory only once there is more than one expression.
    fn start_one_more_if_needed(&self) -> std::io::Result<()> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if *started >= MOST_WORKERS || self.under_way.load(Ordering::Relaxed) <= *started {
            return Ok(());
        }
        let receiver = self.receiver.clone();
        std::thread::Builder::new()
            .name("calculator".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || work(&receiver))?;
        *started += 1;
        Ok(())
    }
}

/// Evaluates until nobody can send any more.
fn work(jobs: &Mutex<Receiver<Job>>) {
    let mut engine: Option<Engine> = None;
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
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
                Some(answer)
            }
            Ok(Err(error)) => {
                tracing::error!(error, "The calculator's engine could not be loaded");
                None
            }
            Err(_) => {
                tracing::error!("The calculator's engine panicked");
                None
            }
        };
        let Job { reply, counted, .. } = job;
        // Counted as done before the caller hears of it, who may send the next one at once.
        drop(counted);
        // The caller may have gone meanwhile.
        let _ = reply.send(answer);
    }
}
