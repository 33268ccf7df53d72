//! Collects the arguments of a drafted tool: a placeholder and a schema property for each.

use std::collections::HashMap;

use haft_core::text::{CALL_ID, CALLBACK_URL};
use serde_json::{Map, Value, json};

use super::marks::MarkKind;
use super::types::{of_type, of_value};
use crate::import::variable_name;

/// Maximum length of a text or list that becomes a default.
const LONGEST_DEFAULT: usize = 16 << 10;

/// Says if an argument is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// A known value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableValue<'a> {
    Nothing,
    /// The default that is sent if a call omits the argument.
    Default(&'a str),
    /// An example; a call must supply the value.
    Example(&'a str),
}

#[derive(Debug, Default)]
pub(super) struct Arguments {
    properties: Map<String, Value>,
    required: Vec<String>,
    /// Argument names by variables of the source.
    of_marks: HashMap<String, String>,
    /// The last number appended to each name.
    numbers: HashMap<String, u32>,
}

impl Arguments {
    /// Adds an argument under a unique name and returns its placeholder.
    pub(super) fn add(&mut self, wanted: &str, property: Value, need: Need) -> String {
        let name = self.free_name(wanted);
        self.properties.insert(name.clone(), property);
        if need == Need::Required {
            self.required.push(name.clone());
        }
        placeholder(&name)
    }

    /// Adds an argument whose default is the example value.
    pub(super) fn add_example(&mut self, wanted: &str, value: &Value) -> String {
        if is_long(value) {
            return self.add(wanted, Value::Object(of_type(wanted, value)), Need::Required);
        }
        let mut property = of_value(wanted, value);
        property.insert("default".to_owned(), value.clone());
        self.add(wanted, Value::Object(property), Need::Optional)
    }

    /// The placeholder of a variable of the source; repeated uses share it.
    pub(super) fn of_mark(&mut self, kind: MarkKind, mark: &str, known: VariableValue<'_>) -> String {
        if let Some(name) = self.of_marks.get(mark) {
            return placeholder(name);
        }
        let value = |text: &str| match kind {
            MarkKind::Any => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
            MarkKind::Text | MarkKind::Secret => Value::from(text),
        };
        let mut property = match kind {
            MarkKind::Any => Map::new(),
            MarkKind::Text | MarkKind::Secret => of_type(mark, &Value::from("")),
        };
        let need = match known {
            VariableValue::Nothing => Need::Required,
            VariableValue::Default(text) | VariableValue::Example(text) if text.len() > LONGEST_DEFAULT => {
                Need::Required
            }
            VariableValue::Default(text) => {
                property.insert("default".to_owned(), value(text));
                Need::Optional
            }
            VariableValue::Example(text) => {
                property.insert("examples".to_owned(), json!([value(text)]));
                Need::Required
            }
        };
        let name = self.free_name(mark);
        self.of_marks.insert(mark.to_owned(), name.clone());
        self.add(&name, Value::Object(property), need)
    }

    pub(super) fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object", "properties": self.properties});
        if let Value::Object(fields) = &mut schema {
            if !self.required.is_empty() {
                fields.insert("required".to_owned(), self.required.into());
            }
            fields.insert("additionalProperties".to_owned(), false.into());
        }
        schema
    }

    /// A name that is neither used nor reserved.
    fn free_name(&mut self, wanted: &str) -> String {
        let name = variable_name(wanted);
        let is_free =
            |name: &str| !self.properties.contains_key(name) && ![CALL_ID, CALLBACK_URL].contains(&name);
        if is_free(&name) {
            return name;
        }
        let number = self.numbers.entry(name.clone()).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{name}_{number}");
            if is_free(&numbered) {
                return numbered;
            }
        }
    }
}

fn placeholder(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

/// Returns true if a value is too long for a schema.
fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONGEST_DEFAULT,
        Value::Array(_) | Value::Object(_) => value.to_string().len() > LONGEST_DEFAULT,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_are_unique() {
        let mut arguments = Arguments::default();
        assert_eq!(arguments.add_example("page[size]", &json!(10)), "{{page_size}}");
        assert_eq!(arguments.add_example("page-size", &json!(1.5)), "{{page_size_2}}");
        assert_eq!(arguments.add_example("callId", &json!("x")), "{{callId_2}}");
        assert_eq!(arguments.of_mark(MarkKind::Text, "ID", VariableValue::Example("7")), "{{ID}}");
        assert_eq!(arguments.of_mark(MarkKind::Any, "ID", VariableValue::Nothing), "{{ID}}");
        assert_eq!(arguments.add_example("ID", &Value::Null), "{{ID_2}}");
        let schema = arguments.into_schema();
        let expected = json!({
            "type": "object",
            "properties": {
                "page_size": {"type": "integer", "default": 10},
                "page_size_2": {"type": "number", "default": 1.5},
                "callId_2": {"type": "string", "default": "x"},
                "ID": {"type": "string", "examples": ["7"]},
                "ID_2": {"default": null},
            },
            "required": ["ID"],
            "additionalProperties": false,
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn long_values_do_not_become_defaults() {
        let mut arguments = Arguments::default();
        arguments.add_example("text", &json!("x".repeat(20_000)));
        arguments.add_example("list", &json!(vec![1; 20_000]));
        let expected = json!({
            "type": "object", "required": ["text", "list"], "additionalProperties": false,
            "properties": {"text": {"type": "string"}, "list": {"type": "array"}},
        });
        assert_eq!(arguments.into_schema(), expected);
    }
}
