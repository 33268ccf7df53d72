//! Definitions in files: parsed for `haft apply`, formatted for `haft export`.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_core::tool::input::{SERVER_FIELDS, camel_case};
use haft_core::{Locale, Message, json};
use serde_json::{Map, Value};

use crate::cli_error::{OrFail as _, failure};
use crate::messages;

/// The extensions of files with definitions.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// The types of resources that have definitions.
pub(crate) const RESOURCE_TYPES: [ResourceType; 4] = [
    ResourceType { list: "tools", word: "tool", fields: &[] },
    ResourceType { list: "agents", word: "agent", fields: &["systemPrompt", "toolIds", "bindings"] },
    ResourceType { list: "providers", word: "provider", fields: &["apiKey", "kind", "models", "byOperator"] },
    ResourceType { list: "alerts", word: "alert", fields: &["metric", "above", "forSeconds"] },
];

/// A type of resource.
pub(crate) struct ResourceType {
    /// The name of its folder, and of its list in documents.
    pub(crate) list: &'static str,
    /// The name of one resource, for people.
    pub(crate) word: &'static str,
    /// Fields that only definitions of this type have.
    fields: &'static [&'static str],
}

/// The fields with the state of an alert, which the server adds to its definition.
const ALERT_STATE_FIELDS: [&str; 7] =
    ["toolName", "state", "value", "since", "lastFiredAt", "lastResolvedAt", "webhookError"];

/// The fields with the origin of a provider, which the server adds to its definition.
const PROVIDER_SOURCE: [&str; 2] = ["source", "variable"];

/// The list of alerts, whose names are optional and not unique.
const ALERTS: &str = "alerts";

/// The list of names of secrets in a document.
pub(crate) const SECRETS: &str = "secrets";

/// The list of remarks about omitted resources in an export. It has no definitions.
const NOTES: &str = "notes";

/// The fields that a formatted definition starts with.
const LEADING_FIELDS: [&str; 8] =
    ["name", "title", "description", "type", "category", "kind", "metric", "tool"];

/// The definitions of some files.
#[derive(Default)]
pub(crate) struct Definitions {
    /// The definitions by type, in the order of [`RESOURCE_TYPES`]. `None` if no file has the list; an empty
    /// list differs from that: with `--prune` it deletes all resources of the type.
    lists: [Option<Vec<Definition>>; RESOURCE_TYPES.len()],
    secrets: Option<Vec<Value>>,
}

struct Definition {
    value: Value,
    /// `None` only for alerts.
    name: Option<String>,
    /// The file and the position in it, for error messages.
    location: String,
}

/// A text to parse, with its origin.
struct Source<'a> {
    text: &'a str,
    location: &'a str,
    path: Option<&'a Path>,
}

