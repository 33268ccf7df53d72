//! The history that a client sends: its calls, with their results, as a model reads them.

use std::collections::{HashMap, VecDeque};

use haft_llm::{CLIENT_CALL_PREFIX, Call, ModelTurn, ToolResult};

use crate::inbox::{ChatMessage, MessagePart};

/// The results in a history by the ids of their calls, in their order, each with the place of its message.
#[derive(Default)]
pub(crate) struct Results<'a>(HashMap<&'a str, VecDeque<(usize, &'a str)>>);

impl<'a> Results<'a> {
    pub(crate) fn of(messages: &[&'a ChatMessage]) -> Self {
        let mut results = Self::default();
        for (place, message) in messages.iter().enumerate() {
            for piece in &message.content {
                match piece {
                    MessagePart::Result { call, text } => {
                        results.0.entry(call.as_str()).or_default().push_back((place, text.as_str()));
                    }
                    MessagePart::Text { .. } | MessagePart::Image { .. } | MessagePart::Call { .. } => {}
                }
            }
        }
        results
    }

    /// The first result of a call after the message that has the call. The messages must be asked for in their order.
    fn next_after(&mut self, place: usize, call: &str) -> Option<&'a str> {
        let results = self.0.get_mut(call)?;
        while results.front().is_some_and(|(result, _)| *result <= place) {
            results.pop_front();
        }
        results.front().map(|(_, text)| *text)
    }
}

/// The message of an assistant, followed by the results of its calls. Providers refuse a call without a result, and a
/// result without a call, so both are left out. `model` is `provider/model`.
pub(crate) fn spoken(
    message: &ChatMessage,
    (turn, place): (u32, usize),
    results: &mut Results<'_>,
    model: &str,
) -> Vec<ModelTurn> {
    let (mut said, mut calls, mut arrived) = (Vec::new(), Vec::new(), Vec::new());
    for piece in &message.content {
        match piece {
            MessagePart::Text { text } => said.push(text.as_str()),
            MessagePart::Call { id, name, arguments, is_from_text, provider } => {
                let Some(content) = results.next_after(place, id) else { continue };
                // Not every provider takes the client's id.
                let id = format!("{CLIENT_CALL_PREFIX}{turn}_{place}_{}", calls.len());
                arrived.push(ToolResult {
                    call_id: id.clone(),
                    name: name.clone(),
                    content: content.to_owned(),
                    is_error: false,
                });
                let own = provider.as_ref().filter(|provider| provider.model == model);
                calls.push(Call {
                    id,
                    name: name.clone(),
                    arguments: arguments.clone(),
                    signature: own.and_then(|own| own.signature.clone()),
                    provider_id: own.and_then(|own| own.id.clone()),
                    is_from_text: *is_from_text,
                });
            }
            MessagePart::Image { .. } | MessagePart::Result { .. } => {}
        }
    }
    let text = said.join("\n");
    let mut turns = Vec::new();
    if !text.is_empty() || !calls.is_empty() {
        turns.push(ModelTurn::Assistant { text, reasoning: None, calls, name: message.name.clone() });
    }
    if !arrived.is_empty() {
        turns.push(ModelTurn::ToolResults { results: arrived });
    }
    turns
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::inbox::{ChatRole, ProviderCall};

    fn call(id: &str, provider: Option<ProviderCall>) -> MessagePart {
        let (name, arguments) = ("look".to_owned(), "{}".to_owned());
        MessagePart::Call { id: id.to_owned(), name, arguments, is_from_text: false, provider }
    }

    fn assistant(content: Vec<MessagePart>) -> ChatMessage {
        ChatMessage { role: ChatRole::Assistant, name: None, content }
    }

    fn result(call: &str) -> ChatMessage {
        let (call, text) = (call.to_owned(), format!("of {call}"));
        ChatMessage { role: ChatRole::Tool, name: None, content: vec![MessagePart::Result { call, text }] }
    }

    #[test]
    fn a_call_is_followed_by_its_result_wherever_the_result_comes_after_it() {
        let message = assistant(vec![call("a", None), call("b", None), call("c", None)]);
        let so = ChatMessage::text(ChatRole::User, "so?");
        let history = [result("c"), message.clone(), result("x"), result("a"), so, result("b")];
        let history: Vec<&ChatMessage> = history.iter().collect();
        let turns = spoken(&message, (1, 1), &mut Results::of(&history), "p/m");
        let [ModelTurn::Assistant { calls, .. }, ModelTurn::ToolResults { results }] = turns.as_slice()
        else {
            panic!("{turns:?}");
        };
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["haft_said_1_1_0", "haft_said_1_1_1"]);
        let arrived: Vec<(&str, &str)> =
            results.iter().map(|result| (result.call_id.as_str(), result.content.as_str())).collect();
        assert_eq!(arrived, [(ids[0], "of a"), (ids[1], "of b")], "the result of c comes before its call");
        let alone = spoken(&message, (1, 0), &mut Results::default(), "p/m");
        assert!(alone.is_empty(), "calls without a result are left out: {alone:?}");
    }

    #[test]
    fn calls_with_equal_ids_get_the_results_that_follow_them() {
        let message = assistant(vec![call("a", None)]);
        let second = MessagePart::Result { call: "a".to_owned(), text: "second".to_owned() };
        let second = ChatMessage { role: ChatRole::Tool, name: None, content: vec![second] };
        let history = [&message, &result("a"), &message, &second];
        let mut results = Results::of(&history);
        for (place, expected) in [(0, "of a"), (2, "second")] {
            let turns = spoken(&message, (1, place), &mut results, "p/m");
            let [_, ModelTurn::ToolResults { results }] = turns.as_slice() else { panic!("{turns:?}") };
            assert_eq!(results[0].content, expected);
        }
    }

    #[test]
    fn only_the_model_that_made_a_call_gets_the_data_of_its_provider() {
        let (id, signature) = ("functions.look:0".to_owned(), "s".to_owned());
        let provider =
            ProviderCall { model: "p/kimi".to_owned(), id: Some(id.clone()), signature: Some(signature) };
        let message = assistant(vec![call("a", Some(provider))]);
        let history = [&message, &result("a")];
        for (model, expected) in [
            ("p/kimi", (Some(id.as_str()), Some("s"))),
            ("p/mistral", (None, None)),
            ("q/kimi", (None, None)),
        ] {
            let turns = spoken(&message, (1, 0), &mut Results::of(&history), model);
            let [ModelTurn::Assistant { calls, .. }, _] = turns.as_slice() else { panic!("{turns:?}") };
            let sent = (calls[0].provider_id.as_deref(), calls[0].signature.as_deref());
            assert_eq!(sent, expected, "{model}");
        }
    }

    #[test]
    fn stored_messages_are_read_again() {
        let old = json!({"role": "user", "content": [{"type": "text", "text": "hi"}]});
        assert_eq!(
            serde_json::from_value::<ChatMessage>(old).expect("read"),
            ChatMessage::text(ChatRole::User, "hi")
        );
        let provider = ProviderCall { model: "p/m".to_owned(), id: Some("c".to_owned()), signature: None };
        for message in [result("a"), assistant(vec![call("a", None), call("b", Some(provider))])] {
            let stored = serde_json::to_value(&message).expect("written");
            assert_eq!(serde_json::from_value::<ChatMessage>(stored).expect("read"), message);
        }
    }
}
