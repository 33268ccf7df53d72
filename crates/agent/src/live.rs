//! Turns that this process carries on, for whoever follows them while they happen.
//!
//! Only what is under way is here, and for a moment what has just ended, unless it was heard as a whole; all else is in
//! the journal.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::{CallId, RunId, UserId};
use haft_runs::Run;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::event::ChatEvent;

/// Whoever was cut off in the middle of a turn finds it here for so long after its end.
const REMEMBERED: Duration = Duration::from_secs(20);

/// And so many of them, at most.
const MOST_REMEMBERED: usize = 1024;

/// All turns under way in this process.
pub struct Live {
    talks: Mutex<HashMap<RunId, Arc<Talk>>>,
    /// How many turns were begun, ever.
    begun: watch::Sender<u64>,
    /// Those that have ended and are still known, the oldest first, by their streams.
    ended: Mutex<VecDeque<(Instant, RunId, u32)>>,
    /// How many conversations of each user are carried on here.
    users: Mutex<HashMap<Option<UserId>, usize>>,
}

/// One conversation of a user that is carried on.
pub(crate) struct Entered<'a> {
    live: &'a Live,
    user: Option<UserId>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut users = self.live.users();
        if let Some(count) = users.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                users.remove(&self.user);
            }
        }
    }
}

/// One turn while it happens.
pub struct Talk {
    pub turn: u32,
    /// Another one where the turn is carried on by another process, or once more.
    pub stream: u32,
    /// Words that were told cannot be taken back.
    pub(crate) is_final: bool,
    /// The claim of the run under which it was carried on last.
    epoch: AtomicU64,
    /// Somebody hears it piece by piece, and may come back for the rest.
    is_watched: AtomicBool,
    state: Mutex<State>,
    count: watch::Sender<usize>,
    /// Whether all of it was told.
    over: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    events: Vec<Arc<ChatEvent>>,
    /// Calls whose results, or that these come later, were told.
    told: HashSet<(CallId, bool)>,
    /// How it ended, told once that is kept.
    ending: Vec<ChatEvent>,
    is_over: bool,
}

impl Default for Live {
    fn default() -> Self {
        let (ended, users) = (Mutex::default(), Mutex::default());
        Self { talks: Mutex::default(), begun: watch::Sender::new(0), ended, users }
    }
}

