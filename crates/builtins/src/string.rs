//! The built-in `string`: transforms and searches text. Lengths count graphemes.

use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT};
use haft_core::{Arguments, CallError, Message};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regex::{Captures, Regex, RegexBuilder};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use unicode_segmentation::UnicodeSegmentation;

use crate::failure;
use crate::operation::{Operation, Operations};
use crate::path::{
    MAX_CHARACTERS, Path, count_of, fits_items, fits_text, flag_field, flag_of, integer_field, plain,
    position_field, range_of, text_field, text_of,
};

haft_core::templates! {
    BAD_PATTERN = "string.badPattern", "The pattern cannot be used: {reason}", "正则表达式无法使用: {reason}";
    TOO_SLOW = "string.tooSlow", "The pattern takes too long on this text: more than 1 second", "正则表达式处理此文本耗时过长: 超过 1 秒";
    NO_GROUP = "string.noGroup", "The pattern has no group {group} to replace with; a dollar sign is written $$",
        "正则表达式中没有可用于替换的分组 {group}；美元符号请写作 $$";
    NOT_BASE64 = "string.notBase64", "The text is not Base64: {reason}", "文本不是 Base64: {reason}";
    NOT_UTF8 = "string.notUtf8", "The decoded bytes are not UTF-8 text", "解码后的字节不是 UTF-8 文本";
    BAD_ESCAPE = "string.badEscape",
        "The % at byte {at} is not followed by two hexadecimal digits", "字节 {at} 处的 % 后面不是两位十六进制数字";
}

/// Maximum length of searched text. A regular expression is searched in linear time, with a factor that depends on the
/// pattern, so ReDoS is not possible; `SEARCH_TIMEOUT` limits the search for all matches.
const MAX_SEARCHED: usize = 100_000;

const LARGEST_PATTERN: usize = 1 << 20;

/// Timeout of a search: finding every match may require reading the rest of the text for each.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);

/// The characters that `encodeURIComponent` escapes.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

