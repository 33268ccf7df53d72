//! Adapts tools to providers: one that would make a provider reject the whole request is adapted or left out.

mod kinds;
mod object;
mod root;
mod subset;

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::{Message, json};
use serde_json::Value;

use crate::model::OmittedTool;
use crate::request::ModelTool;

haft_core::templates! {
    BAD_NAME = "llm.tool.name",
        "this provider does not accept a tool with this name",
        "该提供商不接受此名称的工具";
    TWICE = "llm.tool.twice",
        "another tool has the same name",
        "另一个工具使用了相同的名称";
    NOT_OBJECT = "llm.tool.notObject",
        "its arguments are not an object",
        "其参数不是对象";
    BAD_PROPERTY = "llm.tool.property",
        "this provider does not accept an argument named {name}",
        "该提供商不接受名为 {name} 的参数";
    BAD_REFERENCE = "llm.tool.reference",
        "its schema refers to {reference}, which is not in it",
        "其 schema 引用了其中不存在的 {reference}";
    TOO_LARGE = "llm.tool.tooLarge",
        "its schema is too large or too deep",
        "其 schema 过大或过深";
}

/// Limits of a schema; models cannot use larger ones.
const DEEPEST: usize = 32;
const MOST_VALUES: usize = 20_000;

/// Maximum length of a tool name for all providers.
const LONGEST_NAME: usize = 64;

/// The form of schemas that a dialect supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON Schema with an object at the root.
    OpenAi,
    /// JSON Schema with an object at the root and restricted property names.
    Anthropic,
    /// A small subset: types, properties, items, with all references resolved.
    Subset,
}

/// The tools of a request, in one form.
pub(crate) struct Offer<'a> {
    pub(crate) tools: Vec<Offered<'a>>,
    pub(crate) left_out: Vec<OmittedTool>,
}

pub(crate) struct Offered<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) strict: Option<bool>,
}

impl<'a> Offer<'a> {
    pub(crate) fn of(tools: &'a [Arc<ModelTool>], form: Form) -> Self {
        let mut offer = Self { tools: Vec::new(), left_out: Vec::new() };
        let mut names = HashSet::new();
        for tool in tools {
            let is_twice = names.contains(tool.name.as_str());
            let schema = match is_twice {
                true => Err(Message::new(&TWICE)),
                false if !form.allows_name(&tool.name) => Err(Message::new(&BAD_NAME)),
                false => tool.parameters.adapted(form).map_err(Clone::clone),
            };
            match schema {
                Ok(schema) => {
                    names.insert(tool.name.as_str());
                    let (name, description, strict) = (&tool.name, &tool.description, tool.strict);
                    offer.tools.push(Offered { name, description, schema, strict });
                }
                Err(why) => offer.left_out.push(OmittedTool { name: tool.name.clone(), why }),
            }
        }
        offer
    }
}

impl Form {
    /// Adapts a schema to the form.
    pub(crate) fn adapt(self, schema: &Value) -> Result<Value, Message> {
        let size = json::size(schema);
        if size.depth > DEEPEST * 2 || size.values > MOST_VALUES {
            return Err(Message::new(&TOO_LARGE));
        }
        let root = root::flattened(schema)?;
        let adapted = match self {
            Self::OpenAi | Self::Anthropic => object::tidied(root)?,
            Self::Subset => subset::reduced(&root)?,
        };
        if self == Self::Anthropic {
            check_properties(&adapted)?;
        }
        Ok(adapted)
    }

    fn allows_name(self, name: &str) -> bool {
        self.begins_well(name) && (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(fits_name)
    }

    fn begins_well(self, name: &str) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic => true,
            Self::Subset => name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'),
        }
    }

    /// A valid name for a called tool. A model may have called a tool that does not exist, by a name that
    /// would make the provider reject the conversation in every later request.
    pub(crate) fn called(self, name: &str) -> String {
        let before = if name.is_empty() || !self.begins_well(name) { "_" } else { "" };
        let fitting = name.chars().map(|each| if fits_name(each) { each } else { '_' });
        before.chars().chain(fitting).take(LONGEST_NAME).collect()
    }
}

/// Returns true if a character is allowed in tool names and call ids.
pub(crate) fn fits_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Anthropic restricts the names of top-level properties.
fn check_properties(schema: &Value) -> Result<(), Message> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let names =
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys());
    let mut bad = names.filter(|name| !(1..=64).contains(&name.len()) || !name.bytes().all(fits));
    match bad.next() {
        Some(name) => Err(Message::new(&BAD_PROPERTY).with("name", name)),
        None => Ok(()),
    }
}

/// Resolves a reference within the schema. External references are not fetched.
fn resolve<'a>(root: &'a Value, reference: &str) -> Result<&'a Value, Message> {
    let found = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
    found.ok_or_else(|| Message::new(&BAD_REFERENCE).with("reference", reference))
}

#[cfg(test)]
mod tests;
