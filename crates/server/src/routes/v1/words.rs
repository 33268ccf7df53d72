//! The words of a turn on their way to somebody from whom they cannot be taken back.

use haft_agent::ChatEvent;
use haft_core::{CallError, ErrorKind, Message};

haft_core::templates! {
    TAKEN_BACK = "v1.takenBack",
        "The response was interrupted and restarted, but the part already sent cannot be withdrawn. Send the request again.",
        "回答中断后已重新开始，但已发送的部分无法撤回；请重新提问";
}

/// What was sent, and what was heard since when something of it counts no more.
#[derive(Debug, Default)]
pub(super) struct Words {
    sent: String,
    /// All that is told of the turn by now, while that is less than what was sent.
    retold: Option<String>,
    step: u32,
    /// Where the step's words begin.
    from: usize,
    /// The last step whose thoughts were sent.
    thought: u32,
    /// Thoughts of steps up to this one are not sent any more.
    silent: u32,
}

/// Something to send on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Text { step: u32, text: String },
    Thought { step: u32, text: String },
}

impl Words {
    /// What an event adds to what was sent; an error where it is something else than that.
    pub(super) fn hear(&mut self, event: &ChatEvent) -> Result<Option<Said>, CallError> {
        match event {
            ChatEvent::Text { step, text } => self.text(*step, text),
            ChatEvent::Reasoning { step, text } => {
                self.enter(*step);
                if *step <= self.silent {
                    return Ok(None);
                }
                self.thought = *step;
                Ok(Some(Said::Thought { step: *step, text: text.clone() }))
            }
            ChatEvent::MessageReset { step } => {
                self.reset(*step);
                Ok(None)
            }
            // A call that was written as text stays text here: it is carried out all the same.
            ChatEvent::Call { .. } => {
                self.retold = None;
                Ok(None)
            }
            // Words that no model wrote: those of the tool that ended the turn.
            ChatEvent::MessageDone { text } if !text.is_empty() && !self.sent.ends_with(text.as_str()) => {
                self.retold = None;
                let step = self.step + 1;
                self.text(step, text)
            }
            ChatEvent::MessageDone { .. }
            | ChatEvent::TurnStart { .. }
            | ChatEvent::Pending { .. }
            | ChatEvent::Result { .. }
            | ChatEvent::Warning { .. }
            | ChatEvent::Usage(_)
            | ChatEvent::Error(_)
            | ChatEvent::Done { .. } => Ok(None),
        }
    }

    /// All of the turn is told anew.
    pub(super) fn again(&mut self) {
        self.retold = (!self.sent.is_empty()).then(String::new);
        (self.step, self.from, self.silent) = (0, 0, self.thought);
    }

    fn enter(&mut self, step: u32) {
        if step != self.step {
            let heard = self.retold.as_ref().unwrap_or(&self.sent);
            (self.step, self.from) = (step, heard.len());
        }
    }

    fn reset(&mut self, step: u32) {
        self.enter(step);
        self.silent = self.silent.max(step);
        let heard = self.retold.as_ref().unwrap_or(&self.sent);
        let heard = heard.get(..self.from).unwrap_or_default().to_owned();
        self.retold = (heard.len() < self.sent.len()).then_some(heard);
    }

    fn text(&mut self, step: u32, text: &str) -> Result<Option<Said>, CallError> {
        self.enter(step);
        let known = self.retold.as_ref().map(|heard| self.sent.get(heard.len()..).unwrap_or_default());
        let more = match known {
            None => text,
            Some(known) => match (text.strip_prefix(known), known.starts_with(text)) {
                (Some(more), _) => more,
                (None, true) => "",
                (None, false) => return Err(taken_back()),
            },
        };
        if let Some(heard) = &mut self.retold {
            heard.push_str(text);
        }
        self.sent.push_str(more);
        self.retold = self.retold.take().filter(|heard| heard.len() < self.sent.len());
        Ok((!more.is_empty()).then(|| Said::Text { step, text: more.to_owned() }))
    }
}

fn taken_back() -> CallError {
    CallError::new(ErrorKind::Server, Message::new(&TAKEN_BACK))
}

#[cfg(test)]
mod tests {
    use haft_core::CallId;
    use serde_json::Value;
    use uuid::Uuid;

    use super::*;

    fn text(step: u32, text: &str) -> ChatEvent {
        ChatEvent::Text { step, text: text.to_owned() }
    }

    fn call(step: u32) -> ChatEvent {
        let call_id = CallId::from(Uuid::nil());
        ChatEvent::Call { step, call_id, name: "look".to_owned(), arguments: Value::Null }
    }

    fn sent(words: &mut Words, events: &[ChatEvent]) -> Result<String, CallError> {
        let mut all = String::new();
        for event in events {
            match words.hear(event)? {
                Some(Said::Text { text, .. } | Said::Thought { text, .. }) => all.push_str(&text),
                None => {}
            }
        }
        Ok(all)
    }

    #[test]
    fn the_same_words_once_more_are_sent_once() {
        let mut words = Words::default();
        let reset = ChatEvent::MessageReset { step: 1 };
        let events =
            [text(1, "It is "), text(1, "18"), reset, text(1, "It"), text(1, " is 18"), text(1, " °C")];
        assert_eq!(sent(&mut words, &events).expect("the same"), "It is 18 °C");
    }

    #[test]
    fn other_words_are_an_error() {
        let mut words = Words::default();
        let events = [text(1, "It is "), ChatEvent::MessageReset { step: 1 }, text(1, "Warm")];
        assert!(sent(&mut words, &events).is_err());
    }

    #[test]
    fn a_call_written_as_text_does_not_end_the_answer() {
        let mut words = Words::default();
        let events = [text(1, "{call}"), ChatEvent::MessageReset { step: 1 }, call(1), text(2, "Dry.")];
        assert_eq!(sent(&mut words, &events).expect("goes on"), "{call}Dry.");
    }

    #[test]
    fn a_turn_that_is_told_anew_goes_on_where_it_was() {
        let mut words = Words::default();
        assert_eq!(sent(&mut words, &[text(1, "One. "), call(1), text(2, "Tw")]).expect("new"), "One. Tw");
        words.again();
        let again = [text(1, "One. "), call(1), text(2, "Two.")];
        assert_eq!(sent(&mut words, &again[..1]).expect("known"), "");
        assert_eq!(sent(&mut words, &[text(2, "Two.")]).expect("more"), "o.");
    }

    #[test]
    fn thoughts_are_sent_once() {
        let thought = |step: u32| ChatEvent::Reasoning { step, text: format!("{step}? ") };
        let mut words = Words::default();
        assert_eq!(sent(&mut words, &[thought(1), call(1), thought(2)]).expect("new"), "1? 2? ");
        words.again();
        let again = [thought(1), call(1), thought(2), text(2, "Dry."), call(2), thought(3)];
        assert_eq!(sent(&mut words, &again).expect("the rest"), "Dry.3? ");
    }

    #[test]
    fn the_words_of_the_tool_that_ended_the_turn_are_sent() {
        let mut words = Words::default();
        let done = |text: &str| ChatEvent::MessageDone { text: text.to_owned() };
        assert_eq!(sent(&mut words, &[text(1, "Hm."), done("Hm.")]).expect("known"), "Hm.");
        assert_eq!(sent(&mut words, &[call(1), done("Done.")]).expect("new"), "Done.");
    }
}
