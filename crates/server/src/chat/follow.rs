//! Following a conversation: turns that this process carries on as they happen, all others as the journal tells them.
//!
//! A place says what a follower knows. Whoever comes back with one misses nothing, also after a restart: where what
//! they know of a turn cannot be gone on with, the turn is told again from its beginning.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::{ChatEvent, Conversations, TurnLog};
use haft_core::{CallError, RunId, SpaceId};
use haft_runs::Run;
use haft_store::RunJournal;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::timeout;

use super::transcript;

/// A turn that another process carries on is looked at this often.
const LOOK: Duration = Duration::from_millis(400);

/// So long a turn takes to begin.
const SOON: Duration = Duration::from_millis(50);

/// And so often it is asked whether another process has begun one.
const REST: Duration = Duration::from_secs(2);

/// How far somebody has followed: so many events of a stream of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) turn: u32,
    stream: u32,
    /// Nothing when all of the turn is known.
    count: Option<usize>,
}

impl Place {
    /// After all of a turn.
    pub(crate) fn after(turn: u32) -> Self {
        Self { turn, stream: 0, count: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}-{:x}-{count}", self.turn, self.stream),
            None => write!(f, "{}", self.turn),
        }
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let turn = parts.next().and_then(|turn| turn.parse().ok()).ok_or(())?;
        let Some(stream) = parts.next() else { return Ok(Self::after(turn)) };
        let stream = u32::from_str_radix(stream, 16).map_err(|_| ())?;
        let count = parts.next().and_then(|count| count.parse().ok()).ok_or(())?;
        if parts.next().is_some() { Err(()) } else { Ok(Self { turn, stream, count: Some(count) }) }
    }
}

/// One thing that a follower hears.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    /// What they know when they know this.
    pub(crate) place: Place,
    pub(crate) turn: u32,
    /// Nothing when all that they know of the turn counts no more.
    pub(crate) event: Option<Arc<ChatEvent>>,
}

/// Somebody who follows a conversation.
pub(crate) struct Follow {
    chat: Conversations,
    journal: RunJournal,
    space: SpaceId,
    id: RunId,
    place: Place,
    begins: watch::Receiver<u64>,
    /// Whether a turn is heard as a whole, once one knows that it has begun.
    is_patient: bool,
    /// How the run stood when it was read last.
    stands: Option<(u64, Timestamp)>,
    /// Of the turn that is followed here. Whoever holds one is counted as following.
    log: Option<(Arc<TurnLog>, watch::Receiver<usize>)>,
}

impl Follow {
    pub(crate) fn new(
        chat: &Conversations,
        journal: &RunJournal,
        space: SpaceId,
        id: RunId,
        place: Place,
    ) -> Self {
        let begins = chat.turn_logs().begins();
        Self {
            chat: chat.clone(),
            journal: journal.clone(),
            space,
            id,
            place,
            begins,
            is_patient: false,
            stands: None,
            log: None,
        }
    }

    /// For somebody who needs what happened in a turn only when it is over.
    pub(crate) fn patiently(mut self) -> Self {
        self.is_patient = true;
        self
    }

