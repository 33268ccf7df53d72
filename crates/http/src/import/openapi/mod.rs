//! OpenAPI 3.0 and 3.1 and Swagger 2.0: each operation becomes one tool.
//!
//! Documents are walked leniently: real ones break the standard in many ways, and one
//! odd corner must not cost the rest.

mod document;
mod operation;
mod parameters;
mod payload;
mod schema;
mod security;

use std::collections::HashMap;

use haft_core::{Message, Template, Violation};
use serde_json::Value;
use url::Url;

use self::document::Document;
use self::operation::Operation;
use super::{Imported, Names, Skipped};

haft_core::templates! {
    NOT_A_METHOD = "openapi.method",
        "{method} is not a method that tools can use",
        "工具不支持 {method} 方法";
    NOT_FOUND = "openapi.onlyNotFound",
        "the document has no operation {operation}",
        "文档中没有操作 {operation}";
    NOT_AN_OPERATION = "openapi.notAnOperation",
        "is not described as an operation",
        "未描述为操作";
}

/// How a document shall be read.
#[derive(Debug, Clone, Default)]
pub struct OpenApiOptions {
    /// Put before every tool's name.
    pub name: Option<String>,
    /// Where the operations are, whatever the document says.
    pub base_url: Option<String>,
    /// Where the document came from, for servers that are written relative to it.
    pub source: Option<Url>,
    /// Only these: `operationId` or `METHOD /path`. Empty: all.
    pub only: Vec<String>,
}

const METHODS: [&str; 6] = ["get", "put", "post", "delete", "patch", "head"];
const OTHER_METHODS: [&str; 2] = ["options", "trace"];

/// Turns a document into tools.
pub fn openapi(document: &Value, options: &OpenApiOptions) -> Result<Imported, Vec<Violation>> {
    let document = Document::new(document, options.base_url.as_deref(), options.source.as_ref())?;
    let mut imported = Imported::default();
    let operations = operations(&document, &mut imported);
    let chosen = chosen(operations, &options.only, &mut imported);
    let mut names = Names::new(options.name.as_deref());
    let mut wanted: HashMap<String, usize> = HashMap::new();
    for operation in &chosen {
        *wanted.entry(names.wanted(&operation.wanted_name())).or_default() += 1;
    }
    for operation in &chosen {
        // A name that several want is nobody's: each gets its own mark, whatever the order.
        let text = operation.wanted_name();
        let is_contested = wanted.get(&names.wanted(&text)).is_some_and(|count| *count > 1);
        match operation.to_tool(&document, options.name.as_deref(), &mut imported) {
            Ok(mut tool) => {
                let identity = operation.identity();
                let name = if is_contested {
                    names.marked(&text, &identity)
                } else {
                    names.unique(&text, &identity)
                };
                tool.definition.shift_insert(0, "name".to_owned(), name.into());
                imported.tools.push(tool);
            }
            Err(reason) => imported.skipped.push(Skipped { operation: operation.identity(), reason }),
        }
    }
    Ok(imported)
}

/// Every operation of a document; what is none is said.
fn operations<'a>(document: &Document<'a>, imported: &mut Imported) -> Vec<Operation<'a>> {
    let mut operations = Vec::new();
    for (path, item) in document.paths().filter(|(path, _)| path.starts_with('/')) {
        let item = document.resolve(item);
        for (method, operation) in item.as_object().into_iter().flatten() {
            let method = method.to_ascii_lowercase();
            let named = format!("{} {path}", method.to_ascii_uppercase());
            if OTHER_METHODS.contains(&method.as_str()) {
                let reason = Message::new(&NOT_A_METHOD).with("method", method.to_ascii_uppercase());
                imported.skipped.push(Skipped { operation: named, reason });
            } else if METHODS.contains(&method.as_str()) {
                if operation.is_object() {
                    operations.push(Operation { path, method: method.to_ascii_uppercase(), item, operation });
                } else {
                    let reason = Message::new(&NOT_AN_OPERATION);
                    imported.skipped.push(Skipped { operation: named, reason });
                }
            }
        }
    }
    operations
}

/// The operations that were asked for; what is not there is said.
fn chosen<'a>(
    operations: Vec<Operation<'a>>,
    only: &[String],
    imported: &mut Imported,
) -> Vec<Operation<'a>> {
    if only.is_empty() {
        return operations;
    }
    for wanted in only.iter().filter(|wanted| !operations.iter().any(|operation| operation.is_called(wanted)))
    {
        let reason = Message::new(&NOT_FOUND).with("operation", wanted);
        imported.skipped.push(Skipped { operation: wanted.clone(), reason });
    }
    imported.skipped.retain(|skipped| only.contains(&skipped.operation));
    operations.into_iter().filter(|operation| only.iter().any(|wanted| operation.is_called(wanted))).collect()
}

/// Every message of this importer.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, document::TEMPLATES, operation::TEMPLATES].into_iter().flatten().copied()
}
