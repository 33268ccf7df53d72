//! The worker: takes runs that are due, carries them on (`carry.rs`), holds on to their leases, and gives back what it
//! cannot end.
//!
//! It knows no tool and no database. How often something is tried again over time is written in the journal, never here.

mod carry;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CallError, ErrorKind, RunId, SpaceId};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use self::carry::InHand;
pub(crate) use self::carry::TEMPLATES;
use crate::begun::{Begun, Unwritten, What, away};
use crate::failpoint::Failpoints;
use crate::journal::{Journal, Letter, Sent};
use crate::program::Programs;
use crate::rested::Rested;
use crate::run::{Held, Lease, NewRun, Place, Run, RunKey, RunStatus, Started, WholeRun, WorkerId};

/// So many ends of runs may be told before those who wait for one look for themselves.
const ENDS: usize = 1024;

/// Whoever waits for the end of a run looks for itself this often: another process may have ended it.
const LOOK: Duration = Duration::from_millis(500);

/// What is not kept yet is in a moment, or after so long is not waited for.
const SOON: Duration = Duration::from_secs(1);

/// A program that is told to stop and does not is dropped after so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a worker works.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// So many runs at once.
    pub places: usize,
    /// After so long without a sign of life a worker is taken for dead.
    pub lease: Duration,
    /// What is due is looked for this often, however quiet it is.
    pub poll: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { places: 64, lease: Duration::from_secs(20), poll: Duration::from_secs(1) }
    }
}

/// Runs, and the worker of this process. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Runs(Arc<Inner>);

struct Inner {
    journal: Arc<dyn Journal>,
    programs: Programs,
    settings: Settings,
    id: WorkerId,
    places: Arc<Semaphore>,
    held: Mutex<HashMap<RunId, InHand>>,
    /// What was in hand a moment ago.
    rested: Rested,
    /// So many were ever in hand.
    count: AtomicU64,
    under_way: TaskTracker,
    ended: broadcast::Sender<RunId>,
    /// A run has ended here, so what a limit kept back may be claimed.
    freed: Notify,
    failpoints: Arc<Failpoints>,
}

impl Runs {
    pub fn new(
        journal: Arc<dyn Journal>,
        programs: Programs,
        settings: Settings,
        failpoints: Failpoints,
    ) -> Self {
        Self(Arc::new(Inner {
            journal,
            programs,
            id: WorkerId(Uuid::now_v7()),
            places: Arc::new(Semaphore::new(settings.places)),
            held: Mutex::default(),
            rested: Rested::default(),
            count: AtomicU64::new(0),
            under_way: TaskTracker::new(),
            ended: broadcast::Sender::new(ENDS),
            freed: Notify::new(),
            failpoints: Arc::new(failpoints),
            settings,
        }))
    }

    pub fn failpoints(&self) -> &Failpoints {
        &self.0.failpoints
    }

    /// Takes a run on: it is carried out, whatever happens to this process from now on.
    pub async fn start(&self, new: NewRun) -> Result<Run, CallError> {
        self.0.failpoints.pass("accepted");
        let started = self.0.journal.start(Arc::new(new), self.0.settings.lease).await?;
        self.0.failpoints.pass("stored");
        Ok(match started {
            Started::Queued(run) | Started::Before(run) => run,
            Started::Held(held) => held.run,
        })
    }

    /// The same, and carries it on here and now, without the queue. Nothing, where it was there before.
    pub async fn start_here(&self, new: NewRun) -> Result<(Run, bool), CallError> {
        self.0.failpoints.pass("accepted");
        let new = NewRun { place: Place::Here(self.0.id), ..new };
        let started = self.0.journal.start(Arc::new(new), self.0.settings.lease).await?;
        self.0.failpoints.pass("stored");
        match started {
            Started::Held(held) => {
                let run = held.run.clone();
                Inner::take(&self.0, held, None);
                Ok((run, true))
            }
            Started::Queued(run) | Started::Before(run) => Ok((run, false)),
        }
    }

    /// Carries a run on here and now, and keeps it meanwhile: with the first thing that has to be kept, or a moment
    /// after its first step began. It is kept when this answers; whoever does not wait for that wants it to end. One
    /// with a key is kept before anything else.
    pub async fn begin_here(&self, new: NewRun) -> Result<RunId, CallError> {
        if new.key.is_some() || new.parent.is_some() {
            return Ok(self.start_here(new).await?.0.id);
        }
        self.0.failpoints.pass("accepted");
        let new = NewRun { place: Place::Here(self.0.id), ..new };
        let run = Run::first(&new, RunStatus::Running, Timestamp::now());
        let lease = Lease { run: run.id, epoch: run.epoch };
        let (unwritten, begun) = Unwritten::new(What::New(Arc::new(new)), None, self.0.settings.lease);
        let held = Held::authorized(run, lease, Vec::new());
        let id = held.run.id;
        match self.until_kept(held, unwritten, begun).await? {
            true => Ok(id),
            false => Err(away()),
        }
    }

