//! Where a call stands in its caller's trace: the W3C header `traceparent`, read strictly.
//!
//! Spans are made and sent elsewhere; here is only what the caller told.

/// The caller's span, which a call is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
}

impl TraceParent {
    /// Reads the value of a header. One that is not as the recommendation has it tells nothing.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let mut parts = value.split(|byte| *byte == b'-');
        let [version] = hex(parts.next()?)?;
        let (trace_id, span_id, [flags]) = (hex(parts.next()?)?, hex(parts.next()?)?, hex(parts.next()?)?);
        // The first version ends here; later ones may say more, and one will never be.
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

    /// Whether the caller keeps its trace; of one that is not kept nobody wants a part.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

/// So many bytes, written in lower-case hexadecimal digits.
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
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_header_is_read_into_its_parts() {
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
    fn a_later_version_may_say_more() {
        for value in [format!("01-{TRACE}-{SPAN}-01"), format!("cc-{TRACE}-{SPAN}-01-what-may-come")] {
            assert!(TraceParent::parse(value.as_bytes()).is_some(), "{value}");
        }
    }

    #[test]
    fn anything_else_tells_nothing() {
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
