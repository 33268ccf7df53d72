//! What a request of either form comes to, and how its turn is begun: kept by nobody, parked for the client's tools, or
//! as part of a conversation.

use haft_agent::{
    ChatMessage, ChatRole, ConversationInput, InboxMessage, Instruction, MessagePart, ModelParameters,
    Models as _, NewConversation, Retention, SentMessage, SpaceUser, TurnCursor, TurnRequest, TurnTerms,
    UserMessage,
};
use haft_core::{CallError, Caller, Message, RunId, Violation};
use haft_llm::ModelTool;
use haft_runs::{Run, RunKey, RunWithSteps};
use serde_json::Value;
use uuid::Uuid;

use super::course::Course;
use super::error::{missing, wrong};
use super::models::Who;
use super::reading::{Fields, no_result};
use super::{parked, provider_calls};
use crate::app::AppState;
use crate::chat::{find_conversation, said_in};
use crate::request::Asked;
use crate::routes::chat::{asked_at, last_cursor, letter_id, tasks, unsupported_option};

haft_core::templates! {
    NO_CONVERSATION = "v1.noConversation",
        "there is no conversation {name}",
        "没有对话 {name}";
    OTHER_MODEL = "v1.otherModel",
        "The conversation belongs to another agent.",
        "该对话属于另一个智能体";
    NOTHING_NEW = "v1.nothingNew",
        "There is no new message after the last answer, and no call is waiting for a result.",
        "最后一个回答之后没有新的内容，也没有等待结果的调用";
}

/// Whether somebody may find the turn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Not,
    New,
    /// In a conversation that is there; this turn and those after it are as if they had not been.
    In(RunId, Option<u32>),
}

/// All that is asked.
pub(super) struct Question {
    pub(super) who: Who,
    pub(super) asking: ModelParameters,
    /// Instructions for this turn alone.
    pub(super) instructions: Option<String>,
    /// Instructions of the client; those that a conversation has already where there are none.
    pub(super) system: Option<Vec<Instruction>>,
    /// Everything said, but for instructions.
    pub(super) history: Vec<ChatMessage>,
    /// The field of the body that has the history.
    pub(super) param: &'static str,
    /// Returns the path of a model option in the body.
    pub(super) option_path: fn(&str) -> String,
    pub(super) tools: Vec<ModelTool>,
    pub(super) keep: Keep,
}

impl Question {
    /// Begins its turn, or goes on with the one that waits for the client.
    pub(super) async fn begin(
        mut self,
        state: &AppState,
        caller: &Caller,
        asked: &Asked,
    ) -> Result<Course, CallError> {
        self.asking.wanted = self.who.wanted.clone();
        // Whom the client means is known before anything else: results come back under the name, too.
        let mut named = None;
        if let Keep::In(given, None) = self.keep {
            match found(state, caller, given).await? {
                Some(id) => self.keep = Keep::In(id, None),
                // A name of the client's own, under which it finds the conversation again.
                None => named = Some(given),
            }
        }
        if !self.results().is_empty() {
            self.check_model(state, caller).await?;
        }
        if let Some(course) = parked::go_on(&self, state, caller, asked).await? {
            return Ok(course);
        }
        match self.keep {
            Keep::In(id, replaces) if named.is_none() => self.say(state, caller, asked, id, replaces).await,
            Keep::In(..) | Keep::Not | Keep::New => self.start(state, caller, asked, named).await,
        }
    }

    /// What is said after the last answer.
    pub(super) fn news(&self) -> &[ChatMessage] {
        let last = self.history.iter().rposition(|message| message.role == ChatRole::Assistant);
        &self.history[last.map_or(0, |last| last + 1)..]
    }

    /// What the user says now, without results.
    pub(super) fn said_now(&self) -> Vec<ChatMessage> {
        let is_said = |message: &&ChatMessage| matches!(message.role, ChatRole::User | ChatRole::System);
        self.news().iter().filter(is_said).cloned().collect()
    }

    /// Results of calls that came with this request.
    pub(super) fn results(&self) -> Vec<(&str, &str)> {
        let mut results = Vec::new();
        for piece in self.news().iter().flat_map(|message| &message.content) {
            match piece {
                MessagePart::Result { call, text } => results.push((call.as_str(), text.as_str())),
                MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Call { .. } => {}
            }
        }
        results
    }

    /// When and how it is asked, with all that holds for this turn alone.
    pub(super) fn asked(&self, asked: &Asked) -> TurnRequest {
        let (asking, client_tools) = (self.asking.clone(), self.tools.clone());
        let (system, instructions) = (self.system.clone(), self.instructions.clone());
        let terms = TurnTerms { asking, client_tools, system, instructions };
        TurnRequest { terms: Some(Box::new(terms)), ..asked_at(asked) }
    }

    /// Whether a run is with whom the client asks.
    pub(super) fn is_with(&self, run: &Run) -> bool {
        run.labels.agent == self.who.agent.map(|agent| agent.to_string())
    }