pub(crate) const TOOL: Operations = Operations {
    name: "string",
    title: ("Text", "文本"),
    icon: "type",
    about: "Works on text exactly: change case, trim, count, slice, split, replace, match patterns, pad, \
            repeat, encode, hash, fill in templates. Use it when the result must be right to the character, \
            instead of doing it in your head. Characters are counted as people see them: an emoji is one.",
    about_zh: "精确处理文本：大小写、去空白、计数、截取、拆分、替换、匹配、填充、重复、编码、哈希、模板。当结果必须逐字正确时使用，不要自行推算。字符按人们看到的方式计数：一个表情符号算一个。",
    operations: &[
        of_text("upper", "The text in capital letters.", |a| limited(text_of(a, "text").to_uppercase())),
        of_text("lower", "The text in small letters.", |a| limited(text_of(a, "text").to_lowercase())),
        of_text("title", "The text with each word capitalized. Words end at spaces and hyphens.", |a| {
            limited(title(text_of(a, "text")))
        }),
        Operation {
            name: "trim",
            about: "The text without the white space around it.",
            fields: || json!({"text": source_field(), "side": {"enum": ["both", "start", "end"], "description": "The side to trim."}}),
            required: &["text"],
            run: trim,
        },
        of_text("length", "The number of characters, as people see them.", |a| {
            Ok(text_of(a, "text").graphemes(true).count().into())
        }),
        Operation {
            name: "slice",
            about: "The characters from `start` to before `end`; negative numbers count from the end.",
            fields: || {
                json!({
                    "text": source_field(),
                    "start": position_field("The first character; 0 is the first of the text."),
                    "end": position_field("The character to stop before; the end of the text when left out."),
                })
            },
            required: &["text", "start"],
            run: slice,
        },
        Operation {
            name: "split",
            about: "The parts between separators, as a list.",
            fields: || {
                json!({
                    "text": source_field(),
                    "separator": text_field(MAX_CHARACTERS, "The separator; if it is empty, each character is a part."),
                    "limit": integer_field(1..=100_000, "Maximum number of parts; the last part is the unsplit rest."),
                })
            },
            required: &["text", "separator"],
            run: split,
        },
        Operation {
            name: "replace",
            about: "The text with one literal text replaced by another.",
            fields: || {
                json!({
                    "text": source_field(),
                    "search": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS, "description": "The text to replace."},
                    "replacement": text_field(MAX_CHARACTERS, "The replacement."),
                    "all": flag_field(true, "Replace every occurrence, not only the first."),
                })
            },
            required: &["text", "search", "replacement"],
            run: replace,
        },
        Operation {
            name: "regexReplace",
            about: "The text with the matches of a regular expression replaced.",
            fields: || {
                regex_fields(json!({
                    "replacement": text_field(10_000, "The replacement: $1 or ${name} is a group, $$ a dollar sign."),
                    "all": flag_field(true, "Replace every match, not only the first."),
                }))
            },
            required: &["text", "pattern", "replacement"],
            run: regex_replace,
        },
        Operation {
            name: "match",
            about: "The match of a regular expression: null or {match, index, groups, named}. With all: a list of matches.",
            fields: || {
                regex_fields(json!({"all": flag_field(false, "Return every match, not only the first.")}))
            },
            required: &["text", "pattern"],
            run: matches,
        },
        Operation {
            name: "padStart",
            about: "The text padded at its start to a length.",
            fields: pad_fields,
            required: &["text", "length"],
            run: |a| Ok((padding(a)? + text_of(a, "text")).into()),
        },
        Operation {
            name: "padEnd",
            about: "The text padded at its end to a length.",
            fields: pad_fields,
            required: &["text", "length"],
            run: |a| Ok((text_of(a, "text").to_owned() + &padding(a)?).into()),
        },
        Operation {
            name: "repeat",
            about: "The text repeated several times.",
            fields: || json!({"text": source_field(), "count": integer_field(0..=100_000, "The number of repetitions.")}),
            required: &["text", "count"],
            run: repeat,
        },
        of_text("reverse", "The characters in reverse order.", |a| {
            Ok(text_of(a, "text").graphemes(true).rev().collect::<String>().into())
        }),
        Operation {
            name: "includes",
            about: "True if a text occurs in the text.",
            fields: || {
                json!({
                    "text": source_field(),
                    "search": text_field(MAX_CHARACTERS, "The text to find."),
                    "ignoreCase": flag_field(false, "Ignore the difference between upper and lower case."),
                })
            },
            required: &["text", "search"],
            run: includes,
        },
        of_text("base64Encode", "The text's UTF-8 bytes in Base64.", base64_encode),
        of_text(
            "base64Decode",
            "The text decoded from Base64; standard or URL-safe, with or without padding.",
            base64_decode,
        ),
        of_text("urlEncode", "The text escaped as one part of a URL, like encodeURIComponent.", url_encode),
        of_text(
            "urlDecode",
            "The text with its %XX escapes decoded, like decodeURIComponent; plus signs are unchanged.",
            url_decode,
        ),
        Operation {
            name: "hash",
            about: "The SHA-256 of the text's UTF-8 bytes, in hexadecimal.",
            fields: || json!({"text": source_field(), "algorithm": {"enum": ["sha256"], "description": "The only supported algorithm."}}),
            required: &["text"],
            run: |a| {
                let digest = Sha256::digest(text_of(a, "text").as_bytes());
                Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
            },
        },
        Operation {
            name: "template",
            about: "The template with each {{name}} or {{a.b.0}} replaced by that value. Missing values and \
                    null become empty text; objects and lists are written as JSON; values are not templates.",
            fields: || {
                json!({
                    "template": text_field(MAX_CHARACTERS, "The text with placeholders."),
                    "values": {"type": "object", "description": "The values by name."},
                })
            },
            required: &["template", "values"],
            run: template,
        },
    ],
};

fn source_field() -> Value {
    text_field(MAX_CHARACTERS, "The text.")
}

