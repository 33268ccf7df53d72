//! Shared code of text, list and object operations: fields, arguments, paths within JSON, limits of results.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use haft_core::{Arguments, CallError, Message};
use serde_json::{Map, Value, json};

use crate::failure;

haft_core::templates! {
    TOO_LONG = "path.tooLong",
        "The result would be longer than 1,000,000 characters",
        "结果将超过 1,000,000 个字符";
    TOO_MANY_ITEMS = "path.tooManyItems",
        "The result would have more than 100,000 items",
        "结果将超过 100,000 项";
    TOO_DEEP = "path.tooDeep",
        "The result would be nested {depth} levels deep; at most {limit}",
        "结果将嵌套 {depth} 层；最多 {limit} 层";
    TOO_MANY_SEGMENTS = "path.tooManySegments",
        "The path has {count} segments; at most {limit}",
        "路径有 {count} 段；最多 {limit} 段";
    NO_PLACE = "path.noPlace",
        "{segment} is not a position in the list at {path}, which has {length} items",
        "{segment} 不是 {path} 处列表中的位置，该列表有 {length} 项";
    NOT_NESTED = "path.notNested",
        "The value at {path} is neither an object nor a list",
        "{path} 处的值既不是对象也不是列表";
}

/// Maximum number of characters in a text, given or generated.
pub(crate) const MAX_CHARACTERS: usize = 1_000_000;

/// Maximum number of items in a list, given or generated.
pub(crate) const MAX_ITEMS: usize = 100_000;

/// Maximum depth of a result. Deeper ones could not be passed to the next tool.
const MAX_DEPTH: usize = 120;

const MOST_SEGMENTS: usize = 100;

pub(crate) fn text_field(most: usize, about: &str) -> Value {
    json!({"type": "string", "maxLength": most, "description": about})
}

pub(crate) fn integer_field(range: RangeInclusive<i64>, about: &str) -> Value {
    json!({"type": "integer", "minimum": range.start(), "maximum": range.end(), "description": about})
}

/// Returns the schema of a position in a text or list; a negative one counts from the end.
pub(crate) fn position_field(about: &str) -> Value {
    integer_field(-1_000_000..=1_000_000, about)
}

pub(crate) fn flag_field(default: bool, about: &str) -> Value {
    json!({"type": "boolean", "default": default, "description": about})
}

pub(crate) fn list_field(about: &str) -> Value {
    json!({"type": "array", "maxItems": MAX_ITEMS, "description": about})
}

pub(crate) fn text_of<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn list_of<'a>(arguments: &'a Arguments, name: &str) -> &'a [Value] {
    arguments.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn flag_of(arguments: &Arguments, name: &str, default: bool) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(default)
}

/// Returns an integer argument, which JSON may also write as `2.0`.
pub(crate) fn integer_of(arguments: &Arguments, name: &str) -> Option<i64> {
    let number = arguments.get(name)?;
    number.as_i64().or_else(|| number.as_f64().map(|float| float as i64))
}

pub(crate) fn count_of(arguments: &Arguments, name: &str) -> Option<usize> {
    integer_of(arguments, name).and_then(|count| usize::try_from(count).ok())
}

/// Returns the range from `start` to before `end` within `length`; negative numbers count from the end.
pub(crate) fn range_of(arguments: &Arguments, length: usize) -> Range<usize> {
    let place = |position: i64| {
        let distance = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
        if position < 0 { length.saturating_sub(distance) } else { distance.min(length) }
    };
    let start = place(integer_of(arguments, "start").unwrap_or(0));
    let end = integer_of(arguments, "end").map_or(length, place);
    start..end.max(start)
}

/// Returns a text unchanged, an empty text for null, and other values as JSON.
pub(crate) fn plain(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

pub(crate) fn fits_text(characters: usize) -> Result<(), CallError> {
    if characters <= MAX_CHARACTERS {
        return Ok(());
    }
    Err(failure(Message::new(&TOO_LONG)))
}

pub(crate) fn fits_items(items: usize) -> Result<(), CallError> {
    if items <= MAX_ITEMS {
        return Ok(());
    }
    Err(failure(Message::new(&TOO_MANY_ITEMS)))
}

pub(crate) fn fits_depth(depth: usize) -> Result<(), CallError> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(failure(Message::new(&TOO_DEEP).with("depth", depth).with("limit", MAX_DEPTH)))
}

