//! Follows a conversation: reads the logs of its turns by a cursor. The log of a turn that this process executes is read
//! while it grows; the journal's replay of any other turn is a log of generation 0.
//!
//! A follower that reconnects with its cursor misses no event, even after a restart of the server. If its generation of a
//! turn no longer exists, it receives a reset, and the events of the turn from the first one.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{CallError, RunId, SpaceId};
use haft_runs::Run;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::conversations::Conversations;
use crate::event::ChatEvent;
use crate::transcript::Transcript;
use crate::turn_cursor::TurnCursor;
use crate::turn_log::TurnLog;

/// The interval at which the journal is read during a turn of another process.
const POLL_OPEN: Duration = Duration::from_millis(400);

/// The interval at which the journal is read between turns.
const POLL_IDLE: Duration = Duration::from_secs(2);

/// The time that a claimed turn may take to begin its log.
const BEGIN_TIMEOUT: Duration = Duration::from_millis(50);

/// An event for a follower.
#[derive(Debug, Clone)]
pub struct FollowedEvent {
    /// The position after the event.
    pub cursor: TurnCursor,
    pub turn: u32,
    /// `None` if all earlier events of the turn are withdrawn.
    pub event: Option<Arc<ChatEvent>>,
}

/// Follows a conversation.
pub struct Follower {
    conversations: Conversations,
    space: SpaceId,
    id: RunId,
    cursor: TurnCursor,
    begins: watch::Receiver<u64>,
    /// The events of a turn are needed only when it has ended.
    reads_whole_turns: bool,
    /// The version of the run that was read last.
    version: Option<(u64, Timestamp)>,
    /// The log that is read. Its receiver counts this follower.
    log: Option<(Arc<TurnLog>, watch::Receiver<usize>)>,
}

impl Conversations {
    /// Follows a conversation from a cursor.
    pub fn follow(&self, space: SpaceId, conversation: RunId, cursor: TurnCursor) -> Follower {
        Follower {
            conversations: self.clone(),
            space,
            id: conversation,
            cursor,
            begins: self.turn_logs().begins(),
            reads_whole_turns: false,
            version: None,
            log: None,
        }
    }

    /// Returns the position before the running turn of a conversation, or after its last turn.
    pub fn last_cursor(&self, run: &Run, steps: &[haft_runs::Step]) -> Result<TurnCursor, CallError> {
        // The log of a turn that this process executes is newer than the journal.
        if let Some(log) = self.turn_logs().find(run.id) {
            let turn = if log.is_complete() { log.turn } else { log.turn.saturating_sub(1) };
            return Ok(TurnCursor::end_of(turn));
        }
        if run.is_idle() {
            return Ok(TurnCursor::end_of(Transcript::last_of(steps)));
        }
        Ok(Transcript::read(run, steps)?.last_cursor())
    }

    async fn transcript(&self, run: &Run) -> Result<Transcript, CallError> {
        Transcript::read(run, &self.0.host.conversation_steps(run.space, run.id).await?)
    }
}

impl Transcript {
    /// Returns the position before the running turn, or after the last turn.
    pub fn last_cursor(&self) -> TurnCursor {
        TurnCursor::end_of(self.open().map_or(self.last, |open| open.turn.saturating_sub(1)))
    }
}

impl Follower {
    /// Returns the events of a turn only when it has ended.
    #[must_use]
    pub fn by_whole_turns(mut self) -> Self {
        self.reads_whole_turns = true;
        self
    }

    /// Waits for the next events. Returns `None` if the conversation has ended or was deleted.
    pub async fn next(&mut self) -> Result<Option<Vec<FollowedEvent>>, CallError> {
        loop {
            self.begins.mark_unchanged();
            // The rest of the log that is read, even if another log has replaced it.
            let current = self.log.as_ref().map(|(log, _)| log.clone());
            let current =
                current.filter(|log| self.continues_with(log) && log.generation == self.cursor.generation);
            if let Some(events) = current.map(|log| self.read_live(&log)).filter(|events| !events.is_empty())
            {
                return Ok(Some(events));
            }
            if let Some(log) = self.live_log().filter(|log| self.continues_with(log)) {
                let events = self.read_live(&log);
                if !events.is_empty() {
                    return Ok(Some(events));
                }
                if !log.is_complete() {
                    self.wait_for_events(&log).await;
                    continue;
                }
            }
            if self.conversations.is_executing(self.id) && self.version.is_none() {
                // A turn that this process has just claimed begins its log in a moment.
                self.wait_for_begin(BEGIN_TIMEOUT).await;
                if self.live_log().is_some_and(|log| self.continues_with(&log)) {
                    continue;
                }
            }
            let Some(run) = self.run().await? else { return Ok(None) };
            let version = (run.epoch, run.changed_at);
            let is_unchanged = self.version.replace(version) == Some(version);
            let is_open = !run.is_idle();
            if !is_unchanged || is_open {
                let events = self.read_journal(&run).await?;
                if !events.is_empty() {
                    return Ok(Some(events));
                }
            }
            if run.status.is_final() {
                return Ok(None);
            }
            self.wait_for_begin(if is_open { POLL_OPEN } else { POLL_IDLE }).await;
        }
    }

    fn live_log(&self) -> Option<Arc<TurnLog>> {
        self.conversations.turn_logs().find(self.id)
    }

