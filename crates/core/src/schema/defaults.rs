//! The `default`s of a schema, collected once so that filling them in is cheap.

use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::error::ROOT;
use crate::{Message, Violation, json};

use super::coerce;
use super::graph::pointed_at;
use super::limits::Cost;

/// Maximum depth at which references are followed; a recursive schema ends there.
const MAX_DEPTH: usize = 16;

/// Maximum number of visited properties. References could otherwise multiply them without bound.
const MAX_PROPERTIES: usize = 20_000;

/// Maximum number of values in all defaults together, including those repeated by references.
const MAX_VALUES: usize = 20_000;

/// Maximum number of objects that are validated to find invalid defaults.
const MAX_PROBES: usize = 500;

crate::templates! {
    TOO_MANY = "schema.tooManyDefaults",
        "the schema's nested properties and defaults, with all $refs followed, are too many",
        "展开所有 $ref 后，schema 中的嵌套属性和默认值过多";
}

/// The defaults of an object's properties.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    /// The default with the number of values in it.
    default: Option<(Value, usize)>,
    inside: Option<Inside>,
}

/// Defaults of nested values, applied if the value is present.
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
            properties_left: MAX_PROPERTIES,
            values_left: MAX_VALUES,
        };
        walk.defaults_at(schema).ok_or_else(|| Violation::new(ROOT, Message::new(&TOO_MANY)))
    }

    fn non_empty(self) -> Option<Self> {
        (!self.fields.is_empty()).then_some(self)
    }

    /// Fills in absent properties; present ones are unchanged. Returns false if that would add more than
    /// `most` values: a small default in each of a million items is large.
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

    /// Drops defaults that do not conform to their own schema: they would fail every call without that
    /// argument. A default that conforms after gentle coercion is replaced by the coerced value.
    pub(super) fn drop_unfit(&mut self, validator: &Validator, cost: &Cost) {
        // Inner defaults first, because the defaults of their containers may not contain them; then the
        // containers.
        for probe in [Probe::Inner, Probe::Outer] {
            let mut probes_left = MAX_PROBES;
            self.drop_unfit_in(validator, cost, probe, &mut probes_left);
        }
    }

    fn drop_unfit_in(&mut self, validator: &Validator, cost: &Cost, probe: Probe, probes_left: &mut usize) {
        if self.fields.is_empty() {
            return;
        }
        let mut filled = Value::Object(self.probe(probe));
        let size = json::size(&filled);
        if !cost.allows_details(size) {
            // Fewer defaults at a time have few enough errors to list.
            let half = self.fields.len() / 2;
            if half > 0 {
                let mut rest = Self { fields: self.fields.split_off(half) };
                self.drop_unfit_in(validator, cost, probe, probes_left);
                rest.drop_unfit_in(validator, cost, probe, probes_left);
                self.fields.append(&mut rest.fields);
            } else if size.values <= cost.most_values() && take_one(probes_left) {
                self.drop_if_alone_unfit(validator, &filled, probe);
            }
            return;
        }
        if validator.is_valid(&filled) || !take_one(probes_left) {
            return;
        }
        for _ in 0..super::COERCIONS {
            if !coerce::coerce_once(validator, &mut filled, &mut Vec::new()) {
                break;
            }
        }
        let errors = validator.iter_errors(&filled);
        // Conditions on the whole object say nothing about a single default.
        let of_properties = errors.filter(|error| is_of_property(error.evaluation_path().as_str()));
        let unfit: Vec<Vec<String>> =
            of_properties.map(|error| segments(error.instance_path().as_str())).collect();
        for path in unfit {
            self.drop_at(&path, probe);
        }
        self.take_coerced(&filled, probe);
        self.drop_empty_fields();
    }

    /// Drops the only default if a valid object becomes invalid with it. Used for schemas with too many
    /// errors to list.
    fn drop_if_alone_unfit(&mut self, validator: &Validator, filled: &Value, probe: Probe) {
        let is_unfit = validator.is_valid(&Value::Object(Map::new())) && !validator.is_valid(filled);
        for field in self.fields.iter_mut().filter(|_| is_unfit) {
            if probe == Probe::Outer || field.inside.is_none() {
                field.default = None;
            }
        }
        self.drop_empty_fields();
    }

    fn drop_empty_fields(&mut self) {
        self.fields.retain(|field| field.default.is_some() || field.inside.is_some());
    }

    /// Builds an object that contains the defaults and little else.
    fn probe(&self, probe: Probe) -> Map<String, Value> {
        let mut object = Map::new();
        for Field { name, default, inside } in &self.fields {
            let value = match (probe, inside, default) {
                (Probe::Inner, Some(Inside::Object(inner)), _) => Value::Object(inner.probe(probe)),
                (Probe::Inner, Some(Inside::Items(inner)), _) => {
                    Value::Array(vec![Value::Object(inner.probe(probe))])
                }
                (_, _, Some((default, _))) => default.clone(),
                (_, _, None) => continue,
            };
            object.insert(name.clone(), value);
        }
        if probe == Probe::Outer {
            // Within the limits of `of`: the probe only reduces what calls may contain.
            let _ = self.fill(&mut object, MAX_VALUES);
        }
        object
    }

    /// Drops the default that produced the value at `path`.
    fn drop_at(&mut self, path: &[String], probe: Probe) {
        let Some((name, below)) = path.split_first() else { return };
        let Some(field) = self.fields.iter_mut().find(|field| field.name == *name) else { return };
        let is_own =
            probe == Probe::Outer && field.default.as_ref().is_some_and(|(default, _)| holds(default, below));
        match &mut field.inside {
            Some(_) if probe == Probe::Inner && below.is_empty() => {}
            Some(Inside::Object(inner)) if !is_own => inner.drop_at(below, probe),
            Some(Inside::Items(inner)) if !is_own => inner.drop_at(below.get(1..).unwrap_or_default(), probe),
            Some(_) | None => field.default = None,
        }
    }

    /// Replaces defaults by their coerced values.
    fn take_coerced(&mut self, filled: &Value, probe: Probe) {
        for field in &mut self.fields {
            let Some(value) = filled.get(&field.name) else { continue };
            match (&mut field.inside, probe) {
                (Some(Inside::Object(inner)), Probe::Inner) => inner.take_coerced(value, probe),
                (Some(Inside::Items(inner)), Probe::Inner) => {
                    if let Some(item) = value.get(0) {
                        inner.take_coerced(item, probe);
                    }
                }
                (None, Probe::Inner) | (Some(_), Probe::Outer) => {
                    let is_coerced =
                        |default: &Value| std::mem::discriminant(default) != std::mem::discriminant(value);
                    if field.default.as_ref().is_some_and(|(default, _)| is_coerced(default)) {
                        field.default = Some((value.clone(), json::size(value).values));
                    }
                }
                (None, Probe::Outer) => {}
            }
        }
    }

    /// Removes defaults that were not in the given arguments.
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

