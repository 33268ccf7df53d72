//! Alternatives at the root of a schema, joined into one object. Descriptions state which property value
//! selects each alternative, and which properties belong to it.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::FlatObject;
use super::join::{choices, either};

/// Maximum length of a label, in characters.
const MAX_LABEL: usize = 60;

/// Maximum number of alternatives that the description of a property names.
const MAX_NAMED: usize = 50;

/// Number of alternatives above which a property of most of them lists those without it instead.
const MANY: usize = 4;

/// The alternatives of one `oneOf` or `anyOf`.
pub(super) struct Forms {
    forms: Vec<FlatObject>,
    /// The property whose value selects an alternative.
    discriminator: Option<String>,
    /// The name of each alternative: the values of the discriminator, or its title.
    labels: Vec<Option<String>>,
}

/// A property with its schema in each alternative that has it.
struct Property {
    name: String,
    schemas: Vec<(usize, Value)>,
}

impl Forms {
    pub(super) fn of(forms: Vec<FlatObject>) -> Self {
        let discriminator = discriminator(&forms);
        let label = |form: &FlatObject| match &discriminator {
            Some(name) => form.properties.get(name).map(|property| listed(&choices(property))),
            None => form.text("title").map(cut),
        };
        let labels = forms.iter().map(label).collect();
        Self { forms, discriminator, labels }
    }

    /// Merges the alternatives into the surrounding object.
    pub(super) fn join_into(mut self, object: &mut FlatObject) {
        let required = self.required_by_all();
        let lines = self.lines(&required);
        let is_closed = self.forms.iter().all(FlatObject::is_closed);
        let has_no_properties = self.forms.iter().all(|form| form.properties.is_empty());
        let is_named =
            self.forms.iter().any(|form| form.text("title").or(form.text("description")).is_some());
        let nested: Vec<String> =
            self.forms.iter_mut().flat_map(|form| std::mem::take(&mut form.forms)).collect();
        for property in self.properties() {
            let mut joined = either(property.schemas.iter().map(|(_, schema)| schema));
            let is_discriminator = self.discriminator.as_ref() == Some(&property.name);
            let mut texts = self.texts(&property, is_discriminator);
            if is_discriminator {
                texts.extend(lines.iter().cloned());
            }
            let text = texts.join(if is_discriminator { "\n" } else { "; " });
            match object
                .properties
                .get(&property.name)
                .and_then(|existing| existing.get("description")?.as_str())
            {
                Some(existing) if is_discriminator && !text.is_empty() => {
                    describe(&mut joined, format!("{existing}\n{text}"));
                }
                Some(_) => {}
                None => describe(&mut joined, text),
            }
            // An alternative without the property leaves the object's one unchanged.
            let is_in_all = property.schemas.len() == self.forms.len();
            if is_in_all || !object.properties.contains_key(&property.name) {
                let described = joined.get("description").cloned();
                object.constrain(&property.name, joined);
                let known = object.properties.get_mut(&property.name).and_then(Value::as_object_mut);
                if let (Some(known), Some(text)) = (known, described) {
                    known.insert("description".to_owned(), text);
                }
            }
        }
        if self.discriminator.is_none() && (is_named || has_no_properties) && !lines.is_empty() {
            object.forms.push("One of these forms:".to_owned());
            object.forms.extend(lines);
        }
        object.forms.extend(nested);
        if is_closed {
            object.fields.entry("additionalProperties").or_insert(Value::Bool(false));
        }
        object.require(required);
    }

