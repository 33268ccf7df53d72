//! The threads that evaluate: started when needed, at most two, each with an engine of its own.

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
    busy: Arc<Mutex<usize>>,
}

impl Workers {
    pub(crate) async fn evaluate(&self, expression: String) -> Result<Answer, CallError> {
        let broken = || CallError::new(ErrorKind::Internal, Message::new(&BROKEN));
        let jobs = self.jobs.get_or_init(Jobs::new);
        jobs.start_one_more_if_needed().map_err(|error| broken().caused_by(error))?;
        let (reply, answer) = oneshot::channel();
        match jobs.sender.try_send(Job { expression, reply }) {
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
        Self {
            sender,
            receiver: Arc::new(Mutex::new(receiver)),
            started: Mutex::new(0),
            busy: Arc::default(),
        }
    }

    /// A second thread is worth its memory only once the first is at work.
    fn start_one_more_if_needed(&self) -> std::io::Result<()> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = *self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        if *started >= MOST_WORKERS || busy < *started {
            return Ok(());
        }
        let (receiver, busy) = (self.receiver.clone(), self.busy.clone());
        std::thread::Builder::new()
            .name("calculator".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || work(&receiver, &busy))?;
        *started += 1;
        Ok(())
    }
}

/// Evaluates until nobody can send any more.
fn work(jobs: &Mutex<Receiver<Job>>, busy: &Mutex<usize>) {
    let count = |change: isize| {
        let mut busy = busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = busy.saturating_add_signed(change);
    };
    let mut engine: Option<Engine> = None;
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // Nobody waits for the answer any more.
        if job.reply.is_closed() {
            continue;
        }
        count(1);
        let fresh = engine.take().filter(|engine| !engine.is_worn()).map_or_else(Engine::load, Ok);
        let answer = match fresh {
            Ok(mut ready) => {
                let answer = ready.evaluate(&job.expression);
                engine = Some(ready);
                Some(answer)
            }
            Err(error) => {
                tracing::error!(%error, "The calculator's engine could not be loaded");
                None
            }
        };
        count(-1);
        // The caller may have gone meanwhile.
        let _ = job.reply.send(answer);
    }
}