    /// Begins anew with all that the client knows.
    async fn start(
        self,
        state: &AppState,
        caller: &Caller,
        asked: &Asked,
        named: Option<RunId>,
    ) -> Result<Course, CallError> {
        let tasks = tasks(state)?;
        self.check_model(state, caller).await?;
        // Instructions for one turn are no message of the conversation.
        let asked = if self.instructions.is_some() { self.asked(asked) } else { asked_at(asked) };
        let mut history = self.history;
        provider_calls::restore(tasks, caller, &mut history).await?;
        let system = self.system.into_iter().flatten().map(ChatMessage::from);
        let first = UserMessage {
            id: letter_id(None),
            messages: system.chain(history).collect(),
            replaces: None,
            tools: Vec::new(),
            asked,
        };
        let letter = first.id.clone();
        let retention = match self.keep {
            Keep::Not if self.tools.is_empty() => None,
            Keep::Not => Some(Retention::UntilToolResults),
            Keep::New | Keep::In(..) => Some(Retention::Conversation),
        };
        let chat = ConversationInput {
            agent: self.who.agent,
            first,
            source: caller.source,
            asking: self.asking,
            client_tools: self.tools,
        };
        let Some(retention) = retention else {
            return Ok(Course::ephemeral(&tasks.conversations, caller, chat));
        };
        let id = RunId::from(Uuid::now_v7());
        let key = named.map(|name| RunKey { key: key_of(name), digest: id.to_string() });
        let id =
            tasks.conversations.start(caller, NewConversation { id, input: chat, retention, key }).await?;
        let kept = (retention == Retention::Conversation).then_some(id);
        Ok(Course::of_run(
            tasks,
            caller,
            SentMessage { conversation: id, message: letter, cursor: TurnCursor::default() },
        )
        .kept_as(kept))
    }

    /// Says what is new in a conversation.
    async fn say(
        self,
        state: &AppState,
        caller: &Caller,
        asked: &Asked,
        id: RunId,
        replaces: Option<u32>,
    ) -> Result<Course, CallError> {
        let tasks = tasks(state)?;
        let whole = conversation(state, caller, id).await?;
        if !self.is_with(&whole.run) {
            return Err(wrong("model", Message::new(&OTHER_MODEL)));
        }
        let messages = self.said_now();
        if messages.is_empty() {
            return Err(wrong(self.param, Message::new(&NOTHING_NEW)));
        }
        if replaces.is_none() {
            self.check_waiting(&whole)?;
        }
        self.check_model(state, caller).await?;
        let (letter, asked) = (letter_id(None), self.asked(asked));
        let said = UserMessage { id: letter.clone(), messages, replaces, tools: Vec::new(), asked };
        let cursor = last_cursor(tasks, &whole)?;
        if !tasks.conversations.send(caller, id, InboxMessage::User(said).into()).await? {
            return Err(no_conversation(&id.to_string()));
        }
        Ok(Course::of_run(tasks, caller, SentMessage { conversation: id, message: letter, cursor })
            .kept_as(Some(id)))
    }

    /// Refuses what is said in a conversation that waits for results of the client's calls.
    fn check_waiting(&self, whole: &RunWithSteps) -> Result<(), CallError> {
        let transcript = said_in(&whole.run, &whole.steps)?;
        let Some(last) = transcript.turns.last() else { return Ok(()) };
        let missing = parked::missing_results(whole.run.id, last, &[]);
        if missing.is_empty() { Ok(()) } else { Err(no_result(self.param, &missing.join(", "))) }
    }

    /// That somebody can be asked is known before anything is kept.
    async fn check_model(&self, state: &AppState, caller: &Caller) -> Result<(), CallError> {
        let asker = SpaceUser { space: caller.space, user: caller.user };
        let chosen = state.models.find(asker, &self.who.asks).await?;
        let options = self.asking.options.or(&self.who.options);
        let here =
            |violation: Violation| Violation { path: (self.option_path)(&violation.path), ..violation };
        let invalid =
            |violations: Vec<Violation>| CallError::invalid(violations.into_iter().map(here).collect());
        options.check_supported().map_err(invalid)?;
        match chosen.model.unsupported(&options).first() {
            Some(name) if !options.drops_unsupported() => {
                Err(unsupported_option(&(self.option_path)(name), &chosen.provider))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Where `metadata.conversation_id` says that the turn belongs.
pub(super) fn keep(fields: &Fields<'_>) -> Result<Option<Keep>, CallError> {
    let Some(given) = fields.get("metadata").and_then(|metadata| metadata.get("conversation_id")) else {
        return Ok(None);
    };
    match given {
        Value::Null => Ok(None),
        Value::String(word) if word == "new" => Ok(Some(Keep::New)),
        Value::String(id) => {
            let id = id.parse().map_err(|_| no_conversation(id))?;
            Ok(Some(Keep::In(id, None)))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(wrong("metadata.conversation_id", Message::new(&super::reading::NOT_TEXT)))
        }
    }
}

/// The conversation that a client means: by its id, or by the name that the client gave it.
async fn found(state: &AppState, caller: &Caller, given: RunId) -> Result<Option<RunId>, CallError> {
    let Some(user) = caller.user else { return Ok(None) };
    let journal = &tasks(state)?.journal;
    if journal.conversation(caller.space, user, given).await?.is_some() {
        return Ok(Some(given));
    }
    let keyed = journal.keyed(caller.space, user, &key_of(given)).await?;
    Ok(keyed.filter(|run| !run.status.is_final()).map(|run| run.id))
}

/// The key by which a conversation is found that a client named.
fn key_of(name: RunId) -> String {
    format!("conversation {name}")
}

/// A conversation of who asks.
pub(super) async fn conversation(
    state: &AppState,
    caller: &Caller,
    id: RunId,
) -> Result<RunWithSteps, CallError> {
    let name = id.to_string();
    let Some(user) = caller.user else { return Err(no_conversation(&name)) };
    find_conversation(&tasks(state)?.journal, caller.space, user, id)
        .await?
        .ok_or_else(|| no_conversation(&name))
}

fn no_conversation(name: &str) -> CallError {
    missing("metadata.conversation_id", "conversation_not_found", &NO_CONVERSATION, name)
}