    /// Returns the names that every alternative requires.
    fn required_by_all(&self) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in self.forms.iter().flat_map(|form| &form.required.ordered) {
            *counts.entry(name).or_default() += 1;
        }
        let first = self.forms.first().into_iter().flat_map(|form| &form.required.ordered);
        first.filter(|name| counts.get(name.as_str()) == Some(&self.forms.len())).cloned().collect()
    }

    /// Returns the description of each alternative: its label, its description and its required properties.
    fn lines(&self, required_by_all: &[String]) -> Vec<String> {
        let required_by_all: HashSet<&String> = required_by_all.iter().collect();
        let line = |(form, label): (&FlatObject, &Option<String>)| {
            let needs =
                form.required.ordered.iter().filter(|name| {
                    !required_by_all.contains(name) && self.discriminator.as_ref() != Some(*name)
                });
            let needs: Vec<&str> = needs.map(String::as_str).collect();
            let needs = (!needs.is_empty()).then(|| format!("Needs {}.", needs.join(", ")));
            // A title that repeats the label adds nothing.
            let title = form.text("title").filter(|title| Some(*title) != label.as_deref());
            let about = [title, form.text("description"), needs.as_deref()];
            let about: Vec<&str> = about.into_iter().flatten().collect();
            match (label, about.is_empty()) {
                (Some(label), false) => Some(format!("- {label}: {}", about.join(" "))),
                (Some(label), true) if self.discriminator.is_none() => Some(format!("- {label}")),
                (None, false) => Some(format!("- {}", about.join(" "))),
                (Some(_) | None, true) => None,
            }
        };
        self.forms.iter().zip(&self.labels).filter_map(line).collect()
    }

    /// Returns all properties in the order of their first occurrence.
    fn properties(&mut self) -> Vec<Property> {
        let (mut properties, mut indexes) = (Vec::<Property>::new(), HashMap::new());
        for (form, object) in self.forms.iter_mut().enumerate() {
            for (name, schema) in std::mem::take(&mut object.properties) {
                let index = *indexes.entry(name.clone()).or_insert_with(|| {
                    properties.push(Property { name, schemas: Vec::new() });
                    properties.len() - 1
                });
                if let Some(property) = properties.get_mut(index) {
                    property.schemas.push((form, schema));
                }
            }
        }
        properties
    }

    /// Returns the descriptions of a property, each with the alternatives that it belongs to.
    fn texts(&self, property: &Property, is_discriminator: bool) -> Vec<String> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        let mut indexes = HashMap::new();
        for (form, schema) in &property.schemas {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let index = *indexes.entry(text).or_insert_with(|| {
                groups.push((text, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, forms)) = groups.get_mut(index) {
                forms.push(*form);
            }
        }
        let text = |(text, forms): &(&str, Vec<usize>)| {
            // Nested alternatives have added a more precise note already.
            let has_note = text.contains("(only with ") || text.contains("(not with ");
            let note = if is_discriminator || has_note { None } else { self.note(forms) };
            match (text.is_empty(), note) {
                (true, None) => None,
                (true, Some(note)) => Some(format!("({note})")),
                (false, None) => Some((*text).to_owned()),
                (false, Some(note)) => Some(format!("{text} ({note})")),
            }
        };
        groups.iter().filter_map(text).collect()
    }

    /// Returns a note with the alternatives that a property belongs to. Returns `None` if it belongs to all.
    fn note(&self, forms: &[usize]) -> Option<String> {
        let all = self.forms.len();
        if forms.len() == all {
            return None;
        }
        let named = |forms: &mut dyn Iterator<Item = usize>| {
            let labels = (&mut *forms).take(MAX_NAMED).map(|form| self.labels.get(form)?.clone());
            let mut labels = labels.collect::<Option<Vec<_>>>()?;
            labels.extend(forms.next().map(|_| "…".to_owned()));
            let name = self.discriminator.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
            Some(format!("{name}{}", labels.join(", ")))
        };
        if all > MANY && forms.len() * 2 > all {
            let having: HashSet<usize> = forms.iter().copied().collect();
            let lacking = named(&mut (0..all).filter(|form| !having.contains(form)))?;
            return Some(format!("not with {lacking}"));
        }
        Some(format!("only with {}", named(&mut forms.iter().copied())?))
    }
}

/// Returns the first property with distinct values in every alternative.
fn discriminator(forms: &[FlatObject]) -> Option<String> {
    let first = forms.first().filter(|_| forms.len() > 1)?;
    let selects = |name: &&String| {
        let mut seen = HashSet::new();
        forms.iter().all(|form| {
            let choices = form.properties.get(*name).map(choices).unwrap_or_default();
            !choices.is_empty()
                && choices.iter().all(|choice| !nests(choice) && seen.insert(choice.to_string()))
        })
    };
    first.properties.keys().find(selects).cloned()
}

fn nests(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

fn listed(choices: &[&Value]) -> String {
    let texts =
        choices.iter().map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned));
    cut(&texts.collect::<Vec<_>>().join(", "))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn describe(schema: &mut Value, text: String) {
    if text.is_empty() {
        return;
    }
    if schema.is_boolean() {
        *schema = Value::Object(Map::new());
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), text.into());
    }
}
