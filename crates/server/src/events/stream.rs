//! One stream of events: stored changes after the last that the listener knows, and calls as they are made.
//!
//! It runs only while its connection takes what it gives; there is no task and no queue for it. Whoever reads
//! too slowly falls behind in the events that the engine keeps, and is dropped when those are overwritten.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt, try_unfold};
use haft_engine::CallEvent;
use haft_store::Changes;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until, timeout};

use super::conversations::{CHANGED, ConversationFeed};
use super::tasks::{TaskFeed, Told};
use super::{Filter, Place, Seat, ShownChange, frame};
use crate::api::Needs;
use crate::app::AppState;
use crate::error::{self, Failure};
use crate::visitors::Visitor;

/// So often it is asked whether the listener may still be here.
const LOOK: Duration = Duration::from_secs(1);

/// After so long without an event something is sent all the same.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A database that takes longer to tell is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many stored changes are read at once.
const PAGE: u64 = 100;

/// Events of calls that follow each other faster than this are sent together: each write costs a system call.
const CALL_INTERVAL: Duration = Duration::from_millis(5);

/// The maximum number of events of calls that are sent together.
const TOGETHER: usize = 1024;

/// The size of a piece, in bytes, beyond which no further event of a call is added.
const PIECE: usize = 64 << 10;

/// What one listener hears.
pub(crate) struct EventStream {
    app: AppState,
    visitor: Arc<Visitor>,
    filter: Filter,
    /// The first thing to send.
    opening: Option<Vec<u8>>,
    calls: Option<Receiver<Arc<CallEvent>>>,
    changes: Receiver<Arc<Changes>>,
    /// All changes up to here were sent, or are not for this listener.
    seq: u64,
    tasks: Option<TaskFeed>,
    conversations: Option<ConversationFeed>,
    /// There may be changes after that.
    is_behind: bool,
    /// They could not be read just now.
    is_resting: bool,
    /// Whether the listener's rights are known. While they are not, nothing is sent.
    is_certain: bool,
    is_over: bool,
    looks: Interval,
    sent: Instant,
    /// Events of calls are read from this moment on.
    calls_from: Instant,
    _seat: Seat,
}

