//! Finds secrets in encoded parts of a text: percent-encoding, base64 of either alphabet, and hex.
//!
//! Returns their ranges in the encoded text, in linear time.

use std::ops::Range;

use aho_corasick::AhoCorasick;

/// Number of percent-decoding rounds: some clients encode every character, and then once more.
const PERCENT_ROUNDS: usize = 2;

/// Returns ranges of a text whose decoded form contains one of the patterns, in no order. `shortest` is the
/// minimum length of a pattern in base64 or hex.
pub(super) fn find(patterns: &AhoCorasick, text: &[u8], shortest: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    find_in_percent(patterns, text, &mut found);
    find_in_base64(patterns, text, shortest, &mut found);
    found
}

/// Returns true for characters that end a URL or a percent-encoded part of it.
fn is_border(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b'"' | b'<' | b'>')
}

fn find_in_percent(patterns: &AhoCorasick, text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memchr::memchr(b'%', rest)) {
        let at = from + at;
        let start =
            text[from..at].iter().rposition(|byte| is_border(*byte)).map_or(from, |border| from + border + 1);
        let length = text[at..].iter().position(|byte| is_border(*byte));
        let end = length.map_or(text.len(), |length| at + length);
        find_in_part(patterns, text, start..end, b'+', found);
        if memchr::memchr(b'+', &text[start..end]).is_some() {
            // Forms encode a space as a plus sign.
            find_in_part(patterns, text, start..end, b' ', found);
        }
        from = end;
    }
}

/// Searches one percent-encoded part of a text. `plus` is the decoded form of a plus sign.
fn find_in_part(
    patterns: &AhoCorasick,
    text: &[u8],
    part: Range<usize>,
    plus: u8,
    found: &mut Vec<Range<usize>>,
) {
    let end = part.end;
    let mut encoded = text[part.clone()].to_vec();
    let mut offsets: Vec<usize> = part.collect();
    for _ in 0..PERCENT_ROUNDS {
        let (decoded, within) = percent_decoded(&encoded, plus);
        if decoded.len() == encoded.len() {
            break;
        }
        offsets = within.into_iter().filter_map(|index| offsets.get(index).copied()).collect();
        let offset = |index: usize| offsets.get(index).copied().unwrap_or(end);
        found.extend(patterns.find_iter(&decoded).map(|found| offset(found.start())..offset(found.end())));
        encoded = decoded;
    }
}

/// Returns the decoded bytes, and the offset of each of them.
fn percent_decoded(text: &[u8], plus: u8) -> (Vec<u8>, Vec<usize>) {
    let (mut decoded, mut offsets) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        offsets.push(at);
        let digit = |offset: usize| char::from(*text.get(offset)?).to_digit(16);
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                decoded.push(if *byte == b'+' { plus } else { *byte });
                at += 1;
            }
        }
    }
    (decoded, offsets)
}

/// Returns the value of a base64 character, in either alphabet.
fn sextet(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

/// Searches runs of base64, and of hex, whose digits are a subset of base64.
fn find_in_base64(patterns: &AhoCorasick, text: &[u8], shortest: usize, found: &mut Vec<Range<usize>>) {
    let least = shortest * 4 / 3;
    let mut from = 0;
    let mut decoded = Vec::new();
    while from < text.len() {
        let length =
            text[from..].iter().position(|byte| sextet(*byte).is_none()).unwrap_or(text.len() - from);
        let end = from + length;
        if length >= least {
            // The preceding text may use the same alphabet, so a secret may start anywhere in a group.
            for offset in 0..4 {
                let start = from + offset;
                base64_decoded(&text[start..end], &mut decoded);
                let place = |index: usize, rest: usize| (start + (index * 4 + rest) / 3).min(end);
                found.extend(
                    patterns.find_iter(&decoded).map(|found| place(found.start(), 0)..place(found.end(), 2)),
                );
            }
            find_in_hex(patterns, text, from..end, shortest, found);
        }
        from = end + 1;
    }
}

/// Searches runs of hex digits within a part of a text.
fn find_in_hex(
    patterns: &AhoCorasick,
    text: &[u8],
    part: Range<usize>,
    shortest: usize,
    found: &mut Vec<Range<usize>>,
) {
    let digit = |at: usize| char::from(text[at]).to_digit(16);
    let mut from = part.start;
    while from < part.end {
        let end = (from..part.end).find(|at| digit(*at).is_none()).unwrap_or(part.end);
        if end - from >= shortest * 2 {
            // A hex digit of the preceding text may come right before the first byte.
            for start in [from, from + 1] {
                let bytes = (start..end - 1).step_by(2);
                let decoded: Vec<u8> =
                    bytes.filter_map(|at| Some((digit(at)? * 16 + digit(at + 1)?) as u8)).collect();
                let place = |index: usize| start + index * 2;
                found.extend(
                    patterns.find_iter(&decoded).map(|found| place(found.start())..place(found.end())),
                );
            }
        }
        from = end + 1;
    }
}

/// Decodes a run of base64: complete groups, and the certain bytes of a shorter last group.
fn base64_decoded(run: &[u8], decoded: &mut Vec<u8>) {
    decoded.clear();
    let (mut bits, mut count) = (0_u32, 0);
    for sextet in run.iter().filter_map(|byte| sextet(*byte)) {
        bits = (bits << 6) | sextet;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
}
