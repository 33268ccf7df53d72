//! Definitions as files hold them: read for the server, written for Git.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_core::tool::input::{KEPT_BY_SERVER, camel_case};
use haft_core::{Locale, Message, json};
use serde_json::{Map, Value};

use crate::messages;
use crate::refusal::{OrFail as _, failure};

/// How files with definitions end.
const NOTATIONS: [&str; 3] = ["json", "yaml", "yml"];

/// The nouns of a space that are definitions: the folder and list of each, its word for people, and fields that only
/// its definitions have.
pub(crate) const NOUNS: [Noun; 4] = [
    Noun { list: "tools", word: "tool", fields: &[] },
    Noun { list: "agents", word: "agent", fields: &["systemPrompt", "toolIds", "bindings"] },
    Noun { list: "providers", word: "provider", fields: &["apiKey", "kind", "models", "byOperator"] },
    Noun { list: "alerts", word: "alert", fields: &["metric", "above", "forSeconds"] },
];

/// One noun.
pub(crate) struct Noun {
    pub(crate) list: &'static str,
    pub(crate) word: &'static str,
    fields: &'static [&'static str],
}

/// The state of an alert, which the server shows beside its definition.
const TOLD_BY_SERVER: [&str; 7] =
    ["toolName", "state", "value", "since", "lastFiredAt", "lastResolvedAt", "webhookError"];

/// Where a provider comes from, which the server shows beside its definition.
const PROVIDER_SOURCE: [&str; 2] = ["source", "variable"];

/// Alerts may do without a name, and several may have the same.
const UNNAMED: &str = "alerts";

/// The names of secrets, which a document lists beside its definitions.
pub(crate) const SECRETS: &str = "secrets";

/// What an export says of things that it left out. It is no definition.
const NOTES: &str = "notes";

/// Fields that a reader wants to see first.
const FIRST: [&str; 8] = ["name", "title", "description", "type", "category", "kind", "metric", "tool"];

/// What some files hold. A list that no file has is absent, which is not the same as an empty one.
#[derive(Default)]
pub(crate) struct Definitions {
    /// In the order of [`NOUNS`].
    lists: [Option<Vec<Definition>>; NOUNS.len()],
    secrets: Option<Vec<Value>>,
}

struct Definition {
    value: Value,
    /// Absent only for alerts.
    name: Option<String>,
    /// The file, and where in it.
    place: String,
}

