//! Parses YAML to JSON values, event by event within a budget.
//!
//! Nesting and look-ahead are limited during scanning, so parsing takes linear time and keeps only the
//! resulting value in memory.

use std::collections::HashMap;

use granit_parser::{
    BorrowedInput, ErrorKind, Event, Options, Parser, ScalarStyle, ScanError, StrInput, Tag,
};
use haft_core::Message;
use serde_json::{Map, Number, Value};

use super::source::{Budget, too_large};

haft_core::templates! {
    UNREADABLE = "import.unreadable",
        "is neither JSON nor YAML: {reason}",
        "既不是 JSON 也不是 YAML: {reason}";
    TOO_DEEP = "import.tooDeep",
        "nests lists and objects more than {limit} levels deep in line {line}; flatten it there",
        "第 {line} 行的列表和对象嵌套超过 {limit} 层；请减少嵌套";
    SEVERAL = "import.severalDocuments",
        "contains more than one YAML document; give one at a time",
        "包含多个 YAML 文档；请一次只提供一个";
    CYCLE = "import.cyclicAlias",
        "has an alias in line {line} that refers to a value containing the alias",
        "第 {line} 行的别名引用了包含它自身的内容";
}

/// Maximum nesting of lists and objects, equal to that of JSON.
const MOST_NESTED: usize = 128;

/// Maximum length of a key that is a list or an object, as text.
const LONGEST_COMPOSITE_KEY: usize = 1024;

/// The merge key: adds the fields of its value to the object.
const MERGE: &str = "<<";

/// Parses one document.
pub(super) fn read(text: &str, budget: &Budget) -> Result<Value, Message> {
    read_input(StrInput::new(text), budget)
}

fn options() -> Options {
    granit_parser::options! {
        flow_nesting_limit: MOST_NESTED,
        block_nesting_limit: MOST_NESTED,
    }
}

fn read_input<'text>(input: impl BorrowedInput<'text>, budget: &Budget) -> Result<Value, Message> {
    let mut document = Document { budget, open: Vec::new(), root: None, anchors: HashMap::new() };
    let mut documents = 0;
    for event in Parser::with_options(input, options()) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        if let Event::DocumentStart(..) = event {
            documents += 1;
            if documents > 1 {
                return Err(Message::new(&SEVERAL));
            }
        }
        document.take_in(event, span.start.line())?;
    }
    Ok(document.root.unwrap_or_default())
}

fn unreadable(error: &ScanError) -> Message {
    if *error.kind() == ErrorKind::RecursionLimitExceeded {
        too_deep(error.marker().line())
    } else {
        Message::new(&UNREADABLE).with("reason", error)
    }
}

fn too_deep(line: usize) -> Message {
    Message::new(&TOO_DEEP).with("limit", MOST_NESTED).with("line", line)
}

/// A partially parsed document.
struct Document<'b> {
    budget: &'b Budget,
    /// Open lists and objects, the innermost last.
    open: Vec<Open>,
    root: Option<Value>,
    /// Values that aliases may refer to.
    anchors: HashMap<usize, Anchored>,
}

/// An open list or object.
struct Open {
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Value>),
    Object { fields: Map<String, Value>, merged: Vec<Value>, key: Option<String> },
}

/// An anchored value, and the cost of each copy.
struct Anchored {
    value: Value,
    values: usize,
    bytes: usize,
}

impl Document<'_> {
    fn take_in(&mut self, event: Event<'_>, line: usize) -> Result<(), Message> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.budget.take(1, text.len())?;
                let value = scalar(&text, style, tag.as_deref());
                self.end(value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(anchor, Content::List(Vec::new()), line),
            Event::MappingStart(_, anchor, _) => {
                let content = Content::Object { fields: Map::new(), merged: Vec::new(), key: None };
                self.begin(anchor, content, line)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { anchor, content }) = self.open.pop() else { return Ok(()) };
                self.end(content.into_value(), anchor)
            }
            Event::Alias(anchor) => {
                let cycle = || Message::new(&CYCLE).with("line", line);
                let Anchored { value, values, bytes } = self.anchors.get(&anchor).ok_or_else(cycle)?;
                self.budget.take_copy(*values, *bytes)?;
                let value = value.clone();
                self.insert(value)
            }
            // Stream and document boundaries have no value.
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            | Event::UnresolvedAlias(_)
            | _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content, line: usize) -> Result<(), Message> {
        self.budget.take(1, 0)?;
        if self.open.len() >= MOST_NESTED {
            return Err(too_deep(line));
        }
        self.open.push(Open { anchor, content });
        Ok(())
    }

    /// Completes a value. Anchor 0 means none.
    fn end(&mut self, value: Value, anchor: usize) -> Result<(), Message> {
        if anchor != 0 {
            let (values, bytes) = size(&value);
            self.budget.take_copy(values, bytes)?;
            self.anchors.insert(anchor, Anchored { value: value.clone(), values, bytes });
        }
        self.insert(value)
    }

    /// Inserts a value into the innermost open container.
    fn insert(&mut self, value: Value) -> Result<(), Message> {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(value),
            Some(Content::List(items)) => items.push(value),
            Some(Content::Object { fields, merged, key }) => match key.take() {
                None => *key = Some(as_key(value)?),
                Some(key) if key == MERGE && is_mergeable(&value) => merged.push(value),
                Some(key) => {
                    fields.insert(key, value);
                }
            },
        }
        Ok(())
    }
}