    async fn run(&self) -> Result<Option<Run>, CallError> {
        self.conversations.0.host.conversation(self.space, self.id).await
    }

    /// Reads the turns of the journal after the cursor.
    async fn read_journal(&mut self, run: &Run) -> Result<Vec<FollowedEvent>, CallError> {
        let transcript = self.conversations.transcript(run).await?;
        let mut events = Vec::new();
        if self.cursor.turn > transcript.last && self.cursor.count.is_some() {
            // The turn was lost before it was persisted.
            let cursor = TurnCursor::end_of(transcript.last);
            let turn = std::mem::replace(&mut self.cursor, cursor).turn;
            events.push(FollowedEvent { cursor, turn, event: None });
        }
        let live = self.live_log().filter(|log| !log.is_complete()).map(|log| log.turn);
        let first = self.cursor.turn;
        // A conversation that could not continue has ended in the middle of its turn.
        let failed = run.output.as_ref().and_then(|output| output.get("error"));
        for turn in transcript.turns.iter().filter(|turn| turn.turn >= first) {
            if turn.end.is_none() && live == Some(turn.turn) {
                // Its log is read instead.
                if turn.turn > self.cursor.turn {
                    self.cursor = TurnCursor::start(turn.turn, 0);
                }
                break;
            }
            let log = TurnLog::replay(turn);
            if let Some(error) = failed.filter(|_| turn.end.is_none()) {
                ChatEvent::conversation_failed(error).into_iter().for_each(|event| log.emit(event));
            }
            events.extend(self.read(&log));
        }
        Ok(events)
    }

    /// Waits until this process begins a turn of the conversation, or the pause is over.
    async fn wait_for_begin(&mut self, pause: Duration) {
        let begun = async {
            while self.begins.changed().await.is_ok() {
                if self.conversations.turn_logs().find(self.id).is_some_and(|log| !log.is_complete()) {
                    return;
                }
            }
        };
        let _ = timeout(pause, begun).await;
    }

    /// Returns false if a message is in no turn, and will begin none.
    pub(crate) async fn may_contain(&self, message: &str) -> Result<bool, CallError> {
        let Some(run) = self.run().await? else { return Ok(true) };
        if !run.is_idle() {
            return Ok(true);
        }
        let transcript = self.conversations.transcript(&run).await?;
        let is_pending = transcript.pending_messages.iter().any(|pending| pending.id() == Some(message));
        Ok(is_pending || transcript.turn_of(message).is_some())
    }

    /// Returns true if the log contains the next events.
    fn continues_with(&self, log: &TurnLog) -> bool {
        match self.cursor.count {
            None => log.turn == self.cursor.turn.saturating_add(1),
            Some(_) => log.turn == self.cursor.turn,
        }
    }

    /// Reads a log of this process, and counts as its follower.
    fn read_live(&mut self, log: &Arc<TurnLog>) -> Vec<FollowedEvent> {
        if !self.log.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, log)) {
            self.log = Some((log.clone(), log.count()));
            if !self.reads_whole_turns {
                log.read_in_parts();
            }
        }
        let events = self.read(log);
        if self.reads_whole_turns && self.cursor.count.is_none() {
            self.conversations.turn_logs().remove_read(self.id, log);
        }
        events
    }

    /// Reads a log from the cursor. The events of another generation of the same turn are withdrawn first.
    fn read(&mut self, log: &TurnLog) -> Vec<FollowedEvent> {
        let (turn, generation) = (log.turn, log.generation);
        let mut events = Vec::new();
        let is_same_turn = self.cursor.turn == turn;
        match self.cursor.count {
            None if is_same_turn => return events,
            Some(count) if is_same_turn && (self.cursor.generation == generation || count == 0) => {
                self.cursor.generation = generation;
            }
            Some(_) if is_same_turn => {
                self.cursor = TurnCursor::start(turn, generation);
                events.push(FollowedEvent { cursor: self.cursor, turn, event: None });
            }
            Some(_) | None => self.cursor = TurnCursor::start(turn, generation),
        }
        for event in log.events(self.cursor.count.unwrap_or_default()) {
            self.cursor.count = match event.is_last() {
                true => None,
                false => Some(self.cursor.count.unwrap_or_default() + 1),
            };
            events.push(FollowedEvent { cursor: self.cursor, turn, event: Some(event) });
        }
        events
    }

    /// Waits for more events of a log. Another process may have continued the turn, so this checks the run at intervals.
    async fn wait_for_events(&mut self, log: &TurnLog) {
        let Some((_, count)) = &mut self.log else { return };
        let known = self.cursor.count.unwrap_or_default();
        let more = async {
            if self.reads_whole_turns {
                log.completion().wait_for(|is_complete| *is_complete).await.is_ok()
            } else {
                count.wait_for(|count| *count > known).await.is_ok()
            }
        };
        if timeout(POLL_IDLE, more).await.is_err() && !log.is_complete() {
            let is_here = self.conversations.is_executing(self.id);
            let run = self.run().await;
            let is_stale = !is_here
                && run.is_ok_and(|run| run.is_none_or(|run| run.status.is_final() || !log.is_of(run.epoch)));
            if is_stale {
                self.conversations.turn_logs().remove(self.id, log);
            }
        }
    }
}
