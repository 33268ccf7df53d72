//! What an import would change: found tools are matched with those that the same source made before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::tool::input::{self, ToolInput};
use haft_core::{CallError, ErrorKind, Message, ToolId, ToolVersion};
use haft_engine::{SpaceTools, ToolService, now};
use haft_http::import::{CancelFlag, FoundSecret, Imported, ImportedTool, Skipped};
use haft_store::SecretOwnerId;
use secrecy::{ExposeSecret, SecretString};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::example;
use super::report::{Change, Findings, ToolReport};
use crate::app::AppState;
use crate::difference::differences;
use crate::routes::tools::check_rights;
use crate::visitors::Visitor;

haft_core::templates! {
    OTHER_NAME = "import.otherName",
        "{name} is the name of another tool, so the imported tool is named {other}",
        "{name} 已被其他工具占用；此工具命名为 {other}";
    KEPT_SECRET = "import.keptSecret",
        "The secret {name} already exists and is not changed. The tools use it",
        "密钥 {name} 已存在并保持不变；工具将使用它";
    UNSET_SECRET = "import.unsetSecret",
        "The secret {name} has no value yet. Set it before you call the tools",
        "密钥 {name} 尚无值；调用工具之前请先设置";
    NOTE = "import.note",
        "{operation}: {reason}",
        "{operation}：{reason}";
}

/// The longest name of a tool.
const LONGEST_NAME: usize = 64;

/// What importers write in a config; whatever else stands there is the user's and stays.
const OF_IMPORTS: [&str; 14] = [
    "url",
    "endpoint",
    "baseUrl",
    "method",
    "headers",
    "cookies",
    "params",
    "query",
    "body",
    "bodyType",
    "auth",
    "sendDefaults",
    "brackets",
    "imported",
];

/// What an importer found, and how it was asked.
pub(super) struct Found {
    pub(super) imported: Imported,
    pub(super) is_named: bool,
    pub(super) is_whole: bool,
    /// Nothing will be stored: what would be is shown.
    pub(super) dry_run: bool,
}

/// What is to be done, and what is to be told.
pub(super) struct Planned {
    pub(super) report: Findings,
    /// With the version that each takes the place of.
    pub(super) changes: Vec<(ToolVersion, Option<u64>)>,
    pub(super) secrets: Vec<FoundSecret>,
}

/// Plans an import; nothing is changed.
pub(super) fn plan(
    engine: &ToolService,
    visitor: &Visitor,
    found: Found,
    cancel: &CancelFlag,
) -> Result<Planned, CallError> {
    let Imported { tools, skipped, secrets, notes } = found.imported;
    let alone = tools.len() == 1 && skipped.is_empty();
    let there = engine.in_space(visitor.space);
    let mut before: HashMap<String, Vec<Arc<ToolVersion>>> = HashMap::new();
    for tool in there.list() {
        if let Some(origin) = origin(&tool.spec.config) {
            before.entry(key(origin)).or_default().push(tool);
        }
    }
    let mut planning = Planning {
        visitor,
        before,
        there,
        is_named: found.is_named,
        dry_run: found.dry_run,
        taken: HashSet::new(),
        matched: HashSet::new(),
        changes: Vec::new(),
        report: Findings { skipped, ..Findings::default() },
    };
    for tool in tools {
        if cancel.is_cancelled() {
            return Err(CallError::text(ErrorKind::Cancelled, "the import was cancelled"));
        }
        let operation = format!("{} {}", tool.method, tool.path);
        match planning.add(tool) {
            Ok(()) => {}
            Err(error) if alone => return Err(error),
            Err(error) => {
                planning.report.skipped.push(Skipped { operation, reason: error.message().clone() });
            }
        }
    }
    if found.is_whole {
        planning.find_removed();
    }
    let Planning { mut report, changes, .. } = planning;
    let note = |note: Skipped| {
        Message::new(&NOTE).with("operation", note.operation).with_messages("reason", vec![note.reason])
    };
    report.notes.extend(notes.into_iter().map(note));
    Ok(Planned { report, changes, secrets })
}

/// A secret that is there is never replaced: other tools may live by it. Gives those that are new.
pub(super) async fn plan_secrets(
    state: &AppState,
    visitor: &Visitor,
    found: Vec<FoundSecret>,
    report: &mut Findings,
) -> Result<Vec<(String, SecretString)>, CallError> {
    let mut new = Vec::new();
    for FoundSecret { name, value } in found {
        let known = state.secrets.find(visitor.space, SecretOwnerId::Space, &name).await?;
        let say = |template| Message::new(template).with("name", &name);
        let is_same = |known: &SecretString, value: &SecretString| {
            known.expose_secret().trim() == value.expose_secret().trim()
        };
        match (&known, &value) {
            (Some(known), Some(value)) if is_same(known, value) => {}
            (Some(_), _) => report.notes.push(say(&KEPT_SECRET)),
            (None, None) => report.notes.push(say(&UNSET_SECRET)),
            (None, Some(_)) => {}
        }
        report.secrets.push(name.clone());
        if let (None, Some(value)) = (known, value) {
            new.push((name, value));
        }
    }
    Ok(new)
}

struct Planning<'a> {
    visitor: &'a Visitor,
    there: SpaceTools<'a>,
    /// Tools that imports made, by where they came from.
    before: HashMap<String, Vec<Arc<ToolVersion>>>,
    is_named: bool,
    dry_run: bool,
    /// Names that this import gives.
    taken: HashSet<String>,
    matched: HashSet<ToolId>,
    changes: Vec<(ToolVersion, Option<u64>)>,
    report: Findings,
}