impl Definitions {
    /// Reads files, directories and, as `-`, standard input.
    pub(crate) fn read(sources: &[String], locale: Locale) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for source in sources {
            if source == "-" {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_STDIN))?;
                all.add(&Source { text: &text, location: "standard input", path: None }, locale)?;
                continue;
            }
            for path in files(Path::new(source))? {
                let location = path.display().to_string();
                let text = std::fs::read_to_string(&path)
                    .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", &location))?;
                all.add(&Source { text: &text, location: &location, path: Some(&path) }, locale)?;
            }
        }
        if all.lists.iter().all(Option::is_none) && all.secrets.is_none() {
            return Err(failure(Message::new(&messages::NO_DEFINITION).with("sources", sources.join(", "))));
        }
        for (resource, list) in RESOURCE_TYPES.iter().zip(&all.lists) {
            if resource.list != ALERTS {
                refuse_duplicates(resource.word, list.as_deref().unwrap_or_default())?;
            }
        }
        Ok(all)
    }

    /// Returns the number of names of secrets if the files contain nothing else, otherwise `None`.
    pub(crate) fn secret_count_if_only_secrets(&self) -> Option<usize> {
        let names = self.secrets.as_ref()?;
        self.lists.iter().all(Option::is_none).then_some(names.len())
    }

    /// Returns true if any file contains a list of tools.
    pub(crate) fn has_tools(&self) -> bool {
        let mut lists = RESOURCE_TYPES.iter().zip(&self.lists);
        lists.any(|(resource, list)| resource.list == "tools" && list.is_some())
    }

    /// Returns the fields of an import request.
    pub(crate) fn to_fields(&self) -> Map<String, Value> {
        let given = RESOURCE_TYPES
            .iter()
            .zip(&self.lists)
            .filter_map(|(resource, list)| Some((resource.list, list.as_ref()?)));
        let mut fields: Map<String, Value> =
            given.map(|(name, list)| (name.to_owned(), values(list))).collect();
        fields.entry("tools").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(secrets) = &self.secrets {
            fields.insert(SECRETS.to_owned(), Value::Array(secrets.clone()));
        }
        fields
    }

    /// Returns the location of the definition that a path of the import request names, such as
    /// `tools.3.config.url`.
    pub(crate) fn location_of(&self, path: &str) -> Option<&str> {
        let mut steps = path.split('.');
        let name = steps.next()?;
        let (_, list) = RESOURCE_TYPES.iter().zip(&self.lists).find(|(resource, _)| resource.list == name)?;
        let index: usize = steps.next()?.parse().ok()?;
        list.as_ref()?.get(index).map(|definition| definition.location.as_str())
    }

    fn add(&mut self, source: &Source<'_>, locale: Locale) -> anyhow::Result<()> {
        let location = source.location;
        if source.text.trim().is_empty() {
            return Err(failure(Message::new(&messages::EMPTY_FILE).with("place", location)));
        }
        match parse(source, locale)? {
            Value::Array(list) => {
                for (index, value) in list.into_iter().enumerate() {
                    self.add_definition(value, source, format!("{location}, entry {}", index + 1))?;
                }
                Ok(())
            }
            Value::Object(fields) if is_document(&fields) => self.add_document(fields, location),
            value @ Value::Object(_) => self.add_definition(value, source, location.to_owned()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(failure(Message::new(&messages::HOLDS_NO_DEFINITION).with("place", location)))
            }
        }
    }

    fn add_definition(&mut self, value: Value, source: &Source<'_>, location: String) -> anyhow::Result<()> {
        let folder = source.path.and_then(Path::parent).and_then(Path::file_name);
        let of_folder =
            RESOURCE_TYPES.iter().position(|resource| folder.is_some_and(|folder| folder == resource.list));
        let resource = of_folder.unwrap_or_else(|| resource_type_of(&value));
        self.lists[resource].get_or_insert_default().push(Definition::new(value, resource, location)?);
        Ok(())
    }

    /// Adds a document with several lists, as `haft export` writes it to standard output.
    fn add_document(&mut self, fields: Map<String, Value>, location: &str) -> anyhow::Result<()> {
        for (name, value) in fields {
            let Value::Array(values) = value else {
                return Err(failure(
                    Message::new(&messages::NOT_A_LIST).with("name", name).with("place", location),
                ));
            };
            if name == SECRETS {
                self.secrets.get_or_insert_default().extend(values);
                continue;
            }
            if name == NOTES {
                continue;
            }
            let Some(resource) = RESOURCE_TYPES.iter().position(|resource| resource.list == name) else {
                let known = RESOURCE_TYPES.map(|resource| resource.list).join(", ");
                return Err(failure(
                    Message::new(&messages::UNKNOWN_LIST)
                        .with("place", location)
                        .with("name", name)
                        .with("known", format!("{known}, {SECRETS}")),
                ));
            };
            let list = self.lists[resource].get_or_insert_default();
            for (index, value) in values.into_iter().enumerate() {
                list.push(Definition::new(
                    value,
                    resource,
                    format!("{location}, {name} entry {}", index + 1),
                )?);
            }
        }
        Ok(())
    }
}

impl Definition {
    fn new(value: Value, resource: usize, location: String) -> anyhow::Result<Self> {
        if !value.is_object() {
            return Err(failure(Message::new(&messages::NOT_A_DEFINITION).with("place", location)));
        }
        let name = value["name"].as_str().map(str::to_owned);
        if name.is_none() && RESOURCE_TYPES.get(resource).is_none_or(|resource| resource.list != ALERTS) {
            return Err(failure(Message::new(&messages::NEEDS_A_NAME).with("place", location)));
        }
        Ok(Self { value: without_server_fields(&value), name, location })
    }
}

