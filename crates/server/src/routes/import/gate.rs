//! Admits imports: a few small ones at a time, and one large one, because each may take much memory and CPU time.
//!
//! A large import is admitted before its bytes arrive, one for each user and a few in all, and takes the only slot for
//! large ones when they are here: a slow upload of one user does not stop the imports of others.
//!
//! The work of an import runs on its own thread, which is cancelled when the client disconnects or
//! the server stops, and its slot is free again only when that thread has ended.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, UserId};
use haft_http::import::CancelFlag;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

haft_core::templates! {
    BUSY = "import.busy",
        "Other imports are in progress. Send this one again in {seconds} seconds.",
        "正在读取其他导入；请在 {seconds} 秒后重试";
    ONE_EACH = "import.oneEach",
        "Another large import of yours is still running. Send this one again in {seconds} seconds.",
        "您的另一个大型导入仍在进行；请在 {seconds} 秒后重试";
    STOPPING = "import.stopping",
        "The server is stopping, so the import was not made. Send it again when the server is back.",
        "服务正在停止，未执行导入；请在服务恢复后重试";
}

/// An import is large when its body is larger than this, or of unknown size.
pub(super) const SMALL_BYTES: usize = 1 << 20;

/// Small imports at a time.
const SMALL_SLOTS: usize = 2;

/// Large imports at a time that arrive, wait or run. Each may hold the bytes of a whole document.
const ADMITTED: usize = 4;

/// The maximum time an import waits for its slot.
const WAIT: Duration = Duration::from_secs(30);

/// The niceness of the thread of an import: on a busy machine, threads that serve requests go first.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// How long a client that was refused should wait.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The slots for imports of this process.
pub(crate) struct ImportGate {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
    users: Users,
    stop: CancellationToken,
}

/// Users who have a large import.
type Users = Arc<Mutex<HashSet<UserId>>>;

impl ImportGate {
    /// `stop` is cancelled when the server stops.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        let slots = |count| Arc::new(Semaphore::new(count));
        Self {
            small: slots(SMALL_SLOTS),
            large: slots(1),
            admitted: slots(ADMITTED),
            users: Users::default(),
            stop,
        }
    }

    pub(super) async fn small(&self) -> Result<ImportSlot, CallError> {
        let permit = self.wait_for(&self.small).await?;
        Ok(self.slot(permit, None))
    }

    /// Admits a large import before its bytes arrive. Each user has one at a time.
    pub(super) async fn admit(&self, user: UserId) -> Result<Admission, CallError> {
        let user = UserEntry::new(&self.users, user)?;
        Ok(Admission { _permit: self.wait_for(&self.admitted).await?, _user: user })
    }

    /// The slot of an admitted import whose bytes are here.
    pub(super) async fn large(&self, admission: Admission) -> Result<ImportSlot, CallError> {
        let permit = self.wait_for(&self.large).await?;
        Ok(self.slot(permit, Some(admission)))
    }

    fn slot(&self, permit: OwnedSemaphorePermit, admission: Option<Admission>) -> ImportSlot {
        let permits = Arc::new(Permits { _slot: permit, _admission: admission });
        ImportSlot { permits, stop: self.stop.clone() }
    }

    async fn wait_for(&self, slots: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, CallError> {
        let permit = tokio::select! {
            // Asked first: a server that stops begins no import, free slots or not.
            biased;
            () = self.stop.cancelled() => return Err(stopping()),
            permit = timeout(WAIT, slots.clone().acquire_owned()) => permit,
        };
        let Ok(Ok(permit)) = permit else {
            let message = Message::new(&BUSY).with("seconds", RETRY_AFTER.as_secs());
            return Err(CallError::new(ErrorKind::Overloaded, message).retry_after(RETRY_AFTER));
        };
        Ok(permit)
    }
}

/// The right to receive the bytes of a large import.
pub(super) struct Admission {
    _permit: OwnedSemaphorePermit,
    _user: UserEntry,
}

/// The entry of a user among those who have a large import. It ends with the import.
struct UserEntry {
    users: Users,
    user: UserId,
}

impl UserEntry {
    fn new(users: &Users, user: UserId) -> Result<Self, CallError> {
        if !users.lock().unwrap_or_else(PoisonError::into_inner).insert(user) {
            let message = Message::new(&ONE_EACH).with("seconds", RETRY_AFTER.as_secs());
            return Err(CallError::new(ErrorKind::RateLimit, message).retry_after(RETRY_AFTER));
        }
        Ok(Self { users: users.clone(), user })
    }
}

impl Drop for UserEntry {
    fn drop(&mut self) {
        self.users.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.user);
    }
}

/// The right to run one import.
pub(crate) struct ImportSlot {
    permits: Arc<Permits>,
    stop: CancellationToken,
}

/// Everything that an import holds until its work has ended.
struct Permits {
    _slot: OwnedSemaphorePermit,
    _admission: Option<Admission>,
}

/// Cancels the work when the future that waits for it is dropped.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl ImportSlot {
    /// Runs work on a thread of its own, which ends with it and gives its memory back.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancelFlag) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let guard = CancelOnDrop(CancelFlag::default());
        let (permits, cancel) = (self.permits.clone(), guard.0.clone());
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::Builder::new().name("import".to_owned()).spawn(move || {
            lower_priority();
            let result = catch_unwind(AssertUnwindSafe(|| work(&cancel)));
            // Before the result is sent: the user's next import may follow at once.
            drop(permits);
            // A panic is logged by its hook; the receiver learns of it by the dropped sender.
            if let Ok(result) = result {
                // The client may have disconnected.
                let _ = sender.send(result);
            }
        });
        thread.map_err(failed)?;
        tokio::select! {
            result = receiver => result.unwrap_or_else(|error| Err(failed(error))),
            () = self.stop.cancelled() => Err(stopping()),
        }
    }
}

