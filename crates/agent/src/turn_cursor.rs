//! The position of a follower in the turns of a conversation.

use std::fmt;
use std::str::FromStr;

/// A number of events of one generation of a turn's log. As text: `TURN-GENERATION-COUNT`, or `TURN` for a complete turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TurnCursor {
    pub turn: u32,
    pub(crate) generation: u32,
    /// `None` after all events of the turn.
    pub(crate) count: Option<usize>,
}

impl TurnCursor {
    /// The position after all events of a turn.
    pub fn end_of(turn: u32) -> Self {
        Self { turn, generation: 0, count: None }
    }

    /// The position before the events of a generation.
    pub(crate) fn start(turn: u32, generation: u32) -> Self {
        Self { turn, generation, count: Some(0) }
    }
}

impl fmt::Display for TurnCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            Some(count) => write!(f, "{}-{:x}-{count}", self.turn, self.generation),
            None => write!(f, "{}", self.turn),
        }
    }
}

impl FromStr for TurnCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let turn = parts.next().and_then(|turn| turn.parse().ok()).ok_or(())?;
        let Some(generation) = parts.next() else { return Ok(Self::end_of(turn)) };
        let generation = u32::from_str_radix(generation, 16).map_err(|_| ())?;
        let count = parts.next().and_then(|count| count.parse().ok()).ok_or(())?;
        if parts.next().is_some() { Err(()) } else { Ok(Self { turn, generation, count: Some(count) }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_parsed_from_its_text() {
        let cursor = TurnCursor { turn: 2, generation: 0xabc, count: Some(17) };
        assert_eq!(cursor.to_string(), "2-abc-17");
        for cursor in [TurnCursor::end_of(3), cursor, TurnCursor::default()] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for bad in ["", "x", "1-2", "1-2-3-4", "1-zz-3", "-1"] {
            assert_eq!(bad.parse::<TurnCursor>(), Err(()), "{bad}");
        }
    }
}