/// Returns the index of the type that a definition has by its fields. The default is a tool.
fn resource_type_of(definition: &Value) -> usize {
    let names: Vec<String> =
        definition.as_object().into_iter().flatten().map(|(name, _)| camel_case(name)).collect();
    let has = |resource: &ResourceType| names.iter().any(|name| resource.fields.contains(&name.as_str()));
    // Only tools have a `type`. Their other fields are never those of another type.
    if names.iter().any(|name| name == "type") { 0 } else { RESOURCE_TYPES.iter().position(has).unwrap_or(0) }
}

fn values(definitions: &[Definition]) -> Value {
    definitions.iter().map(|definition| definition.value.clone()).collect()
}

/// Returns true if an object is a document with lists of definitions: it has lists and no name.
fn is_document(fields: &Map<String, Value>) -> bool {
    let is_list =
        |name: &String| name == SECRETS || RESOURCE_TYPES.iter().any(|resource| resource.list == name);
    !fields.contains_key("name") && fields.keys().any(is_list)
}

/// Reads one definition from a file or, for `-`, from standard input.
pub(crate) fn read_one(source: &str, locale: Locale) -> anyhow::Result<Value> {
    let (text, location) = if source == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_STDIN))?;
        (text, "standard input")
    } else {
        (
            std::fs::read_to_string(source)
                .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", source))?,
            source,
        )
    };
    let path = (source != "-").then(|| Path::new(source));
    let definition = parse(&Source { text: &text, location, path }, locale)?;
    if definition.is_object() {
        Ok(without_server_fields(&definition))
    } else {
        Err(failure(Message::new(&messages::NOT_A_DEFINITION).with("place", location)))
    }
}

fn refuse_duplicates(what: &str, definitions: &[Definition]) -> anyhow::Result<()> {
    let mut locations = HashMap::new();
    for Definition { name, location, .. } in definitions {
        let Some(name) = name else { continue };
        if let Some(other) = locations.insert(name.as_str(), location) {
            return Err(failure(
                Message::new(&messages::THERE_TWICE)
                    .with("what", what)
                    .with("name", name)
                    .with("other", other)
                    .with("place", location),
            ));
        }
    }
    Ok(())
}

/// Returns the file itself; for a directory, its files and those in the folders of all types, sorted by name.
fn files(source: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || Message::new(&messages::CANNOT_READ).with("path", source.display());
    if !std::fs::metadata(source).or_fail(unreadable)?.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut files = files_in(source, &EXTENSIONS)?;
    for folder in RESOURCE_TYPES.map(|resource| source.join(resource.list)) {
        if folder.is_dir() {
            files.extend(files_in(&folder, &EXTENSIONS)?);
        }
    }
    Ok(files)
}