/// Returns the fields of an operation with a pattern, and the additional ones.
fn regex_fields(more: Value) -> Value {
    let about = "A regular expression with Unicode classes and named groups (?<name>…), without lookaround.";
    let mut fields = Map::from_iter([
        ("text".to_owned(), text_field(MAX_SEARCHED, "The text.")),
        ("pattern".to_owned(), text_field(1000, about)),
        ("ignoreCase".to_owned(), flag_field(false, "Ignore the difference between upper and lower case.")),
    ]);
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    fields.into()
}

fn pad_fields() -> Value {
    json!({
        "text": source_field(),
        "length": integer_field(0..=1_000_000, "The number of characters; a longer text is unchanged."),
        "fill": {"type": "string", "minLength": 1, "maxLength": 100, "default": " ", "description": "The text to pad with."},
    })
}

/// Creates an operation whose only argument is the text.
const fn of_text(
    name: &'static str,
    about: &'static str,
    run: fn(&Arguments) -> Result<Value, CallError>,
) -> Operation {
    Operation { name, about, fields: || json!({"text": source_field()}), required: &["text"], run }
}

/// Checks the size of a text that is at most a few times as long as a given one.
fn limited(text: String) -> Result<Value, CallError> {
    fits_text(text.chars().count())?;
    Ok(text.into())
}

fn title(text: &str) -> String {
    let mut titled = String::with_capacity(text.len());
    let mut begins = true;
    for character in text.to_lowercase().chars() {
        if begins && character.is_alphanumeric() {
            begins = false;
            // One lower-case letter may have several capitals: ﬁ becomes Fi, not FI.
            let mut capitals = character.to_uppercase();
            titled.extend(capitals.next());
            titled.extend(capitals.flat_map(char::to_lowercase));
        } else {
            begins |= character.is_whitespace() || character == '-';
            titled.push(character);
        }
    }
    titled
}

fn trim(a: &Arguments) -> Result<Value, CallError> {
    let text = text_of(a, "text");
    Ok(match text_of(a, "side") {
        "start" => text.trim_start().into(),
        "end" => text.trim_end().into(),
        _ => text.trim().into(),
    })
}

fn slice(a: &Arguments) -> Result<Value, CallError> {
    let text = text_of(a, "text");
    let range = range_of(a, text.graphemes(true).count());
    Ok(text.graphemes(true).skip(range.start).take(range.len()).collect::<String>().into())
}

fn split(a: &Arguments) -> Result<Value, CallError> {
    let (text, separator) = (text_of(a, "text"), text_of(a, "separator"));
    let most = count_of(a, "limit").unwrap_or(usize::MAX);
    if separator.is_empty() {
        fits_items(text.graphemes(true).take(most).count())?;
        let mut parts: Vec<&str> = text.graphemes(true).take(most.saturating_sub(1)).collect();
        let taken: usize = parts.iter().map(|part| part.len()).sum();
        parts.extend(text.get(taken..).filter(|rest| !rest.is_empty()));
        return Ok(parts.into());
    }
    fits_items(text.splitn(most, separator).count())?;
    Ok(text.splitn(most, separator).collect::<Vec<&str>>().into())
}

fn replace(a: &Arguments) -> Result<Value, CallError> {
    let (text, search, replacement) = (text_of(a, "text"), text_of(a, "search"), text_of(a, "replacement"));
    let most = if flag_of(a, "all", true) { usize::MAX } else { 1 };
    let found = text.matches(search).take(most).count();
    let kept = text.chars().count() - found * search.chars().count();
    fits_text(kept + found * replacement.chars().count())?;
    Ok(text.replacen(search, replacement, most).into())
}

