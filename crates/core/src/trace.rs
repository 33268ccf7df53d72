//! Trace context of a caller: the W3C headers `traceparent`, parsed strictly, and `tracestate`, passed
//! through.
//!
//! Spans are created and exported elsewhere. Outgoing requests of a call propagate both headers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The caller's span, which is the parent of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceParent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

impl TraceParent {
    /// Parses the value of a header. Returns `None` if it does not conform to the W3C recommendation.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let mut parts = value.split(|byte| *byte == b'-');
        let [version] = hex(parts.next()?)?;
        let (trace_id, span_id, [flags]) = (hex(parts.next()?)?, hex(parts.next()?)?, hex(parts.next()?)?);
        // Version 00 ends here; later versions may have more fields, and version ff is invalid.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let parent = Self { trace_id, span_id, flags };
        (parent.trace_id != [0; 16] && parent.span_id != [0; 8]).then_some(parent)
    }

    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// Returns true if the caller samples its trace. Spans of unsampled traces must not be exported.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

/// Formats the header in version 00, with the flags that this version defines.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace_id, span_id) = (u128::from_be_bytes(self.trace_id), u64::from_be_bytes(self.span_id));
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", self.flags & 3)
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

impl TryFrom<String> for TraceParent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(text.as_bytes()).ok_or("not a traceparent")
    }
}

/// The vendor-specific header `tracestate`, not interpreted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TraceState(Arc<str>);

impl TraceState {
    /// The recommendation requires propagating at least this many bytes; longer values are dropped.
    const MAX_BYTES: usize = 512;

    /// Joins the values of all headers with that name. Returns `None` if the result is empty, too long, or
    /// not valid in a header.
    pub fn parse<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut joined = String::new();
        for value in values {
            let value = std::str::from_utf8(value).ok()?.trim();
            if joined.len() + value.len() >= Self::MAX_BYTES {
                return None;
            }
            if !joined.is_empty() && !value.is_empty() {
                joined.push(',');
            }
            joined.push_str(value);
        }
        let is_plain = joined.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        (is_plain && joined.contains('=')).then(|| Self(joined.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<TraceState> for String {
    fn from(state: TraceState) -> Self {
        state.as_str().to_owned()
    }
}

impl TryFrom<String> for TraceState {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(std::iter::once(text.as_bytes())).ok_or("not a tracestate")
    }
}

/// Parses exactly `N` bytes of lower-case hexadecimal digits.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    if pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (digit(*high)? << 4) | digit(*low)?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_header_is_parsed_into_its_parts() {
        let parent = TraceParent::parse(format!("00-{TRACE}-{SPAN}-01").as_bytes()).expect("a parent");
        assert_eq!(u128::from_be_bytes(parent.trace_id()), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(u64::from_be_bytes(parent.span_id()), 0x00f0_67aa_0ba9_02b7);
        assert!(parent.is_sampled());
        for (flags, is_sampled) in [("00", false), ("02", false), ("03", true), ("ff", true)] {
            let parent = TraceParent::parse(format!("00-{TRACE}-{SPAN}-{flags}").as_bytes());
            assert_eq!(parent.map(|parent| parent.is_sampled()), Some(is_sampled), "{flags}");
        }
    }

    #[test]
    fn a_parent_is_formatted_like_its_input() {
        for (given, written) in [
            (format!("00-{TRACE}-{SPAN}-01"), format!("00-{TRACE}-{SPAN}-01")),
            (format!("00-{TRACE}-{SPAN}-00"), format!("00-{TRACE}-{SPAN}-00")),
            (format!("cc-{TRACE}-{SPAN}-ff-more"), format!("00-{TRACE}-{SPAN}-03")),
        ] {
            let parent = TraceParent::parse(given.as_bytes()).expect("a parent");
            assert_eq!(parent.to_string(), written);
        }
    }

    #[test]
    fn trace_context_is_stored_as_its_header_values() {
        let text = format!("00-{TRACE}-{SPAN}-01");
        let parent = TraceParent::parse(text.as_bytes()).expect("a parent");
        let state = TraceState::parse(std::iter::once(&b"a=1,b=2"[..]));
        let trace = (parent, state);
        let stored = serde_json::to_value(&trace).expect("JSON");
        assert_eq!(stored, json!([text, "a=1,b=2"]));
        let read: (TraceParent, Option<TraceState>) = serde_json::from_value(stored).expect("a trace");
        assert_eq!(read, trace);
        assert!(serde_json::from_value::<TraceParent>(json!("00-1-2-01")).is_err());
        assert!(serde_json::from_value::<TraceState>(json!("no pairs")).is_err());
    }

    #[test]
    fn a_state_is_joined_limited_and_otherwise_unchanged() {
        let long = format!("a={}", "x".repeat(600));
        for (values, expected) in [
            (
                &["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"][..],
                Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            ),
            (&["a=1", " b=2 "], Some("a=1,b=2")),
            (&["", "b=2"], Some("b=2")),
            (&[], None),
            (&[""], None),
            (&["no pairs"], None),
            (&["a=\u{e9}"], None),
            (&["a=1\r\nX-Evil: 1"], None),
            (&[long.as_str()], None),
        ] {
            let state = TraceState::parse(values.iter().map(|value| value.as_bytes()));
            assert_eq!(state.as_ref().map(TraceState::as_str), expected, "{values:?}");
        }
    }

    #[test]
    fn a_later_version_may_have_more_fields() {
        for value in [format!("01-{TRACE}-{SPAN}-01"), format!("cc-{TRACE}-{SPAN}-01-what-may-come")] {
            assert!(TraceParent::parse(value.as_bytes()).is_some(), "{value}");
        }
    }

    #[test]
    fn malformed_headers_are_ignored() {
        let (zeros, upper) = ("0".repeat(32), TRACE.to_uppercase());
        for value in [
            String::new(),
            "00".to_owned(),
            "----".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-1"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("00-{TRACE}-{SPAN}-01 "),
            format!(" 00-{TRACE}-{SPAN}-01"),
            format!("0-{TRACE}-{SPAN}-01"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{zeros}-{SPAN}-01"),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{upper}-{SPAN}-01"),
            format!("00-{SPAN}-{TRACE}-01"),
            format!("00-{TRACE}0-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-zz"),
            "é".repeat(55),
        ] {
            assert_eq!(TraceParent::parse(value.as_bytes()), None, "{value}");
        }
        assert_eq!(TraceParent::parse(&[0xff; 55]), None);
    }
}
