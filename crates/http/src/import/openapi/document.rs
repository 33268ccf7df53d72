//! An OpenAPI document: its version, its references, and the parameters of operations.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use haft_core::error::ROOT;
use haft_core::{Message, Violation};
use serde_json::Value;
use url::Url;

use super::budget::Budget;
use super::plain::shortened;
use super::servers;

haft_core::templates! {
    NOT_OPENAPI = "openapi.notOne",
        "is not an OpenAPI document: it has neither openapi 3.0 or 3.1 nor swagger 2.0",
        "不是 OpenAPI 文档：缺少 openapi 3.0/3.1 或 swagger 2.0";
    BAD_BASE = "openapi.badBase",
        "must be an absolute http or https URL",
        "必须是完整的 http 或 https URL";
    UNRESOLVED = "openapi.unresolved",
        "{reference} is not in the document; the tool was imported without it",
        "文档中没有 {reference}；导入的工具不含该部分";
    ODD_PARAMETER = "openapi.oddParameter",
        "the parameter {name} in {place} is invalid; the tool was imported without it",
        "位于 {place} 的参数 {name} 无法发送；导入的工具不含该参数";
    TOO_MANY_PARAMETERS = "openapi.tooManyParameters",
        "it has {count} parameters; at most {limit}",
        "它有 {count} 个参数，最多 {limit} 个";
}

/// Maximum number of chained references.
const LONGEST_CHAIN: usize = 16;

/// Maximum length of a reference.
const LONGEST_REFERENCE: usize = 2_000;

const MOST_PARAMETERS: usize = 300;
const LONGEST_NAME: usize = 256;
const LONGEST_TITLE: usize = 200;

/// A document, and the options of its import.
pub(super) struct Document<'a> {
    root: &'a Value,
    pub(super) is_swagger: bool,
    pub(super) base: Option<Url>,
    pub(super) source: Option<&'a Url>,
    pub(super) budget: Budget,
    /// References resolved before.
    found: RefCell<HashMap<&'a str, Option<&'a Value>>>,
}

/// A parameter of an operation.
#[derive(Clone, Copy)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    /// Its location: `path`, `query` and so on.
    pub(super) place: &'a str,
    pub(super) is_required: bool,
    /// The whole parameter; in 2.0 it is also its schema.
    pub(super) value: &'a Value,
}

impl Parameter<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.value.get(name).and_then(Value::as_str)
    }
}

impl<'a> Document<'a> {
    pub(super) fn new(
        root: &'a Value,
        base: Option<&str>,
        source: Option<&'a Url>,
    ) -> Result<Self, Vec<Violation>> {
        let version = |name: &str| match root.get(name) {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => String::new(),
        };
        let is_swagger = version("swagger").starts_with('2');
        if !is_swagger && !version("openapi").starts_with("3.") {
            return Err(vec![Violation::new(ROOT, Message::new(&NOT_OPENAPI))]);
        }
        let base = base.map(|base| {
            let url = servers::absolute(None, base.trim());
            url.ok_or_else(|| vec![Violation::new("baseUrl", Message::new(&BAD_BASE))])
        });
        let base = base.transpose()?;
        Ok(Self { root, is_swagger, base, source, budget: Budget::new(root), found: RefCell::default() })
    }

    pub(super) fn root(&self) -> &'a Value {
        self.root
    }

    /// The title, as a name for the imported group. Returns `None` if there is none.
    pub(super) fn title(&self) -> Option<String> {
        let title = self.root.get("info").and_then(|info| info.get("title")).and_then(Value::as_str)?;
        Some(shortened(title, LONGEST_TITLE)).filter(|title| !title.is_empty())
    }

    /// The target of a local reference.
    pub(super) fn find(&self, reference: &'a str) -> Option<&'a Value> {
        if let Some(found) = self.found.borrow().get(reference) {
            return *found;
        }
        let found = self.look_up(reference);
        self.found.borrow_mut().insert(reference, found);
        found
    }

    fn look_up(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.len() <= LONGEST_REFERENCE)?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&decoded)
    }

    /// Follows references. Returns null if one cannot be resolved.
    pub(super) fn resolve(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            let Some(Value::String(reference)) = value.get("$ref") else { return value };
            let Some(target) = self.find(reference) else { return &Value::Null };
            value = target;
        }
        &Value::Null
    }

    /// Paths and their operations, in the document's order.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.root.get("paths").and_then(Value::as_object).into_iter().flatten()
    }

    /// The parameters of a path, overridden by those of its operation.
    pub(super) fn parameters(
        &self,
        item: &'a Value,
        operation: &'a Value,
        notes: &mut Vec<Message>,
    ) -> Result<Vec<Parameter<'a>>, Message> {
        let listed = |value: &'a Value| {
            value.get("parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
        };
        let (of_path, of_operation) = (listed(item), listed(operation));
        let count = of_path.len() + of_operation.len();
        if count > MOST_PARAMETERS {
            let message = Message::new(&TOO_MANY_PARAMETERS);
            return Err(message.with("count", count).with("limit", MOST_PARAMETERS));
        }
        let mut found: Vec<Parameter<'a>> = Vec::with_capacity(count);
        let mut known: HashMap<(&str, &str), usize> = HashMap::new();
        for written in of_path.iter().chain(of_operation) {
            let value = self.resolve(written);
            if value.is_null() {
                notes.push(unresolved(written));
                continue;
            }
            let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
            let (name, place) = (text("name"), text("in"));
            // A body parameter of 2.0 needs no name.
            let is_named = place == "body" || (1..=LONGEST_NAME).contains(&name.len());
            if !is_named || !self.knows(place) {
                let message = Message::new(&ODD_PARAMETER).with("name", shortened(name, 60));
                notes.push(message.with("place", shortened(place, 60)));
                continue;
            }
            let is_required = value.get("required") == Some(&Value::Bool(true));
            let parameter = Parameter { name, place, is_required, value };
            match known.entry((name, place)) {
                Entry::Occupied(at) => {
                    if let Some(known) = found.get_mut(*at.get()) {
                        *known = parameter;
                    }
                }
                Entry::Vacant(at) => {
                    at.insert(found.len());
                    found.push(parameter);
                }
            }
        }
        Ok(found)
    }

    fn knows(&self, place: &str) -> bool {
        match place {
            "path" | "query" | "header" => true,
            "cookie" => !self.is_swagger,
            "body" | "formData" => self.is_swagger,
            _ => false,
        }
    }
}

/// The message for a reference that cannot be resolved.
pub(super) fn unresolved(written: &Value) -> Message {
    let reference = written.get("$ref").and_then(Value::as_str).unwrap_or("null");
    Message::new(&UNRESOLVED).with("reference", shortened(reference, 200))
}
