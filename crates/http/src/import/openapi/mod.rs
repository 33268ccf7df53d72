//! Imports OpenAPI 3.0 and 3.1 and Swagger 2.0 documents: each operation becomes one tool.
//!
//! Parsing is lenient: real documents violate the standard, and one invalid part must not prevent the rest.
//! Documents are untrusted: parsing takes a bounded amount of work, and no text is interpreted as a template.

mod budget;
mod document;
mod operation;
mod parameters;
mod payload;
mod plain;
mod schema;
mod security;
mod servers;
mod styles;

use std::collections::HashMap;

use haft_core::{Message, Template, Violation};
use serde_json::Value;
use url::Url;

use self::document::Document;
use self::operation::{Converted, Operation};
use self::plain::shortened;
use super::selection::Selection;
use super::{CancelFlag, Imported, Names, Skipped};

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
    ELSEWHERE = "openapi.elsewhere",
        "is described in {reference}, which is not part of the document",
        "在 {reference} 中描述，不属于本文档";
    BESIDE = "openapi.besideReference",
        "is defined next to a reference to {reference}, which replaces it",
        "写在对 {reference} 的引用旁边，被引用内容取代";
    FIELDS_BESIDE = "openapi.fieldsBesideReference",
        "fields next to the reference to {reference} were ignored: {fields}",
        "写在对 {reference} 的引用旁边的内容已略去：{fields}";
    NO_SLASH = "openapi.noSlash",
        "its path does not begin with /",
        "其路径不以 / 开头";
    TOO_MANY = "openapi.tooManyOperations",
        "this and the {count} operations after it are skipped: one import takes at most {limit}; select some with only",
        "它及其后的 {count} 个操作被略过：一次导入最多 {limit} 个；请用 only 选择部分操作";
    NOT_TOLD = "openapi.notTold",
        "more items were skipped than can be listed",
        "略过的内容过多，无法全部列出";
}

/// Options of an import of a document.
#[derive(Debug, Clone, Default)]
pub struct OpenApiOptions {
    /// Prefix of every tool name.
    pub name: Option<String>,
    /// The base URL; overrides the servers of the document.
    pub base_url: Option<String>,
    /// The document's own URL, for relative server URLs.
    pub source: Option<Url>,
    /// `operationId` or `METHOD /path` of the operations to import. Empty: all.
    pub only: Vec<String>,
    /// Makes the import end early, with the tools converted so far.
    pub cancel: CancelFlag,
}

/// HTTP methods, and whether tools can use them.
const METHODS: [(&str, bool); 8] = [
    ("GET", true),
    ("PUT", true),
    ("POST", true),
    ("DELETE", true),
    ("PATCH", true),
    ("HEAD", true),
    ("OPTIONS", false),
    ("TRACE", false),
];

/// Maximum number of operations per import.
const MOST_OPERATIONS: usize = 5_000;

/// Maximum number of reported skips or notes.
const MAX_REPORTED: usize = 10_000;

/// Imports the operations of a document.
pub fn openapi(document: &Value, options: &OpenApiOptions) -> Result<Imported, Vec<Violation>> {
    let document = Document::new(document, options.base_url.as_deref(), options.source.as_ref())?;
    let mut imported = Imported::default();
    let operations = operations(&document, &mut imported);
    let mut names = Names::new(options.name.as_deref());
    // If several operations want the same name, each gets a suffix, independent of order and selection.
    let mut wanted: HashMap<String, usize> = HashMap::new();
    for operation in &operations {
        *wanted.entry(names.preferred(&operation.preferred_name())).or_default() += 1;
    }
    let chosen = chosen(operations, &options.only, &mut imported);
    for operation in chosen.iter().take(MOST_OPERATIONS) {
        if options.cancel.is_cancelled() {
            break;
        }
        match operation.to_tool(&document, options.name.as_deref()) {
            Ok(Converted { mut tool, notes, secrets }) => {
                let (text, identity) = (operation.preferred_name(), operation.identity());
                let is_contested = wanted.get(&names.preferred(&text)).is_some_and(|count| *count > 1);
                let name = if is_contested {
                    names.marked(&text, &identity)
                } else {
                    names.unique(&text, &identity)
                };
                tool.definition.shift_insert(0, "name".to_owned(), name.into());
                imported.tools.push(tool);
                secrets.iter().for_each(|secret| imported.needs_secret(secret));
                notes.into_iter().for_each(|note| report(&mut imported.notes, &identity, note));
            }
            Err(reason) => report(&mut imported.skipped, &operation.identity(), reason),
        }
    }
    if let Some(first) = chosen.get(MOST_OPERATIONS) {
        let count = chosen.len() - MOST_OPERATIONS - 1;
        let reason = Message::new(&TOO_MANY).with("count", count).with("limit", MOST_OPERATIONS);
        imported.skipped.push(Skipped { operation: first.identity(), reason });
    }
    Ok(imported)
}

