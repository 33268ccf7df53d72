//! Converts errors of the validator to messages with readable paths.

use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Found};
use jsonschema::{JsonTypeSet, ValidationError};
use serde_json::Value;

use crate::error::ROOT;
use crate::{Message, Template, Violation};

/// Maximum length of a value in a message, in characters.
const MAX_VALUE_CHARS: usize = 80;

crate::templates! {
    REQUIRED = "required", "is required", "是必填项";
    TYPE = "type", "{value} is not of type \"{type}\"", "{value} 不是 \"{type}\" 类型";
    TYPES = "types", "{value} is not of types {types}", "{value} 不属于以下类型：{types}";
    UNEXPECTED = "unexpected", "is not a known property", "不是已知的属性";
    ENUM = "enum", "{value} is not one of {options}", "{value} 不是以下值之一：{options}";
    CONST = "const", "{value} is not {expected}", "{value} 不等于 {expected}";
    FORMAT = "format", "{value} is not a \"{format}\"", "{value} 不是有效的 \"{format}\"";
    PATTERN = "pattern", "{value} does not match \"{pattern}\"", "{value} 不匹配 \"{pattern}\"";
    MINIMUM = "minimum", "{value} is less than the minimum of {limit}", "{value} 小于最小值 {limit}";
    MAXIMUM = "maximum", "{value} is greater than the maximum of {limit}", "{value} 大于最大值 {limit}";
    ABOVE = "exclusiveMinimum", "{value} is not greater than {limit}", "{value} 必须大于 {limit}";
    BELOW = "exclusiveMaximum", "{value} is not less than {limit}", "{value} 必须小于 {limit}";
    MULTIPLE_OF = "multipleOf", "{value} is not a multiple of {factor}", "{value} 不是 {factor} 的倍数";
    MIN_LENGTH = "minLength", "{value} is shorter than {limit} characters", "{value} 的长度少于 {limit} 个字符";
    MAX_LENGTH = "maxLength", "{value} is longer than {limit} characters", "{value} 的长度超过 {limit} 个字符";
    MIN_ITEMS = "minItems", "has fewer than {limit} items", "少于 {limit} 项";
    MAX_ITEMS = "maxItems", "has more than {limit} items", "超过 {limit} 项";
    UNIQUE = "uniqueItems", "has equal items", "包含重复项";
    CONTAINS = "contains", "has no matching item, or not the required number of them", "没有包含所要求的项，或数量不对";
    MIN_PROPERTIES = "minProperties", "has fewer than {limit} properties", "少于 {limit} 个属性";
    MAX_PROPERTIES = "maxProperties", "has more than {limit} properties", "超过 {limit} 个属性";
    PROPERTY_NAME = "propertyNames", "has a property name that is not allowed: {message}", "包含不允许的属性名：{message}";
    NO_FORM = "noForm", "{value} matches none of the allowed forms", "{value} 不符合任何允许的形式";
    SEVERAL_FORMS = "severalForms", "{value} matches more than one of the allowed forms", "{value} 同时符合多种形式，只能符合其中一种";
    NOT = "not", "{value} is not allowed here", "此处不允许 {value}";
    OTHER = "other", "{text}", "{text}";
}

