//! Tool calls written in the text, as produced by small models without native tool calls.

use serde_json::{Deserializer, Value};

use crate::delta::MAX_CALLS;
use crate::request::Call;

/// A text without its calls, and the calls.
#[derive(Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
}

const FENCE: &str = "```";
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// The calls of offered tools at the end of a text. If text follows, the calls were only an example.
pub(crate) fn calls(text: &str, offered: &[&str]) -> Option<Written> {
    if let Some(calls) = read(text, offered) {
        return Some(Written { text: String::new(), calls });
    }
    let (mut kept, mut calls, mut rest) = (String::new(), Vec::new(), text);
    let (mut blocks, mut is_last) = (Blocks::new(text), false);
    while let Some(block) = blocks.next() {
        kept.push_str(block.before);
        match read(block.inside, offered) {
            Some(found) => {
                calls.extend(found);
                calls.truncate(MAX_CALLS);
                is_last = true;
            }
            None => {
                kept.push_str(block.whole);
                is_last = false;
            }
        }
        rest = blocks.rest;
    }
    let has_ended = is_last && rest.trim().is_empty();
    (has_ended && !calls.is_empty()).then(|| Written { text: kept.trim().to_owned(), calls })
}

/// A delimited block of a text.
struct Block<'a> {
    before: &'a str,
    inside: &'a str,
    whole: &'a str,
}

/// Iterates over the blocks of a text. Each part of the text is searched once per delimiter.
struct Blocks<'a> {
    rest: &'a str,
    /// Distances of the next delimiters from the end of the text.
    fence: Option<usize>,
    open: Option<usize>,
}

impl<'a> Blocks<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text, fence: find(text, FENCE), open: find(text, OPEN) }
    }

    fn next(&mut self) -> Option<Block<'a>> {
        // A delimiter inside the last block does not count.
        for (next, mark) in [(&mut self.fence, FENCE), (&mut self.open, OPEN)] {
            if next.is_some_and(|to_end| to_end > self.rest.len()) {
                *next = find(self.rest, mark);
            }
        }
        let to_end = self.fence.max(self.open)?;
        let (before, from) = self.rest.split_at(self.rest.len() - to_end);
        let (opening, closing) = if self.fence == Some(to_end) { (FENCE, FENCE) } else { (OPEN, CLOSE) };
        let inner = from.strip_prefix(opening)?;
        // An unclosed block extends to the end.
        let (inside, after) = inner.split_once(closing).unwrap_or((inner, ""));
        let (whole, rest) = from.split_at(from.len() - after.len());
        self.rest = rest;
        // A fence may name a language.
        let inside = inside.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        Some(Block { before, inside, whole })
    }
}

/// The distance of a delimiter from the end of the text.
fn find(text: &str, mark: &str) -> Option<usize> {
    text.find(mark).map(|begin| text.len() - begin)
}

/// Parses a text that consists only of calls: one, several, or a list. Those beyond [`MAX_CALLS`] are not
/// read.
fn read(text: &str, offered: &[&str]) -> Option<Vec<Call>> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut calls = Vec::new();
    for document in Deserializer::from_str(text).into_iter::<Value>() {
        let document = document.ok()?;
        let listed = document.as_array().map_or(std::slice::from_ref(&document), Vec::as_slice);
        for document in listed {
            if calls.len() == MAX_CALLS {
                return Some(calls);
            }
            calls.push(call(document, offered)?);
        }
    }
    (!calls.is_empty()).then_some(calls)
}