fn regex(a: &Arguments) -> Result<Regex, CallError> {
    let mut builder = RegexBuilder::new(text_of(a, "pattern"));
    builder.case_insensitive(flag_of(a, "ignoreCase", false)).size_limit(LARGEST_PATTERN);
    builder.build().map_err(|error| {
        // The reason is the last line; the lines before it show the pattern.
        let report = error.to_string();
        let reason = report.lines().last().unwrap_or_default().trim_start_matches("error: ");
        failure(Message::new(&BAD_PATTERN).with("reason", reason))
    })
}

fn in_time(started: Instant) -> Result<(), CallError> {
    if started.elapsed() < SEARCH_TIMEOUT {
        return Ok(());
    }
    Err(failure(Message::new(&TOO_SLOW)))
}

/// A piece of a replacement.
enum Piece<'t> {
    Text(&'t str),
    Group(usize),
}

fn regex_replace(a: &Arguments) -> Result<Value, CallError> {
    let (text, regex, started) = (text_of(a, "text"), regex(a)?, Instant::now());
    let pieces = pieces(text_of(a, "replacement"), &regex)?;
    let most = if flag_of(a, "all", true) { usize::MAX } else { 1 };
    let (mut result, mut done, mut bytes) = (String::new(), 0, text.len());
    for captures in regex.captures_iter(text).take(most) {
        in_time(started)?;
        let Some(whole) = captures.get(0) else { continue };
        result.push_str(&text[done..whole.start()]);
        done = whole.end();
        for piece in &pieces {
            let piece = match piece {
                Piece::Text(text) => *text,
                Piece::Group(group) => captures.get(*group).map_or("", |found| found.as_str()),
            };
            // A character has at most four bytes. An empty piece counts too, because it is work.
            bytes += piece.len().max(1);
            fits_text(bytes / 4)?;
            result.push_str(piece);
        }
    }
    result.push_str(&text[done..]);
    limited(result)
}

