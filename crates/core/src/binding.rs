//! The additions of an agent's binding to a tool: defaults, fixed values and a stricter policy.

use serde_json::{Map, Value};

use crate::{Message, PolicyRule, Violation};

crate::templates! {
    FIXED_NOT_OBJECT = "binding.fixedNotObject",
        "must be an object of argument values",
        "必须是由参数值组成的对象";
}

/// The use of one tool by one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Binding {
    pub tool_config: ToolConfig,
    pub policy: PolicyRule,
    /// The pinned version; `None` for the live version.
    pub version: Option<u64>,
    /// Overrides the tool's cache TTL, in seconds.
    pub cache_ttl: Option<u64>,
}

/// Argument values of a binding: defaults, which a call may override, and fixed ones (`$fixed`), which are
/// hidden from the model and cannot be changed by it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolConfig {
    defaults: Map<String, Value>,
    fixed: Map<String, Value>,
}

impl ToolConfig {
    /// Parses `{"maxResults": 10, "$fixed": {"region": "cn"}}`.
    pub fn parse(mut fields: Map<String, Value>) -> Result<Self, Violation> {
        let fixed = match fields.shift_remove("$fixed") {
            None => Map::new(),
            Some(Value::Object(fixed)) => fixed,
            Some(_) => return Err(Violation::new("$fixed", Message::new(&FIXED_NOT_OBJECT))),
        };
        Ok(Self { defaults: fields, fixed })
    }

    /// Removes fixed arguments from a schema and its alternatives.
    pub fn hide_fixed(&self, schema: &mut Value) {
        if self.fixed.is_empty() {
            return;
        }
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !self.fixed.contains_key(name));
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| !name.as_str().is_some_and(|name| self.fixed.contains_key(name)));
        }
        for list in ["allOf", "anyOf", "oneOf"] {
            let Some(forms) = schema.get_mut(list).and_then(Value::as_array_mut) else { continue };
            // Alternatives that a fixed value excludes are hidden.
            if list != "allOf" && forms.iter().any(|form| self.may_be(form)) {
                forms.retain(|form| self.may_be(form));
            }
            forms.iter_mut().for_each(|form| self.hide_fixed(form));
        }
    }

    /// Returns true if no constant of a form contradicts a fixed value.
    fn may_be(&self, form: &Value) -> bool {
        let constant = |name: &str| form.get("properties")?.get(name)?.get("const");
        self.fixed.iter().all(|(name, value)| constant(name).is_none_or(|constant| constant == value))
    }

    /// Merges defaults and fixed values into the arguments of a call.
    pub fn merge_into(&self, arguments: &mut Map<String, Value>) {
        for (name, value) in &self.defaults {
            if !arguments.contains_key(name) {
                arguments.insert(name.clone(), value.clone());
            }
        }
        for (name, value) in &self.fixed {
            arguments.insert(name.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn defaults_yield_and_fixed_values_hold() {
        let config =
            ToolConfig::parse(fields(json!({"max": 10, "$fixed": {"region": "cn"}}))).expect("well formed");
        let mut arguments = fields(json!({"max": 3, "region": "us"}));
        config.merge_into(&mut arguments);
        assert_eq!(Value::Object(arguments), json!({"max": 3, "region": "cn"}));

        let mut none = Map::new();
        config.merge_into(&mut none);
        assert_eq!(Value::Object(none), json!({"max": 10, "region": "cn"}));
    }

    #[test]
    fn fixed_arguments_are_hidden_in_every_form() {
        let mut schema = json!({
            "type": "object", "required": ["a", "b"], "properties": {"a": {}, "b": {}},
            "oneOf": [{"properties": {"a": {}, "c": {}}, "required": ["a"]}],
        });
        let config = ToolConfig::parse(fields(json!({"$fixed": {"a": 1}}))).expect("well formed");
        config.hide_fixed(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object", "required": ["b"], "properties": {"b": {}},
                "oneOf": [{"properties": {"c": {}}, "required": []}],
            })
        );
    }

    #[test]
    fn alternatives_that_a_fixed_value_rules_out_are_hidden() {
        let form = |name: &str| json!({"properties": {"op": {"const": name}, name: {}}});
        let mut schema = json!({"oneOf": [form("a"), form("b")]});
        let config = ToolConfig::parse(fields(json!({"$fixed": {"op": "b"}}))).expect("well formed");
        config.hide_fixed(&mut schema);
        assert_eq!(schema, json!({"oneOf": [{"properties": {"b": {}}}]}));
    }

    #[test]
    fn a_fixed_that_is_no_object_is_refused() {
        let error = ToolConfig::parse(fields(json!({"$fixed": [1]}))).expect_err("refused");
        assert_eq!(error.path, "$fixed");
    }

    proptest! {
        #[test]
        fn merging_obeys_its_order(
            defaults in prop::collection::btree_map("[a-d]", 0..9_i32, 0..4),
            fixed in prop::collection::btree_map("[a-d]", 10..19_i32, 0..4),
            given in prop::collection::btree_map("[a-d]", 20..29_i32, 0..4),
        ) {
            let object = |map: &std::collections::BTreeMap<String, i32>| fields(json!(map));
            let config = ToolConfig { defaults: object(&defaults), fixed: object(&fixed) };
            let mut merged = object(&given);
            config.merge_into(&mut merged);

            for name in ["a", "b", "c", "d"] {
                let expected = fixed.get(name).or(given.get(name)).or(defaults.get(name));
                prop_assert_eq!(merged.get(name).cloned(), expected.map(|n| json!(n)));
            }
            let once = merged.clone();
            config.merge_into(&mut merged);
            prop_assert_eq!(merged, once);
        }
    }
}