/// Every operation of a document; invalid entries are reported.
fn operations<'a>(document: &Document<'a>, imported: &mut Imported) -> Vec<Operation<'a>> {
    let mut operations = Vec::new();
    // Other keys among the paths are extensions.
    for (path, written) in document.paths().filter(|(path, _)| !path.starts_with("x-")) {
        let item = document.resolve(written);
        if item.is_null() {
            let reference = written.get("$ref").and_then(Value::as_str).unwrap_or("null");
            let reason = Message::new(&ELSEWHERE).with("reference", shortened(reference, 200));
            report(&mut imported.skipped, path, reason);
            continue;
        }
        report_siblings(path, written, imported);
        for (name, operation) in item.as_object().into_iter().flatten() {
            let known = METHODS.iter().find(|(method, _)| method.eq_ignore_ascii_case(name)).copied();
            let Some((method, is_usable)) = known else { continue };
            let found = Operation { path, method, item, operation };
            let reason = if !is_usable {
                Message::new(&NOT_A_METHOD).with("method", method)
            } else if !operation.is_object() {
                Message::new(&NOT_AN_OPERATION)
            } else if !path.starts_with('/') {
                Message::new(&NO_SLASH)
            } else {
                operations.push(found);
                continue;
            };
            report(&mut imported.skipped, &found.identity(), reason);
        }
    }
    operations
}

/// Reports fields next to a path's reference, which are ignored.
fn report_siblings(path: &str, written: &Value, imported: &mut Imported) {
    const WITHOUT_MEANING: [&str; 3] = ["$ref", "summary", "description"];
    let Some(Value::String(reference)) = written.get("$ref") else { return };
    let reference = shortened(reference, 200);
    let mut fields = Vec::new();
    for name in written.as_object().into_iter().flatten().map(|(name, _)| name) {
        match METHODS.iter().find(|(method, _)| method.eq_ignore_ascii_case(name)) {
            Some((method, _)) => {
                let reason = Message::new(&BESIDE).with("reference", &reference);
                report(&mut imported.skipped, &format!("{method} {path}"), reason);
            }
            None if WITHOUT_MEANING.contains(&name.as_str()) || name.starts_with("x-") => {}
            None => fields.push(shortened(name, 60)),
        }
    }
    if !fields.is_empty() {
        let reason = Message::new(&FIELDS_BESIDE).with("reference", &reference);
        report(&mut imported.notes, path, reason.with("fields", fields.join(", ")));
    }
}

/// Adds an entry to a report, up to the limit.
fn report(reported: &mut Vec<Skipped>, operation: &str, reason: Message) {
    let operation = operation.to_owned();
    match reported.len() {
        ..MAX_REPORTED => reported.push(Skipped { operation, reason }),
        MAX_REPORTED => reported.push(Skipped { operation, reason: Message::new(&NOT_TOLD) }),
        _ => {}
    }
}

/// The selected operations; selected names that do not exist are reported.
fn chosen<'a>(
    operations: Vec<Operation<'a>>,
    only: &[String],
    imported: &mut Imported,
) -> Vec<Operation<'a>> {
    let mut only = Selection::new(only);
    if only.is_all() {
        return operations;
    }
    imported.skipped.retain(|skipped| only.takes([skipped.operation.clone()]));
    let mut chosen = operations;
    chosen.retain(|operation| only.takes(operation.names()));
    for wanted in only.missing() {
        let reason = Message::new(&NOT_FOUND).with("operation", shortened(wanted, 200));
        report(&mut imported.skipped, &shortened(wanted, 200), reason);
    }
    chosen
}

/// All message templates of this importer.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [
        TEMPLATES,
        document::TEMPLATES,
        operation::TEMPLATES,
        parameters::TEMPLATES,
        payload::TEMPLATES,
        security::TEMPLATES,
    ]
    .into_iter()
    .flatten()
    .copied()
}
