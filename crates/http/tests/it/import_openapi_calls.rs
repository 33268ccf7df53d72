//! Calls imported tools of real documents, and compares the requests with the documents' definitions.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_engine::{CallOptions, ErrorKind, Tool};
use haft_http::import::{Imported, ImportedTool, OpenApiOptions, openapi};
use haft_testkit::{RecordedRequest, Upstream, json_reply};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

use crate::import_openapi::{DOCUMENTS, directory, read};
use crate::import_openapi_sample::arguments;
use crate::support::engine;

const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const SECRET: &str = "s3cret-value";

/// Headers that are not arguments.
const NOT_ARGUMENTS: [&str; 6] =
    ["accept", "content-type", "authorization", "user-agent", "accept-encoding", "host"];

type Pairs = Vec<(String, String)>;

/// Counts of comparisons, to detect tests that compare nothing.
#[derive(Debug, Default)]
struct Compared {
    calls: usize,
    refused: usize,
    optional: usize,
    pairs: usize,
    headers: usize,
    bodies: usize,
}

/// One call of one operation.
struct Case<'a> {
    document: &'a Value,
    tool: &'a ImportedTool,
    operation: &'a Value,
    /// Parameters by name and location.
    declared: Vec<&'a Value>,
    arguments: &'a Map<String, Value>,
    /// The importer's notes on the operation.
    notes: Vec<String>,
    name: String,
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let mut value = value;
    for _ in 0..16 {
        let Some(reference) = value["$ref"].as_str() else { break };
        let pointer = percent_decode_str(&reference[1..]).decode_utf8_lossy();
        value = document.pointer(&pointer).unwrap_or(&Value::Null);
    }
    value
}

impl<'a> Case<'a> {
    fn new(
        document: &'a Value,
        imported: &Imported,
        tool: &'a ImportedTool,
        arguments: &'a Map<String, Value>,
        name: String,
    ) -> Self {
        let item = resolved(document, &document["paths"][&tool.path]);
        let operation = &item[tool.method.to_ascii_lowercase()];
        let mut declared: Vec<&Value> = Vec::new();
        for list in [&item["parameters"], &operation["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = resolved(document, parameter);
                let same =
                    |known: &&Value| known["name"] == parameter["name"] && known["in"] == parameter["in"];
                declared.retain(|known| !same(known));
                declared.push(parameter);
            }
        }
        let identity = format!("{} {}", tool.method, tool.path);
        let own = imported.notes.iter().filter(|note| note.operation == identity);
        let notes = own.map(|note| note.reason.to_string()).collect();
        Self { document, tool, operation, declared, arguments, notes, name }
    }