fn pieces<'t>(replacement: &'t str, regex: &Regex) -> Result<Vec<Piece<'t>>, CallError> {
    let group = |name: &str| {
        let number = name.parse::<usize>().ok().filter(|number| *number < regex.captures_len());
        let group = number.or_else(|| regex.capture_names().position(|known| known == Some(name)));
        group.ok_or_else(|| failure(Message::new(&NO_GROUP).with("group", format!("{name:?}"))))
    };
    let mut pieces = Vec::new();
    let mut rest = replacement;
    while let Some((before, after)) = rest.split_once('$') {
        pieces.push(Piece::Text(before));
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if let Some((name, following)) = after.strip_prefix('{').and_then(|name| name.split_once('}')) {
            pieces.push(Piece::Group(group(name)?));
            rest = following;
        } else if digits > 0 {
            pieces.push(Piece::Group(group(&after[..digits])?));
            rest = &after[digits..];
        } else {
            pieces.push(Piece::Text("$"));
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    pieces.push(Piece::Text(rest));
    pieces.retain(|piece| !matches!(piece, Piece::Text("")));
    Ok(pieces)
}

fn matches(a: &Arguments) -> Result<Value, CallError> {
    let (text, regex, started) = (text_of(a, "text"), regex(a)?, Instant::now());
    let all = flag_of(a, "all", false);
    let names: Vec<Option<&str>> = regex.capture_names().collect();
    let mut graphemes = text.graphemes(true).peekable();
    let (mut passed, mut index) = (0_usize, 0_usize);
    let (mut found, mut characters) = (Vec::new(), 0);
    for captures in regex.captures_iter(text).take(if all { usize::MAX } else { 1 }) {
        in_time(started)?;
        fits_items((found.len() + 1) * names.len())?;
        characters += captures.iter().flatten().map(|group| group.as_str().chars().count()).sum::<usize>();
        fits_text(characters)?;
        let start = captures.get(0).map_or(0, |whole| whole.start());
        while let Some(grapheme) = graphemes.next_if(|next| passed + next.len() <= start) {
            passed += grapheme.len();
            index += 1;
        }
        found.push(match_json(&captures, index, &names));
    }
    Ok(if all { found.into() } else { found.pop().unwrap_or_default() })
}

fn match_json(captures: &Captures<'_>, index: usize, names: &[Option<&str>]) -> Value {
    let group = |number: usize| captures.get(number).map_or(Value::Null, |found| found.as_str().into());
    let groups: Vec<Value> = (1..captures.len()).map(group).collect();
    let named = names.iter().enumerate();
    let named: Map<String, Value> =
        named.filter_map(|(number, name)| name.map(|name| (name.to_owned(), group(number)))).collect();
    json!({"match": group(0), "index": index, "groups": groups, "named": named})
}

fn padding(a: &Arguments) -> Result<String, CallError> {
    let text = text_of(a, "text");
    let fill = a.get("fill").and_then(Value::as_str).unwrap_or(" ");
    let length = fill.graphemes(true).count().max(1);
    let missing = count_of(a, "length").unwrap_or(0).saturating_sub(text.graphemes(true).count());
    let rest: String = fill.graphemes(true).take(missing % length).collect();
    let filled = fill.chars().count() * (missing / length) + rest.chars().count();
    fits_text(text.chars().count() + filled)?;
    Ok(fill.repeat(missing / length) + &rest)
}

fn repeat(a: &Arguments) -> Result<Value, CallError> {
    let (text, count) = (text_of(a, "text"), count_of(a, "count").unwrap_or(0));
    fits_text(text.chars().count().saturating_mul(count))?;
    Ok(text.repeat(count).into())
}

fn includes(a: &Arguments) -> Result<Value, CallError> {
    let (text, search) = (text_of(a, "text"), text_of(a, "search"));
    if !flag_of(a, "ignoreCase", false) {
        return Ok(text.contains(search).into());
    }
    // Via capitals, ß equals ss, and both Greek small sigmas are equal.
    let folded = |text: &str| -> String {
        text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    Ok(folded(text).contains(&folded(search)).into())
}

fn base64_encode(a: &Arguments) -> Result<Value, CallError> {
    let text = text_of(a, "text");
    fits_text(text.len().div_ceil(3) * 4)?;
    Ok(STANDARD.encode(text).into())
}

fn base64_decode(a: &Arguments) -> Result<Value, CallError> {
    let standard = text_of(a, "text").replace('-', "+").replace('_', "/");
    let decoded = STANDARD_PAD_INDIFFERENT.decode(standard);
    let bytes = decoded.map_err(|error| failure(Message::new(&NOT_BASE64).with("reason", error)))?;
    String::from_utf8(bytes).map(Value::from).map_err(|_| failure(Message::new(&NOT_UTF8)))
}

fn url_encode(a: &Arguments) -> Result<Value, CallError> {
    let encoded = utf8_percent_encode(text_of(a, "text"), COMPONENT);
    fits_text(encoded.clone().map(str::len).sum())?;
    Ok(encoded.to_string().into())
}

fn url_decode(a: &Arguments) -> Result<Value, CallError> {
    let text = text_of(a, "text");
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_hexdigit);
    let bad = text.match_indices('%').find(|(at, _)| !is_digit(at + 1) || !is_digit(at + 2));
    if let Some((at, _)) = bad {
        return Err(failure(Message::new(&BAD_ESCAPE).with("at", at)));
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| failure(Message::new(&NOT_UTF8)))?;
    Ok(decoded.into_owned().into())
}

fn template(a: &Arguments) -> Result<Value, CallError> {
    let values = a.get("values").unwrap_or(&Value::Null);
    let mut rest = text_of(a, "template");
    let (mut result, mut characters) = (String::new(), 0);
    let mut add = |part: &str| {
        characters += part.chars().count();
        fits_text(characters)?;
        result.push_str(part);
        Ok::<(), CallError>(())
    };
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, following)) = after.split_once("}}") else { break };
        add(before)?;
        let path = Path::parse(name.trim())?;
        if path.depth() > 0
            && let Some(value) = path.get(values)
        {
            add(&plain(value))?;
        }
        rest = following;
    }
    add(rest)?;
    Ok(result.into())
}
