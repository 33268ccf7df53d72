//! Random values that match a schema, and values that violate it. The same seed yields the same values.

use serde_json::{Map, Value, json};

use super::resolved;

/// Longer than the limit of any name or description, and short enough to be sent at once.
const LONG: usize = 17_000;

/// Texts with spaces, quotes, markup and Chinese characters.
const TEXTS: [&str; 9] = ["fuzz", "天气", "a b", "x", "Fuzz_1", "o'hara", "100%", "<b>", "-"];

/// Marsaglia's xorshift with Vigna's multiplier.
pub(super) struct Rng(u64);

impl Rng {
    /// Seeds the numbers of one subject, so that they do not depend on other draws.
    pub(super) fn new(seed: u64, subject: &str) -> Self {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(subject.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, mix) | 1)
    }

    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.draw() as usize % bound
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'s, T>(&mut self, items: &'s [T]) -> &'s T {
        &items[self.below(items.len())]
    }
}

pub(super) struct Generator<'a> {
    pub(super) rng: Rng,
    document: &'a Value,
    /// The id of an existing space.
    space: &'a str,
    odd: Vec<Value>,
}

impl<'a> Generator<'a> {
    pub(super) fn new(rng: Rng, document: &'a Value, space: &'a str) -> Self {
        Self { rng, document, space, odd: odd_values() }
    }

    /// Returns a random value that matches a schema, as far as its keywords express it.
    pub(super) fn sample(&mut self, schema: &Value, depth: usize) -> Value {
        let document = self.document;
        let schema = resolved(document, schema);
        if let Some(parts) = schema["allOf"].as_array() {
            let start = without(schema, "allOf");
            let whole = parts.iter().fold(start, |whole, part| merged(&whole, resolved(document, part)));
            return self.sample(&whole, depth);
        }
        for word in ["oneOf", "anyOf"] {
            if let Some(ways) = schema[word].as_array() {
                let way = resolved(document, self.rng.pick(ways));
                return self.sample(&merged(&without(schema, word), way), depth);
            }
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        if let Some(values) = schema["enum"].as_array() {
            return self.rng.pick(values).clone();
        }
        if let Some(examples) = schema["examples"].as_array()
            && self.rng.chance(30)
        {
            return self.rng.pick(examples).clone();
        }
        match self.kind(schema).as_str() {
            "null" => Value::Null,
            "boolean" => json!(self.rng.chance(50)),
            "integer" | "number" => self.number(schema),
            "string" => self.text(schema),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or_default() as usize;
                let count = least + self.rng.below(3);
                (0..count).map(|_| self.sample(&schema["items"], depth + 1)).collect()
            }
            _ => self.object(schema, depth),
        }
    }

    fn kind(&mut self, schema: &Value) -> String {
        let declared = &schema["type"];
        let kinds: Vec<&str> = if let Some(kind) = declared.as_str() {
            vec![kind]
        } else if let Some(kinds) = declared.as_array() {
            kinds.iter().filter_map(Value::as_str).collect()
        } else if schema["properties"].is_object() {
            vec!["object"]
        } else {
            vec!["string", "object", "null", "integer"]
        };
        (*self.rng.pick(&kinds)).to_owned()
    }

    fn number(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_i64().unwrap_or(-5);
        let most = schema["maximum"].as_i64().unwrap_or(least + 50).min(least + 100_000);
        let between = least + self.rng.below((most - least + 1).unsigned_abs() as usize) as i64;
        json!(self.rng.pick(&[least, most, between]))
    }

