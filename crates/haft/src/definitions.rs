//! Definitions of tools and agents as files hold them: read for the server, written for Git.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use haft_core::tool::input::{KEPT_BY_SERVER, camel_case};
use haft_core::{Locale, json};
use serde_json::{Map, Value};

/// How files with definitions end.
const NOTATIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Fields that only agents have.
const OF_AGENTS: [&str; 3] = ["systemPrompt", "toolIds", "bindings"];

/// Fields that a reader wants to see first.
const FIRST: [&str; 5] = ["name", "title", "description", "type", "category"];

/// What some files hold. A list that no file speaks of is none, which is not the same as an empty one.
#[derive(Default)]
pub(crate) struct Definitions {
    tools: Option<Vec<Definition>>,
    agents: Option<Vec<Definition>>,
}

struct Definition {
    value: Value,
    name: String,
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
                std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
                all.take(&Source { text: &text, place: "standard input", path: None }, locale)?;
                continue;
            }
            for path in files(Path::new(source))? {
                let place = path.display().to_string();
                let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {place}"))?;
                all.take(&Source { text: &text, place: &place, path: Some(&path) }, locale)?;
            }
        }
        if all.tools.is_none() && all.agents.is_none() {
            bail!("there is no definition in {}", sources.join(", "));
        }
        none_twice("tool", all.tools.as_deref().unwrap_or_default())?;
        none_twice("agent", all.agents.as_deref().unwrap_or_default())?;
        Ok(all)
    }

    /// Whether any file says which tools there are.
    pub(crate) fn speak_of_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// The fields of a request that imports them.
    pub(crate) fn to_fields(&self) -> Map<String, Value> {
        let tools = values(self.tools.as_deref().unwrap_or_default());
        let mut fields = Map::from_iter([("tools".to_owned(), tools)]);
        if let Some(agents) = &self.agents {
            fields.insert("agents".to_owned(), values(agents));
        }
        fields
    }

    /// The file that holds what a path of that request names, such as `tools.3.config.url`.
    pub(crate) fn place_of(&self, path: &str) -> Option<&str> {
        let mut steps = path.split('.');
        let list = match steps.next()? {
            "tools" => self.tools.as_deref()?,
            "agents" => self.agents.as_deref()?,
            _ => return None,
        };
        let index: usize = steps.next()?.parse().ok()?;
        list.get(index).map(|definition| definition.place.as_str())
    }

    fn take(&mut self, source: &Source<'_>, locale: Locale) -> anyhow::Result<()> {
        let place = source.place;
        if source.text.trim().is_empty() {
            bail!("{place} is empty");
        }
        match parse(source, locale)? {
            Value::Array(list) => {
                for (index, value) in list.into_iter().enumerate() {
                    self.take_one(value, source, format!("{place}, entry {}", index + 1))?;
                }
                Ok(())
            }
            Value::Object(fields) if is_both(&fields) => self.take_both(fields, place),
            value @ Value::Object(_) => self.take_one(value, source, place.to_owned()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                bail!("{place} holds no definition: it must be an object or a list of them")
            }
        }
    }

    fn take_one(&mut self, value: Value, source: &Source<'_>, place: String) -> anyhow::Result<()> {
        let definition = Definition::new(value, place)?;
        let folder = source.path.and_then(Path::parent).and_then(Path::file_name);
        let list = if folder.is_some_and(|folder| folder == "agents") || definition.is_of_an_agent() {
            &mut self.agents
        } else {
            &mut self.tools
        };
        list.get_or_insert_default().push(definition);
        Ok(())
    }

    /// What `haft export` writes to standard output.
    fn take_both(&mut self, fields: Map<String, Value>, place: &str) -> anyhow::Result<()> {
        for (name, value) in fields {
            let list = match name.as_str() {
                "tools" => &mut self.tools,
                "agents" => &mut self.agents,
                _ => bail!("{place} holds {name}, which is neither tools nor agents"),
            };
            let Value::Array(values) = value else { bail!("{name} in {place} must be a list") };
            let list = list.get_or_insert_default();
            for (index, value) in values.into_iter().enumerate() {
                list.push(Definition::new(value, format!("{place}, {name} entry {}", index + 1))?);
            }
        }
        Ok(())
    }
}