    /// What happened next, however long that takes; nothing when the conversation is no more.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Told>>, CallError> {
        loop {
            self.begins.mark_unchanged();
            // What is left of the turn that is followed, also where another has taken its place.
            let followed = self.log.as_ref().map(|(log, _)| log.clone());
            let followed =
                followed.filter(|log| self.goes_on_with(log) && log.generation == self.place.stream);
            if let Some(told) = followed.map(|log| self.hear(&log)).filter(|told| !told.is_empty()) {
                return Ok(Some(told));
            }
            if let Some(log) = self.chat.turn_logs().find(self.id).filter(|log| self.goes_on_with(log)) {
                let told = self.hear(&log);
                if !told.is_empty() {
                    return Ok(Some(told));
                }
                if !log.is_complete() {
                    self.wait_for(&log).await;
                    continue;
                }
            }
            if self.chat.is_executing(self.id) && self.stands.is_none() {
                // What this process has just taken on begins in a moment.
                self.rest(SOON).await;
                if self.chat.turn_logs().find(self.id).is_some_and(|log| self.goes_on_with(&log)) {
                    continue;
                }
            }
            let Some(run) = self.journal.get(self.space, self.id).await? else { return Ok(None) };
            let stands = (run.epoch, run.changed_at);
            let is_known = self.stands.replace(stands) == Some(stands);
            let is_open = !run.is_idle();
            if !is_known || is_open {
                let told = self.catch_up(&run).await?;
                if !told.is_empty() {
                    return Ok(Some(told));
                }
            }
            if run.status.is_final() {
                return Ok(None);
            }
            self.rest(if is_open { LOOK } else { REST }).await;
        }
    }

    /// What the journal tells and the follower does not know.
    async fn catch_up(&mut self, run: &Run) -> Result<Vec<Told>, CallError> {
        let transcript = transcript(&self.journal, run).await?;
        let mut told = Vec::new();
        if self.place.turn > transcript.last && self.place.count.is_some() {
            // What was heard of it was never kept.
            let turn = std::mem::replace(&mut self.place, Place::after(transcript.last)).turn;
            told.push(Told { place: self.place, turn, event: None });
        }
        let here = self.chat.turn_logs().find(self.id).filter(|log| !log.is_complete()).map(|log| log.turn);
        let known = self.place.turn;
        // A conversation that could not go on has ended in the middle of its turn.
        let failed = run.output.as_ref().and_then(|output| output.get("error"));
        for turn in transcript.turns.iter().filter(|turn| turn.turn >= known) {
            // What is carried on here is heard from there.
            if turn.end.is_none() && here == Some(turn.turn) {
                if turn.turn > self.place.turn {
                    self.place = Place { turn: turn.turn, stream: 0, count: Some(0) };
                }
                break;
            }
            let mut events = ChatEvent::of(turn);
            if let Some(error) = failed.filter(|_| turn.end.is_none()) {
                events.extend(ChatEvent::conversation_failed(error));
            }
            told.extend(self.read(turn.turn, events));
        }
        Ok(told)
    }

    /// Waits until a turn of this conversation is begun here, or another process may have done something.
    async fn rest(&mut self, pause: Duration) {
        let begun = async {
            while self.begins.changed().await.is_ok() {
                if self.chat.turn_logs().find(self.id).is_some_and(|log| !log.is_complete()) {
                    return;
                }
            }
        };
        let _ = timeout(pause, begun).await;
    }

    /// Whether something that was said is in a turn that counts, or may still begin one.
    pub(crate) async fn may_know(&self, letter: &str) -> Result<bool, CallError> {
        let Some(run) = self.journal.get(self.space, self.id).await? else { return Ok(true) };
        if !run.is_idle() {
            return Ok(true);
        }
        let transcript = transcript(&self.journal, &run).await?;
        let is_unheard =
            transcript.pending_messages.iter().any(|pending_messages| pending_messages.id() == Some(letter));
        Ok(is_unheard || transcript.turn_of(letter).is_some())
    }

    /// Whether a turn under way here is the next thing to be heard.
    fn goes_on_with(&self, log: &TurnLog) -> bool {
        match self.place.count {
            None => log.turn == self.place.turn.saturating_add(1),
            Some(_) => log.turn == self.place.turn,
        }
    }

    fn hear(&mut self, log: &Arc<TurnLog>) -> Vec<Told> {
        if !self.log.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, log)) {
            self.log = Some((log.clone(), log.count()));
            if !self.is_patient {
                log.read_in_parts();
            }
        }
        let mut told = Vec::new();
        let turn = log.turn;
        match self.place.count {
            Some(count) if self.place.stream != log.generation && count > 0 => {
                self.place = Place { turn, stream: log.generation, count: Some(0) };
                told.push(Told { place: self.place, turn, event: None });
            }
            Some(_) => self.place.stream = log.generation,
            None => self.place = Place { turn, stream: log.generation, count: Some(0) },
        }
        for event in log.events(self.place.count.unwrap_or_default()) {
            self.step(&event);
            told.push(Told { place: self.place, turn, event: Some(event) });
        }
        if self.is_patient && self.place.count.is_none() {
            self.chat.turn_logs().remove_read(self.id, log);
        }
        told
    }

    fn step(&mut self, event: &ChatEvent) {
        self.place.count = match event.is_last() {
            true => None,
            false => Some(self.place.count.unwrap_or_default() + 1),
        };
    }

    /// What the journal tells of a turn that the follower does not know.
    fn read(&mut self, turn: u32, events: Vec<ChatEvent>) -> Vec<Told> {
        let mut told = Vec::new();
        let known = match (self.place.turn == turn, self.place.count) {
            (true, None) => return told,
            (true, Some(count)) if self.place.stream == 0 => count,
            (true, Some(0)) => 0,
            (true, Some(_)) => {
                let place = Place { turn, stream: 0, count: Some(0) };
                told.push(Told { place, turn, event: None });
                0
            }
            (false, _) => 0,
        };
        self.place = Place { turn, stream: 0, count: Some(known) };
        for event in events.into_iter().skip(known) {
            self.step(&event);
            told.push(Told { place: self.place, turn, event: Some(Arc::new(event)) });
        }
        told
    }

    /// Waits for more of a turn; not for ever, since another process may carry it on by now.
    async fn wait_for(&mut self, log: &TurnLog) {
        let Some((_, count)) = &mut self.log else { return };
        let known = self.place.count.unwrap_or_default();
        let told = async {
            if self.is_patient {
                log.completion().wait_for(|is_over| *is_over).await.is_ok()
            } else {
                count.wait_for(|count| *count > known).await.is_ok()
            }
        };
        if timeout(REST, told).await.is_err() && !log.is_complete() {
            let is_here = self.chat.is_executing(self.id);
            let stands = self.journal.get(self.space, self.id).await;
            let is_elsewhere = !is_here
                && stands
                    .is_ok_and(|run| run.is_none_or(|run| run.status.is_final() || !log.is_of(run.epoch)));
            if is_elsewhere {
                self.chat.turn_logs().remove(self.id, log);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for place in [Place::after(3), Place { turn: 2, stream: 0xabc, count: Some(17) }, Place::default()] {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for bad in ["", "x", "1-2", "1-2-3-4", "1-zz-3", "-1"] {
            assert_eq!(bad.parse::<Place>(), Err(()), "{bad}");
        }
    }
}
