//! The worker of a process: claims due runs, executes them (`execute.rs`), renews their leases, and releases the
//! runs that it cannot end. It depends on no tools and no database.

mod execute;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CallError, RunId, SpaceId};
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use self::execute::Execution;
pub(crate) use self::execute::TEMPLATES;
use crate::failpoint::Failpoints;
use crate::journal::{Delivery, Journal, NewMessage, RunSignal};
use crate::program::Programs;
use crate::run::{Executor, Lease, NewRun, Run, RunKey, RunStatus, StartedRun, WorkerId};

/// Number of released runs that a slow subscriber may miss before it reads the journal itself.
const RELEASED_BUFFER: usize = 1024;

/// The interval at which a run is read that another process may end.
const POLL_END: Duration = Duration::from_millis(500);

/// Maximum time that a cancelled program may take to stop before it is dropped.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings of a worker.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSettings {
    /// Maximum number of claimed runs that are executed at a time.
    pub slots: usize,
    /// The time after its last renewal when a lease expires.
    pub lease: Duration,
    /// The interval at which due runs are claimed without a notification.
    pub poll: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self { slots: 64, lease: Duration::from_secs(20), poll: Duration::from_secs(1) }
    }
}

/// Starts runs and executes them: the worker of this process. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Runs(Arc<Worker>);

struct Worker {
    journal: Arc<dyn Journal>,
    programs: Programs,
    settings: WorkerSettings,
    id: WorkerId,
    slots: Arc<Semaphore>,
    executions: Mutex<HashMap<RunId, Execution>>,
    /// Number of executions so far, which identifies each.
    count: AtomicU64,
    tasks: TaskTracker,
    released: broadcast::Sender<RunId>,
    /// Notified when a run is released: a limit may allow another claim.
    slot_freed: Notify,
    failpoints: Arc<Failpoints>,
}

impl Runs {
    pub fn new(
        journal: Arc<dyn Journal>,
        programs: Programs,
        settings: WorkerSettings,
        failpoints: Failpoints,
    ) -> Self {
        Self(Arc::new(Worker {
            journal,
            programs,
            id: WorkerId(Uuid::now_v7()),
            slots: Arc::new(Semaphore::new(settings.slots)),
            executions: Mutex::default(),
            count: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            released: broadcast::Sender::new(RELEASED_BUFFER),
            slot_freed: Notify::new(),
            failpoints: Arc::new(failpoints),
            settings,
        }))
    }

    pub fn failpoints(&self) -> &Failpoints {
        &self.0.failpoints
    }

    /// Stores a run in the queue. It is executed even if this process crashes after that.
    pub async fn start(&self, new: NewRun) -> Result<Run, CallError> {
        self.0.failpoints.pass("accepted");
        let started = self.0.journal.start(Arc::new(new), self.0.settings.lease).await?;
        self.0.failpoints.pass("stored");
        Ok(match started {
            StartedRun::Queued(run) | StartedRun::Existing(run) => run,
            StartedRun::Claimed(claimed) => claimed.run,
        })
    }

    /// Stores a run and executes it in this process at once. Returns false beside the run if it was not started here,
    /// because a run with its key exists.
    pub async fn start_here(&self, new: NewRun) -> Result<(Run, bool), CallError> {
        self.0.failpoints.pass("accepted");
        let new = NewRun { executor: Executor::ThisWorker(self.0.id), ..new };
        let started = self.0.journal.start(Arc::new(new), self.0.settings.lease).await?;
        self.0.failpoints.pass("stored");
        match started {
            StartedRun::Claimed(claimed) => {
                let run = claimed.run.clone();
                Worker::execute(&self.0, claimed, None);
                Ok((run, true))
            }
            StartedRun::Queued(run) | StartedRun::Existing(run) => Ok((run, false)),
        }
    }

    /// Sends a message to the inbox of a run. If the run waits for messages, this process executes it at once. Returns
    /// false if the run has ended.
    pub async fn send(
        &self,
        space: SpaceId,
        run: RunId,
        message: Value,
        key: Option<RunKey>,
    ) -> Result<bool, CallError> {
        let executor = Executor::ThisWorker(self.0.id);
        let message = NewMessage { space, run, message, key, executor };
        Ok(match self.0.journal.send(message, self.0.settings.lease).await? {
            Delivery::Ended => false,
            Delivery::Duplicate | Delivery::Delivered => true,
            Delivery::Claimed(claimed) => {
                Worker::execute(&self.0, *claimed, None);
                true
            }
        })
    }

    /// Returns true if this process executes the run now.
    pub fn is_executing(&self, id: RunId) -> bool {
        self.0.executions().contains_key(&id)
    }

    /// Cancels a run that this process executes. Returns false if it does not.
    pub fn cancel_here(&self, id: RunId) -> bool {
        let executions = self.0.executions();
        let execution = executions.get(&id);
        if let Some(execution) = execution {
            execution.cancel.cancel();
        }
        execution.is_some()
    }

    /// Waits for the end of a run, whichever process executes it. Returns the current state of the run after
    /// `patience` at the latest.
    pub async fn wait_for(
        &self,
        space: SpaceId,
        id: RunId,
        patience: Duration,
    ) -> Result<Option<Run>, CallError> {
        self.wait_until(space, id, patience, RunStatus::is_final).await
    }

