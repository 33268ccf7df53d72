//! The event stream of one turn, which reconnects after a disconnect.

use std::time::Duration;

use anyhow::bail;
use axum::http::Method;
use haft_core::Message;
use tokio::time::{Instant, sleep};

use crate::cli_error::OrFail as _;
use crate::client::{ApiClient, Event, Events, is_unreachable};
use crate::commands::path_segment;
use crate::messages;

/// Maximum time for reconnecting to an unreachable server.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause before the next attempt to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct TurnStream<'a> {
    client: &'a ApiClient,
    /// `None` while disconnected.
    events: Option<Events>,
    pub(super) conversation: Option<String>,
    /// An event that is returned again by the next call of [`TurnStream::next`].
    pushed_back: Option<Event>,
    /// The id of the last event.
    pub(super) last: Option<String>,
    /// The number of the turn, once its first event has arrived. Events of other turns are ignored.
    turn: Option<u64>,
    /// The time of the first failed attempt to reconnect.
    disconnected_at: Option<Instant>,
}

impl<'a> TurnStream<'a> {
    /// Returns the stream of a turn whose events are already open.
    pub(super) fn new(client: &'a ApiClient, events: Events, conversation: Option<String>) -> Self {
        Self {
            client,
            events: Some(events),
            conversation,
            pushed_back: None,
            last: None,
            turn: None,
            disconnected_at: None,
        }
    }

    /// Returns the stream of the next turn of a conversation, after the event `last`.
    pub(super) fn resume(client: &'a ApiClient, conversation: String, last: Option<String>) -> Self {
        Self {
            client,
            events: None,
            conversation: Some(conversation),
            pushed_back: None,
            last,
            turn: None,
            disconnected_at: None,
        }
    }

    /// Pushes an event back into the stream.
    pub(super) fn with_event(self, event: Event) -> Self {
        Self { pushed_back: Some(event), ..self }
    }

    /// Returns the next event. Cancel-safe: dropping the future loses no event.
    pub(super) async fn next(&mut self) -> anyhow::Result<Event> {
        if let Some(event) = self.pushed_back.take() {
            return Ok(event);
        }
        loop {
            let Some(events) = &mut self.events else {
                self.reconnect().await?;
                continue;
            };
            let Some(event) = events.next().await else {
                self.events = None;
                sleep(RECONNECT_PAUSE).await;
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

    async fn reconnect(&mut self) -> anyhow::Result<()> {
        let conversation = self.conversation.as_ref().or_fail(|| Message::new(&messages::BROKE_OFF))?;
        let since = *self.disconnected_at.get_or_insert_with(Instant::now);
        let path = format!("/api/conversations/{}/events", path_segment(conversation));
        match self.client.events(Method::GET, &path, Vec::new(), self.last.as_deref()).await {
            Ok(Ok(events)) => {
                self.events = Some(events);
                self.disconnected_at = None;
            }
            Ok(Err(refused)) => bail!("{}", refused.message),
            Err(error) if is_unreachable(&error) && since.elapsed() < RECONNECT_TIMEOUT => {
                sleep(RECONNECT_PAUSE).await
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
