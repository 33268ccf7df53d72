//! The `default`s of a schema, gathered once so that filling them in costs little per call.

use serde_json::{Map, Value};

use crate::error::ROOT;
use crate::{Message, Violation, json};

use super::graph::pointed_at;

/// References are followed so deep; a recursive schema ends there.
const DEEPEST: usize = 16;

/// So many properties are looked at; references that double would otherwise cost without end.
const MOST_PROPERTIES: usize = 20_000;

/// All defaults together may hold so many values, however often references repeat them.
const MOST_VALUES: usize = 20_000;

crate::templates! {
    TOO_MANY = "schema.tooManyDefaults",
        "the schema's nested properties and defaults, with all $refs followed, are too many",
        "展开所有 $ref 后，schema 中的嵌套属性和默认值过多";
}

/// What to fill into an object.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    /// With how many values it holds.
    default: Option<(Value, usize)>,
    inside: Option<Inside>,
}

/// Defaults further down, used where the value is there.
#[derive(Debug)]
enum Inside {
    Object(Defaults),
    Items(Defaults),
}

impl Defaults {
    pub(super) fn of(schema: &Value) -> Result<Self, Violation> {
        if !says_default(schema) {
            return Ok(Self::default());
        }
        let mut walk = Walk {
            root: schema,
            above: Vec::new(),
            properties_left: MOST_PROPERTIES,
            values_left: MOST_VALUES,
        };
        walk.defaults_at(schema).ok_or_else(|| Violation::new(ROOT, Message::new(&TOO_MANY)))
    }

    fn worth_keeping(self) -> Option<Self> {
        (!self.fields.is_empty()).then_some(self)
    }

    /// Fills in what is absent; what is there stays as it is. False when that would
    /// add more than `most` values: a small default in each of a million items is large.
    #[must_use]
    pub(super) fn fill(&self, object: &mut Map<String, Value>, most: usize) -> bool {
        let mut left = most;
        self.fill_within(object, &mut left)
    }

    fn fill_within(&self, object: &mut Map<String, Value>, left: &mut usize) -> bool {
        for field in &self.fields {
            if let Some((default, values)) = &field.default
                && !object.contains_key(&field.name)
            {
                let Some(rest) = left.checked_sub(*values) else { return false };
                *left = rest;
                object.insert(field.name.clone(), default.clone());
            }
            let filled = match (&field.inside, object.get_mut(&field.name)) {
                (Some(Inside::Object(defaults)), Some(Value::Object(inner))) => {
                    defaults.fill_within(inner, left)
                }
                (Some(Inside::Items(defaults)), Some(Value::Array(items))) => items
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .all(|inner| defaults.fill_within(inner, left)),
                _ => true,
            };
            if !filled {
                return false;
            }
        }
        true
    }

    /// Takes out again what was not given.
    pub(super) fn take_out(&self, filled: &mut Map<String, Value>, given: &Map<String, Value>) {
        for field in &self.fields {
            match (given.get(&field.name), filled.get_mut(&field.name), &field.inside) {
                (None, _, _) if field.default.is_some() => {
                    filled.shift_remove(&field.name);
                }
                (Some(given), Some(filled), Some(inside)) => inside.take_out(filled, given),
                (Some(_) | None, _, _) => {}
            }
        }
    }
}

impl Inside {
    fn take_out(&self, filled: &mut Value, given: &Value) {
        match (self, filled, given) {
            (Self::Object(inside), Value::Object(filled), Value::Object(given)) => {
                inside.take_out(filled, given)
            }
            (Self::Items(inside), Value::Array(filled), Value::Array(given)) => {
                for pair in filled.iter_mut().zip(given) {
                    if let (Value::Object(filled), Value::Object(given)) = pair {
                        inside.take_out(filled, given);
                    }
                }
            }
            // JSON text was unfolded, and then filled.
            (_, filled, Value::String(text)) if !filled.is_string() => {
                if let Ok(unfolded) = json::parse(text.as_bytes())
                    && !unfolded.is_string()
                {
                    self.take_out(filled, &unfolded);
                }
            }
            _ => {}
        }
    }
}

/// One reading of a schema.
struct Walk<'a> {
    root: &'a Value,
    /// The schemas we are inside of, so that a recursive one ends.
    above: Vec<*const Value>,
    properties_left: usize,
    values_left: usize,
}

impl<'a> Walk<'a> {
    /// None when there are more defaults than we keep.
    fn defaults_at(&mut self, schema: &'a Value) -> Option<Defaults> {
        let schema = follow(self.root, schema);
        let here = std::ptr::from_ref(schema);
        if self.above.len() >= DEEPEST || self.above.contains(&here) {
            return Some(Defaults::default());
        }
        self.above.push(here);
        let mut fields = Vec::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties_left = self.properties_left.checked_sub(1)?;
            let target = follow(self.root, property);
            let default = match property.get("default").or_else(|| target.get("default")) {
                None => None,
                Some(default) => {
                    let values = json::size(default).values;
                    self.values_left = self.values_left.checked_sub(values)?;
                    Some((default.clone(), values))
                }
            };
            let inside = match target.get("items") {
                Some(items) => self.defaults_at(items)?.worth_keeping().map(Inside::Items),
                None => self.defaults_at(target)?.worth_keeping().map(Inside::Object),
            };
            if default.is_some() || inside.is_some() {
                fields.push(Field { name: name.clone(), default, inside });
            }
        }
        self.above.pop();
        Some(Defaults { fields })
    }
}

/// Whether the word stands anywhere: most schemas have no defaults, however large they are.
fn says_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("default") || fields.values().any(says_default),
        Value::Array(items) => items.iter().any(says_default),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The schema a local reference points to; the schema itself when it has none.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = |schema: &'a Value| {
        let fragment = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        pointed_at(root, fragment).map(|(target, _)| target)
    };
    let mut schema = schema;
    for _ in 0..DEEPEST {
        match target(schema) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}
