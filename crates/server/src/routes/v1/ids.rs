//! Ids that say where a thing is: in which run, which turn, which step. Whoever brings one back needs no table here.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use haft_core::RunId;
use uuid::Uuid;

/// A run's id in base64url has so many characters.
const RUN: usize = 22;

const CALL: &str = "call_";
const MESSAGE: &str = "msg_";
const RESPONSE: &str = "resp_";
const THOUGHT: &str = "rs_";

/// How the id of a call ends that the model wrote into its text.
const FROM_TEXT: &str = "t";

/// One call among those of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallPlace {
    pub(super) run: RunId,
    pub(super) turn: u32,
    pub(super) step: u32,
    pub(super) place: usize,
    /// Whether the model wrote the call into its text. A client's history tells calls by their ids alone.
    pub(super) is_from_text: bool,
}

impl CallPlace {
    /// At most 40 characters, which is all that OpenAI's own may have.
    pub(super) fn id(self) -> String {
        format!("{CALL}{}", self.tail())
    }

    /// The id of the item that tells of the call.
    pub(super) fn item(self) -> String {
        format!("fc_{}", self.tail())
    }

    fn tail(self) -> String {
        let end = if self.is_from_text { FROM_TEXT } else { "" };
        format!("{}_{}-{}-{}{end}", written(self.run), self.turn, self.step, self.place)
    }

    pub(super) fn read(id: &str) -> Option<Self> {
        let (run, numbers) = split(id.strip_prefix(CALL)?)?;
        let is_from_text = numbers.ends_with(FROM_TEXT);
        let numbers = numbers.strip_suffix(FROM_TEXT).unwrap_or(numbers);
        let mut numbers = numbers.split('-');
        let turn = numbers.next()?.parse().ok()?;
        let step = numbers.next()?.parse().ok()?;
        let place = numbers.next()?.parse().ok()?;
        numbers.next().is_none().then_some(Self { run, turn, step, place, is_from_text })
    }
}

/// The words of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessagePlace {
    pub(super) run: RunId,
    pub(super) turn: u32,
    pub(super) step: u32,
}

impl MessagePlace {
    pub(super) fn id(self) -> String {
        format!("{MESSAGE}{}", self.tail())
    }

    /// The id of what the model thought before it spoke.
    pub(super) fn thought(self) -> String {
        format!("{THOUGHT}{}", self.tail())
    }

    fn tail(self) -> String {
        format!("{}_{}-{}", written(self.run), self.turn, self.step)
    }

    pub(super) fn read(id: &str) -> Option<Self> {
        let (run, numbers) = split(id.strip_prefix(MESSAGE)?)?;
        let (turn, step) = numbers.split_once('-')?;
        Some(Self { run, turn: turn.parse().ok()?, step: step.parse().ok()? })
    }
}

/// Whether an id is of something that a model thought.
pub(super) fn is_thought(id: &str) -> bool {
    id.starts_with(THOUGHT)
}

/// The id of a response: a turn of a run.
pub(super) fn response(run: RunId, turn: u32) -> String {
    format!("{RESPONSE}{}_{turn}", Uuid::from(run).simple())
}

pub(super) fn read_response(id: &str) -> Option<(RunId, u32)> {
    let (run, turn) = id.strip_prefix(RESPONSE)?.split_once('_')?;
    Some((RunId::from(Uuid::try_parse(run).ok()?), turn.parse().ok()?))
}

fn written(run: RunId) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Uuid::from(run).as_bytes())
}

fn split(tail: &str) -> Option<(RunId, &str)> {
    let (run, numbers) = (tail.get(..RUN)?, tail.get(RUN..)?.strip_prefix('_')?);
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(run).ok()?;
    Some((RunId::from(Uuid::from_slice(&bytes).ok()?), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_is_short() {
        for _ in 0..100 {
            let run = RunId::from(Uuid::new_v4());
            for is_from_text in [true, false] {
                let call = CallPlace { run, turn: 120, step: 1234, place: 31, is_from_text };
                assert!(call.id().len() <= 40, "{}", call.id());
                assert_eq!(CallPlace::read(&call.id()), Some(call));
            }
            let message = MessagePlace { run, turn: 3, step: 2 };
            assert_eq!(MessagePlace::read(&message.id()), Some(message));
            assert_eq!(read_response(&response(run, 7)), Some((run, 7)));
        }
    }

    #[test]
    fn ids_of_others_are_none_of_ours() {
        for id in ["", "call_", "call_abc", "toolu_01", "call_é0123456789012345678901_1-1-1", "call_1"] {
            assert_eq!(CallPlace::read(id), None, "{id}");
        }
        let call =
            CallPlace { run: RunId::from(Uuid::nil()), turn: 1, step: 1, place: 0, is_from_text: false };
        assert_eq!(CallPlace::read(&format!("{}-1", call.id())), None);
        assert_eq!(read_response("resp_68e1"), None);
    }
}