impl Definition {
    fn new(value: Value, place: String) -> anyhow::Result<Self> {
        if !value.is_object() {
            bail!("{place} is not a definition: it must be an object");
        }
        let Some(name) = value["name"].as_str().map(str::to_owned) else {
            bail!("{place} needs a name");
        };
        Ok(Self { value: without_server_fields(&value), name, place })
    }

    fn is_of_an_agent(&self) -> bool {
        let mut names = self.value.as_object().into_iter().flat_map(Map::keys);
        names.any(|name| OF_AGENTS.contains(&camel_case(name).as_str()))
    }
}

fn values(definitions: &[Definition]) -> Value {
    definitions.iter().map(|definition| definition.value.clone()).collect()
}

/// A definition has a name; what has none holds several.
fn is_both(fields: &Map<String, Value>) -> bool {
    !fields.contains_key("name") && (fields.contains_key("tools") || fields.contains_key("agents"))
}

fn none_twice(what: &str, definitions: &[Definition]) -> anyhow::Result<()> {
    let mut places = HashMap::new();
    for Definition { name, place, .. } in definitions {
        if let Some(other) = places.insert(name.as_str(), place) {
            bail!("the {what} {name} is there twice: in {other}, and in {place}");
        }
    }
    Ok(())
}

/// The file itself; of a directory, its files and those in `tools` and `agents`, by name.
fn files(source: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", source.display());
    if !std::fs::metadata(source).with_context(unreadable)?.is_dir() {
        return Ok(vec![source.to_owned()]);
    }
    let mut files = in_directory(source, &NOTATIONS)?;
    for folder in ["tools", "agents"].map(|name| source.join(name)) {
        if folder.is_dir() {
            files.extend(in_directory(&folder, &NOTATIONS)?);
        }
    }
    Ok(files)
}

/// The files of a directory that end in one of these ways, by name; hidden ones are left alone.
pub(crate) fn in_directory(directory: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("cannot read {}", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
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
        return json::parse(text.as_bytes()).with_context(|| format!("{place} is not JSON"));
    }
    haft_http::import::parse_value(text).map_err(|violations| {
        let said: Vec<String> = violations.iter().map(|violation| violation.message.render(locale)).collect();
        anyhow::anyhow!("{place} {}", said.join("; "))
    })
}

/// A definition as a server shows it is one too.
pub(crate) fn without_server_fields(definition: &Value) -> Value {
    let mut definition = definition.clone();
    if let Value::Object(fields) = &mut definition {
        fields.retain(|name, _| !KEPT_BY_SERVER.contains(&camel_case(name).as_str()));
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
    fn one_a_list_and_both_lists_are_read() {
        let tool = json!({"name": "t", "type": "mock"});
        let agent = json!({"name": "a", "system_prompt": "Be brief."});
        let both = json!({"tools": [tool], "agents": [agent]});
        assert_eq!(read(r#"{"name": "t", "type": "mock", "id": "x"}"#, None), Ok(json!({"tools": [tool]})));
        assert_eq!(read("name: t\ntype: mock\n", Some("x/t.yaml")), Ok(json!({"tools": [tool]})));
        assert_eq!(
            read("- name: t\n  type: mock\n- name: a\n  system_prompt: Be brief.\n", None),
            Ok(both.clone())
        );
        assert_eq!(read(&both.to_string(), None), Ok(both));
        let bare = json!({"tools": [], "agents": [{"name": "a"}]});
        assert_eq!(read(r#"{"name": "a"}"#, Some("x/agents/a.json")), Ok(bare));
    }

    #[test]
    fn what_is_no_definition_is_said() {
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