    /// The argument for a parameter.
    fn argument_of(&self, parameter: &Value) -> Option<&'a Value> {
        let (name, place) = (parameter["name"].as_str()?, parameter["in"].as_str()?);
        let variable = variable(name);
        let prefixed = format!("{place}_{variable}");
        let properties = &self.tool.definition["inputSchema"]["properties"];
        let is_other = self.declared.iter().any(|other| other["name"] == prefixed.as_str());
        let has_prefix = !is_other && properties.get(&prefixed).is_some();
        self.arguments.get(if has_prefix { &prefixed } else { &variable })
    }

    fn in_place(&self, place: &str) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        let all = self.declared.iter().filter(move |parameter| parameter["in"] == place);
        all.filter_map(move |parameter| Some((*parameter, self.argument_of(parameter)?)))
    }

    fn check(&self, seen: &RecordedRequest, compared: &mut Compared) {
        assert_eq!(seen.method, self.tool.method, "{}", self.name);
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        assert_eq!(path, self.path(), "{}", self.name);
        self.check_query(query, compared);
        for (parameter, value) in self.in_place("header") {
            let name = parameter["name"].as_str().expect("a name");
            if !NOT_ARGUMENTS.contains(&name.to_ascii_lowercase().as_str()) && !is_auth(self.tool, name) {
                let sent = seen.headers.get(name).map(|value| value.as_bytes().to_vec());
                assert_eq!(sent, Some(as_text(value).into_bytes()), "{}: the header {name}", self.name);
                compared.headers += 1;
            }
        }
        self.check_cookies(seen);
        self.check_credentials(seen);
        let body = self.tool.definition["config"]["body"].as_str().unwrap_or_default();
        match self.arguments.get(body.trim_matches(['{', '}'])) {
            Some(body) => {
                self.check_body(seen, body);
                compared.bodies += 1;
            }
            None => assert!(seen.body.is_empty(), "{}: {:?}", self.name, seen.text()),
        }
    }

    fn path(&self) -> String {
        let mut rest = self.tool.path.split('#').next().unwrap_or_default();
        let mut path = String::new();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("a name");
            let parameter =
                self.declared.iter().find(|parameter| parameter["in"] == "path" && parameter["name"] == name);
            let none = json!({"name": name, "in": "path"});
            let value = self.argument_of(parameter.unwrap_or(&&none)).unwrap_or(&Value::Null);
            path.push_str(before);
            match parameter.and_then(|parameter| parameter["style"].as_str()) {
                Some("label") => path.push('.'),
                Some("matrix") => path.push_str(&format!(";{name}=")),
                Some(_) | None => {}
            }
            path.extend(utf8_percent_encode(&as_text(value), VALUE));
            rest = after;
        }
        path + rest
    }

    fn check_query(&self, query: &str, compared: &mut Compared) {
        let mut expected: Pairs = Vec::new();
        for (parameter, value) in self.in_place("query") {
            let name = parameter["name"].as_str().expect("a name");
            if is_auth(self.tool, name) {
                continue;
            }
            let as_json = format!("the parameter {name} is sent as JSON text");
            if self.notes.iter().any(|note| note.starts_with(&as_json)) {
                expected.push((name.to_owned(), as_text(value)));
            } else {
                expected.extend(self.pairs_of(parameter, name, value));
            }
        }
        let sent = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let mut sent: Pairs = sent.filter(|(_, value)| value != SECRET).collect();
        expected.sort();
        sent.sort();
        assert_eq!(sent, expected, "{}: the query {query}", self.name);
        compared.pairs += sent.len();
    }

    /// The query pairs that the OpenAPI standard requires for a value.
    fn pairs_of(&self, parameter: &Value, name: &str, value: &Value) -> Pairs {
        let style = parameter["style"].as_str().unwrap_or("form");
        let is_swagger = self.document["swagger"].is_string();
        let is_exploded = if is_swagger {
            parameter["collectionFormat"] == "multi"
        } else {
            parameter["explode"].as_bool().unwrap_or(style == "form")
        };
        let is_json = parameter["content"].is_object();
        match value {
            Value::Null => Vec::new(),
            _ if style == "deepObject" => bracketed(name, value),
            Value::Array(items) => {
                assert!(is_exploded && !is_json, "{}: {name} is to be one text", self.name);
                items.iter().map(|item| (name.to_owned(), as_text(item))).collect()
            }
            Value::Object(fields) if !is_json => {
                assert!(is_exploded, "{}: {name} is to be one text", self.name);
                fields.iter().flat_map(|(field, value)| repeated(field, value)).collect()
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                vec![(name.to_owned(), as_text(value))]
            }
        }
    }

    fn check_cookies(&self, seen: &RecordedRequest) {
        let line = seen.header("cookie").unwrap_or_default();
        let sent: HashMap<&str, String> = line
            .split("; ")
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name, percent_decode_str(value).decode_utf8_lossy().into_owned()))
            .collect();
        for (parameter, value) in self.in_place("cookie") {
            let name = parameter["name"].as_str().expect("a name");
            assert_eq!(sent.get(name), Some(&as_text(value)), "{}: the cookie {name} in {line}", self.name);
        }
    }

    /// Checks that each secret of the config is sent.
    fn check_credentials(&self, seen: &RecordedRequest) {
        if !self.tool.definition["config"].to_string().contains("secret://")
            || self.tool.definition["config"]["auth"]["type"] == "oauth2ClientCredentials"
        {
            return;
        }
        let basic = STANDARD.encode(format!("{SECRET}:{SECRET}"));
        let holds = |text: &str| text.contains(SECRET) || text.contains(&basic);
        let is_sent = holds(&seen.target)
            || seen.headers.values().any(|value| holds(&String::from_utf8_lossy(value.as_bytes())));
        assert!(is_sent, "{}: {:?}", self.name, seen.headers);
    }

    fn check_body(&self, seen: &RecordedRequest, body: &Value) {
        let sent = seen.header("content-type").unwrap_or_default();
        let media = sent.split(';').next().unwrap_or_default();
        let described = resolved(self.document, &self.operation["requestBody"]);
        let taken: Vec<&str> = match described["content"].as_object() {
            Some(content) => content.keys().map(String::as_str).collect(),
            None => {
                let own = self.operation["consumes"].as_array();
                let consumes = own.or_else(|| self.document["consumes"].as_array());
                consumes.into_iter().flatten().filter_map(Value::as_str).collect()
            }
        };
        let is_taken =
            taken.is_empty() || taken.iter().any(|name| name.starts_with(media) || name.contains('*'));
        assert!(is_taken, "{}: {media} of {taken:?}", self.name);
        match media {
            media if media.ends_with("json") => assert_eq!(&seen.json(), body, "{}", self.name),
            "application/x-www-form-urlencoded" => {
                let encoding = &described["content"][media]["encoding"];
                let fields = body.as_object().expect("fields").iter();
                let mut expected: Pairs = fields
                    .flat_map(|(name, value)| match encoding[name]["style"].as_str() {
                        Some("deepObject") => bracketed(name, value),
                        _ if is_nested(value) => bracketed(name, value),
                        Some(_) | None => repeated(name, value),
                    })
                    .collect();
                let mut sent: Pairs = url::form_urlencoded::parse(&seen.body).into_owned().collect();
                expected.sort();
                sent.sort();
                assert_eq!(sent, expected, "{}: the form", self.name);
            }
            "multipart/form-data" => {
                let text = String::from_utf8_lossy(&seen.body).into_owned();
                for (name, _) in
                    body.as_object().expect("fields").iter().filter(|(_, value)| !value.is_null())
                {
                    assert!(text.contains(&format!("name=\"{name}\"")), "{}: {name} in {text}", self.name);
                }
            }
            _ => assert_eq!(String::from_utf8_lossy(&seen.body), as_text(body), "{}", self.name),
        }
    }
}