    /// Sends something to a run, as it was read just now. One that is at rest goes on here and now, and what it does is
    /// kept meanwhile, as with [`Runs::begin_here`]; any other hears of it where it is carried on, and so does one that
    /// somebody else has taken since. False when it has ended.
    pub async fn go_on_here(
        &self,
        whole: WholeRun,
        message: Value,
        key: Option<RunKey>,
    ) -> Result<bool, CallError> {
        let WholeRun { run, steps, written } = whole;
        let (space, id) = (run.space, run.id);
        if run.is_at_rest() && run.due_at.is_none() && key.is_none() && !self.holds(id) {
            let from = Lease { run: id, epoch: run.epoch };
            let lease = Lease { epoch: run.epoch + 1, ..from };
            let what = What::Taken { from, by: self.0.id };
            let (mut unwritten, begun) = Unwritten::new(what, Some(message.clone()), self.0.settings.lease);
            unwritten.written = written;
            let (status, epoch) = (RunStatus::Running, lease.epoch);
            let run = Run { status, epoch, waiting_for: None, is_cancel_asked: false, ..run };
            if self.until_kept(Held::authorized(run, lease, steps), unwritten, begun).await? {
                return Ok(true);
            }
        }
        self.send(space, id, message, key).await
    }

    /// Carries something on until it is kept; whoever does not wait for that wants it to end. False where somebody else
    /// has taken it.
    async fn until_kept(&self, held: Held, unwritten: Unwritten, begun: Begun) -> Result<bool, CallError> {
        let Some(cancel) = Inner::take_on(&self.0, held, None, Some((unwritten, begun.clone()))) else {
            return Ok(false);
        };
        let unless_kept = cancel.clone().drop_guard();
        let kept = begun.kept().await;
        unless_kept.disarm();
        if matches!(kept, Ok(false)) && cancel.is_cancelled() {
            // It would begin anew, which somebody did not want.
            return Err(CallError::text(ErrorKind::Cancelled, "it was cancelled before it started"));
        }
        kept
    }

    /// Sends something to a run. One that waits for that goes on here and now; any other hears of it where it is
    /// carried on. False when it has ended.
    pub async fn send(
        &self,
        space: SpaceId,
        run: RunId,
        message: Value,
        key: Option<RunKey>,
    ) -> Result<bool, CallError> {
        // What goes on here and is not kept yet would have to begin anew.
        if let Some(begun) = self.0.begun(run) {
            let _ = timeout(SOON, begun.kept()).await;
        }
        let letter = Letter { space, run, message, key, place: Place::Here(self.0.id) };
        Ok(match self.0.journal.send(letter, self.0.settings.lease).await? {
            Sent::Ended => false,
            Sent::Before | Sent::Told => true,
            Sent::Held(held) => {
                Inner::take(&self.0, *held, None);
                true
            }
        })
    }

    /// A run that this process left at rest, if it is what is wanted. It is taken from here: whoever asks goes on with it.
    pub fn at_rest(&self, id: RunId, is_wanted: impl FnOnce(&Run) -> bool) -> Option<WholeRun> {
        self.0.rested.take(id, is_wanted)
    }

    /// Forgets how it left a run, which somebody has changed.
    pub fn forget(&self, id: RunId) {
        self.0.rested.forget(id);
    }

    /// Whether this process carries a run on right now.
    pub fn holds(&self, id: RunId) -> bool {
        self.0.held().contains_key(&id)
    }

    /// Tells a run that this process carries on to end what it does; false when it is carried on elsewhere.
    pub fn cancel_here(&self, id: RunId) -> bool {
        let held = self.0.held();
        let in_hand = held.get(&id);
        if let Some(in_hand) = in_hand {
            in_hand.cancel.cancel();
        }
        in_hand.is_some()
    }

    /// Waits for the end of a run, wherever it is carried on; how it stands when the time is over.
    pub async fn wait_for(
        &self,
        space: SpaceId,
        id: RunId,
        at_most: Duration,
    ) -> Result<Option<Run>, CallError> {
        self.wait_until(space, id, at_most, RunStatus::is_final).await
    }

