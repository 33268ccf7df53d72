//! A turn while it happens, whoever keeps it, and what it came to.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::{
    ChatEvent, ConversationInput, Conversations, Disconnect, EnclosingTurn, EphemeralTurn, SentMessage, Turn,
    TurnLog, TurnStream,
};
use haft_core::{CallError, Caller, ErrorKind, RunId, SpaceId};
use haft_store::RunJournal;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::chat::transcript;
use crate::tasks::Tasks;

/// A turn that somebody waits for. Dropped before its end, the turn is cancelled.
pub(super) struct Course {
    /// The run that it is part of; a number that nobody has where it is kept by nobody.
    pub(super) run: RunId,
    /// The conversation that it is part of.
    pub(super) conversation: Option<RunId>,
    way: Way,
}

enum Way {
    Ephemeral(Box<Ephemeral>),
    Run { own: Box<TurnStream>, journal: RunJournal, space: SpaceId },
}

struct Ephemeral {
    log: Arc<TurnLog>,
    count: watch::Receiver<usize>,
    /// So many events were heard.
    heard: usize,
    work: Option<JoinHandle<Result<Turn, CallError>>>,
    ended: Option<Result<Turn, CallError>>,
    _cancel: DropGuard,
}

/// One thing that was heard; nothing when all of the turn is told anew.
pub(super) type Heard = Option<Arc<ChatEvent>>;

impl Course {
    /// A turn that is forgotten when it is over.
    pub(super) fn ephemeral(
        conversations: &Conversations,
        caller: &Caller,
        input: ConversationInput,
    ) -> Self {
        let (log, cancel) = (Arc::new(TurnLog::ephemeral()), CancellationToken::new());
        let (conversations, caller) = (conversations.clone(), caller.clone());
        let enclosing = EnclosingTurn::default();
        let turn = EphemeralTurn { input, log: log.clone(), enclosing, cancel: cancel.clone() };
        #[expect(clippy::disallowed_methods, reason = "the turn is cancelled when the client disconnects")]
        let work = tokio::spawn(async move { conversations.run_ephemeral(&caller, turn).await });
        let count = log.count();
        let _cancel = cancel.drop_guard();
        let ephemeral = Ephemeral { log, count, heard: 0, work: Some(work), ended: None, _cancel };
        let way = Way::Ephemeral(Box::new(ephemeral));
        Self { run: RunId::from(Uuid::now_v7()), conversation: None, way }
    }

    /// The turn of a run that a message begins.
    pub(super) fn of_run(tasks: &Tasks, caller: &Caller, sent: SentMessage) -> Self {
        let run = sent.conversation;
        // Clients of this interface do not reconnect to a stream.
        let disconnect = Disconnect::CancelAfter(Duration::ZERO);
        let own = Box::new(tasks.conversations.follow_turn(caller.space, sent, disconnect));
        let way = Way::Run { own, journal: tasks.journal.clone(), space: caller.space };
        Self { run, conversation: None, way }
    }

    pub(super) fn kept_as(mut self, conversation: Option<RunId>) -> Self {
        self.conversation = conversation;
        self
    }

    /// The number of the turn, once it has begun.
    pub(super) fn turn(&self) -> Option<u32> {
        match &self.way {
            Way::Ephemeral(ephemeral) => Some(ephemeral.log.turn),
            Way::Run { own, .. } => own.turn(),
        }
    }

    /// What happens next; nothing when the turn is over.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Heard>>, CallError> {
        match &mut self.way {
            Way::Ephemeral(ephemeral) => Ok(ephemeral.next().await),
            Way::Run { own, .. } => {
                let told = own.next().await?;
                Ok(told.map(|told| told.into_iter().map(|told| told.event).collect()))
            }
        }
    }

    /// What the turn came to, once it is over.
    pub(super) async fn end(&mut self) -> Result<Turn, CallError> {
        match &mut self.way {
            Way::Ephemeral(ephemeral) => ephemeral.end().await,
            Way::Run { own, journal, space } => {
                while own.next().await?.is_some() {}
                let run = journal.get(*space, own.conversation()).await?.ok_or_else(lost)?;
                let transcript = transcript(journal, &run).await?;
                let turn = transcript.turns.into_iter().find(|turn| Some(turn.turn) == own.turn());
                turn.ok_or_else(lost)
            }
        }
    }
}

impl Ephemeral {
    /// Whoever waits for the end alone hears of nothing before it.
    async fn end(&mut self) -> Result<Turn, CallError> {
        if let Some(work) = &mut self.work {
            self.ended = Some(work.await.unwrap_or_else(|_| Err(lost())));
            self.work = None;
        }
        self.ended.take().unwrap_or_else(|| Err(lost()))
    }

    async fn next(&mut self) -> Option<Vec<Heard>> {
        loop {
            let events = self.log.events(self.heard);
            if !events.is_empty() {
                self.heard += events.len();
                return Some(events.into_iter().map(Some).collect());
            }
            let work = self.work.as_mut()?;
            let heard = self.heard;
            tokio::select! {
                // Whoever tells is still there, so there may be more to come.
                _ = self.count.wait_for(|count| *count > heard) => {}
                ended = work => {
                    self.work = None;
                    self.ended = Some(ended.unwrap_or_else(|_| Err(lost())));
                }
            }
        }
    }
}

fn lost() -> CallError {
    CallError::text(ErrorKind::Internal, "the outcome of the turn is unknown")
}