/// Lowers the priority of this thread. Other systems than Linux have one for the whole process, which stays.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::debug!(%error, "The priority of an import cannot be lowered");
    }
}

fn failed(cause: impl std::error::Error + Send + Sync + 'static) -> CallError {
    CallError::text(ErrorKind::Internal, "the import could not be read").caused_by(cause)
}

fn stopping() -> CallError {
    CallError::new(ErrorKind::Overloaded, Message::new(&STOPPING)).retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod shutdown;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use uuid::Uuid;

    use super::*;

    fn user() -> UserId {
        UserId::from(Uuid::now_v7())
    }

    async fn large(gate: &ImportGate) -> Result<ImportSlot, CallError> {
        gate.large(gate.admit(user()).await?).await
    }

    /// Work that runs until it is cancelled, and says when it began and ended.
    fn endless(
        events: mpsc::Sender<&'static str>,
    ) -> impl FnOnce(&CancelFlag) -> Result<(), CallError> + Send {
        move |cancel| {
            events.send("began").expect("a receiver");
            while !cancel.is_cancelled() {
                std::thread::yield_now();
            }
            events.send("ended").expect("a receiver");
            Ok(())
        }
    }

    #[tokio::test]
    async fn work_stops_when_its_client_disconnects_and_frees_its_slot() {
        let gate = ImportGate::new(CancellationToken::new());
        let (sender, events) = mpsc::channel();
        let slot = large(&gate).await.expect("a slot");
        {
            let mut running = Box::pin(slot.run(endless(sender)));
            tokio::select! {
                biased;
                _ = &mut running => panic!("it is endless"),
                () = std::future::ready(()) => {}
            }
            assert_eq!(events.recv(), Ok("began"));
        }
        drop(slot);
        assert_eq!(events.recv(), Ok("ended"), "dropping the future cancels the work");
        large(&gate).await.expect("the slot is free again");
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_large_import_waits_and_is_then_refused_with_a_pause() {
        let gate = ImportGate::new(CancellationToken::new());
        let first = large(&gate).await.expect("a slot");
        let refused = large(&gate).await.err().expect("only one at a time");
        assert_eq!((refused.kind(), refused.requested_pause()), (ErrorKind::Overloaded, Some(RETRY_AFTER)));
        let small = (gate.small().await, gate.small().await);
        assert!(small.0.is_ok() && small.1.is_ok(), "small imports do not wait for large ones");
        assert!(gate.small().await.is_err(), "and are limited as well");
        drop(first);
        large(&gate).await.expect("its turn");
    }

    #[tokio::test(start_paused = true)]
    async fn an_import_whose_bytes_arrive_holds_no_slot_and_is_the_only_one_of_its_user() {
        let gate = ImportGate::new(CancellationToken::new());
        let ada = user();
        let uploading = gate.admit(ada).await.expect("the first");
        let refused = gate.admit(ada).await.err().expect("one for each user");
        assert_eq!((refused.kind(), refused.requested_pause()), (ErrorKind::RateLimit, Some(RETRY_AFTER)));
        drop(large(&gate).await.expect("another user does not wait for the upload"));

        let slot = gate.large(uploading).await.expect("the bytes are here");
        assert!(gate.admit(ada).await.is_err(), "it runs");
        slot.run(|_| Ok(())).await.expect("it ended");
        drop(slot);
        drop(gate.admit(ada).await.expect("the next one of the same user"));

        let mut uploads = Vec::new();
        for _ in 0..ADMITTED {
            uploads.push(gate.admit(user()).await.expect("a few at a time"));
        }
        let refused = gate.admit(ada).await.err().expect("no more than a few");
        assert_eq!(refused.kind(), ErrorKind::Overloaded);
        drop(uploads);
        gate.admit(ada).await.expect("a refused import leaves nothing behind");
    }

    #[tokio::test]
    async fn a_stop_of_the_server_ends_the_work() {
        let stop = CancellationToken::new();
        let gate = ImportGate::new(stop.clone());
        let (sender, events) = mpsc::channel();
        let slot = gate.small().await.expect("a slot");
        let waiting = async {
            tokio::task::yield_now().await;
            stop.cancel();
        };
        let (result, ()) = tokio::join!(slot.run(endless(sender)), waiting);
        assert_eq!(result.expect_err("stopped").kind(), ErrorKind::Overloaded);
        assert_eq!((events.recv(), events.recv()), (Ok("began"), Ok("ended")));
        assert!(gate.small().await.is_err(), "no import begins any more");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn work_has_a_lower_priority_than_threads_that_serve_requests() {
        let niceness = || rustix::process::getpriority_process(None).expect("a niceness");
        let before = niceness();
        let slot = ImportGate::new(CancellationToken::new()).small().await.expect("a slot");
        let during = slot.run(move |_| Ok(niceness())).await.expect("it ends");
        assert_eq!(during, (before + NICENESS).min(19));
        assert_eq!(niceness(), before, "other threads keep theirs");
    }

    #[tokio::test]
    async fn a_panic_is_an_internal_error_and_frees_the_slot() {
        let gate = ImportGate::new(CancellationToken::new());
        let slot = large(&gate).await.expect("a slot");
        let result: Result<(), CallError> = slot.run(|_| panic!("broken")).await;
        assert_eq!(result.expect_err("it panicked").kind(), ErrorKind::Internal);
        drop(slot);
        large(&gate).await.expect("free again");
    }
}
