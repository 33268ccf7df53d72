//! The input of a conversation: its agent, the first message of its user, and the parameters of the model.

use std::borrow::Cow;

use haft_core::{AgentId, CallError, ErrorKind, ModelOptions, Source};
use haft_llm::ModelTool;
use haft_runs::{Halt, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::inbox::{ChatMessage, ChatRole, InboxMessage, UserMessage};
use crate::models::ModelChoice;
use crate::transcript::Transcript;

/// The stored input of a conversation's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationInput {
    /// `None` for the default model without tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub first: UserMessage,
    pub source: Source,
    /// Overrides of the agent's configuration.
    #[serde(default)]
    pub asking: ModelParameters,
    /// Tools that the client executes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ModelTool>,
}

/// Parameters of model requests that the client sets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelParameters {
    #[serde(skip_serializing_if = "ModelChoice::is_any")]
    pub wanted: ModelChoice,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Further options in OpenAI's spelling, including the response format.
    #[serde(skip_serializing_if = "ModelOptions::is_empty")]
    pub options: ModelOptions,
}

impl ConversationInput {
    /// Returns the input with the overrides of the open turn.
    pub(crate) fn in_turn(&self, transcript: &Transcript) -> Cow<'_, Self> {
        let inbox_messages = transcript.open().into_iter().flat_map(|turn| turn.input.iter().rev());
        let Some(terms) =
            inbox_messages.filter_map(InboxMessage::turn_request).find_map(|asked| asked.terms.as_deref())
        else {
            return Cow::Borrowed(self);
        };
        let mut chat = self.clone();
        chat.asking = terms.asking.clone();
        chat.client_tools.clone_from(&terms.client_tools);
        if let Some(system) = &terms.system {
            // Later system messages stay where they are in the conversation.
            let messages = &mut chat.first.messages;
            let before = messages.iter().take_while(|message| message.role == ChatRole::System).count();
            messages.splice(..before, system.iter().cloned().map(ChatMessage::from));
        }
        if let Some(instructions) = &terms.instructions {
            chat.first.messages.insert(0, ChatMessage::text(ChatRole::System, instructions));
        }
        Cow::Owned(chat)
    }

    /// Reads the input of a conversation's run.
    pub fn of(run: &Run) -> Result<Self, Halt> {
        Self::deserialize(&*run.input).map_err(unreadable)
    }
}

pub(crate) fn unreadable(error: serde_json::Error) -> Halt {
    let message = "the stored conversation cannot be read";
    Halt::Failed(CallError::text(ErrorKind::Internal, message).caused_by(error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use haft_core::Locale;
    use jiff::Timestamp;

    use super::*;
    use crate::inbox::{Instruction, TurnRequest, TurnTerms};
    use crate::transcript::{Turn, TurnSetup};

    fn user_message(messages: Vec<ChatMessage>, terms: Option<TurnTerms>) -> UserMessage {
        let at = Timestamp::UNIX_EPOCH;
        let asked =
            TurnRequest { at, locale: Locale::En, request: None, terms: terms.map(Box::new), trace: None };
        UserMessage { id: "message".to_owned(), messages, replaces: None, tools: Vec::new(), asked }
    }

    /// The messages at the beginning of a conversation in a turn with these terms.
    fn first_messages(terms: TurnTerms) -> Vec<ChatMessage> {
        let system = ChatMessage::text(ChatRole::System, "Be brief.");
        let first = user_message(vec![system, ChatMessage::text(ChatRole::User, "hi")], None);
        let (source, asking, client_tools) = (Source::Api, ModelParameters::default(), Vec::new());
        let chat = ConversationInput { agent: None, first, source, asking, client_tools };
        let at = Timestamp::UNIX_EPOCH;
        let setup = TurnSetup { from: 0, to: 1, replaces: None, kept: BTreeMap::new(), at };
        let input = vec![InboxMessage::User(user_message(
            vec![ChatMessage::text(ChatRole::User, "well?")],
            Some(terms),
        ))];
        let turn = Turn { turn: 2, setup, input, steps: Vec::new(), end: None };
        let transcript = Transcript { turns: vec![turn], last: 2, ..Transcript::default() };
        chat.in_turn(&transcript).first.messages.clone()
    }

    #[test]
    fn instructions_of_a_turn_stand_before_those_of_the_conversation() {
        let user = ChatMessage::text(ChatRole::User, "hi");
        let [polite, brief, dry] =
            ["Be polite.", "Be brief.", "Be dry."].map(|text| ChatMessage::text(ChatRole::System, text));
        let instructions = Some("Be polite.".to_owned());
        let terms = TurnTerms { instructions: instructions.clone(), ..TurnTerms::default() };
        assert_eq!(first_messages(terms), [polite.clone(), brief.clone(), user.clone()]);
        assert_eq!(first_messages(TurnTerms::default()), [brief, user.clone()]);
        let system = Some(vec![Instruction::Text("Be dry.".to_owned())]);
        let terms = TurnTerms { system, instructions, ..TurnTerms::default() };
        assert_eq!(first_messages(terms), [polite, dry, user]);
    }
}
