//! The `default`s of a schema, gathered once so that filling them in costs little per call.

use serde_json::{Map, Value};

/// References are followed so deep; a recursive schema ends there.
const DEEPEST: usize = 16;

/// So many properties are looked at; references that double would otherwise cost without end.
const MOST_PROPERTIES: usize = 20_000;

/// What to fill into an object.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    default: Option<Value>,
    inside: Option<Inside>,
}

/// Defaults further down, used where the value is there.
#[derive(Debug)]
enum Inside {
    Object(Defaults),
    Items(Defaults),
}

impl Defaults {
    pub(super) fn of(schema: &Value) -> Self {
        Walk { root: schema, above: Vec::new(), left: MOST_PROPERTIES }.defaults_at(schema)
    }

    fn worth_keeping(self) -> Option<Self> {
        (!self.fields.is_empty()).then_some(self)
    }

    /// Fills in what is absent; what is there stays as it is.
    pub(super) fn fill(&self, object: &mut Map<String, Value>) {
        for field in &self.fields {
            if let Some(default) = &field.default
                && !object.contains_key(&field.name)
            {
                object.insert(field.name.clone(), default.clone());
            }
            match (&field.inside, object.get_mut(&field.name)) {
                (Some(Inside::Object(defaults)), Some(Value::Object(inner))) => defaults.fill(inner),
                (Some(Inside::Items(defaults)), Some(Value::Array(items))) => {
                    for inner in items.iter_mut().filter_map(Value::as_object_mut) {
                        defaults.fill(inner);
                    }
                }
                _ => {}
            }
        }
    }
}

/// One reading of a schema.
struct Walk<'a> {
    root: &'a Value,
    /// The schemas we are inside of, so that a recursive one ends.
    above: Vec<*const Value>,
    left: usize,
}

impl<'a> Walk<'a> {
    fn defaults_at(&mut self, schema: &'a Value) -> Defaults {
        let schema = follow(self.root, schema);
        let here = std::ptr::from_ref(schema);
        if self.above.len() >= DEEPEST || self.above.contains(&here) {
            return Defaults::default();
        }
        self.above.push(here);
        let mut fields = Vec::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let target = follow(self.root, property);
            let default = property.get("default").or_else(|| target.get("default")).cloned();
            let inside = match target.get("items") {
                Some(items) => self.defaults_at(items).worth_keeping().map(Inside::Items),
                None => self.defaults_at(target).worth_keeping().map(Inside::Object),
            };
            if default.is_some() || inside.is_some() {
                fields.push(Field { name: name.clone(), default, inside });
            }
        }
        self.above.pop();
        Defaults { fields }
    }
}

/// The schema a local reference points to; the schema itself when it has none.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = |schema: &'a Value| {
        schema.get("$ref")?.as_str()?.strip_prefix('#').and_then(|path| root.pointer(path))
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
