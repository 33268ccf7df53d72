//! Parses definitions from JSON: normalizes snake_case spellings, aliases and the flat form.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::duration::{self, Unit};
use crate::name::{NameError, RESERVED_NAMES};
use crate::nearest::nearest;
use crate::{Message, ToolName, ToolSchema, ToolSpec, Violation};

use super::{DEFAULT_TIMEOUT, DEFAULT_TOTAL_TIMEOUT};

/// The schema of a definition, applied after normalization.
static DEFINITION: LazyLock<Result<ToolSchema, Vec<Violation>>> = LazyLock::new(|| {
    let document = serde_json::from_str(include_str!("schema.json")).unwrap_or(Value::Null);
    ToolSchema::of_arguments(&document)
});

crate::templates! {
    GIVEN_TWICE = "tool.givenTwice",
        "is also given as {other}, with another value; give only one of them",
        "与 {other} 重复且值不同；请只保留一个";
    UNKNOWN_FIELD = "tool.unknownField",
        "is not a field of a tool",
        "不是工具的字段";
    UNKNOWN_FIELD_NEAR = "tool.unknownFieldNear",
        "is not a field of a tool; did you mean {near}?",
        "不是工具的字段；是否想用 {near}？";
    NO_TYPE = "tool.noType",
        "is missing, and there is no url that would make it an http tool; give a url, or a type such as http, builtin or agent",
        "缺失，且没有 url（有 url 即为 http 工具）；请提供 url，或提供 type，例如 http、builtin 或 agent";
    NAME_LIKE_ID = "tool.nameLikeId",
        "has the form of an id; give the tool a descriptive name",
        "看起来像一个 id；请取一个能说明用途的名称";
    NAME_RESERVED = "tool.nameReserved",
        "is reserved for an agent's own tools ({names}); choose another name",
        "是智能体自带工具的名称（{names}）；请换一个名称";
    UNREADABLE = "tool.unreadable",
        "{reason}",
        "{reason}";
}

/// Maximum number of unknown fields that are listed.
const MAX_UNKNOWN: usize = 20;

/// Fields that the server sets. A definition may include them unchanged.
pub const SERVER_FIELDS: [&str; 6] = ["id", "spaceId", "ownerId", "version", "createdAt", "updatedAt"];

/// Aliases of fields.
const ALIASES: [(&str, &str); 4] =
    [("userId", "ownerId"), ("metadata", "config"), ("retries", "retryCount"), ("parameters", "inputSchema")];

/// Fields of `config` that are also accepted at the top level.
const FLAT: [&str; 10] =
    ["url", "endpoint", "baseUrl", "method", "headers", "params", "query", "body", "auth", "security"];

/// A parsed definition, with the server's fields if it included them.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInput {
    pub spec: ToolSpec,
    pub server_fields: Map<String, Value>,
}

