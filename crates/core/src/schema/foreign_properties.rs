//! Properties of other alternatives of a schema than the one that the arguments select.
//!
//! Models see all alternatives as one object ([`super::flatten`]), so they may send such properties.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// The alternatives of a schema, selected by the constant of one property.
#[derive(Debug)]
pub(super) struct ForeignProperties {
    discriminator: String,
    /// The properties of each alternative, by the constant that selects it.
    own: HashMap<String, HashSet<String>>,
    /// The properties of all alternatives.
    known: HashSet<String>,
}

impl ForeignProperties {
    /// Returns `None` if no property selects the alternatives.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let alternatives = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
        let properties: Option<Vec<&Map<String, Value>>> =
            alternatives.iter().map(|alternative| alternative.get("properties")?.as_object()).collect();
        let properties = properties?;
        let constants = |name: &str| -> Option<Vec<String>> {
            let constant = |properties: &&Map<String, Value>| {
                properties.get(name)?.get("const")?.as_str().map(str::to_owned)
            };
            let constants: Vec<String> = properties.iter().map(constant).collect::<Option<_>>()?;
            let distinct: HashSet<&String> = constants.iter().collect();
            (distinct.len() == constants.len()).then_some(constants)
        };
        let mut names = properties.first()?.keys();
        let (discriminator, constants) = names.find_map(|name| Some((name.clone(), constants(name)?)))?;
        let names = |properties: &&Map<String, Value>| properties.keys().cloned().collect::<HashSet<_>>();
        let own: HashMap<String, HashSet<String>> =
            constants.into_iter().zip(properties.iter().map(names)).collect();
        let known = own.values().flatten().cloned().collect();
        Some(Self { discriminator, own, known })
    }

    /// Adds properties to every alternative.
    pub(super) fn with_in_all<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Self {
        for name in names {
            for own in self.own.values_mut() {
                own.insert(name.to_owned());
            }
        }
        self
    }

    /// Removes and returns the properties of other alternatives. Unknown properties are unchanged.
    pub(super) fn take_out(&self, arguments: &mut Map<String, Value>) -> Map<String, Value> {
        if !self.has_any(arguments) {
            return Map::new();
        }
        let Some(own) = self.selected_by(arguments) else { return Map::new() };
        let (foreign, rest): (Map<_, _>, Map<_, _>) =
            std::mem::take(arguments).into_iter().partition(|(name, _)| self.is_foreign(own, name));
        *arguments = rest;
        foreign
    }

    /// Returns true if there are properties of other alternatives.
    pub(super) fn has_any(&self, arguments: &Map<String, Value>) -> bool {
        let own = self.selected_by(arguments);
        own.is_some_and(|own| arguments.keys().any(|name| self.is_foreign(own, name)))
    }

    /// Returns the properties of the selected alternative.
    fn selected_by(&self, arguments: &Map<String, Value>) -> Option<&HashSet<String>> {
        self.own.get(arguments.get(&self.discriminator)?.as_str()?)
    }

    fn is_foreign(&self, own: &HashSet<String>, name: &str) -> bool {
        !own.contains(name) && self.known.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ToolSchema;
    use crate::call::Validation;

    /// Returns the admitted arguments and the ignored names, or the error message.
    fn admitted(
        schema: &super::Value,
        operations: Option<&super::Value>,
        given: super::Value,
    ) -> Result<(super::Value, Vec<String>), String> {
        let schema =
            ToolSchema::of_arguments(schema).expect("a schema").ignoring_foreign_properties(operations);
        match schema.admit(given, None, Validation::Gentle) {
            Ok(admitted) => {
                let ignored = admitted.ignored.keys().cloned().collect();
                Ok((admitted.arguments.as_value().clone(), ignored))
            }
            Err(refused) => Err(refused.error.to_string()),
        }
    }

    /// Builds a schema with one alternative per operation.
    fn operations<const N: usize>(forms: [(&str, super::Value); N]) -> super::Value {
        let forms = forms.map(|(name, more)| {
            let mut properties = json!({"operation": {"const": name}});
            let fields = properties.as_object_mut().expect("an object");
            fields.extend(more.as_object().cloned().unwrap_or_default());
            json!({"properties": properties, "required": ["operation"], "additionalProperties": false})
        });
        json!({"type": "object", "oneOf": forms.to_vec()})
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn properties_of_other_alternatives_are_ignored_and_unknown_ones_refused() {
        let text = json!({"type": "string"});
        let schema = operations([("now", json!({"format": text})), ("diff", json!({"date": text}))]);
        let now = json!({"operation": "now"});
        for (given, expected) in [
            (json!({"operation": "now"}), Ok((now.clone(), names(&[])))),
            (json!({"operation": "now", "date": "x"}), Ok((now.clone(), names(&["date"])))),
            // The ignored property is not validated either.
            (json!({"operation": "now", "date": {"deep": []}}), Ok((now, names(&["date"])))),
            (
                json!(r#"{"operation": "diff", "format": "x", "date": "y"}"#),
                Ok((json!({"operation": "diff", "date": "y"}), names(&["format"]))),
            ),
            (json!({"operation": "now", "colour": "red"}), Err("colour")),
            (json!({"operation": "now", "format": 7.5, "date": "x", "colour": 1}), Err("colour")),
            (json!({"operation": "later", "date": "x"}), Err("operation")),
            (json!({"date": "x"}), Err("operation")),
        ] {
            match (admitted(&schema, None, given.clone()), expected) {
                (Ok(admitted), Ok(expected)) => assert_eq!(admitted, expected, "{given}"),
                (Err(message), Err(part)) => assert!(message.contains(part), "{given}: {message}"),
                (admitted, expected) => panic!("{given}: {admitted:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_schema_without_a_discriminator_ignores_nothing() {
        let closed =
            |name: &str| json!({"properties": {name: {"type": "string"}}, "additionalProperties": false});
        let schema = json!({"type": "object", "anyOf": [closed("a"), closed("b")]});
        assert!(admitted(&schema, None, json!({"a": "x", "b": "y"})).is_err());
    }

    #[test]
    fn a_flat_schema_ignores_foreign_properties_except_required_ones() {
        let text = json!({"type": "string"});
        let operations =
            operations([("now", json!({"zone": text})), ("diff", json!({"date": text, "unit": text}))]);
        let properties = json!({"operation": text, "date": text, "unit": text, "more": text});
        let given = json!({"operation": "now", "date": "x", "unit": "y", "more": "z"});
        for (required, ignored) in [(vec![], vec!["date", "unit"]), (vec!["date"], vec!["unit"])] {
            let flat = json!({"type": "object", "properties": properties, "required": required});
            let mut expected = given.clone();
            ignored.iter().for_each(|name| drop(expected.as_object_mut().expect("an object").remove(*name)));
            let outcome = admitted(&flat, Some(&operations), given.clone());
            assert_eq!(outcome, Ok((expected, names(&ignored))), "{required:?}");
            let outcome = admitted(&flat, None, given.clone());
            assert_eq!(outcome, Ok((given.clone(), names(&[]))), "{required:?}: no operations are known");
        }
        // Its own alternatives take precedence.
        let own = json!({"type": "object", "oneOf": [
            {"properties": {"operation": {"const": "now"}, "date": text}},
            {"properties": {"operation": {"const": "diff"}, "unit": text}},
        ]});
        let given = json!({"operation": "now", "date": "x", "unit": "y"});
        let expected = json!({"operation": "now", "date": "x"});
        assert_eq!(admitted(&own, Some(&operations), given), Ok((expected, names(&["unit"]))));
    }
}