impl Live {
    fn talks(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Talk>>> {
        self.talks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a conversation that is under way here, or was a moment ago.
    pub fn talk(&self, conversation: RunId) -> Option<Arc<Talk>> {
        self.talks().get(&conversation).cloned()
    }

    /// Tells that some turn was begun.
    pub fn begins(&self) -> watch::Receiver<u64> {
        self.begun.subscribe()
    }

    /// Begins a turn, or goes on with it; what happened in it before is told first.
    pub(crate) fn begin(&self, run: &Run, turn: u32, before: impl FnOnce() -> Vec<ChatEvent>) -> Arc<Talk> {
        let (conversation, epoch) = (run.id, run.epoch);
        let mut talks = self.talks();
        let is_same = |talk: &&Arc<Talk>| {
            // Nobody else carried it on meanwhile.
            let is_next = talk.is_of(epoch.saturating_sub(1));
            talk.turn == turn && is_next && !talk.is_over()
        };
        if let Some(talk) = talks.get(&conversation).filter(is_same) {
            talk.epoch.store(epoch, Ordering::Relaxed);
            return talk.clone();
        }
        let talk = Arc::new(Talk::new(turn));
        talk.epoch.store(epoch, Ordering::Relaxed);
        before().into_iter().for_each(|event| talk.tell(event));
        talks.insert(conversation, talk.clone());
        drop(talks);
        self.begun.send_modify(|begun| *begun += 1);
        talk
    }

    /// Remembers for a while that a turn has ended, and forgets those that ended long ago.
    fn remember(&self, conversation: RunId, stream: u32) {
        let (now, mut old) = (Instant::now(), Vec::new());
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push_back((now, conversation, stream));
        let is_old = |(at, ..): &(Instant, RunId, u32)| now.duration_since(*at) > REMEMBERED;
        while ended.len() > MOST_REMEMBERED || ended.front().is_some_and(is_old) {
            old.extend(ended.pop_front());
        }
        drop(ended);
        let mut talks = self.talks();
        for (_, conversation, stream) in old {
            if talks.get(&conversation).is_some_and(|talk| talk.stream == stream) {
                talks.remove(&conversation);
            }
        }
    }

    /// Ends a turn whose conversation cannot go on.
    pub(crate) fn fail(&self, conversation: RunId, error: &Value) {
        if let Some(talk) = self.talk(conversation).filter(|talk| !talk.is_over()) {
            talk.end(ChatEvent::conversation_failed(error));
        }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Option<UserId>, usize>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many conversations of a user are carried on here right now.
    pub(crate) fn of_user(&self, user: Option<UserId>) -> usize {
        self.users().get(&user).copied().unwrap_or_default()
    }

    /// Counts one more, until what it gives is dropped.
    pub(crate) fn enter(&self, user: Option<UserId>) -> Entered<'_> {
        *self.users().entry(user).or_default() += 1;
        Entered { live: self, user }
    }

    /// Forgets a turn that is told by others from now on: another process carries it on, or the journal has it.
    pub fn forget(&self, conversation: RunId, stale: &Talk) {
        let mut talks = self.talks();
        if talks.get(&conversation).is_some_and(|talk| talk.stream == stale.stream) {
            talks.remove(&conversation);
        }
    }

    /// Forgets a turn that was heard as a whole, unless somebody hears it in pieces: nobody comes back for the rest.
    pub fn heard(&self, conversation: RunId, whole: &Talk) {
        if !whole.is_watched.load(Ordering::Relaxed) {
            self.forget(conversation, whole);
        }
    }

    /// Emits the end of a turn, because everything that the conversation did is persisted now.
    pub(crate) fn released(&self, conversation: RunId) {
        let Some(talk) = self.talk(conversation) else { return };
        talk.tell_ending();
        // What waits takes no memory, unless somebody listens.
        if talk.is_over() {
            self.remember(conversation, talk.stream);
        } else if talk.followers() == 0 {
            self.forget(conversation, &talk);
        }
    }
}

impl Talk {
    /// A turn that nobody has heard of yet.
    pub(crate) fn new(turn: u32) -> Self {
        // Enough to tell one stream from another of the same turn.
        let stream = (Uuid::now_v7().as_u128() & 0xffff_ffff) as u32;
        let (count, over) = (watch::Sender::new(0), watch::Sender::new(false));
        Self {
            turn,
            stream,
            is_final: false,
            epoch: AtomicU64::new(0),
            is_watched: AtomicBool::new(false),
            state: Mutex::default(),
            count,
            over,
        }
    }

    /// One whose words go where they cannot be taken back.
    pub fn unkept() -> Self {
        Self { is_final: true, ..Self::new(1) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody who follows.
    pub(crate) fn tell(&self, event: ChatEvent) {
        let mut state = self.state();
        let came = match &event {
            ChatEvent::Result { call_id, .. } => Some((call_id.clone(), true)),
            ChatEvent::Pending { call_id, .. } => Some((call_id.clone(), false)),
            ChatEvent::TurnStart { .. }
            | ChatEvent::Text { .. }
            | ChatEvent::Reasoning { .. }
            | ChatEvent::MessageReset { .. }
            | ChatEvent::Call { .. }
            | ChatEvent::Warning { .. }
            | ChatEvent::MessageDone { .. }
            | ChatEvent::Usage(_)
            | ChatEvent::Error(_)
            | ChatEvent::Done { .. } => None,
        };
        // What the journal tells once more need not be told again.
        if came.is_some_and(|came| !state.told.insert(came)) {
            return;
        }
        let is_last = event.is_last();
        state.events.push(Arc::new(event));
        if is_last {
            state.is_over = true;
        }
        let count = state.events.len();
        drop(state);
        self.count.send_replace(count);
        if is_last {
            self.over.send_replace(true);
        }
    }

    /// Says how it ends, to be told once that is kept.
    pub(crate) fn end(&self, ending: Vec<ChatEvent>) {
        self.state().ending = ending;
    }

    pub(crate) fn tell_ending(&self) {
        let ending = std::mem::take(&mut self.state().ending);
        ending.into_iter().for_each(|event| self.tell(event));
    }

    /// The words that were told of a step and not taken back; nothing where there were none.
    pub(crate) fn text_of(&self, wanted: u32) -> Option<String> {
        let mut words = String::new();
        for event in &self.state().events {
            match &**event {
                ChatEvent::Text { step, text } if *step == wanted => words.push_str(text),
                ChatEvent::MessageReset { step } if *step == wanted => words.clear(),
                ChatEvent::Text { .. }
                | ChatEvent::MessageReset { .. }
                | ChatEvent::TurnStart { .. }
                | ChatEvent::Reasoning { .. }
                | ChatEvent::Call { .. }
                | ChatEvent::Pending { .. }
                | ChatEvent::Result { .. }
                | ChatEvent::Warning { .. }
                | ChatEvent::MessageDone { .. }
                | ChatEvent::Usage(_)
                | ChatEvent::Error(_)
                | ChatEvent::Done { .. } => {}
            }
        }
        (!words.is_empty()).then_some(words)
    }

    /// What happened from a number on.
    pub fn events(&self, from: usize) -> Vec<Arc<ChatEvent>> {
        self.state().events.get(from..).unwrap_or_default().to_vec()
    }

    /// How many things happened, and a way to wait for more.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Says that somebody hears it piece by piece.
    pub fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// A way to wait until all of it was told.
    pub fn over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }

    /// Whether it was carried on under this claim of its run.
    pub fn is_of(&self, epoch: u64) -> bool {
        self.epoch.load(Ordering::Relaxed) == epoch
    }

    /// So many follow it right now.
    pub fn followers(&self) -> usize {
        self.count.receiver_count()
    }

    /// Whether nothing more happens in it.
    pub fn is_over(&self) -> bool {
        self.state().is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Finish;

    #[tokio::test(start_paused = true)]
    async fn what_has_ended_is_known_for_a_while_and_not_in_any_number() {
        let live = Live::default();
        let begin = |id: RunId| {
            let run = Run::ephemeral(id, Uuid::nil().into(), None, "chat", Value::Null);
            live.begin(&run, 1, Vec::new)
        };
        let end = |talk: &Talk, id: RunId| {
            talk.end(vec![ChatEvent::Done { finish: Finish::Stop, steps: 1 }]);
            live.released(id);
        };
        let ids: Vec<RunId> = (0..=MOST_REMEMBERED).map(|_| Uuid::now_v7().into()).collect();
        let under_way = begin(Uuid::now_v7().into());
        for id in &ids {
            end(&begin(*id), *id);
        }
        let is_known = |place: usize| live.talk(ids[place]).is_some();
        assert_eq!((is_known(0), is_known(1), is_known(MOST_REMEMBERED)), (false, true, true));
        // The next turn of a conversation whose last one is forgotten.
        let again = begin(ids[1]);
        tokio::time::advance(REMEMBERED * 2).await;
        let other = Uuid::now_v7().into();
        end(&begin(other), other);
        assert_eq!((is_known(1), is_known(2), live.talk(other).is_some()), (true, false, true));
        assert!(!again.is_over() && !under_way.is_over());
        assert_eq!(live.talks().len(), 3);
        // Heard as a whole, one is needed no more; in pieces it is, by whoever is cut off.
        for is_watched in [false, true] {
            let id = Uuid::now_v7().into();
            let talk = begin(id);
            if is_watched {
                talk.watch();
            }
            end(&talk, id);
            live.heard(id, &talk);
            assert_eq!(live.talk(id).is_some(), is_watched);
        }
    }
}