    /// Waits until the status of a run is one that `is_enough`; returns the run as it is when the time is over.
    pub async fn wait_until(
        &self,
        space: SpaceId,
        id: RunId,
        at_most: Duration,
        is_enough: impl Fn(RunStatus) -> bool,
    ) -> Result<Option<Run>, CallError> {
        let deadline = Instant::now() + at_most;
        let mut ends = self.0.ended.subscribe();
        // What is in our own hands has not ended, so there is nothing to be read yet.
        let mut over = self.0.over(id);
        loop {
            if over.is_none() {
                let run = self.0.journal.read(space, id).await?;
                if run.as_ref().is_none_or(|run| is_enough(run.status)) || Instant::now() >= deadline {
                    return Ok(run);
                }
            }
            let look = (Instant::now() + LOOK).min(deadline);
            let told = async {
                match over.take().or_else(|| self.0.over(id)) {
                    Some(over) => over.cancelled_owned().await,
                    None => while ends.recv().await.is_ok_and(|ended| ended != id) {},
                }
            };
            tokio::select! {
                () = told => {}
                () = sleep_until(look) => {}
            }
        }
    }

    /// Tells of every run that this process lets go of: it has ended, or waits.
    pub fn ends(&self) -> broadcast::Receiver<RunId> {
        self.0.ended.subscribe()
    }

    /// Works until told to stop; then gives what is under way so long to end, and gives the rest back.
    pub async fn work(&self, stop: CancellationToken, grace: Duration) {
        let inner = &self.0;
        tokio::select! {
            () = inner.claim(&stop) => {}
            () = inner.renew() => {}
            () = inner.hear_cancels() => {}
        }
        inner.under_way.close();
        let renewing = async {
            tokio::select! {
                () = inner.under_way.wait() => {}
                () = inner.renew() => {}
            }
        };
        if timeout(grace, renewing).await.is_err() {
            inner.held().values().for_each(|in_hand| in_hand.lost.cancel());
            let _ = timeout(PATIENCE, inner.under_way.wait()).await;
        }
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, HashMap<RunId, InHand>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tells that a run is kept, where it is carried on before it is.
    fn begun(&self, id: RunId) -> Option<Begun> {
        self.held().get(&id)?.begun.clone()
    }

    /// What tells that this process has let go of a run, where it has it in hand.
    fn over(&self, id: RunId) -> Option<CancellationToken> {
        self.held().get(&id).map(|in_hand| in_hand.over.clone())
    }

    /// Takes runs that are due, as many as there are places, until told to stop. What was claimed is taken, so that
    /// nothing is held that nobody carries on.
    async fn claim(self: &Arc<Self>, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let first = tokio::select! {
                place = self.places.clone().acquire_owned() => place,
                () = stop.cancelled() => return,
            };
            let Ok(first) = first else { return };
            let free = 1 + self.places.available_permits();
            let claimed = match self.journal.claim(self.id, free, self.settings.lease).await {
                Ok(claimed) => claimed,
                Err(error) => {
                    tracing::warn!(%error, "Runs could not be claimed; retrying");
                    sleep(self.settings.poll).await;
                    continue;
                }
            };
            let is_all = claimed.held.len() < free;
            let mut permits = Some(first);
            for held in claimed.held {
                let permit = permits.take().or_else(|| self.places.clone().try_acquire_owned().ok());
                Self::take(self, held, permit);
            }
            drop(permits);
            if is_all {
                let pause = claimed.next_due.unwrap_or(self.settings.poll).min(self.settings.poll);
                tokio::select! {
                    () = self.journal.woken() => {}
                    () = self.freed.notified(), if claimed.is_kept_back => {}
                    () = sleep(pause) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }

    /// Shows that this process lives, and learns what is no longer its own, for ever. With empty hands too: what it
    /// claimed without being told so is given back that way, and not as if a process had died.
    async fn renew(&self) {
        loop {
            sleep(self.settings.lease / 4).await;
            let leases = |held: &HashMap<RunId, InHand>| {
                held.values().filter(|in_hand| in_hand.is_kept()).map(|in_hand| in_hand.lease).collect()
            };
            let leases: Vec<Lease> = leases(&self.held());
            match self.journal.renew(self.id, leases, self.settings.lease).await {
                Ok(renewed) => {
                    let held = self.held();
                    let in_hand = |lease: &Lease| held.get(&lease.run).filter(|held| held.lease == *lease);
                    renewed.lost.iter().filter_map(in_hand).for_each(|in_hand| in_hand.lost.cancel());
                    renewed.to_cancel.iter().filter_map(in_hand).for_each(|in_hand| in_hand.cancel.cancel());
                }
                Err(error) => tracing::warn!(%error, "Leases could not be renewed; retrying"),
            }
        }
    }

    /// Tells runs to end that somebody wants to end, as soon as that is known, for ever.
    async fn hear_cancels(&self) {
        loop {
            let lease = self.journal.cancelled().await;
            // What was taken up since is something else.
            if let Some(in_hand) = self.held().get(&lease.run).filter(|in_hand| in_hand.lease == lease) {
                in_hand.cancel.cancel();
            }
        }
    }
}