/// Parses a definition. Returns everything that is wrong with it.
pub fn parse(definition: Value) -> Result<ToolInput, Vec<Violation>> {
    let schema = match &*DEFINITION {
        Ok(schema) => schema,
        Err(violations) => return Err(violations.clone()),
    };
    let Value::Object(given) = definition else {
        return Err(schema.violations(&definition));
    };
    let mut violations = Vec::new();
    let mut fields = Map::new();
    let mut config = Map::new();
    let native =
        given.get("type").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("native"));
    for (written, value) in given {
        let name = camel_case(&written);
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, field)| *field);
        let field = if native && name == "params" { Some("inputSchema") } else { alias };
        match field {
            Some(field) => put(&mut fields, field, &written, value, &mut violations),
            None if FLAT.contains(&name.as_str()) => {
                put(&mut config, url_name(&name), &written, value, &mut violations);
            }
            None => put(&mut fields, &name, &written, camel_limit(&name, value), &mut violations),
        }
    }
    merge_config(&mut fields, config, &mut violations);
    read_durations(&mut fields);
    infer(&mut fields, &mut violations);
    let server_fields = take(&mut fields, &SERVER_FIELDS);

    let known: Vec<&str> = field_names(schema);
    let mut unknown = Vec::new();
    fields.retain(|name, _| {
        let is_known = known.contains(&name.as_str());
        if !is_known && unknown.len() < MAX_UNKNOWN {
            unknown.push(name.clone());
        }
        is_known
    });
    for name in unknown {
        let near = nearest(&name, known.iter().copied(), 1);
        let message = match near.first() {
            Some(near) => Message::new(&UNKNOWN_FIELD_NEAR).with("near", near),
            None => Message::new(&UNKNOWN_FIELD),
        };
        violations.push(Violation::new(name, message));
    }
    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.parse::<ToolName>() == Err(NameError::LooksLikeId) {
        violations.push(Violation::new("name", Message::new(&NAME_LIKE_ID)));
    }
    if RESERVED_NAMES.contains(&name) {
        let message = Message::new(&NAME_RESERVED).with("names", RESERVED_NAMES.join(", "));
        violations.push(Violation::new("name", message));
    }
    let has_type = fields.get("type").is_some_and(|kind| !kind.is_null());
    let fields = Value::Object(fields);
    let of_form = schema.violations(&fields).into_iter();
    violations.extend(of_form.map(|violation| match violation.path.as_str() {
        "type" if !has_type => Violation::new("type", Message::new(&NO_TYPE)),
        _ => violation,
    }));
    if !violations.is_empty() {
        return Err(violations);
    }
    match serde_json::from_value(without_nulls(fields)) {
        Ok(spec) => Ok(ToolInput { spec, server_fields }),
        Err(error) => {
            Err(vec![Violation::new(crate::error::ROOT, Message::new(&UNREADABLE).with("reason", error))])
        }
    }
}

/// Removes `null`s, which stand for the default of every field that has one.
fn without_nulls(mut fields: Value) -> Value {
    if let Value::Object(fields) = &mut fields {
        fields.retain(|_, value| !value.is_null());
    }
    fields
}

/// Sets a field. Setting it twice is an error unless the values are equal, or either is `null`, which stands for
/// the default.
fn put(
    fields: &mut Map<String, Value>,
    name: &str,
    written: &str,
    value: Value,
    violations: &mut Vec<Violation>,
) {
    match fields.get(name) {
        Some(other) if !other.is_null() && !value.is_null() && *other != value => {
            violations.push(Violation::new(written, Message::new(&GIVEN_TWICE).with("other", name)));
        }
        Some(other) if !other.is_null() => {}
        Some(_) | None => {
            fields.insert(name.to_owned(), value);
        }
    }
}

/// Merges the flat fields into `config`, which may use either spelling.
fn merge_config(fields: &mut Map<String, Value>, flat: Map<String, Value>, violations: &mut Vec<Violation>) {
    let mut config = match fields.shift_remove("config") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(config)) => config,
        // Not an object: the schema reports the error.
        Some(other) => {
            fields.insert("config".to_owned(), other);
            return;
        }
    };
    if let Some(endpoint) = config.shift_remove("endpoint") {
        put(&mut config, "url", "config.endpoint", endpoint, violations);
    }
    for (name, value) in flat {
        if let Some(own) = config.get(&name)
            && *own != value
        {
            let other = format!("config.{name}");
            violations.push(Violation::new(name, Message::new(&GIVEN_TWICE).with("other", other)));
            continue;
        }
        config.insert(name, value);
    }
    fields.insert("config".to_owned(), Value::Object(config));
}