impl Content {
    fn into_value(self) -> Value {
        match self {
            Self::List(items) => Value::Array(items),
            Self::Object { mut fields, merged, .. } => {
                merged.into_iter().for_each(|more| merge(&mut fields, more));
                Value::Object(fields)
            }
        }
    }
}

/// The number of values, including the value itself, and the bytes of their text.
fn size(value: &Value) -> (usize, usize) {
    let add = |(values, bytes): (usize, usize), inner: &Value| {
        let (more, text) = size(inner);
        (values + more, bytes + text)
    };
    match value {
        Value::Array(items) => items.iter().fold((1, 0), add),
        Value::Object(fields) => {
            let names = fields.keys().map(String::len).sum();
            fields.values().fold((1 + fields.len(), names), add)
        }
        Value::String(text) => (1, text.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => (1, 0),
    }
}

/// Converts a key to text. YAML keys may be numbers, such as statuses, or objects, such as `{{name}}`.
fn as_key(key: Value) -> Result<String, Message> {
    match key {
        Value::String(text) => Ok(text),
        // Each nesting of keys escapes the inner one, which doubles the text.
        Value::Array(_) | Value::Object(_) => {
            let text = key.to_string();
            if text.len() > LONGEST_COMPOSITE_KEY { Err(too_large()) } else { Ok(text) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
    }
}

fn is_mergeable(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().all(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Adds missing fields from another object.
fn merge(object: &mut Map<String, Value>, more: Value) {
    match more {
        Value::Object(fields) => {
            for (name, value) in fields {
                object.entry(name).or_insert(value);
            }
        }
        Value::Array(items) => items.into_iter().for_each(|item| merge(object, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The value of a scalar in YAML's core schema. A tag that does not match the text is ignored.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_plain = style == ScalarStyle::Plain;
    let as_text = || Value::String(text.to_owned());
    match tag.map(|tag| (tag.core_suffix(), tag.handle())) {
        None if is_plain => plain(text),
        Some((Some("bool"), _)) => boolean(text).unwrap_or_else(as_text),
        Some((Some("int"), _)) => integer(text).unwrap_or_else(as_text),
        Some((Some("float"), _)) => float(text).unwrap_or_else(as_text),
        Some((Some("null"), _)) if is_null(text) || text.is_empty() => Value::Null,
        // A custom tag names an application type, which JSON cannot express.
        Some((None, handle)) if handle.starts_with('!') && is_plain => plain(text),
        None | Some(_) => as_text(),
    }
}

fn plain(text: &str) -> Value {
    if text.is_empty() || is_null(text) {
        return Value::Null;
    }
    let number = || if has_leading_zero(text) { None } else { integer(text).or_else(|| float(text)) };
    boolean(text).or_else(number).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn is_null(text: &str) -> bool {
    matches!(text, "null" | "Null" | "NULL" | "~")
}

fn boolean(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Returns true for digits with a leading zero, which are text: `007`.
fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn integer(text: &str) -> Option<Value> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((digits.strip_prefix(prefix)?, radix)))
        .unwrap_or((digits, 10));
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    let number = if is_negative { -number } else { number };
    let whole = u64::try_from(number).map(Number::from).or_else(|_| i64::try_from(number).map(Number::from));
    // Larger integers lose precision, as in JSON.
    Some(whole.map_or_else(|_| Value::from(number as f64), Value::Number))
}

fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned.len() < text.len() && unsigned.starts_with(['+', '-']) {
        return None;
    }
    match (text, unsigned) {
        // JSON has no numbers for these.
        (_, ".inf" | ".Inf" | ".INF") => Some("inf".into()),
        ("-.inf" | "-.Inf" | "-.INF", _) => Some("-inf".into()),
        (".nan" | ".NaN" | ".NAN", _) => Some("NaN".into()),
        _ => unsigned.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
    }
}

#[cfg(test)]
mod work;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::source::parse_document;

    fn error_of(text: &str) -> String {
        parse_document(text).expect_err("no document")[0].message.to_string()
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        for (text, value) in [
            ("010", json!("010")),
            ("-007", json!("-007")),
            ("0x1F", json!(31)),
            ("-0o17", json!(-15)),
            ("0b101", json!(5)),
            ("+5", json!(5)),
            ("+-5", json!("+-5")),
            ("18446744073709551616", json!(18_446_744_073_709_551_616.0)),
            ("1e3", json!(1000.0)),
            ("-.inf", json!("-inf")),
            (".nan", json!("NaN")),
            ("nan", json!("nan")),
            ("inf", json!("inf")),
            ("1.2.3", json!("1.2.3")),
            ("0", json!(0)),
            ("-0.5", json!(-0.5)),
            ("TRUE", json!(true)),
            ("yes", json!("yes")),
            ("\"5\"", json!("5")),
            ("'true'", json!("true")),
            ("!!str 5", json!("5")),
            ("!!int \"5\"", json!(5)),
            ("!!int five", json!("five")),
            ("!!bool 'true'", json!(true)),
            ("!!null ''", json!(null)),
            ("!!binary aGk=", json!("aGk=")),
            ("!own 5", json!(5)),
            ("!own '5'", json!("5")),
            ("|\n  5", json!("5\n")),
            (">-\n  a\n  b", json!("a b")),
            ("2001-12-14", json!("2001-12-14")),
        ] {
            let document = parse_document(&format!("a: {text}\n")).expect(text);
            assert_eq!(document["a"], value, "{text}");
        }
    }

    #[test]
    fn nesting_is_limited_in_all_syntaxes() {
        let block = |depth: usize| -> String {
            (0..depth).map(|level| format!("{}a:\n", " ".repeat(level))).collect()
        };
        for depth in [200, 2_000] {
            for (name, text) in [
                ("flow lists", format!("a: {}", "[".repeat(depth))),
                ("flow objects", format!("a: {}", "{a: ".repeat(depth))),
                ("flow pairs", format!("a: {}", "[a, [b: ".repeat(depth / 2))),
                ("block lists", format!("a:\n {}x", "- ".repeat(depth))),
                ("block keys", format!("{}x", "? ".repeat(depth))),
                ("block objects", block(depth)),
            ] {
                let said = error_of(&text);
                assert!(said.contains("nests lists and objects more than 128 levels"), "{name}: {said}");
            }
        }
        let fits = format!("a: {}1{}", "[".repeat(100), "]".repeat(100));
        parse_document(&fits).expect("deep, but not too deep");
    }

    #[test]
    fn brackets_in_text_do_not_count_as_nesting() {
        let text = "a: |\n  [[[[ {{{{\nb: 'it''s [[[['\nc: \"\\\"[[[[\"\nd: x [[[[ # [[[[\n";
        let many = format!("a:\n{}", format!("  - {{x: \"{}\"}}\n", "[{".repeat(200)).repeat(50));
        assert_eq!(parse_document(text).expect("text")["b"], "it's [[[[");
        assert_eq!(parse_document(&many).expect("text")["a"].as_array().map(Vec::len), Some(50));
    }

    #[test]
    fn nested_composite_keys_are_limited() {
        assert_eq!(
            parse_document("url: {{base}}").expect("a document"),
            json!({"url": {"{\"base\":null}": null}})
        );
        let nested = format!("{}a: b", "? ".repeat(60));
        assert!(error_of(&nested).contains("is too large"), "{}", error_of(&nested));
    }

    #[test]
    fn only_one_document_is_allowed() {
        assert_eq!(parse_document("---\na: 1\n...\n").expect("one"), json!({"a": 1}));
        assert!(error_of("a: 1\n---\nb: 2\n").contains("more than one YAML document"));
        assert!(
            error_of("a: &a [*a]").contains("refers to a value containing the alias"),
            "{}",
            error_of("a: &a [*a]")
        );
    }
}
