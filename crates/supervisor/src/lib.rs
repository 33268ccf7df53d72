//! Supervision of background tasks that live as long as the process: a task that panics is logged, restarted
//! after a pause, and reported as not running until it has run without a panic for as long as that pause.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Locks a mutex whose data is consistent also after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pause before the first restart; it doubles with each panic in a row.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The polls after which an armed task panics: by then it has begun and waited for something.
const POLLS: u32 = 2;

/// Knows every background task of a process. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tasks: Mutex<BTreeMap<&'static str, TaskState>>,
    /// The task that a test makes panic, and the number of panics left.
    armed: Mutex<Option<(String, u32)>>,
}

#[derive(Default, Clone, Copy)]
struct TaskState {
    panics: u64,
    unhealthy_until: Option<Instant>,
}

/// A background task at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskHealth {
    pub name: &'static str,
    pub panics: u64,
    pub is_running: bool,
}

impl Supervisor {
    /// Creates a supervisor that makes a task panic, for tests: `NAME`, or `NAME:COUNT` for several panics in
    /// a row. Returns `None` if the text is malformed, and in release builds, which never panic on purpose.
    pub fn with_panics(text: &str) -> Option<Self> {
        let (name, count) = text.split_once(':').unwrap_or((text, "1"));
        let count = count.parse().ok().filter(|count| *count > 0 && cfg!(debug_assertions))?;
        let inner = Inner { armed: Mutex::new(Some((name.to_owned(), count))), ..Inner::default() };
        Some(Self(Arc::new(inner)))
    }

