//! Parses server-sent events with a size limit, independent of chunk boundaries.

/// One event, with its data lines joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// Empty if the server sent none.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// A line or an event exceeds the size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

/// The parser of one stream.
pub(crate) struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return; a following line feed belongs to it.
    after_return: bool,
    is_first_line: bool,
    limit: usize,
}

const MARK: &[u8] = "\u{feff}".as_bytes();

impl Events {
    pub(crate) fn within(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            after_return: false,
            is_first_line: true,
            limit,
        }
    }

    /// Adds bytes, and returns the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + line.len() > self.limit {
                return Err(TooLong);
            }
            self.line.extend_from_slice(line);
            let Some(ending) = rest.first() else { return Ok(()) };
            self.after_return = *ending == b'\r';
            bytes = rest.get(1..).unwrap_or_default();
            self.end_line(events)?;
        }
        Ok(())
    }

    /// Number of bytes of an incomplete event.
    pub(crate) fn pending(&self) -> usize {
        self.line.len() + self.event.data.len()
    }

    /// The event at the end of the stream without the final blank line, which some servers omit.
    pub(crate) fn finish(mut self) -> Option<Event> {
        let mut events = Vec::new();
        self.end_line(&mut events).ok()?;
        events.pop().or_else(|| self.has_data.then_some(self.event))
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), TooLong> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first_line) && line.starts_with(MARK) {
            line.drain(..MARK.len());
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((line.as_ref(), ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.event.data.len() + value.len() >= self.limit {
                    return Err(TooLong);
                }
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments have an empty name; `id` and `retry` are only for clients that reconnect.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    /// The events of a stream that is split at these offsets, and the event at its end.
    fn read(stream: &[u8], cuts: &[usize]) -> (Vec<Event>, Option<Event>) {
        let (mut reader, mut events, mut from) = (Events::within(1_000), Vec::new(), 0);
        for to in cuts.iter().copied().chain([stream.len()]) {
            reader.feed(&stream[from..to], &mut events).expect("within bounds");
            from = to;
        }
        (events, reader.finish())
    }

    const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: one\r\ndata:  two\r\rdata\n\n\
                          id: 7\nretry: 1\nevent: lost\n\ndata:日本\r\n\r\nodd\n\n\ndata: x:y\n\n";

    #[test]
    fn events_do_not_depend_on_chunk_boundaries() {
        let expected = vec![event("a", "one\n two"), event("", ""), event("", "日本"), event("", "x:y")];
        let stream = STREAM.as_bytes();
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let (events, rest) = read(stream, &[first, second]);
                assert_eq!((events, rest), (expected.clone(), None), "cut at {first} and {second}");
            }
        }
        let every: Vec<usize> = (1..stream.len()).collect();
        assert_eq!(read(stream, &every).0, expected);
    }

    #[test]
    fn an_event_without_blank_line_is_returned_at_the_end() {
        for (stream, last) in [
            ("data: [DONE]", Some("[DONE]")),
            ("data: [DONE]\n", Some("[DONE]")),
            ("data: a\ndata: b", Some("a\nb")),
            ("event: x\n", None),
            (": nothing", None),
            ("", None),
        ] {
            let (events, rest) = read(stream.as_bytes(), &[]);
            assert_eq!((events, rest.map(|event| event.data)), (vec![], last.map(str::to_owned)), "{stream}");
        }
    }

    #[test]
    fn buffers_do_not_exceed_the_limit() {
        let mut events = Vec::new();
        let long = "x".repeat(99);
        assert_eq!(Events::within(100).feed(long.as_bytes(), &mut events), Ok(()));
        assert_eq!(Events::within(98).feed(long.as_bytes(), &mut events), Err(TooLong));
        let mut in_pieces = Events::within(98);
        assert_eq!(in_pieces.feed(&long.as_bytes()[..50], &mut events), Ok(()));
        assert_eq!(in_pieces.feed(&long.as_bytes()[50..], &mut events), Err(TooLong));
        let many = "data: 0123456789\n".repeat(10);
        assert_eq!(Events::within(98).feed(many.as_bytes(), &mut events), Err(TooLong));
        let mut blank = Events::within(10);
        assert_eq!(blank.feed("data\n".repeat(50).as_bytes(), &mut events), Err(TooLong));
        assert!(events.is_empty());
    }
}