impl EventStream {
    /// Begins after a change that the listener knows, or with what comes from now on.
    pub(crate) async fn begin(
        app: AppState,
        visitor: Arc<Visitor>,
        filter: Filter,
        since: Option<Place>,
    ) -> Result<Self, Failure> {
        let seat = app.listeners.seats.take(visitor.user.id)?;
        // Before it is read where changes end, so that none falls in between.
        let (changes, calls) = (app.listeners.changes(), app.tools.subscribe());
        let last = app.store.last_history_seq(visitor.space).await?;
        let seq = since.map_or(last, |since| since.change.min(last));
        let known = since.and_then(|since| since.task);
        let tasks = TaskFeed::begin(app.tasks.get(), &filter, known).await?;
        let moved = app.listeners.conversations();
        let conversations = ConversationFeed::begin(app.tasks.get(), &filter, moved).await?;
        let place = Place { change: seq, task: tasks.as_ref().map(TaskFeed::place) };
        let opening = frame::ready(place, visitor.space).map_err(error::internal)?;
        let mut looks = interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            app,
            visitor,
            filter,
            opening: Some(opening),
            calls,
            changes,
            seq,
            tasks,
            conversations,
            is_behind: seq < last,
            is_resting: false,
            is_certain: true,
            is_over: false,
            looks,
            sent: Instant::now(),
            calls_from: Instant::now(),
            _seat: seat,
        })
    }

    /// What is sent, piece by piece, until the listener may no longer be here or the server stops.
    pub(crate) fn pieces(self) -> impl Stream<Item = Result<Vec<u8>, serde_json::Error>> + Send + 'static {
        let stop = self.app.listeners.stopping();
        let pieces = try_unfold(self, |mut stream: Self| async move {
            let piece = stream.next().await?;
            Ok::<_, serde_json::Error>(piece.map(|piece| (piece, stream)))
        });
        pieces.take_until(stop.cancelled_owned())
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, serde_json::Error> {
        if let Some(opening) = self.opening.take() {
            return Ok(Some(opening));
        }
        while !self.is_over {
            let mut piece = Vec::new();
            // In this order: rights are looked at however much there is to hear.
            tokio::select! {
                biased;
                _ = self.looks.tick() => self.look(&mut piece).await,
                () = std::future::ready(()), if self.is_behind && !self.is_resting && self.is_certain => {
                    self.catch_up(&mut piece).await?;
                }
                changed = self.changes.recv() => self.changed(changed),
                () = due(&mut self.tasks), if self.is_certain => self.hear_of_tasks(&mut piece).await?,
                () = moves(&mut self.conversations), if self.is_certain => {
                    self.hear_of_conversations(&mut piece).await?;
                }
                heard = hear(&mut self.calls, self.calls_from), if self.is_certain => self.heard(heard, &mut piece)?,
            }
            if !piece.is_empty() {
                self.sent = Instant::now();
                return Ok(Some(piece));
            }
        }
        Ok(None)
    }

    /// Looks whether the listener may still be here, and shows it that we are.
    async fn look(&mut self, piece: &mut Vec<u8>) {
        let known = timeout(PATIENCE, self.app.visitors.again(&self.visitor)).await;
        match known {
            Ok(Ok(Some(visitor))) if visitor.space == self.visitor.space && visitor.may(Needs::Read) => {
                self.visitor = visitor;
                self.is_certain = true;
            }
            Ok(Ok(Some(_) | None)) => self.is_over = true,
            Ok(Err(_)) | Err(_) => self.is_certain = false,
        }
        self.is_resting = false;
        if !self.is_over && self.sent.elapsed() >= KEEP_ALIVE {
            piece.extend_from_slice(frame::STILL_THERE);
        }
    }

    /// Reads some of the changes that are not sent yet.
    async fn catch_up(&mut self, piece: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let asked = self.app.store.history_since(self.visitor.space, self.seq, PAGE);
        let Ok(Ok(entries)) = timeout(PATIENCE, asked).await else {
            // Whoever follows changes says so in the log; here it is tried again after the next look.
            self.is_resting = true;
            return Ok(());
        };
        self.is_behind = entries.len() as u64 >= PAGE;
        let sight = self.visitor.sight();
        for entry in entries {
            self.seq = self.seq.max(entry.seq);
            let change = ShownChange::from(&entry);
            if sight.shows(&entry) && self.filter.takes_change(&entry, &change.event) {
                frame::write(piece, Some(self.place()), &change.event, &change)?;
            }
        }
        Ok(())
    }

    /// Where the listener stands that has heard all so far.
    fn place(&self) -> Place {
        Place { change: self.seq, task: self.tasks.as_ref().map(TaskFeed::place) }
    }

    /// Reads what is new of tasks.
    async fn hear_of_tasks(&mut self, piece: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let Some(tasks) = &mut self.tasks else { return Ok(()) };
        // A database that is away is asked again in a while.
        let Ok(Ok(news)) = timeout(PATIENCE, tasks.read(&self.visitor)).await else { return Ok(()) };
        for news in &news {
            let told = Told::from(news);
            // Whoever comes again with this hears of all that was not told of before it.
            let place = Place { change: self.seq, task: Some(news.at.as_microsecond()) };
            if self.filter.takes_task(news, told.event) {
                frame::write(piece, Some(place), told.event, &told)?;
            }
        }
        Ok(())
    }

    /// Reads what is new of the listener's conversations.
    async fn hear_of_conversations(&mut self, piece: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let Some(feed) = &mut self.conversations else { return Ok(()) };
        let Ok(Ok(news)) = timeout(PATIENCE, feed.read(&self.visitor)).await else { return Ok(()) };
        news.iter().try_for_each(|told| frame::write(piece, None, CHANGED, told))
    }

    /// A step of the change feed.
    fn changed(&mut self, changed: Result<Arc<Changes>, RecvError>) {
        match changed {
            Ok(changes) => {
                let space = &self.visitor.space;
                // What is about people may be told in their spaces too.
                self.is_behind |=
                    changes.identity || changes.spaces.contains(space) || changes.news.contains(space);
            }
            Err(RecvError::Lagged(_)) => self.is_behind = true,
            Err(RecvError::Closed) => self.is_over = true,
        }
    }

    /// An event of a call, and those that wait behind it.
    fn heard(
        &mut self,
        heard: Result<Arc<CallEvent>, RecvError>,
        piece: &mut Vec<u8>,
    ) -> Result<(), serde_json::Error> {
        match heard {
            Ok(event) => self.write_call(&event, piece)?,
            Err(RecvError::Lagged(missed)) => return self.end_as_too_slow(missed, piece),
            Err(RecvError::Closed) => self.is_over = true,
        }
        for _ in 1..TOGETHER {
            let Some(calls) = self.calls.as_mut().filter(|_| piece.len() < PIECE) else { return Ok(()) };
            match calls.try_recv() {
                Ok(event) => self.write_call(&event, piece)?,
                Err(TryRecvError::Lagged(missed)) => return self.end_as_too_slow(missed, piece),
                Err(TryRecvError::Empty | TryRecvError::Closed) => {
                    self.calls_from = Instant::now() + CALL_INTERVAL;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn end_as_too_slow(&mut self, missed: u64, piece: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        self.is_over = true;
        frame::dropped(piece, missed)
    }

    fn write_call(&self, event: &CallEvent, piece: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let space = self.visitor.space;
        if event.space != space || !self.filter.takes_call(event, self.app.tools.in_space(space)) {
            return Ok(());
        }
        // Without an id: what is stored nowhere cannot be asked for again.
        frame::write(piece, None, event.stage.name(), event)
    }
}

/// When there may be news of tasks; never, where there are none.
async fn due(tasks: &mut Option<TaskFeed>) {
    match tasks {
        Some(tasks) => tasks.due().await,
        None => std::future::pending().await,
    }
}

/// When there may be news of conversations; never, where there are none.
async fn moves(conversations: &mut Option<ConversationFeed>) {
    match conversations {
        Some(conversations) => conversations.due().await,
        None => std::future::pending().await,
    }
}

/// The next event of a call, not before a moment; never, where there are none.
async fn hear(
    calls: &mut Option<Receiver<Arc<CallEvent>>>,
    from: Instant,
) -> Result<Arc<CallEvent>, RecvError> {
    match calls {
        Some(calls) => {
            if Instant::now() < from {
                sleep_until(from).await;
            }
            calls.recv().await
        }
        None => std::future::pending().await,
    }
}
