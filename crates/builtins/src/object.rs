//! The built-in `object`: reads, changes, compares and queries JSON objects.

use std::collections::HashSet;

use haft_core::{Arguments, CallError, Message, Template};
use haft_query::{Query, ResultLimits};
use serde_json::{Map, Value, json};

use crate::array::Ordered;
use crate::failure;
use crate::operation::{Operation, Operations};
use crate::path::{
    MAX_CHARACTERS, MAX_ITEMS, Path, fits_depth, fits_items, fits_text, list_of, text_field, text_of,
};

haft_core::templates! {
    EMPTY_PATH = "object.emptyPath",
        "The path is empty: it selects nothing within the object",
        "路径为空: 没有指向对象中的任何内容";
}

/// Returns all message templates of this tool.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    TEMPLATES.iter().copied()
}

pub(crate) const TOOL: Operations = Operations {
    name: "object",
    title: ("Object", "对象"),
    icon: "braces",
    about: "Works on JSON objects exactly: read and change the value at a path, list keys and values, merge, \
            pick, omit, compare two versions, or query with JMESPath. Use it on data from other tools instead \
            of copying parts of it yourself.",
    about_zh: "精确处理 JSON 对象：按路径读取和修改、列出键和值、合并、挑选、剔除、比较两个版本，或用 JMESPath 查询。\
               用于其他工具返回的数据，不要自行抄写其中的部分内容。",
    operations: &[
        Operation {
            name: "get",
            about: "The value at a path. If there is none, the default, or null.",
            fields: || {
                json!({
                    "object": tree_field(),
                    "path": Path::field("The path to read."),
                    "default": {"description": "The result if there is no value."},
                })
            },
            required: &["object", "path"],
            run: |a| {
                let found = Path::argument(a, "path")?.get(whole(a)).or_else(|| a.get("default"));
                Ok(found.cloned().unwrap_or_default())
            },
        },
        Operation {
            name: "set",
            about: "The object with a value set at a path. Missing objects and lists on the way are created; a list grows \
                    only at its end.",
            fields: || {
                json!({
                    "object": tree_field(),
                    "path": Path::field("The path to set."),
                    "value": {"description": "The value."},
                })
            },
            required: &["object", "path", "value"],
            run: set,
        },
        Operation {
            name: "delete",
            about: "The object without the value at a path.",
            fields: || json!({"object": tree_field(), "path": Path::field("The value to remove.")}),
            required: &["object", "path"],
            run: |a| {
                let mut object = whole(a).clone();
                path_within(a)?.remove(&mut object);
                Ok(object)
            },
        },
        of_object("keys", "The names of all fields.", |a| {
            Ok(fields_of(a).map(|(name, _)| name.as_str()).collect())
        }),
        of_object("values", "The values of all fields.", |a| {
            Ok(fields_of(a).map(|(_, value)| value.clone()).collect())
        }),
        of_object("entries", "All fields as a list of [name, value].", |a| {
            Ok(fields_of(a).map(|(name, value)| json!([name, value])).collect())
        }),
        Operation {
            name: "merge",
            about: "Several objects merged into one, including nested objects. For other values, the last one wins.",
            fields: || {
                let objects = json!({"type": "object"});
                json!({"objects": {"type": "array", "maxItems": 1000, "items": objects,
                                   "description": "The objects; later ones win."}})
            },
            required: &["objects"],
            run: |a| {
                let mut merged = Map::new();
                for object in list_of(a, "objects").iter().filter_map(Value::as_object) {
                    merge(&mut merged, object);
                }
                Ok(merged.into())
            },
        },
        Operation {
            name: "pick",
            about: "The object with only these fields.",
            fields: keys_fields,
            required: &["object", "keys"],
            run: |a| {
                let keys = keys_of(a);
                Ok(object_of(fields_of(a).filter(|(name, _)| keys.contains(name.as_str()))))
            },
        },
        Operation {
            name: "omit",
            about: "The object without these fields.",
            fields: keys_fields,
            required: &["object", "keys"],
            run: |a| {
                let keys = keys_of(a);
                Ok(object_of(fields_of(a).filter(|(name, _)| !keys.contains(name.as_str()))))
            },
        },
        Operation {
            name: "query",
            about: "The result of a JMESPath expression, such as people[?age > `20`].{name: name, city: home.city}.",
            fields: || json!({"object": tree_field(), "expression": text_field(2000, "The JMESPath expression.")}),
            required: &["object", "expression"],
            run: |a| query(whole(a), text_of(a, "expression")),
        },
        Operation {
            name: "diff",
            about: "The differences between two values: {added: {path: value}, removed: {path: value}, \
                    changed: {path: {from, to}}}. Lists are compared item by item.",
            fields: || json!({"from": {"description": "The old one."}, "to": {"description": "The new one."}}),
            required: &["from", "to"],
            run: |a| {
                let mut differences = Differences::default();
                let given = |name| a.get(name).unwrap_or(&Value::Null);
                differences.find(given("from"), given("to"))?;
                let Differences { added, removed, changed, .. } = differences;
                Ok(json!({"added": added, "removed": removed, "changed": changed}))
            },
        },
    ],
};

