//! What a listener hears of its own conversations: that one began, went on, came to rest, was renamed or deleted.
//!
//! How they stand is read in the store, wherever they are carried on; what leaves no trace there is told by this server
//! alone. Nothing of this can be asked for again: whoever comes back reads the list.

use std::collections::HashMap;
use std::time::Duration;

use haft_core::{CallError, RunId, SpaceId, UserId};
use haft_store::{ChangedConversation, RunJournal};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use super::Filter;
use crate::chat::shown;
use crate::tasks::Tasks;
use crate::visitors::Visitor;

pub(super) const CHANGED: &str = "conversation.changed";

/// So often at most it is looked for news.
const PACE: Duration = Duration::from_millis(200);

/// And so often at least: a turn ends by itself, and other processes carry conversations on too.
const LOOK: Duration = Duration::from_secs(1);

/// About so many are told of at once.
const TOGETHER: usize = 200;

/// A conversation of somebody's of which the store does not tell by itself that it changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    pub(crate) space: SpaceId,
    pub(crate) user: UserId,
    pub(crate) id: RunId,
    /// As the event says it.
    pub(crate) status: &'static str,
}

/// The conversations of one user in a space, as one listener hears of them.
pub(super) struct ConversationFeed {
    journal: RunJournal,
    begins: watch::Receiver<u64>,
    moved: Receiver<Moved>,
    heard: Vec<Moved>,
    pace: Interval,
    look: Instant,
    /// Everything up to here was told of, but for what is committed late.
    since: Timestamp,
    /// And of that moment, everything up to this one.
    last: String,
    /// What was told of lately, and may be read again.
    told: HashMap<RunId, Timestamp>,
}

/// One event, as it is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    #[serde(rename = "type")]
    event: &'static str,
    conversation_id: RunId,
    /// `deleted` where it is no longer there.
    status: &'static str,
}

impl ConversationFeed {
    /// Nothing where the listener does not want to hear of them.
    pub(super) async fn begin(
        tasks: Option<&Tasks>,
        filter: &Filter,
        moved: Receiver<Moved>,
    ) -> Result<Option<Self>, CallError> {
        let Some(tasks) = tasks.filter(|_| filter.takes_conversations()) else { return Ok(None) };
        let journal = tasks.journal.clone();
        let begins = tasks.conversations.turn_logs().begins();
        let since = journal.now().await?;
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (heard, look, last, told) = (Vec::new(), Instant::now(), String::new(), HashMap::new());
        Ok(Some(Self { journal, begins, moved, heard, pace, look, since, last, told }))
    }

    /// Waits until there may be news.
    pub(super) async fn due(&mut self) {
        self.pace.tick().await;
        tokio::select! {
            // Whether one was missed makes no difference: the store tells.
            _ = self.begins.changed() => {}
            moved = self.moved.recv() => self.heard.extend(moved),
            () = sleep_until(self.look) => {}
        }
    }

    /// What is new since the last time, in order.
    pub(super) async fn read(&mut self, visitor: &Visitor) -> Result<Vec<Told>, CallError> {
        let (space, user) = (visitor.space, visitor.user.id);
        self.look = Instant::now() + LOOK;
        while let Ok(moved) = self.moved.try_recv() {
            self.heard.push(moved);
        }
        let late = self.journal.max_commit_delay();
        let mut from = match late.is_zero() {
            true => (self.since, self.last.clone()),
            false => (self.since.saturating_sub(late).unwrap_or(self.since), String::new()),
        };
        let mut news: Vec<Told> = Vec::new();
        loop {
            let (changed, is_all) =
                self.journal.changed_conversations(space, user, (from.0, &from.1)).await?;
            for ChangedConversation { id, status, waiting_for, at } in changed {
                from = (at, id.to_string());
                if self.told.insert(id, at) != Some(at) {
                    news.push(Told::new(id, shown::standing(status, waiting_for.as_deref())));
                }
            }
            if from.0 >= self.since {
                (self.since, self.last) = from.clone();
            }
            if is_all || news.len() >= TOGETHER {
                break;
            }
        }
        let kept = self.since.saturating_sub(late).unwrap_or(self.since);
        self.told.retain(|_, at| *at >= kept);
        let own = self.heard.drain(..).filter(|moved| (moved.space, moved.user) == (space, user));
        news.extend(own.map(|moved| Told::new(moved.id, moved.status)));
        Ok(news)
    }
}

impl Told {
    fn new(conversation_id: RunId, status: &'static str) -> Self {
        Self { event: CHANGED, conversation_id, status }
    }
}
