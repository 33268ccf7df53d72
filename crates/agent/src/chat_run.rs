//! What a conversation is begun with: the agent, what the user said first, and how the model is asked.

use std::borrow::Cow;

use haft_core::{AgentId, CallError, ErrorKind, ModelOptions, Source};
use haft_llm::ModelTool;
use haft_runs::{Halt, Run};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::Wanted;
use crate::said::{Letter, Message, Role, Said};
use crate::transcript::Transcript;

/// A conversation as its run keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatRun {
    /// Nobody in particular: the default model, without tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub first: Said,
    pub source: Source,
    /// In place of what the agent says.
    #[serde(default)]
    pub asking: Asking,
    /// Tools that whoever asks carries out themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ModelTool>,
}

/// How the model is asked, where whoever asks says so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asking {
    #[serde(skip_serializing_if = "Wanted::is_any")]
    pub wanted: Wanted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Further options, in OpenAI's spelling; the form of the answer among them.
    #[serde(skip_serializing_if = "ModelOptions::is_empty")]
    pub options: ModelOptions,
}

impl ChatRun {
    /// The conversation on the terms of its open turn.
    pub(crate) fn in_turn(&self, transcript: &Transcript) -> Cow<'_, Self> {
        let letters = transcript.open().into_iter().flat_map(|turn| turn.input.iter().rev());
        let Some(terms) = letters.filter_map(Letter::asked).find_map(|asked| asked.terms.as_deref()) else {
            return Cow::Borrowed(self);
        };
        let mut chat = self.clone();
        chat.asking = terms.asking.clone();
        chat.client_tools.clone_from(&terms.client_tools);
        if let Some(system) = &terms.system {
            // Those at the beginning; later ones stay where they were said.
            let messages = &mut chat.first.messages;
            let before = messages.iter().take_while(|message| message.role == Role::System).count();
            messages.splice(..before, system.iter().cloned().map(Message::from));
        }
        if let Some(instructions) = &terms.instructions {
            chat.first.messages.insert(0, Message::text(Role::System, instructions));
        }
        Cow::Owned(chat)
    }

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
    use crate::said::{Asked, Instruction, Terms};
    use crate::transcript::{Setup, Turn};

    fn said(messages: Vec<Message>, terms: Option<Terms>) -> Said {
        let at = Timestamp::UNIX_EPOCH;
        let asked = Asked { at, locale: Locale::En, request: None, terms: terms.map(Box::new), trace: None };
        Said { id: "said".to_owned(), messages, replaces: None, tools: Vec::new(), asked }
    }

    /// The messages at the beginning of a conversation in a turn with these terms.
    fn first_messages(terms: Terms) -> Vec<Message> {
        let system = Message::text(Role::System, "Be brief.");
        let first = said(vec![system, Message::text(Role::User, "hi")], None);
        let (source, asking, client_tools) = (Source::Api, Asking::default(), Vec::new());
        let chat = ChatRun { agent: None, first, source, asking, client_tools };
        let at = Timestamp::UNIX_EPOCH;
        let setup = Setup { from: 0, to: 1, replaces: None, kept: BTreeMap::new(), at };
        let input = vec![Letter::Said(said(vec![Message::text(Role::User, "well?")], Some(terms)))];
        let turn = Turn { turn: 2, setup, input, steps: Vec::new(), end: None };
        let transcript = Transcript { turns: vec![turn], last: 2, ..Transcript::default() };
        chat.in_turn(&transcript).first.messages.clone()
    }

    #[test]
    fn instructions_of_a_turn_stand_before_those_of_the_conversation() {
        let user = Message::text(Role::User, "hi");
        let [polite, brief, dry] =
            ["Be polite.", "Be brief.", "Be dry."].map(|text| Message::text(Role::System, text));
        let instructions = Some("Be polite.".to_owned());
        let terms = Terms { instructions: instructions.clone(), ..Terms::default() };
        assert_eq!(first_messages(terms), [polite.clone(), brief.clone(), user.clone()]);
        assert_eq!(first_messages(Terms::default()), [brief, user.clone()]);
        let system = Some(vec![Instruction::Text("Be dry.".to_owned())]);
        let terms = Terms { system, instructions, ..Terms::default() };
        assert_eq!(first_messages(terms), [polite, dry, user]);
    }
}