/// A text and where it comes from.
struct Source<'a> {
    text: &'a str,
    place: &'a str,
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
                all.take(&Source { text: &text, place: "standard input", path: None }, locale)?;
                continue;
            }
            for path in files(Path::new(source))? {
                let place = path.display().to_string();
                let text = std::fs::read_to_string(&path)
                    .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", &place))?;
                all.take(&Source { text: &text, place: &place, path: Some(&path) }, locale)?;
            }
        }
        if all.lists.iter().all(Option::is_none) && all.secrets.is_none() {
            return Err(failure(Message::new(&messages::NO_DEFINITION).with("sources", sources.join(", "))));
        }
        for (noun, list) in NOUNS.iter().zip(&all.lists) {
            if noun.list != UNNAMED {
                none_twice(noun.word, list.as_deref().unwrap_or_default())?;
            }
        }
        Ok(all)
    }

    /// How many names of secrets there are, if the files hold nothing else.
    pub(crate) fn only_secrets(&self) -> Option<usize> {
        let names = self.secrets.as_ref()?;
        self.lists.iter().all(Option::is_none).then_some(names.len())
    }

    /// Whether any file says which tools there are.
    pub(crate) fn speak_of_tools(&self) -> bool {
        let mut lists = NOUNS.iter().zip(&self.lists);
        lists.any(|(noun, list)| noun.list == "tools" && list.is_some())
    }

    /// The fields of a request that imports them.
    pub(crate) fn to_fields(&self) -> Map<String, Value> {
        let given =
            NOUNS.iter().zip(&self.lists).filter_map(|(noun, list)| Some((noun.list, list.as_ref()?)));
        let mut fields: Map<String, Value> =
            given.map(|(name, list)| (name.to_owned(), values(list))).collect();
        fields.entry("tools").or_insert_with(|| Value::Array(Vec::new()));
        if let Some(secrets) = &self.secrets {
            fields.insert(SECRETS.to_owned(), Value::Array(secrets.clone()));
        }
        fields
    }

    /// The file that holds what a path of that request names, such as `tools.3.config.url`.
    pub(crate) fn place_of(&self, path: &str) -> Option<&str> {
        let mut steps = path.split('.');
        let name = steps.next()?;
        let (_, list) = NOUNS.iter().zip(&self.lists).find(|(noun, _)| noun.list == name)?;
        let index: usize = steps.next()?.parse().ok()?;
        list.as_ref()?.get(index).map(|definition| definition.place.as_str())
    }

    fn take(&mut self, source: &Source<'_>, locale: Locale) -> anyhow::Result<()> {
        let place = source.place;
        if source.text.trim().is_empty() {
            return Err(failure(Message::new(&messages::EMPTY_FILE).with("place", place)));
        }
        match parse(source, locale)? {
            Value::Array(list) => {
                for (index, value) in list.into_iter().enumerate() {
                    self.take_one(value, source, format!("{place}, entry {}", index + 1))?;
                }
                Ok(())
            }
            Value::Object(fields) if is_document(&fields) => self.take_document(fields, place),
            value @ Value::Object(_) => self.take_one(value, source, place.to_owned()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Err(failure(Message::new(&messages::HOLDS_NO_DEFINITION).with("place", place)))
            }
        }
    }

    fn take_one(&mut self, value: Value, source: &Source<'_>, place: String) -> anyhow::Result<()> {
        let folder = source.path.and_then(Path::parent).and_then(Path::file_name);
        let of_folder = NOUNS.iter().position(|noun| folder.is_some_and(|folder| folder == noun.list));
        let noun = of_folder.unwrap_or_else(|| noun_of(&value));
        self.lists[noun].get_or_insert_default().push(Definition::new(value, noun, place)?);
        Ok(())
    }

    /// A document with several lists, as `haft export` writes it to standard output.
    fn take_document(&mut self, fields: Map<String, Value>, place: &str) -> anyhow::Result<()> {
        for (name, value) in fields {
            let Value::Array(values) = value else {
                return Err(failure(
                    Message::new(&messages::NOT_A_LIST).with("name", name).with("place", place),
                ));
            };
            if name == SECRETS {
                self.secrets.get_or_insert_default().extend(values);
                continue;
            }
            if name == NOTES {
                continue;
            }
            let Some(noun) = NOUNS.iter().position(|noun| noun.list == name) else {
                let known = NOUNS.map(|noun| noun.list).join(", ");
                return Err(failure(
                    Message::new(&messages::UNKNOWN_LIST)
                        .with("place", place)
                        .with("name", name)
                        .with("known", format!("{known}, {SECRETS}")),
                ));
            };
            let list = self.lists[noun].get_or_insert_default();
            for (index, value) in values.into_iter().enumerate() {
                list.push(Definition::new(value, noun, format!("{place}, {name} entry {}", index + 1))?);
            }
        }
        Ok(())
    }
}

impl Definition {
    fn new(value: Value, noun: usize, place: String) -> anyhow::Result<Self> {
        if !value.is_object() {
            return Err(failure(Message::new(&messages::NOT_A_DEFINITION).with("place", place)));
        }
        let name = value["name"].as_str().map(str::to_owned);
        if name.is_none() && NOUNS.get(noun).is_none_or(|noun| noun.list != UNNAMED) {
            return Err(failure(Message::new(&messages::NEEDS_A_NAME).with("place", place)));
        }
        Ok(Self { value: without_server_fields(&value), name, place })
    }
}

/// The noun whose fields a definition has; a tool where it has none of theirs.
fn noun_of(definition: &Value) -> usize {
    let names: Vec<String> =
        definition.as_object().into_iter().flatten().map(|(name, _)| camel_case(name)).collect();
    let has = |noun: &Noun| names.iter().any(|name| noun.fields.contains(&name.as_str()));
    // Everything that a tool may have is another noun's field only by another name.
    if names.iter().any(|name| name == "type") { 0 } else { NOUNS.iter().position(has).unwrap_or(0) }
}

fn values(definitions: &[Definition]) -> Value {
    definitions.iter().map(|definition| definition.value.clone()).collect()
}

/// A definition has a name or is an alert; an object without either that has lists holds several.
fn is_document(fields: &Map<String, Value>) -> bool {
    let is_list = |name: &String| name == SECRETS || NOUNS.iter().any(|noun| noun.list == name);
    !fields.contains_key("name") && fields.keys().any(is_list)
}