/// Returns the files of a directory with one of these extensions, sorted by name. Ignores hidden files.
pub(crate) fn files_in(directory: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || Message::new(&messages::CANNOT_READ).with("path", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).or_fail(unreadable)? {
        let path = entry.or_fail(unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_file() && extensions.iter().any(|known| has_extension(&path, known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Parses JSON as strictly as the server does, and text that does not look like JSON as YAML.
fn parse(source: &Source<'_>, locale: Locale) -> anyhow::Result<Value> {
    let Source { text, location, path } = source;
    let is_json = match path {
        Some(path) if has_extension(path, "json") => true,
        Some(path) if has_extension(path, "yaml") || has_extension(path, "yml") => false,
        Some(_) | None => text.trim_start().starts_with(['{', '[']),
    };
    if is_json {
        return json::parse(text.as_bytes())
            .or_fail(|| Message::new(&messages::NOT_JSON).with("what", location));
    }
    haft_http::import::parse_value(text).map_err(|violations| {
        let reasons: Vec<String> =
            violations.iter().map(|violation| violation.message.render(locale)).collect();
        failure(
            Message::new(&messages::NOT_READABLE).with("place", location).with("reasons", reasons.join("; ")),
        )
    })
}

/// Removes the fields that the server adds to a definition.
pub(crate) fn without_server_fields(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Value::Object(fields) = &mut definition {
        let (is_alert, is_provider) = (fields.contains_key("metric"), fields.contains_key("kind"));
        fields.retain(|name, _| {
            let name = camel_case(name);
            let is_state = is_alert && ALERT_STATE_FIELDS.contains(&name.as_str());
            let is_source = is_provider && PROVIDER_SOURCE.contains(&name.as_str());
            !is_state && !is_source && !SERVER_FIELDS.contains(&name.as_str())
        });
    }
    definition
}

/// Returns a definition with its fields in the order of a file: the important ones first, the rest by name,
/// without fields that are null.
pub(crate) fn tidy(definition: &Value) -> Value {
    let Value::Object(fields) = without_server_fields(definition) else { return definition.clone() };
    let mut fields: Vec<(String, Value)> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let location =
        |name: &str| LEADING_FIELDS.iter().position(|first| *first == name).unwrap_or(LEADING_FIELDS.len());
    fields.sort_by(|(one, _), (other, _)| location(one).cmp(&location(other)).then_with(|| one.cmp(other)));
    Value::Object(fields.into_iter().collect())
}

/// Returns the file name for the name of a definition. Characters that could form a path are percent-encoded.
pub(crate) fn file_name(name: &str) -> String {
    use std::fmt::Write as _;
    let mut file = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ') || (letter == '.' && index > 0) {
            file.push(letter);
            continue;
        }
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            let _ = write!(file, "%{byte:02X}");
        }
    }
    file + ".json"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, path: Option<&str>) -> Result<Value, String> {
        let mut all = Definitions::default();
        let source = Source { text, location: "here", path: path.map(Path::new) };
        all.add(&source, Locale::En).map_err(|error| format!("{error:#}"))?;
        Ok(Value::Object(all.to_fields()))
    }

    #[test]
    fn definition_list_and_document_are_read() {
        let tool = json!({"name": "t", "type": "mock"});
        let agent = json!({"name": "a", "system_prompt": "Be brief."});
        let provider = json!({"name": "p", "kind": "openai"});
        let alert = json!({"metric": "p95", "above": 5});
        let tools = |list: &[&Value]| json!({"tools": list});
        assert_eq!(read(r#"{"name": "t", "type": "mock", "id": "x"}"#, None), Ok(tools(&[&tool])));
        assert_eq!(read("name: t\ntype: mock\n", Some("x/t.yaml")), Ok(tools(&[&tool])));
        let all = json!({"tools": [tool], "agents": [agent], "providers": [provider], "alerts": [alert]});
        assert_eq!(read(&json!([tool, agent, provider, alert]).to_string(), None), Ok(all.clone()));
        assert_eq!(read(&all.to_string(), None), Ok(all));
        let bare = json!({"agents": [{"name": "a"}], "tools": []});
        assert_eq!(read(r#"{"name": "a"}"#, Some("x/agents/a.json")), Ok(bare));
        let names = json!({"tools": [], "secrets": ["key"]});
        assert_eq!(read(r#"{"secrets": ["key"]}"#, Some("x/secrets.json")), Ok(names.clone()));
        assert_eq!(read(r#"{"tools": [], "secrets": ["key"], "notes": ["left out"]}"#, None), Ok(names));
    }

    #[test]
    fn file_without_a_definition_is_refused() {
        for (text, expected) in [
            ("", "here is empty"),
            ("7", "here holds no definition"),
            ("[7]", "here, entry 1 is not a definition"),
            (r#"{"type": "mock"}"#, "here needs a name"),
            (r#"{"tools": {}}"#, "tools in here must be a list"),
            (r#"{"tools": [], "flows": []}"#, "here holds flows"),
            ("{", "here is not JSON"),
            (r#"{"name": "a", "name": "b"}"#, "here is not JSON"),
            ("a: [", "here is neither JSON nor YAML"),
        ] {
            let error = read(text, None).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn file_names_are_never_paths() {
        for (name, file) in [
            ("get_weather", "get_weather.json"),
            ("天气 guide v1.2", "天气 guide v1.2.json"),
            ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd.json"),
            ("a%b", "a%25b.json"),
        ] {
            assert_eq!(file_name(name), file);
        }
    }

    #[test]
    fn tidy_orders_fields_and_removes_those_of_the_server() {
        let stored = json!({"version": 3, "id": "x", "timeout": 5, "icon": null, "config": {"b": 1, "a": 2}, "name": "t"});
        assert_eq!(tidy(&stored).to_string(), r#"{"name":"t","config":{"b":1,"a":2},"timeout":5}"#);
    }
}