/// Parses durations such as `30s`, in the fields of every tool and in the config of http and mock tools.
fn read_durations(fields: &mut Map<String, Value>) {
    duration::read_fields(
        fields,
        &[
            ("timeout", Unit::Milliseconds),
            ("totalTimeout", Unit::Milliseconds),
            ("retryDelay", Unit::Milliseconds),
            ("cacheTtl", Unit::Seconds),
        ],
    );
    let Some(Value::Object(config)) = fields.get_mut("config") else { return };
    for (name, units) in [
        ("security", [("timeout", Unit::Milliseconds)].as_slice()),
        ("poll", &[("interval", Unit::Seconds), ("timeout", Unit::Seconds)]),
        ("callback", &[("timeout", Unit::Seconds)]),
    ] {
        if let Some(Value::Object(part)) = config.get_mut(name) {
            duration::read_fields(part, units);
        }
    }
    // The scripted results of a mock.
    for answer in config.get_mut("answers").and_then(Value::as_array_mut).into_iter().flatten() {
        let Value::Object(answer) = answer else { continue };
        duration::read_fields(answer, &[("delay", Unit::Milliseconds)]);
        if let Some(Value::Object(error)) = answer.get_mut("error") {
            duration::read_fields(error, &[("retryAfter", Unit::Milliseconds)]);
        }
    }
}

/// Fills in derived fields: type, category, title and timeouts.
fn infer(fields: &mut Map<String, Value>, violations: &mut Vec<Violation>) {
    let config = fields.get("config").and_then(Value::as_object);
    let is_url = |name: &String| matches!(camel_case(name).as_str(), "url" | "baseUrl");
    let has_url = config.is_some_and(|config| config.keys().any(is_url));
    let inner_timeout = config.and_then(|config| config.get("security")?.get("timeout")).cloned();

    match fields.get_mut("type") {
        Some(Value::String(kind)) => *kind = kind.to_ascii_lowercase(),
        None | Some(Value::Null) if has_url => {
            fields.insert("type".to_owned(), "http".into());
        }
        Some(_) | None => {}
    }
    if fields.get("category").is_none_or(Value::is_null) {
        match fields.get("type").and_then(Value::as_str) {
            Some("http" | "rest") => fields.insert("category".to_owned(), "custom".into()),
            Some("mcp") => fields.insert("category".to_owned(), "mcp".into()),
            Some(_) | None => None,
        };
    }
    // A title in one language applies to both.
    if let Some(Value::Object(title)) = fields.get_mut("title") {
        for (given, missing) in [("en", "zh"), ("zh", "en")] {
            if let Some(text) = title.get(given).filter(|text| text.is_string()).cloned()
                && title.get(missing).is_none_or(Value::is_null)
            {
                title.insert(missing.to_owned(), text);
            }
        }
    }
    if let Some(timeout) = inner_timeout {
        put(fields, "timeout", "config.security.timeout", timeout, violations);
    }
    // By default, the whole call has time for at least one attempt.
    if fields.get("totalTimeout").is_none_or(Value::is_null) {
        let timeout = fields.get("timeout").and_then(Value::as_u64).unwrap_or(DEFAULT_TIMEOUT);
        fields.insert("totalTimeout".to_owned(), timeout.max(DEFAULT_TOTAL_TIMEOUT).into());
    }
}

/// Normalizes the keys of `rateLimit`, the only field with nested spellings.
fn camel_limit(name: &str, value: Value) -> Value {
    if name != "rateLimit" { value } else { camel_keys(value) }
}

fn take(fields: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let taken = names.iter().filter_map(|name| Some(((*name).to_owned(), fields.shift_remove(*name)?)));
    taken.collect()
}

fn field_names(schema: &ToolSchema) -> Vec<&str> {
    let properties = schema.document().get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

fn url_name(name: &str) -> &str {
    if name == "endpoint" { "url" } else { name }
}

/// Converts the keys of an object to camelCase. Other values are unchanged.
pub fn camel_keys(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    fields.into_iter().map(|(name, value)| (camel_case(&name), value)).collect()
}

/// Converts `retry_count` to `retryCount`. A name without `_` is unchanged.
pub fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut raise = false;
    for character in name.chars() {
        if character == '_' && !camel.is_empty() {
            raise = true;
        } else if raise {
            camel.push(character.to_ascii_uppercase());
            raise = false;
        } else {
            camel.push(character);
        }
    }
    camel
}
