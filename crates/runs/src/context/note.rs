//! What a run has its journal note, and when: what may be done again together with what follows it, all else at once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft_core::ErrorKind;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Halt, RunContext};
use crate::begun::{Unwritten, What};
use crate::journal::{DoneStep, DoneSteps, Journal, Kept, Suspended};
use crate::program::{GaveUp, Program};
use crate::run::{Ended, Started, Wait};

/// A journal that is away is asked again after so long, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What somebody waits for is tried to be kept for so long.
const AT_MOST: Duration = Duration::from_secs(1);

impl RunContext {
    /// Notes what was done, where that is not noted yet.
    pub async fn note(&mut self) -> Result<(), Halt> {
        self.write().await?;
        if self.unnoted.is_empty() {
            return Ok(());
        }
        let (lease, done) = (self.lease, self.unnoted());
        self.keep(|journal| journal.done(lease, done.clone())).await?;
        self.noted();
        Ok(())
    }

    /// Carries something out while what was done before is noted; not at all, where it may be noted with this. What is
    /// not kept yet and cannot be is given up at once.
    pub(super) async fn noting<F: Future>(&mut self, work: F) -> Result<F::Output, Halt> {
        let mut work = std::pin::pin!(work);
        if self.unnoted.is_empty() && self.unwritten.is_none() {
            return Ok(work.await);
        }
        if let Some(note_by) = self.note_by.filter(|note_by| *note_by > Instant::now())
            && let Ok(output) = timeout_at(note_by, &mut work).await
        {
            return Ok(output);
        }
        let is_unwritten = self.is_unwritten();
        // On the heap: whoever needs none stays small.
        let mut note = Box::pin(self.note());
        let (noted, output) = tokio::select! {
            noted = &mut note => (noted, None),
            output = &mut work => (Ok(()), Some(output)),
        };
        match output {
            Some(output) => note.await.map(|()| output),
            // Nobody else may see what comes of it.
            None if is_unwritten => {
                noted?;
                Ok(work.await)
            }
            None => {
                let output = work.await;
                noted.map(|()| output)
            }
        }
    }

    /// The next of several things that comes, of those that have come first. They go on while what came before is noted:
    /// one of them may hold what the journal waits for.
    pub(super) async fn noting_next<F: Future>(
        &mut self,
        under_way: &mut FuturesUnordered<F>,
        come: &mut VecDeque<F::Output>,
    ) -> Result<Option<F::Output>, Halt> {
        if !come.is_empty() {
            return Ok(come.pop_front());
        }
        if self.unnoted.is_empty() && self.unwritten.is_none() || under_way.is_empty() {
            return Ok(under_way.next().await);
        }
        if let Some(note_by) = self.note_by.filter(|note_by| *note_by > Instant::now())
            && let Ok(next) = timeout_at(note_by, under_way.next()).await
        {
            return Ok(next);
        }
        let mut note = Box::pin(self.note());
        loop {
            tokio::select! {
                noted = &mut note => {
                    noted?;
                    break;
                }
                Some(next) = under_way.next(), if !under_way.is_empty() => come.push_back(next),
            }
        }
        match come.pop_front() {
            Some(next) => Ok(Some(next)),
            None => Ok(under_way.next().await),
        }
    }

    /// What is to be noted. It stays so until it was: whoever is stopped meanwhile gives it back with the run.
    pub(super) fn unnoted(&self) -> Arc<[DoneStep]> {
        self.unnoted.clone().into()
    }

    pub(super) fn noted(&mut self) {
        self.note_by = None;
        let noted = std::mem::take(&mut self.unnoted);
        self.add_noted(noted);
    }

    fn add_noted(&mut self, steps: impl IntoIterator<Item = DoneStep>) {
        // Where it is not known what was done before, all of it is looked at when the run is left.
        if self.written.is_some() {
            self.noted.extend(steps);
        }
    }

    /// Has it kept that the run is ours, where that is not yet. Where that cannot be, there is nothing to hold on to.
    pub(super) async fn write(&mut self) -> Result<(), Halt> {
        let Some(unwritten) = &mut self.unwritten else { return Ok(()) };
        if unwritten.letter.is_some() {
            // Nothing came of it: whoever sent it sends it again.
            return Err(Halt::Lost);
        }
        let (what, lease) = (unwritten.what.clone(), unwritten.lease);
        // What was asked for once may be there without our knowing, and is asked for as it was.
        let done = unwritten.asked.get_or_insert_with(|| self.unnoted.clone().into()).clone();
        match what {
            What::New(new) => match self.keep_soon(|journal| journal.start(new.clone(), lease)).await? {
                Started::Held(_) => {}
                Started::Queued(_) | Started::Before(_) => return Err(Halt::Lost),
            },
            What::Taken { from, by } => {
                let (space, by, text) = (self.run.space, Some((by, lease)), DoneSteps::of(&done));
                if !self.keep_soon(|journal| journal.take(space, from, by, text.clone())).await? {
                    return Err(Halt::Lost);
                }
                let unnoted = std::mem::take(&mut self.unnoted);
                let (noted, unnoted): (Vec<_>, _) = unnoted.into_iter().partition(|step| done.contains(step));
                self.unnoted = unnoted;
                self.add_noted(noted);
                self.note_by = self.note_by.filter(|_| !self.unnoted.is_empty());
            }
        }
        self.failpoints.pass("stored");
        self.tell_kept();
        Ok(())
    }