/// The defaults that a probe object consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// Defaults of properties without nested properties, in containers with nothing else.
    Inner,
    /// Defaults that a call without arguments gets.
    Outer,
}

/// Decrements a counter. Returns false if it is zero.
fn take_one(left: &mut usize) -> bool {
    let rest = left.checked_sub(1);
    *left = rest.unwrap_or_default();
    rest.is_some()
}

/// Returns true if an evaluation path leads to a property of the root. References and `allOf` on the way
/// apply to every object.
fn is_of_property(evaluation_path: &str) -> bool {
    let mut path = evaluation_path;
    while !path.starts_with("/properties/") {
        let part =
            path.strip_prefix("/allOf/").map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
        match part.or_else(|| path.strip_prefix("/$ref")) {
            Some(rest) => path = rest,
            None => return false,
        }
    }
    true
}

/// Splits a JSON pointer into its segments.
fn segments(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

/// Returns true if there is a value at this path.
fn holds(value: &Value, path: &[String]) -> bool {
    let Some((step, below)) = path.split_first() else { return true };
    let inner = match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    inner.is_some_and(|inner| holds(inner, below))
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
            // JSON text was parsed, and then filled in.
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

/// One traversal of a schema.
struct Walk<'a> {
    root: &'a Value,
    /// The schemas around the current one, to stop at recursion.
    above: Vec<*const Value>,
    properties_left: usize,
    values_left: usize,
}

impl<'a> Walk<'a> {
    /// Returns `None` if there are too many defaults.
    fn defaults_at(&mut self, schema: &'a Value) -> Option<Defaults> {
        let schema = follow(self.root, schema);
        let here = std::ptr::from_ref(schema);
        if self.above.len() >= MAX_DEPTH || self.above.contains(&here) {
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
                Some(items) => self.defaults_at(items)?.non_empty().map(Inside::Items),
                None => self.defaults_at(target)?.non_empty().map(Inside::Object),
            };
            if default.is_some() || inside.is_some() {
                fields.push(Field { name: name.clone(), default, inside });
            }
        }
        self.above.pop();
        Some(Defaults { fields })
    }
}

/// Returns true if the keyword occurs anywhere. Most schemas have no defaults, however large they are.
fn says_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("default") || fields.values().any(says_default),
        Value::Array(items) => items.iter().any(says_default),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Returns the target of a local reference, or the schema itself if it is not a reference.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = |schema: &'a Value| {
        let fragment = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        pointed_at(root, fragment).map(|(target, _)| target)
    };
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        match target(schema) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}