/// One definition, from a file or, as `-`, from standard input.
pub(crate) fn read_one(source: &str, locale: Locale) -> anyhow::Result<Value> {
    let (text, place) = if source == "-" {
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
    let definition = parse(&Source { text: &text, place, path }, locale)?;
    if definition.is_object() {
        Ok(without_server_fields(&definition))
    } else {
        Err(failure(Message::new(&messages::NOT_A_DEFINITION).with("place", place)))
    }
}

fn none_twice(what: &str, definitions: &[Definition]) -> anyhow::Result<()> {
    let mut places = HashMap::new();
    for Definition { name, place, .. } in definitions {
        let Some(name) = name else { continue };
        if let Some(other) = places.insert(name.as_str(), place) {
            return Err(failure(
                Message::new(&messages::THERE_TWICE)
                    .with("what", what)
                    .with("name", name)
                    .with("other", other)
                    .with("place", place),
            ));
        }
    }
    Ok(())
}

/// The file itself; of a directory, its files and those in the folders of all nouns, by name.
fn files(source: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || Message::new(&messages::CANNOT_READ).with("path", source.display());
    if !std::fs::metadata(source).or_fail(unreadable)?.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut files = in_directory(source, &NOTATIONS)?;
    for folder in NOUNS.map(|noun| source.join(noun.list)) {
        if folder.is_dir() {
            files.extend(in_directory(&folder, &NOTATIONS)?);
        }
    }
    Ok(files)
}

/// The files of a directory that end in one of these ways, by name; hidden ones are left alone.
pub(crate) fn in_directory(directory: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || Message::new(&messages::CANNOT_READ).with("path", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).or_fail(unreadable)? {
        let path = entry.or_fail(unreadable)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !is_hidden && path.is_file() && extensions.iter().any(|known| ends_in(&path, known)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn ends_in(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Reads JSON as strictly as the server does, and what does not look like it as YAML.
fn parse(source: &Source<'_>, locale: Locale) -> anyhow::Result<Value> {
    let Source { text, place, path } = source;
    let is_json = match path {
        Some(path) if ends_in(path, "json") => true,
        Some(path) if ends_in(path, "yaml") || ends_in(path, "yml") => false,
        Some(_) | None => text.trim_start().starts_with(['{', '[']),
    };
    if is_json {
        return json::parse(text.as_bytes())
            .or_fail(|| Message::new(&messages::NOT_JSON).with("what", place));
    }
    haft_http::import::parse_value(text).map_err(|violations| {
        let said: Vec<String> = violations.iter().map(|violation| violation.message.render(locale)).collect();
        failure(Message::new(&messages::NOT_READABLE).with("place", place).with("reasons", said.join("; ")))
    })
}

/// A definition as a server shows it is one too.
pub(crate) fn without_server_fields(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Value::Object(fields) = &mut definition {
        let (is_alert, is_provider) = (fields.contains_key("metric"), fields.contains_key("kind"));
        fields.retain(|name, _| {
            let name = camel_case(name);
            let is_told = is_alert && TOLD_BY_SERVER.contains(&name.as_str());
            let is_source = is_provider && PROVIDER_SOURCE.contains(&name.as_str());
            !is_told && !is_source && !KEPT_BY_SERVER.contains(&name.as_str())
        });
    }
    definition
}

/// A definition as a file shows it: what matters first, the rest by name, nothing that says nothing.
pub(crate) fn tidy(definition: &Value) -> Value {
    let Value::Object(fields) = without_server_fields(definition) else { return definition.clone() };
    let mut fields: Vec<(String, Value)> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let place = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    fields.sort_by(|(one, _), (other, _)| place(one).cmp(&place(other)).then_with(|| one.cmp(other)));
    Value::Object(fields.into_iter().collect())
}

/// The name of a file for a name of ours: readable, and never a path.
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
        let source = Source { text, place: "here", path: path.map(Path::new) };
        all.take(&source, Locale::En).map_err(|error| format!("{error:#}"))?;
        Ok(Value::Object(all.to_fields()))
    }

    #[test]
    fn one_definition_a_list_and_a_document_are_read() {
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
    fn a_file_without_a_definition_is_refused() {
        for (text, said) in [
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
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn names_become_files_and_never_paths() {
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
    fn a_tidy_definition_keeps_its_order_and_nothing_of_its_server() {
        let stored = json!({"version": 3, "id": "x", "timeout": 5, "icon": null, "config": {"b": 1, "a": 2}, "name": "t"});
        assert_eq!(tidy(&stored).to_string(), r#"{"name":"t","config":{"b":1,"a":2},"timeout":5}"#);
    }
}