/// Converts one error of the validator.
pub(super) fn of_error(error: &ValidationError<'_>) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    let value = Truncated(error.instance());
    let say = |template: &'static Template| Message::new(template).with("value", &value);
    let limit = |template, limit: &dyn fmt::Display| say(template).with("limit", limit);
    let message = match error.kind() {
        Found::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            return vec![Violation::new(join(path, name), Message::new(&REQUIRED))];
        }
        Found::AdditionalProperties { unexpected } | Found::UnevaluatedProperties { unexpected } => {
            let names = unexpected.iter();
            return names.map(|name| Violation::new(join(path, name), Message::new(&UNEXPECTED))).collect();
        }
        Found::AnyOf { context } | Found::OneOfNotValid { context } => return of_branches(error, context),
        Found::Type { kind } => not_of_types(&value, types(kind)),
        Found::Enum { options } => say(&ENUM).with("options", Listed(options)),
        Found::Constant { expected_value } => say(&CONST).with("expected", Truncated(expected_value)),
        Found::Format { format } => say(&FORMAT).with("format", format),
        Found::Pattern { pattern } => say(&PATTERN).with("pattern", pattern),
        Found::Minimum { limit: least } => limit(&MINIMUM, least),
        Found::Maximum { limit: most } => limit(&MAXIMUM, most),
        Found::ExclusiveMinimum { limit: border } => limit(&ABOVE, border),
        Found::ExclusiveMaximum { limit: border } => limit(&BELOW, border),
        Found::MultipleOf { multiple_of } => say(&MULTIPLE_OF).with("factor", multiple_of),
        Found::MinLength { limit: least } => limit(&MIN_LENGTH, least),
        Found::MaxLength { limit: most } => limit(&MAX_LENGTH, most),
        Found::MinItems { limit: least } => limit(&MIN_ITEMS, least),
        Found::MaxItems { limit: most } => limit(&MAX_ITEMS, most),
        Found::AdditionalItems { limit: most } => limit(&MAX_ITEMS, most),
        Found::UnevaluatedItems { .. } | Found::FalseSchema | Found::Not { .. } => say(&NOT),
        Found::UniqueItems => say(&UNIQUE),
        Found::Contains => say(&CONTAINS),
        Found::MinProperties { limit: least } => limit(&MIN_PROPERTIES, least),
        Found::MaxProperties { limit: most } => limit(&MAX_PROPERTIES, most),
        Found::PropertyNames { error } => {
            let messages = of_error(error).into_iter().map(|violation| violation.message).collect();
            say(&PROPERTY_NAME).with_messages("message", messages)
        }
        Found::OneOfMultipleValid { .. } => say(&SEVERAL_FORMS),
        Found::BacktrackLimitExceeded { .. }
        | Found::RegexEngineFailure { .. }
        | Found::ContentEncoding { .. }
        | Found::ContentMediaType { .. }
        | Found::Custom { .. }
        | Found::FromUtf8 { .. }
        | Found::Referencing(_) => Message::new(&OTHER).with("text", error),
    };
    vec![Violation::new(dotted(path), message)]
}

/// Reports a value that matches no alternative. If its intended alternative is certain, reports the errors of
/// that one.
fn of_branches(error: &ValidationError<'_>, branches: &[Vec<ValidationError<'static>>]) -> Vec<Violation> {
    let path = error.instance_path().as_str();
    if let Some(wanted) = types_of_all(path, branches) {
        return vec![Violation::new(dotted(path), not_of_types(&Truncated(error.instance()), wanted))];
    }
    if let Some(meant) = branch_meant(path, branches) {
        return meant.iter().flat_map(of_error).collect();
    }
    if let Some((field, value, expected)) = discriminator(path, branches) {
        let message = Message::new(&ENUM)
            .with("value", Truncated(value))
            .with("options", Listed(&Value::Array(expected)));
        return vec![Violation::new(dotted(field), message)];
    }
    let common = in_all(branches);
    if !common.is_empty() {
        return common;
    }
    vec![Violation::new(dotted(path), Message::new(&NO_FORM).with("value", Truncated(error.instance())))]
}