fn tree_field() -> Value {
    json!({"type": ["object", "array"], "description": "The object; it may also be a list."})
}

fn keys_fields() -> Value {
    json!({
        "object": {"type": "object", "description": "The object."},
        "keys": {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 1000},
                 "description": "Literal names of fields: dots have no meaning."},
    })
}

/// Creates an operation whose only argument is the object.
const fn of_object(
    name: &'static str,
    about: &'static str,
    run: fn(&Arguments) -> Result<Value, CallError>,
) -> Operation {
    Operation {
        name,
        about,
        fields: || json!({"object": {"type": "object", "description": "The object."}}),
        required: &["object"],
        run,
    }
}

fn whole(a: &Arguments) -> &Value {
    a.get("object").unwrap_or(&Value::Null)
}

fn fields_of(a: &Arguments) -> impl Iterator<Item = (&String, &Value)> {
    whole(a).as_object().into_iter().flatten()
}

fn keys_of(a: &Arguments) -> HashSet<&str> {
    list_of(a, "keys").iter().filter_map(Value::as_str).collect()
}

fn object_of<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>) -> Value {
    Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn path_within(a: &Arguments) -> Result<Path, CallError> {
    let path = Path::argument(a, "path")?;
    if path.depth() == 0 {
        return Err(failure(Message::new(&EMPTY_PATH)));
    }
    Ok(path)
}

fn set(a: &Arguments) -> Result<Value, CallError> {
    let path = path_within(a)?;
    let new = a.get("value").cloned().unwrap_or_default();
    fits_depth(path.depth() + haft_core::json::size(&new).depth)?;
    let mut object = whole(a).clone();
    path.set(&mut object, new)?;
    Ok(object)
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (name, value) in from {
        if let (Some(Value::Object(old)), Value::Object(new)) = (into.get_mut(name), value) {
            merge(old, new);
        } else {
            into.insert(name.clone(), value.clone());
        }
    }
}

fn query(object: &Value, expression: &str) -> Result<Value, CallError> {
    let most = ResultLimits { values: MAX_ITEMS, characters: MAX_CHARACTERS };
    Query::parse(expression).and_then(|query| query.run(object, most)).map_err(failure)
}

/// The differences found so far, and the current path.
#[derive(Default)]
struct Differences {
    path: String,
    depth: usize,
    /// Number of characters in all paths together: a long name may be part of many paths.
    characters: usize,
    added: Map<String, Value>,
    removed: Map<String, Value>,
    changed: Map<String, Value>,
}

impl Differences {
    fn find(&mut self, from: &Value, to: &Value) -> Result<(), CallError> {
        match (from, to) {
            (Value::Object(old), Value::Object(new)) => {
                for (name, value) in old {
                    self.within(name, Some(value), new.get(name))?;
                }
                for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                    self.within(name, None, Some(value))?;
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                for index in 0..old.len().max(new.len()) {
                    self.within(&index.to_string(), old.get(index), new.get(index))?;
                }
            }
            _ if Ordered::of(from) == Ordered::of(to) => {}
            _ => {
                let path = self.record_path()?;
                self.changed.insert(path, json!({"from": from, "to": to}));
            }
        }
        Ok(())
    }

    fn within(&mut self, name: &str, old: Option<&Value>, new: Option<&Value>) -> Result<(), CallError> {
        let length = self.path.len();
        if self.depth > 0 {
            self.path.push('.');
        }
        for character in name.chars() {
            if matches!(character, '.' | '\\') {
                self.path.push('\\');
            }
            self.path.push(character);
        }
        self.depth += 1;
        match (old, new) {
            (Some(old), Some(new)) => self.find(old, new)?,
            (Some(old), None) => {
                let path = self.record_path()?;
                self.removed.insert(path, old.clone());
            }
            (None, Some(new)) => {
                let path = self.record_path()?;
                self.added.insert(path, new.clone());
            }
            (None, None) => {}
        }
        self.depth -= 1;
        self.path.truncate(length);
        Ok(())
    }

    fn record_path(&mut self) -> Result<String, CallError> {
        self.characters += self.path.chars().count();
        fits_text(self.characters)?;
        fits_items(self.added.len() + self.removed.len() + self.changed.len() + 1)?;
        Ok(self.path.clone())
    }
}