impl Planning<'_> {
    fn add(&mut self, tool: ImportedTool) -> Result<(), CallError> {
        let ImportedTool { mut definition, method, path } = tool;
        let wanted = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let before = self.made_before(&definition, &wanted);
        let mut note = None;
        match &before {
            Some(before) => definition = updated(before, definition),
            None => {
                let name = self.free_name(&wanted);
                if name != wanted {
                    note = Some(Message::new(&OTHER_NAME).with("name", &wanted).with("other", &name));
                }
                definition.insert("name".to_owned(), name.into());
            }
        }
        let ToolInput { spec, .. } = input::parse(Value::Object(definition)).map_err(CallError::invalid)?;
        let prepared = self.there.prepare(before.as_ref().map(|before| &before.id), spec)?;
        check_rights(self.visitor, &prepared)?;
        let spec = prepared.spec().clone();
        let value = |spec| serde_json::to_value(spec).unwrap_or_default();
        let changes = before.as_ref().map(|before| differences(&value(&before.spec), &value(&spec)));
        let change = match &changes {
            None => Change::Created,
            Some(changes) if changes.is_empty() => Change::Unchanged,
            Some(_) => Change::Updated,
        };
        self.taken.insert(spec.name.to_string());
        self.report.notes.extend(note);
        let (definition, request) = match self.dry_run {
            true => (to_raw_value(&spec).ok(), example::request(&prepared, self.visitor)),
            false => (None, None),
        };
        self.report.tools.push(ToolReport {
            definition,
            request,
            name: spec.name.to_string(),
            description: spec.description.clone(),
            method,
            path,
            input_schema: to_raw_value(prepared.input_schema()).unwrap_or_default(),
            change,
            changes: changes.unwrap_or_default(),
        });
        let at = now();
        let (version, expected) = match before {
            Some(before) => {
                self.matched.insert(before.id.clone());
                if change == Change::Unchanged {
                    return Ok(());
                }
                let (number, before) = (before.version, ToolVersion::clone(&before));
                let version = ToolVersion { spec, version: number + 1, updated_at: at, ..before };
                (version, Some(number))
            }
            None => {
                let id = ToolId::Uuid(Uuid::now_v7());
                let (space_id, owner_id) = (Some(self.visitor.space), Some(self.visitor.user.id));
                let version =
                    ToolVersion { id, space_id, owner_id, spec, version: 1, created_at: at, updated_at: at };
                (version, None)
            }
        };
        self.changes.push((version, expected));
        Ok(())
    }

    /// The tool that an import of the same thing made, even where the user has renamed it since.
    fn made_before(&self, definition: &Map<String, Value>, wanted: &str) -> Option<Arc<ToolVersion>> {
        let of = origin(definition.get("config")?.as_object()?)?;
        let same = self.before.get(&key(of)).map(Vec::as_slice).unwrap_or_default();
        let mut same = same.iter().filter(|tool| !self.matched.contains(&tool.id));
        let by_name = same.clone().find(|tool| tool.spec.name.as_str() == wanted);
        by_name.or_else(|| same.next().filter(|_| !self.is_named)).cloned()
    }

    fn free_name(&self, wanted: &str) -> String {
        let is_free = |name: &str| self.there.get(name).is_none() && !self.taken.contains(name);
        if is_free(wanted) {
            return wanted.to_owned();
        }
        let numbered = |number: usize| {
            let end = format!("_{number}");
            let start = wanted.get(..LONGEST_NAME - end.len()).unwrap_or(wanted);
            format!("{start}{end}")
        };
        (2..).map(numbered).find(|name| is_free(name)).unwrap_or_else(|| wanted.to_owned())
    }

    /// Tools of earlier imports of the same documents that this one did not find.
    fn find_removed(&mut self) {
        let before = || self.before.values().flatten();
        let documents: HashSet<_> = before()
            .filter(|tool| self.matched.contains(&tool.id))
            .filter_map(|tool| document(&tool.spec.config))
            .collect();
        let gone = before().filter(|tool| {
            !self.matched.contains(&tool.id)
                && document(&tool.spec.config).is_some_and(|document| documents.contains(&document))
        });
        let mut removed: Vec<String> = gone.map(|tool| tool.spec.name.to_string()).collect();
        removed.sort();
        self.report.removed = removed;
    }
}

/// Where a definition came from.
fn origin(config: &Map<String, Value>) -> Option<&Value> {
    config.get("imported").filter(|imported| imported.is_object())
}

/// A text that is the same for equal origins, whatever the order of their fields.
fn key(origin: &Value) -> String {
    let mut fields: Vec<(&String, &Value)> = origin.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.into_iter().map(|(name, value)| format!("{name}\0{value}\0")).collect()
}

/// The document that a definition came from, where it is one that is imported as a whole.
fn document(config: &Map<String, Value>) -> Option<(&str, &str)> {
    let origin = origin(config)?;
    let (from, document) = (origin.get("from")?.as_str()?, origin.get("document")?.as_str()?);
    matches!(from, "openapi" | "postman").then_some((from, document))
}

/// A definition renewed: what importers do not write stays as the user has it, and so does the name.
fn updated(before: &ToolVersion, definition: Map<String, Value>) -> Map<String, Value> {
    let spec = serde_json::to_value(&before.spec).unwrap_or_default();
    let Value::Object(mut renewed) = spec else { return definition };
    let mut config = before.spec.config.clone();
    config.retain(|name, _| !OF_IMPORTS.contains(&name.as_str()));
    for (name, value) in definition {
        match (name.as_str(), value) {
            ("name", _) => {}
            ("config", Value::Object(new)) => config.extend(new),
            (_, value) => {
                renewed.insert(name, value);
            }
        }
    }
    renewed.insert("config".to_owned(), Value::Object(config));
    renewed
}