/// Returns the errors that all alternatives have in common.
fn in_all(branches: &[Vec<ValidationError<'static>>]) -> Vec<Violation> {
    let mut each = branches.iter().map(|branch| branch.iter().flat_map(of_error).collect::<Vec<_>>());
    let first = each.next().unwrap_or_default();
    each.fold(first, |common, branch| {
        common.into_iter().filter(|violation| branch.contains(violation)).collect()
    })
}

/// Returns the valid types, if the value at `path` has the wrong type for every alternative.
pub(super) fn types_of_all(path: &str, branches: &[Vec<ValidationError<'static>>]) -> Option<JsonTypeSet> {
    let mut wanted = JsonTypeSet::empty();
    for branch in branches {
        let own =
            branch.iter().filter(|error| error.instance_path().as_str() == path).find_map(wrong_type)?;
        wanted = wanted.union(own);
    }
    (!wanted.is_empty()).then_some(wanted)
}

/// Returns the only alternative whose type and constants match, if there is exactly one.
pub(super) fn branch_meant<'e>(
    path: &str,
    branches: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e [ValidationError<'static>]> {
    let is_against = |error: &ValidationError<'static>| {
        let at = error.instance_path().as_str();
        (at == path && wrong_type(error).is_some()) || (is_child(path, at) && wrong_constant(error).is_some())
    };
    let mut meant = branches.iter().filter(|branch| !branch.iter().any(is_against));
    match (meant.next(), meant.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Returns the field whose constant no alternative accepts, with all accepted constants.
fn discriminator<'e>(
    path: &str,
    branches: &'e [Vec<ValidationError<'static>>],
) -> Option<(&'e str, &'e Value, Vec<Value>)> {
    let constant = |error: &'e ValidationError<'static>| {
        let at = error.instance_path().as_str();
        let expected = wrong_constant(error).filter(|_| is_child(path, at))?;
        Some((at, error.instance().as_ref(), expected))
    };
    let (field, value, _) = branches.first()?.iter().find_map(constant)?;
    let expected = branches
        .iter()
        .map(|branch| {
            let mut constants = branch.iter().filter_map(constant);
            constants.find(|(at, ..)| *at == field).map(|(_, _, expected)| expected.clone())
        })
        .collect::<Option<Vec<_>>>()?;
    Some((field, value, expected))
}

fn wrong_type(error: &ValidationError<'static>) -> Option<JsonTypeSet> {
    if let Found::Type { kind } = error.kind() { Some(types(kind)) } else { None }
}

fn wrong_constant<'e>(error: &'e ValidationError<'static>) -> Option<&'e Value> {
    if let Found::Constant { expected_value } = error.kind() { Some(expected_value) } else { None }
}

fn is_child(path: &str, other: &str) -> bool {
    other.strip_prefix(path).and_then(|rest| rest.strip_prefix('/')).is_some_and(|rest| !rest.contains('/'))
}

pub(super) fn types(kind: &TypeKind) -> JsonTypeSet {
    match kind {
        TypeKind::Single(one) => (*one).into(),
        TypeKind::Multiple(several) => *several,
    }
}

pub(super) fn not_of_type(path: &str, value: &Value, name: &str) -> Violation {
    Violation::new(path, Message::new(&TYPE).with("value", Truncated(value)).with("type", name))
}

fn not_of_types(value: &Truncated<'_>, wanted: JsonTypeSet) -> Message {
    let names: Vec<String> = wanted.iter().map(|name| format!("\"{name}\"")).collect();
    match names.as_slice() {
        [one] => Message::new(&TYPE).with("value", value).with("type", one.trim_matches('"')),
        several => Message::new(&TYPES).with("value", value).with("types", several.join(", ")),
    }
}

/// Formats a JSON pointer as a readable path: `/files/0/url` becomes `files.0.url`.
pub(super) fn dotted(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => ROOT.to_owned(),
        Some(path) => path.replace('/', ".").replace("~1", "/").replace("~0", "~"),
    }
}

fn join(pointer: &str, name: &str) -> String {
    if pointer.is_empty() { name.to_owned() } else { format!("{}.{name}", dotted(pointer)) }
}

/// A value in a message: JSON, truncated if it is long.
struct Truncated<'a>(&'a Value);

impl fmt::Display for Truncated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut start = Start(Vec::new());
        // Fails on purpose once there is enough text.
        let _ = serde_json::to_writer(&mut start, self.0);
        let text = String::from_utf8_lossy(&start.0);
        match text.char_indices().nth(MAX_VALUE_CHARS) {
            None => f.write_str(&text),
            Some((end, _)) => write!(f, "{}…", text.get(..end).unwrap_or_default()),
        }
    }
}

/// A writer that accepts the start of its input and then fails.
struct Start(Vec<u8>);

impl std::io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // A character has at most four bytes.
        let room = (MAX_VALUE_CHARS + 1) * 4 - self.0.len();
        if room == 0 {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The options of an enum, limited to the first ten.
struct Listed<'a>(&'a Value);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.0.as_array().map(Vec::as_slice).unwrap_or_default();
        for (index, option) in options.iter().take(10).enumerate() {
            write!(f, "{}{}", if index > 0 { ", " } else { "" }, Truncated(option))?;
        }
        if options.len() > 10 { write!(f, ", … ({})", options.len()) } else { Ok(()) }
    }
}
