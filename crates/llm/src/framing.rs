//! Splits a response body into events: server-sent events, one per line, or the whole body.

use crate::sse::{Event, Events};

/// Maximum size of an event. The caller limits the size of the body.
const LONGEST: usize = 8 << 20;

/// The reason why a body is not a model's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misframed {
    TooLong,
    /// An HTML page, as sent by a proxy or a wrong URL.
    Page,
}

/// The framing of a body. It is detected by the first byte: content types are often wrong, and some servers
/// return one document instead of a stream.
pub(crate) enum Framing {
    Undecided { is_lines: bool },
    Events(Events),
    Lines(Vec<u8>),
    Whole(Vec<u8>),
}

impl Framing {
    /// The framing of a stream of events, or of lines.
    pub(crate) fn new(is_lines: bool) -> Self {
        Self::Undecided { is_lines }
    }

    /// Adds bytes, and returns the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Misframed> {
        if let Self::Undecided { is_lines } = *self {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else { return Ok(()) };
            *self = match first {
                b'<' => return Err(Misframed::Page),
                b'{' | b'[' if !is_lines => Self::Whole(Vec::new()),
                b'{' => Self::Lines(Vec::new()),
                _ => Self::Events(Events::within(LONGEST)),
            };
        }
        match self {
            Self::Undecided { .. } => Ok(()),
            Self::Events(reader) => reader.feed(bytes, events).map_err(|_| Misframed::TooLong),
            Self::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            Self::Lines(line) => {
                for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                    if line.len() + part.len() > LONGEST {
                        return Err(Misframed::TooLong);
                    }
                    line.extend_from_slice(part);
                    if part.ends_with(b"\n") {
                        events.extend(event(&std::mem::take(line)));
                    }
                }
                Ok(())
            }
        }
    }

    /// Number of bytes of an incomplete event.
    pub(crate) fn pending(&self) -> usize {
        match self {
            Self::Undecided { .. } => 0,
            Self::Events(reader) => reader.pending(),
            Self::Lines(rest) | Self::Whole(rest) => rest.len(),
        }
    }

    /// The remaining event at the end of the body.
    pub(crate) fn finish(self) -> Option<Event> {
        match self {
            Self::Undecided { .. } => None,
            Self::Events(reader) => reader.finish(),
            Self::Lines(rest) | Self::Whole(rest) => event(&rest),
        }
    }
}

fn event(bytes: &[u8]) -> Option<Event> {
    let data = String::from_utf8_lossy(bytes).trim().to_owned();
    (!data.is_empty()).then(|| Event { name: String::new(), data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(is_lines: bool, body: &str, size: usize) -> Result<Vec<String>, Misframed> {
        let (mut framing, mut events) = (Framing::new(is_lines), Vec::new());
        for piece in body.as_bytes().chunks(size) {
            framing.feed(piece, &mut events)?;
        }
        events.extend(framing.finish());
        Ok(events.into_iter().map(|event| event.data).collect())
    }

    #[test]
    fn the_first_byte_determines_the_framing() {
        for size in [1, 2, 3, 1_000] {
            let read = |is_lines, body| read(is_lines, body, size);
            assert_eq!(read(false, "\n\ndata: 1\n\ndata: 2\n\n"), Ok(vec!["1".to_owned(), "2".to_owned()]));
            assert_eq!(read(false, " {\n\"a\":\n1}"), Ok(vec!["{\n\"a\":\n1}".to_owned()]));
            assert_eq!(
                read(true, "{\"a\":1}\r\n\n{\"b\":2}"),
                Ok(vec!["{\"a\":1}".to_owned(), "{\"b\":2}".to_owned()])
            );
            assert_eq!(read(true, "data: 1\n\n"), Ok(vec!["1".to_owned()]));
            assert_eq!(read(false, " <html>"), Err(Misframed::Page));
            assert_eq!(read(false, " \n"), Ok(vec![]));
        }
    }
}