    fn text(&mut self, schema: &Value) -> Value {
        let number = self.rng.below(30);
        let numbered = format!("fuzz{number}");
        let words: Vec<&str> = match schema["format"].as_str() {
            Some("uuid") => vec![self.space, "0190b5a0-0000-7000-8000-000000000000"],
            Some("date-time") => vec!["2030-01-01T00:00:00Z", "2031-05-05T10:00:00.5+02:00"],
            Some("uri") => vec!["http://127.0.0.1:9/openapi.json"],
            Some(_) | None if schema["pattern"].is_string() => vec![numbered.as_str(), "http", "mock"],
            Some(_) | None => {
                TEXTS.into_iter().chain([numbered.as_str(), "fuzz_tool", "calculator"]).collect()
            }
        };
        let word = *self.rng.pick(&words);
        if word.len() < schema["minLength"].as_u64().unwrap_or_default() as usize {
            return json!("a longer text");
        }
        json!(word)
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut fields = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let often = if depth == 0 { 30 } else { 15 };
            if required.contains(&name.as_str()) || self.rng.chance(often) {
                fields.insert(name.clone(), self.sample(property, depth + 1));
            }
        }
        Value::Object(fields)
    }

    /// Replaces or removes a random part of a value, or adds an unknown field.
    pub(super) fn spoil(&mut self, value: &mut Value) {
        let mut pointers = Vec::new();
        list_pointers(value, String::new(), &mut pointers);
        let pointer = self.rng.pick(&pointers).clone();
        match self.rng.below(6) {
            0 => remove(value, &pointer),
            1 => {
                let name = *self.rng.pick(&["nope", "", "__proto__", "天", "is_active", "Name"]);
                let odd = self.pick_odd();
                if let Some(fields) = value.pointer_mut(&pointer).and_then(Value::as_object_mut) {
                    fields.insert(name.to_owned(), odd);
                }
            }
            2 => {
                let depth = *self.rng.pick(&[5, 60, 100, 126, 140]);
                replace(value, &pointer, nested(depth));
            }
            _ => {
                let odd = self.pick_odd();
                replace(value, &pointer, odd);
            }
        }
    }

    fn pick_odd(&mut self) -> Value {
        self.rng.pick(&self.odd).clone()
    }
}

/// Values of every type, at limits of types and parsers.
fn odd_values() -> Vec<Value> {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(1.5),
        json!(-0.0),
        json!(1e308),
        json!(9_007_199_254_740_993_u64),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
    ];
    let texts = [
        "",
        " ",
        "a",
        "天气\u{202e}😀",
        "\u{1}\u{1b}[0m",
        "a\u{0}b",
        "\u{feff}\u{fffd}",
        "../../etc/passwd",
        "secret://x",
        "secret://me/x",
        "***",
        "{{x}}",
        "{{",
        "0190b5a0-0000-7000-8000-000000000000",
        "2030-01-01T00:00:00Z",
        "-9999-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "calculator",
    ];
    let others = [
        Value::Null,
        json!(true),
        json!(false),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!({"": 1}),
        json!({"a": {"b": [1]}}),
        json!({"$ref": "#"}),
        json!({"type": "nope"}),
        json!("x".repeat(LONG)),
    ];
    numbers.into_iter().chain(texts.map(Value::from)).chain(others).collect()
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, at| if at % 2 == 0 { json!([inner]) } else { json!({"a": inner}) })
}

/// Collects the JSON pointers of all parts of a value.
fn list_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, part) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                list_pointers(part, format!("{at}/{name}"), pointers);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                list_pointers(item, format!("{at}/{index}"), pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    pointers.push(at);
}

fn replace(value: &mut Value, pointer: &str, with: Value) {
    if let Some(part) = value.pointer_mut(pointer) {
        *part = with;
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    let Some(parent) = value.pointer_mut(parent) else { return };
    if let Some(fields) = parent.as_object_mut() {
        fields.remove(&name.replace("~1", "/").replace("~0", "~"));
    } else if let Some(items) = parent.as_array_mut()
        && let Ok(index) = name.parse::<usize>()
        && index < items.len()
    {
        items.remove(index);
    }
}

fn without(schema: &Value, word: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove(word);
    }
    schema
}

/// Merges two schemas roughly: properties, required fields and other keywords are combined.
fn merged(first: &Value, second: &Value) -> Value {
    let mut whole = first.as_object().cloned().unwrap_or_default();
    for (word, value) in second.as_object().into_iter().flatten() {
        match (word.as_str(), whole.get_mut(word)) {
            ("properties", Some(Value::Object(known))) => {
                known.extend(value.as_object().cloned().unwrap_or_default());
            }
            ("required", Some(Value::Array(known))) => {
                known.extend(value.as_array().cloned().unwrap_or_default());
            }
            ("examples", Some(_)) => {}
            _ => {
                whole.insert(word.clone(), value.clone());
            }
        }
    }
    Value::Object(whole)
}