fn call(document: &Value, offered: &[&str]) -> Option<Call> {
    let holder = document.get("function").filter(|function| function.is_object()).unwrap_or(document);
    let names = ["name", "tool", "tool_name", "function"];
    let name = names.into_iter().find_map(|name| holder.get(name)?.as_str())?;
    let arguments =
        ["arguments", "parameters", "args", "input"].into_iter().find_map(|name| holder.get(name))?;
    let arguments = match arguments {
        Value::Object(_) => arguments.to_string(),
        Value::String(written) => written.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
    };
    offered.contains(&name).then(|| Call {
        name: name.to_owned(),
        arguments,
        is_from_text: true,
        ..Call::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: [&str; 2] = ["weather", "time"];

    /// The remaining text, and the calls.
    fn understood(text: &str) -> Option<(String, Vec<(String, String)>)> {
        let written = calls(text, &OFFERED)?;
        Some((written.text, written.calls.into_iter().map(|call| (call.name, call.arguments)).collect()))
    }

    #[test]
    fn all_common_notations_of_calls_are_parsed() {
        let one = r#"{"name": "weather", "arguments": {"city": "Paris"}}"#;
        for text in [
            one.to_owned(),
            format!("```json\n{one}\n```"),
            format!("```json {one} ```"),
            format!("```\n{one}\n```\n"),
            format!("```tool_call\n{one}\n```"),
            format!("```json\n{one}"),
            format!("<tool_call>\n{one}\n</tool_call>"),
            format!("<tool_call>{one}"),
            format!("[{one}]"),
            format!("```json\n[{one}]\n```"),
            one.replace("arguments", "parameters"),
            one.replace("\"name\"", "\"tool\""),
            format!(r#"{{"type": "function", "function": {one}}}"#),
            r#"{"name": "weather", "arguments": "{\"city\":\"Paris\"}"}"#.to_owned(),
        ] {
            let expected = (String::new(), vec![("weather".to_owned(), r#"{"city":"Paris"}"#.to_owned())]);
            assert_eq!(understood(&text), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_before_calls_stays_and_calls_are_in_order() {
        let text = "I will look.\n```sh\nls\n```\n<tool_call>{\"name\": \"weather\", \"arguments\": {}}</tool_call>\n\
                    <tool_call>{\"name\": \"time\", \"arguments\": {}}\n{\"name\": \"time\", \"arguments\": {\"a\": 1}}</tool_call>";
        let (left, calls) = understood(text).expect("calls");
        assert_eq!(left, "I will look.\n```sh\nls\n```");
        let calls: Vec<(&str, &str)> =
            calls.iter().map(|(name, given)| (name.as_str(), given.as_str())).collect();
        assert_eq!(calls, [("weather", "{}"), ("time", "{}"), ("time", r#"{"a":1}"#)]);
    }

    #[test]
    fn text_that_is_not_a_call_is_unchanged() {
        for text in [
            "",
            "Paris is warm.",
            "{}",
            "[]",
            "```json\n{\"city\": \"Paris\"}\n```",
            r#"{"name": "delete_all", "arguments": {}}"#,
            r#"{"name": "weather"}"#,
            r#"{"name": "weather", "arguments": [1]}"#,
            r#"[{"name": "weather", "arguments": {}}, 7]"#,
            r#"{"name": "weather", "arguments": {"city": "#,
            "Write ```json\n{\"name\": \"weather\", \"arguments\": {}}\n``` to ask.",
            "```json\n{\"name\": \"weather\", \"arguments\": {}}\n```\n```sh\nls\n```",
            "``````````",
            "<tool_call>",
        ] {
            assert_eq!(understood(text), None, "{text}");
        }
    }

    #[test]
    fn calls_beyond_the_limit_are_not_read() {
        let one = r#"{"name": "weather", "arguments": {}}"#;
        for text in [
            one.repeat(1_000),
            format!("[{}{one}]", format!("{one},").repeat(1_000)),
            format!("```json\n{one}\n```\n").repeat(1_000),
            format!("<tool_call>{one}</tool_call>").repeat(1_000),
        ] {
            assert_eq!(understood(&text).map(|(_, calls)| calls.len()), Some(MAX_CALLS), "{}", &text[..40]);
        }
    }

    #[test]
    fn each_part_of_a_text_is_searched_once() {
        // Enough blocks to make quadratic work impossible to finish.
        for text in ["``````", "<tool_call></tool_call>", "```<tool_call>```", "<tool_call>```</tool_call>"] {
            assert_eq!(understood(&text.repeat(1 << 20)), None, "{text}");
        }
    }
}