/// Returns true if a header or query field contains the tool's credentials.
fn is_auth(tool: &ImportedTool, name: &str) -> bool {
    let auth = &tool.definition["config"]["auth"];
    auth["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name))
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn repeated(name: &str, value: &Value) -> Pairs {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(|item| (name.to_owned(), as_text(item))).collect(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            vec![(name.to_owned(), as_text(value))]
        }
    }
}

fn bracketed(key: &str, value: &Value) -> Pairs {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| bracketed(&format!("{key}[{at}]"), item)).collect()
        }
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| bracketed(&format!("{key}[{name}]"), value)).collect()
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => vec![(key.to_owned(), as_text(value))],
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The argument's name as the importer must write it.
fn variable(name: &str) -> String {
    let mut variable = String::new();
    for character in name.chars().map(|one| if one.is_ascii_alphanumeric() || one == '-' { one } else { '_' })
    {
        if character != '_' || !variable.ends_with('_') {
            variable.push(character);
        }
    }
    let variable = variable.trim_matches(['_', '-']).replace('-', "_");
    if variable.starts_with(|first: char| first.is_ascii_digit()) { format!("_{variable}") } else { variable }
}

/// Calls a sample of the tools of one document.
async fn call_some(upstream: &Upstream, name: &str, document: &Value) -> Compared {
    let options = OpenApiOptions { base_url: Some(upstream.url("")), ..OpenApiOptions::default() };
    let imported = openapi(document, &options).expect("a document");
    let named = imported.secrets.iter().map(|secret| (secret.name.as_str(), SECRET));
    let tools = engine(&named.collect::<Vec<_>>());
    let mut compared = Compared::default();
    let step = (imported.tools.len() / 25).max(1);
    for tool in imported.tools.iter().step_by(step) {
        let case = format!("{name}: {} {}", tool.method, tool.path);
        let mut definition = tool.definition.clone();
        // Fetching tokens is tested elsewhere.
        if definition["config"]["auth"]["type"] == "oauth2ClientCredentials" {
            definition["config"].as_object_mut().expect("a config").remove("auth");
        }
        let tool_name = definition["name"].as_str().expect("a name").to_owned();
        let schema = &tool.definition["inputSchema"];
        let arguments = arguments(schema);
        tools
            .register(Tool::from_json(Value::Object(definition)))
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let before = upstream.seen().len();
        let given = Value::Object(arguments.clone());
        let result =
            tools.execute(&tool_name, given, CallOptions::default()).await.expect("the engine works");
        compared.calls += 1;
        if result.error().is_some_and(|error| error.kind() == ErrorKind::Validation) {
            eprintln!("{case}: {:?}", result.error());
            compared.refused += 1;
            continue;
        }
        assert!(result.is_success(), "{case}: {:?} with {arguments:?}", result.error());
        compared.optional +=
            arguments.len().saturating_sub(schema["required"].as_array().map_or(0, Vec::len));
        let seen = upstream.seen()[before].clone();
        Case::new(document, &imported, tool, &arguments, case).check(&seen, &mut compared);
    }
    compared
}

#[tokio::test]
async fn requests_match_the_arguments_and_the_document() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"ok": true}))).await;
    let directory = directory();
    let mut all = Compared::default();
    for name in DOCUMENTS {
        let compared = call_some(&upstream, name, &read(&directory.join(name))).await;
        // Up to one in twenty may need more than a simple sample, and some documents contain contradictory
        // schemas.
        assert!(compared.refused * 20 <= compared.calls.max(40), "{name}: {compared:?}");
        all.calls += compared.calls;
        all.optional += compared.optional;
        all.pairs += compared.pairs;
        all.headers += compared.headers;
        all.bodies += compared.bodies;
    }
    let enough =
        all.calls > 200 && all.optional > 200 && all.pairs > 200 && all.headers > 50 && all.bodies > 50;
    assert!(enough, "{all:?}");
}