    /// Runs a task until it returns. After a panic it is started again, unless `stop` is cancelled by then.
    pub async fn run<F>(&self, name: &'static str, stop: &CancellationToken, mut start: impl FnMut() -> F)
    where
        F: Future<Output = ()>,
    {
        self.register(name);
        let mut pause = FIRST_PAUSE;
        loop {
            let started = Instant::now();
            let task = self.panic_when_armed(name, async { start().await });
            let Err(panic) = AssertUnwindSafe(task).catch_unwind().await else { return };
            pause = self.after_panic(name, started, pause, &*panic);
            tokio::select! {
                () = sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Spawns a task that ends when its work is done, and restarts it after every panic.
    pub fn spawn<F>(&self, name: &'static str, start: impl FnMut() -> F + Send + 'static) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let supervisor = self.clone();
        #[expect(clippy::disallowed_methods, reason = "the caller ends its work, and may wait for it")]
        tokio::spawn(async move { supervisor.run(name, &CancellationToken::new(), start).await })
    }

    /// Runs a task on a separate thread until it returns. After a panic it is started again.
    pub fn run_thread(
        &self,
        name: &'static str,
        mut work: impl FnMut(&dyn Fn()) + Send + 'static,
    ) -> std::io::Result<()> {
        self.register(name);
        let supervisor = self.clone();
        let supervised = move || {
            let mut pause = FIRST_PAUSE;
            loop {
                let started = Instant::now();
                let checkpoint = || supervisor.panic_if_armed(name);
                let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&checkpoint))) else { return };
                pause = supervisor.after_panic(name, started, pause, &*panic);
                std::thread::sleep(pause);
            }
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(supervised).map(drop)
    }

    /// Returns all tasks, sorted by name.
    pub fn tasks(&self) -> Vec<TaskHealth> {
        let now = Instant::now();
        let health = |(name, state): (&&'static str, &TaskState)| TaskHealth {
            name,
            panics: state.panics,
            is_running: state.unhealthy_until.is_none_or(|until| until <= now),
        };
        lock(&self.0.tasks).iter().map(health).collect()
    }

    fn register(&self, name: &'static str) {
        lock(&self.0.tasks).entry(name).or_default();
    }

    /// Returns the pause before the next start.
    fn after_panic(
        &self,
        name: &'static str,
        started: Instant,
        last: Duration,
        panic: &(dyn Any + Send),
    ) -> Duration {
        let state = lock(&self.0.tasks).get(name).copied().unwrap_or_default();
        // A task that ran well for a long time starts over with the shortest pause.
        let is_first = state.panics == 0 || started.elapsed() > LONGEST_PAUSE;
        let pause = if is_first { FIRST_PAUSE } else { (last * 2).min(LONGEST_PAUSE) };
        let next = TaskState { panics: state.panics + 1, unhealthy_until: Some(Instant::now() + pause * 2) };
        lock(&self.0.tasks).insert(name, next);
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason = reason.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown reason");
        tracing::error!(
            task.name = name,
            task.panics = next.panics,
            reason,
            "The background task `{name}` panicked; it restarts in {} seconds",
            pause.as_secs()
        );
        pause
    }

    /// Panics while a task runs, if a test has armed it.
    async fn panic_when_armed(&self, name: &str, task: impl Future<Output = ()>) {
        if lock(&self.0.armed).as_ref().is_none_or(|(armed, _)| armed != name) {
            return task.await;
        }
        let (mut task, mut polls) = (pin!(task), 0);
        std::future::poll_fn(|context| {
            polls += 1;
            if polls >= POLLS {
                self.panic_if_armed(name);
            }
            task.as_mut().poll(context) as Poll<()>
        })
        .await;
    }

    #[expect(clippy::panic, reason = "tests ask for it, in debug builds only")]
    fn panic_if_armed(&self, name: &str) {
        let mut armed = lock(&self.0.armed);
        let Some((_, left)) = armed.as_mut().filter(|(armed, _)| armed == name) else { return };
        *left -= 1;
        if *left == 0 {
            *armed = None;
        }
        drop(armed);
        panic!("a test made the task {name} panic");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn health(supervisor: &Supervisor) -> Vec<(&'static str, u64, bool)> {
        supervisor.tasks().into_iter().map(|task| (task.name, task.panics, task.is_running)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn task_that_panics_is_restarted_and_reported_until_it_runs_again() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        let starts = AtomicU32::new(0);
        let task = supervisor.run("feed", &stop, || async {
            if starts.fetch_add(1, Ordering::Relaxed) < 3 {
                panic!("broken");
            }
            std::future::pending::<()>().await;
        });
        let mut task = pin!(task);
        for (after, expected) in [
            (Duration::from_millis(500), ("feed", 1, false)),
            (Duration::from_secs(1), ("feed", 2, false)),
            (Duration::from_secs(2), ("feed", 3, false)),
            // The third pause is four seconds, and so is the time to prove that it runs.
            (Duration::from_secs(9), ("feed", 3, true)),
        ] {
            let _ = tokio::time::timeout(after, task.as_mut()).await;
            assert_eq!(health(&supervisor), [expected], "{after:?}");
        }
        assert_eq!(starts.load(Ordering::Relaxed), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn task_is_not_restarted_after_the_stop() {
        let (supervisor, stop) = (Supervisor::default(), CancellationToken::new());
        stop.cancel();
        let starts = AtomicU32::new(0);
        supervisor
            .run("feed", &stop, || async {
                starts.fetch_add(1, Ordering::Relaxed);
                panic!("broken");
            })
            .await;
        assert_eq!(starts.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn test_makes_one_task_panic_and_does_not_affect_the_others() {
        let supervisor = Supervisor::with_panics("feed:2").expect("a debug build");
        let stop = CancellationToken::new();
        for name in ["feed", "alerts"] {
            supervisor.run(name, &stop, || sleep(Duration::from_secs(1))).await;
        }
        assert_eq!(health(&supervisor).into_iter().map(|(_, panics, _)| panics).collect::<Vec<_>>(), [0, 2]);
        for malformed in ["feed:0", "feed:x", "feed:"] {
            assert!(Supervisor::with_panics(malformed).is_none(), "{malformed}");
        }
    }

    #[test]
    fn thread_that_panics_is_restarted() {
        let supervisor = Supervisor::with_panics("writer").expect("a debug build");
        let (sender, receiver) = std::sync::mpsc::channel();
        let work = move |checkpoint: &dyn Fn()| {
            checkpoint();
            sender.send(()).expect("the test listens");
        };
        supervisor.run_thread("writer", work).expect("a thread");
        receiver.recv_timeout(Duration::from_secs(20)).expect("it was restarted");
        assert_eq!(supervisor.tasks().first().map(|task| task.panics), Some(1));
    }
}
