//! Encodings of echoed values. Implemented here, so that the tests do not use the code that they check.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes as base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for at in 0..4 {
            let index = (number >> (18 - 6 * at)) & 63;
            text.push(if at <= chunk.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    text
}

/// Decodes base64 with or without padding. Returns `None` if it is invalid or not UTF-8.
pub(super) fn unbase64(text: &str) -> Option<String> {
    let (mut bytes, mut number, mut bits) = (Vec::new(), 0_u32, 0);
    for character in text.trim_end_matches('=').bytes() {
        let index = ALPHABET.iter().position(|letter| *letter == character)?;
        number = (number << 6) | u32::try_from(index).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((number >> bits) & 0xff).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encodes a text by RFC 3986.
pub(super) fn percent(text: &str) -> String {
    percent_but(text, "-_.~")
}

/// Percent-encodes a text, except letters, digits and the given characters.
pub(super) fn percent_but(text: &str, unreserved: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || unreserved.as_bytes().contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn encodings_match_reference_values() {
    for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob?~", "Zm9vYj9+")]
    {
        assert_eq!(base64(text.as_bytes()), encoded);
        assert_eq!(unbase64(encoded).as_deref(), Some(text));
    }
    assert_eq!(percent("a b/ü~"), "a%20b%2F%C3%BC~");
    assert_eq!(percent_but("a/b+c", "/"), "a/b%2Bc");
    assert_eq!(hex(b"\x00\xff"), "00ff");
}