    /// Tells whoever waits for that that it is kept.
    pub(crate) fn tell_kept(&mut self) {
        if let Some(unwritten) = self.unwritten.take() {
            unwritten.kept();
        }
    }

    /// What was to be kept, where it is not yet.
    pub(crate) fn give_back(&mut self) -> Option<Unwritten> {
        self.unwritten.take()
    }

    /// Lets go of the run until what it waits for has come.
    pub(crate) async fn suspend(&mut self, waits: Vec<Wait>) -> Result<(), Halt> {
        let is_plain = !waits.is_empty() && self.undone.is_empty() && waits.iter().all(Wait::is_for_letters);
        self.let_go(waits, is_plain).await?;
        self.is_at_rest = is_plain;
        Ok(())
    }

    async fn let_go(&mut self, waits: Vec<Wait>, is_plain: bool) -> Result<(), Halt> {
        let is_one_write =
            |unwritten: &&Unwritten| is_plain && unwritten.asked.is_none() && unwritten.letter.is_none();
        match self.unwritten.as_ref().filter(is_one_write).map(|unwritten| unwritten.what.clone()) {
            Some(What::New(new)) => {
                let done = self.all_at_once();
                return self.keep_soon(|journal| journal.start_waiting(new.clone(), done.clone())).await;
            }
            Some(What::Taken { from, .. }) => {
                let space = self.run.space;
                let done = self.all_at_once();
                let taken = self.keep_soon(|journal| journal.take(space, from, None, done.clone())).await?;
                return if taken { Ok(()) } else { Err(Halt::Lost) };
            }
            None => {}
        }
        self.write().await?;
        let done: Arc<[DoneStep]> = std::mem::take(&mut self.unnoted).into();
        self.add_noted(done.iter().cloned());
        let undone = std::mem::take(&mut self.undone);
        let suspended = Suspended { done, undone, waits, cancel_heard: self.cancel_heard };
        let lease = self.lease;
        self.keep(|journal| journal.suspend(lease, suspended.clone())).await
    }

    /// All that it did since it was taken up, of which nothing is noted yet.
    fn all_at_once(&mut self) -> DoneSteps {
        let done = DoneSteps::of(&std::mem::take(&mut self.unnoted));
        self.at_once = Some(done.clone());
        done
    }

    pub(crate) async fn finish(&mut self, ended: Ended) -> Result<(), Halt> {
        self.write().await?;
        let lease = self.lease;
        // What the run gave as a whole need not be kept twice.
        self.unnoted.retain(|step| *step.output != ended.output);
        let done = self.unnoted();
        self.failpoints.pass("before_commit");
        self.keep(|journal| journal.finish(lease, done.clone(), ended.clone())).await?;
        self.failpoints.pass("after_commit");
        Ok(())
    }

    /// Ends a run that its program could not end.
    pub(crate) async fn give_up(&mut self, program: &dyn Program, why: GaveUp) -> Result<(), Halt> {
        let ended = program.gave_up(self, why).await;
        self.finish(ended).await
    }

    pub(crate) async fn release(&mut self) -> Result<(), Halt> {
        self.write().await?;
        self.failpoints.pass("before_release");
        let (lease, done) = (self.lease, self.unnoted());
        self.keep(|journal| journal.release(lease, done.clone())).await
    }

    /// Has the journal keep that a run is ours, where it is carried on before that. Whoever waits for it is not kept
    /// waiting for long: what cannot be kept is lost, and why is told to them.
    async fn keep_soon<'s, T: Send>(
        &'s mut self,
        write: impl Fn(&'s dyn Journal) -> Kept<'s, T>,
    ) -> Result<T, Halt> {
        let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
        let refused = loop {
            match write(&*self.journal).await {
                Ok(kept) => return Ok(kept),
                Err(error) if error.kind() == ErrorKind::Unavailable && began.elapsed() + pause < AT_MOST => {
                    sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => break error,
            }
        };
        if let Some(unwritten) = &mut self.unwritten {
            unwritten.refused = Some(refused);
        }
        Err(Halt::Lost)
    }

    /// Has the journal keep something, however long it is away: what was done may not be forgotten.
    pub(super) async fn keep<'s>(
        &'s self,
        write: impl Fn(&'s dyn Journal) -> Kept<'s, bool>,
    ) -> Result<(), Halt> {
        let mut pause = FIRST_PAUSE;
        loop {
            match write(&*self.journal).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Halt::Lost),
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    tracing::warn!(run.id = %self.run.id, %error, "The journal of a run could not be written; retrying");
                }
                Err(error) => return Err(Halt::Failed(error)),
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