    /// Waits until the status of a run satisfies a condition. Returns the current state of the run after
    /// `patience` at the latest.
    pub async fn wait_until(
        &self,
        space: SpaceId,
        id: RunId,
        patience: Duration,
        is_reached: impl Fn(RunStatus) -> bool,
    ) -> Result<Option<Run>, CallError> {
        let deadline = Instant::now() + patience;
        let mut released = self.0.released.subscribe();
        // A run that this process executes has not ended, so there is nothing to read yet.
        let mut over = self.0.execution_over(id);
        loop {
            if over.is_none() {
                let run = self.0.journal.read(space, id).await?;
                if run.as_ref().is_none_or(|run| is_reached(run.status)) || Instant::now() >= deadline {
                    return Ok(run);
                }
            }
            let next_read = (Instant::now() + POLL_END).min(deadline);
            let released = async {
                match over.take().or_else(|| self.0.execution_over(id)) {
                    Some(over) => over.cancelled_owned().await,
                    None => while released.recv().await.is_ok_and(|released| released != id) {},
                }
            };
            tokio::select! {
                () = released => {}
                () = sleep_until(next_read) => {}
            }
        }
    }

    /// Subscribes to the runs that this process releases: each has ended or waits.
    pub fn released(&self) -> broadcast::Receiver<RunId> {
        self.0.released.subscribe()
    }

    /// Executes due runs until `stop` is cancelled. Then waits up to `grace` for the executing ones, and releases the
    /// rest.
    pub async fn work(&self, stop: CancellationToken, grace: Duration) {
        let worker = &self.0;
        tokio::select! {
            () = worker.claim(&stop) => {}
            () = worker.renew() => {}
            () = worker.receive_signals() => {}
        }
        worker.tasks.close();
        let renewing = async {
            tokio::select! {
                () = worker.tasks.wait() => {}
                () = worker.renew() => {}
                () = worker.receive_signals() => {}
            }
        };
        if timeout(grace, renewing).await.is_err() {
            worker.executions().values().for_each(|execution| execution.lost.cancel());
            let _ = timeout(STOP_TIMEOUT, worker.tasks.wait()).await;
        }
    }
}

impl Worker {
    fn executions(&self) -> MutexGuard<'_, HashMap<RunId, Execution>> {
        self.executions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the token that is cancelled when this process has released the run.
    fn execution_over(&self, id: RunId) -> Option<CancellationToken> {
        self.executions().get(&id).map(|execution| execution.over.clone())
    }

    /// Claims due runs, as many as there are free slots, until `stop` is cancelled. Every claimed run is executed.
    async fn claim(self: &Arc<Self>, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let first = tokio::select! {
                slot = self.slots.clone().acquire_owned() => slot,
                () = stop.cancelled() => return,
            };
            let Ok(first) = first else { return };
            let free = 1 + self.slots.available_permits();
            let claims = match self.journal.claim(self.id, free, self.settings.lease).await {
                Ok(claims) => claims,
                Err(error) => {
                    tracing::warn!(%error, "Runs could not be claimed; retrying");
                    sleep(self.settings.poll).await;
                    continue;
                }
            };
            let is_all = claims.runs.len() < free;
            let mut slots = Some(first);
            for claimed in claims.runs {
                let slot = slots.take().or_else(|| self.slots.clone().try_acquire_owned().ok());
                Self::execute(self, claimed, slot);
            }
            drop(slots);
            if is_all {
                let pause = claims.next_due.unwrap_or(self.settings.poll).min(self.settings.poll);
                tokio::select! {
                    () = self.journal.work_available() => {}
                    () = self.slot_freed.notified(), if claims.is_limited => {}
                    () = sleep(pause) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }

    /// Renews the leases of this process at intervals, also if it has none: a claim whose response was lost is released
    /// that way, without counting as a crash.
    async fn renew(&self) {
        loop {
            sleep(self.settings.lease / 4).await;
            let leases: Vec<Lease> = self.executions().values().map(|execution| execution.lease).collect();
            match self.journal.renew(self.id, leases, self.settings.lease).await {
                Ok(renewal) => {
                    let executions = self.executions();
                    let find = |lease: &Lease| {
                        executions.get(&lease.run).filter(|execution| execution.lease == *lease)
                    };
                    renewal.lost.iter().filter_map(find).for_each(|execution| execution.lost.cancel());
                    renewal.to_cancel.iter().filter_map(find).for_each(|execution| execution.cancel.cancel());
                    // A signal may have been lost on its way.
                    executions.values().for_each(|execution| execution.refresh.notify_one());
                }
                Err(error) => tracing::warn!(%error, "Leases could not be renewed; retrying"),
            }
        }
    }

    /// Passes signals of the journal on to executing runs.
    async fn receive_signals(&self) {
        loop {
            match self.journal.signal().await {
                RunSignal::Cancel(lease) => {
                    let executions = self.executions();
                    // A later claim of the run is not to be cancelled.
                    if let Some(execution) = executions.get(&lease.run).filter(|known| known.lease == lease) {
                        execution.cancel.cancel();
                    }
                }
                RunSignal::Changed(run) => {
                    if let Some(execution) = self.executions().get(&run) {
                        execution.refresh.notify_one();
                    }
                }
            }
        }
    }
}
