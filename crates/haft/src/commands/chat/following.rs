//! One turn, event by event, also when the connection breaks in its midst.

use std::time::Duration;

use anyhow::bail;
use axum::http::Method;
use haft_core::Message;
use tokio::time::{Instant, sleep};

use crate::commands::encoded;
use crate::door::{Door, Event, Events, is_unreachable};
use crate::messages;
use crate::refusal::OrFail as _;

/// So long a server may be away.
const PATIENCE: Duration = Duration::from_secs(60);

/// And so long one waits before the next try.
const PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Following<'a> {
    door: &'a Door,
    /// Nothing while there is no connection.
    events: Option<Events>,
    pub(super) conversation: Option<String>,
    /// An event that was taken out already.
    ahead: Option<Event>,
    /// The id of the last event that was seen.
    pub(super) last: Option<String>,
    /// The turn that is followed, once it has begun; what happens in others is nothing here.
    turn: Option<u64>,
    /// Since when the server is away.
    away: Option<Instant>,
}

impl<'a> Following<'a> {
    /// A turn whose events have begun to come.
    pub(super) fn of(door: &'a Door, events: Events, conversation: Option<String>) -> Self {
        Self { door, events: Some(events), conversation, ahead: None, last: None, turn: None, away: None }
    }

    /// The next turn of a conversation after what was seen.
    pub(super) fn after(door: &'a Door, conversation: String, last: Option<String>) -> Self {
        Self {
            door,
            events: None,
            conversation: Some(conversation),
            ahead: None,
            last,
            turn: None,
            away: None,
        }
    }

    /// The same with an event that is to be seen once more.
    pub(super) fn with(self, event: Event) -> Self {
        Self { ahead: Some(event), ..self }
    }

    /// What happens next. A future of it may be dropped.
    pub(super) async fn next(&mut self) -> anyhow::Result<Event> {
        if let Some(event) = self.ahead.take() {
            return Ok(event);
        }
        loop {
            let Some(events) = &mut self.events else {
                self.come_back().await?;
                continue;
            };
            let Some(event) = events.next().await else {
                self.events = None;
                sleep(PAUSE).await;
                continue;
            };
            if event.id.is_some() {
                self.last.clone_from(&event.id);
            }
            if let Some(id) = event.data["conversationId"].as_str() {
                self.conversation = Some(id.to_owned());
            }
            let turn = event.data["turn"].as_u64();
            if self.turn.is_none() {
                self.turn = turn;
            }
            if self.turn == turn {
                return Ok(event);
            }
        }
    }

    async fn come_back(&mut self) -> anyhow::Result<()> {
        let conversation = self.conversation.as_ref().or_fail(|| Message::new(&messages::BROKE_OFF))?;
        let since = *self.away.get_or_insert_with(Instant::now);
        let path = format!("/api/conversations/{}/events", encoded(conversation));
        match self.door.events(Method::GET, &path, Vec::new(), self.last.as_deref()).await {
            Ok(Ok(events)) => {
                self.events = Some(events);
                self.away = None;
            }
            Ok(Err(refused)) => bail!("{}", refused.message),
            Err(error) if is_unreachable(&error) && since.elapsed() < PATIENCE => sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