/// A path within a JSON value: names of fields and positions of items, from the outside in. An empty path is
/// the value itself.
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Returns the schema of a path argument.
    pub(crate) fn field(about: &str) -> Value {
        json!({
            "type": ["string", "array"],
            "maxLength": 1000,
            "maxItems": MOST_SEGMENTS,
            "items": {"type": ["string", "integer"], "maxLength": 1000, "minimum": 0},
            "description": format!(
                "{about} Dotted: `address.city`, `items.0.name`; `\\.` is a dot within a name. Or a list of segments.",
            ),
        })
    }

    /// Returns a path argument, or the empty path if it is absent.
    pub(crate) fn argument(arguments: &Arguments, name: &str) -> Result<Self, CallError> {
        match arguments.get(name) {
            Some(Value::String(text)) => Self::parse(text),
            Some(Value::Array(segments)) => {
                let text =
                    |segment: &Value| segment.as_str().map_or_else(|| segment.to_string(), str::to_owned);
                Self::checked(segments.iter().map(text).collect())
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Ok(Self(Vec::new()))
            }
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self, CallError> {
        if text.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let mut segments = Vec::new();
        let mut segment = String::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '.' => segments.push(std::mem::take(&mut segment)),
                '\\' => segment.push(characters.next_if(|next| matches!(next, '.' | '\\')).unwrap_or('\\')),
                other => segment.push(other),
            }
        }
        segments.push(segment);
        Self::checked(segments)
    }

    fn checked(segments: Vec<String>) -> Result<Self, CallError> {
        if segments.len() > MOST_SEGMENTS {
            let message = Message::new(&TOO_MANY_SEGMENTS).with("count", segments.len());
            return Err(failure(message.with("limit", MOST_SEGMENTS)));
        }
        Ok(Self(segments))
    }

    /// Returns the number of levels below the value.
    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut place = value;
        for segment in &self.0 {
            place = match place {
                Value::Object(fields) => fields.get(segment)?,
                Value::Array(items) => items.get(position(segment)?)?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
            };
        }
        Some(place)
    }

    /// Sets the value at the path. A missing container becomes a list if the segment is `0`, and an object
    /// otherwise; a list grows by one item at its end.
    pub(crate) fn set(&self, value: &mut Value, new: Value) -> Result<(), CallError> {
        let mut place = value;
        for (depth, segment) in self.0.iter().enumerate() {
            let outer = || self.0.get(..depth).unwrap_or_default().join(".");
            if place.is_null() {
                *place = if segment == "0" { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
            }
            place = match place {
                Value::Object(fields) => fields.entry(segment.as_str()).or_insert(Value::Null),
                Value::Array(items) => {
                    let length = items.len();
                    let Some(index) = position(segment).filter(|index| *index <= length) else {
                        let message = Message::new(&NO_PLACE).with("segment", format!("{segment:?}"));
                        let message = message.with("path", format!("{:?}", outer()));
                        return Err(failure(message.with("length", length)));
                    };
                    if index == length {
                        items.push(Value::Null);
                    }
                    &mut items[index]
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    let message = Message::new(&NOT_NESTED).with("path", format!("{:?}", outer()));
                    return Err(failure(message));
                }
            };
        }
        *place = new;
        Ok(())
    }

    /// Removes the value at the path, if there is one.
    pub(crate) fn remove(&self, value: &mut Value) {
        let Some((last, outer)) = self.0.split_last() else { return };
        let mut place = value;
        for segment in outer {
            let inner = match place {
                Value::Object(fields) => fields.get_mut(segment),
                Value::Array(items) => position(segment).and_then(|index| items.get_mut(index)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            let Some(inner) = inner else { return };
            place = inner;
        }
        if let Value::Object(fields) = place {
            fields.shift_remove(last);
        } else if let Value::Array(items) = place
            && let Some(index) = position(last).filter(|index| *index < items.len())
        {
            items.remove(index);
        }
    }
}

/// Parses a segment as the position of an item: `0`, `12`, and not `-1`, `+1` or `01`.
fn position(segment: &str) -> Option<usize> {
    let is_number = segment.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = segment.len() > 1 && segment.starts_with('0');
    if is_number && !is_padded { segment.parse().ok() } else { None }
}
