//! Pinned versions across servers: numbers differ there, so an export adds the digest of the version's content, and
//! an import pins the version that has it.

use std::sync::Arc;

use haft_core::agent::Agent;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, ToolSpec, ToolVersion, Violation};
use haft_store::VersionState;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::Plan;
use super::portable::Names;
use crate::app::AppState;
use crate::routes::agents::input::MOST_BINDINGS;

haft_core::templates! {
    UNREADABLE = "exchange.unreadablePin",
        "The agent {agent} was exported without its pin of {tool}: version {version} cannot be read",
        "导出的智能体 {agent} 不含对 {tool} 的固定版本：无法读取版本 {version}";
    NO_SUCH_CONTENT = "exchange.noSuchContent",
        "no version of {tool} here has the content that was pinned; apply that definition of the tool first, or remove the pin",
        "{tool} 的任何版本都没有被固定的内容；请先应用该工具的那份定义，或移除固定版本";
}

const PIN: &str = "pinnedVersion";
const DIGEST: &str = "pinnedDigest";

/// An agent as a definition: its tools and its provider by name, and each pin with the digest of the version. A pin of
/// a version that cannot be read is left out with a note: its number means another version on another server.
pub(super) async fn exported(
    state: &AppState,
    names: &Names,
    agent: &Agent,
    notes: &mut Vec<Message>,
) -> Result<Value, CallError> {
    let mut definition = json!(agent.spec);
    if let Some(provider) = &agent.spec.config.provider {
        definition["config"]["provider"] = json!(names.provider(provider));
    }
    for (at, binding) in agent.spec.bindings.iter().enumerate() {
        let exported = &mut definition["bindings"][at];
        let (id, name) = (&binding.tool_id, names.tool_name(&binding.tool_id));
        exported["toolId"] = name.clone().into();
        let Some(number) = binding.pinned_version else { continue };
        let tool = state.tools.in_space(agent.space_id).get(&id.to_string());
        if tool.is_some_and(|tool| tool.space_id.is_none()) {
            // A tool of the program has one version on every server.
            continue;
        }
        if let Some(version) = readable_version(state, agent.space_id, id, number).await? {
            exported[DIGEST] = json!(digest(names, &version.spec));
        } else {
            if let Value::Object(fields) = exported {
                fields.shift_remove(PIN);
            }
            let note = Message::new(&UNREADABLE).with("agent", &agent.spec.name);
            notes.push(note.with("tool", name).with("version", number));
        }
    }
    Ok(definition)
}

/// A version of a tool. Returns `None` if it is gone or cannot be read.
async fn readable_version(
    state: &AppState,
    space: SpaceId,
    tool: &ToolId,
    number: u64,
) -> Result<Option<ToolVersion>, CallError> {
    match state.store.get_version(space, tool, number).await {
        Err(error) if error.kind() == ErrorKind::Internal => {
            tracing::warn!(tool = %tool, version = number, cause = %error, "A stored version cannot be read");
            Ok(None)
        }
        found => found,
    }
}

impl Plan<'_> {
    /// Replaces each digest of an agent's definition by the number that its version has here.
    pub(super) async fn resolve_pins(&mut self, definition: &mut Value, path: &str) -> Result<(), CallError> {
        let Some(Value::Array(bindings)) = definition.get_mut("bindings") else { return Ok(()) };
        let are_too_many = bindings.len() > MOST_BINDINGS;
        for (at, binding) in bindings.iter_mut().enumerate() {
            *binding = camel_keys(binding.take());
            let Value::Object(fields) = binding else { continue };
            let Some(digest) = fields.shift_remove(DIGEST).filter(|digest| !digest.is_null()) else {
                continue;
            };
            if are_too_many {
                // The form of agents refuses all of them.
                continue;
            }
            let named = fields.get("toolId").and_then(Value::as_str).unwrap_or_default().to_owned();
            let Some(tool) = self.tool(&named) else { continue };
            match self.version_with(&tool, digest.as_str().unwrap_or_default(), fields).await? {
                Some(number) => {
                    fields.insert(PIN.to_owned(), number.into());
                }
                None => {
                    let message = Message::new(&NO_SUCH_CONTENT).with("tool", &tool.spec.name);
                    self.violations.push(Violation::new(format!("{path}.bindings.{at}.{DIGEST}"), message));
                }
            }
        }
        Ok(())
    }

    /// A tool by name or id, as it will be.
    fn tool(&self, named: &str) -> Option<Arc<ToolVersion>> {
        let coming = self.coming.find(named).cloned();
        coming.or_else(|| self.state.tools.in_space(self.space()).get(named))
    }

    /// The number of the version with a digest: the one that was exported where it has the same content here, then
    /// the live one, then the newest.
    async fn version_with(
        &mut self,
        tool: &ToolVersion,
        wanted: &str,
        binding: &Map<String, Value>,
    ) -> Result<Option<u64>, CallError> {
        let versions = self.state.store.versions(self.space(), &tool.id).await?;
        let mut numbers: Vec<u64> = versions
            .iter()
            .filter(|version| version.state == VersionState::Live)
            .map(|version| version.version)
            .collect();
        let exported = binding.get(PIN).and_then(Value::as_u64);
        if let Some(place) = numbers.iter().position(|number| Some(*number) == exported) {
            numbers[..=place].rotate_right(1);
            if self.has_content(&tool.id, numbers[0], wanted).await? {
                return Ok(Some(numbers[0]));
            }
        }
        let live = (tool.id.clone(), tool.version);
        let digest_of_live = self.digests.entry(live).or_insert_with(|| digest(&self.names, &tool.spec));
        if digest_of_live == wanted {
            return Ok(Some(tool.version));
        }
        for number in numbers {
            if self.has_content(&tool.id, number, wanted).await? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Whether a version has the content with a digest, which is computed once for each version.
    async fn has_content(&mut self, tool: &ToolId, number: u64, wanted: &str) -> Result<bool, CallError> {
        let key = (tool.clone(), number);
        if let Some(known) = self.digests.get(&key) {
            return Ok(known == wanted);
        }
        let version = readable_version(self.state, self.space(), tool, number).await?;
        let Some(version) = version else { return Ok(false) };
        let found = self.digests.entry(key).or_insert(digest(&self.names, &version.spec));
        Ok(found == wanted)
    }
}

/// The digest of a version's content. Fields with their default value do not count, so that a field that a later
/// version of Haft adds changes no digest.
fn digest(names: &Names, spec: &ToolSpec) -> String {
    let mut fields = names.tool(spec);
    let plain = ToolSpec::new(spec.name.clone(), spec.description.clone(), spec.kind.clone());
    let plain = serde_json::to_value(&plain).unwrap_or_default();
    if let Value::Object(fields) = &mut fields {
        fields.retain(|name, value| {
            ["name", "description", "type"].contains(&name.as_str()) || plain.get(name) != Some(value)
        });
    }
    let mut text = String::new();
    write_sorted(&fields, &mut text);
    let hash = Sha256::digest(text);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// JSON with the keys of each object sorted: the same text for equal values.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (at, (name, field)) in fields.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(field, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_sorted(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string())
        }
    }
}
