//! Parameters in path, query, header and cookie: placeholders, and the schema of their values.

use serde_json::{Map, Value, json};

use super::document::Document;
use super::schema::convert;
use crate::headers::NOT_CONFIGURABLE;
use crate::import::variable_name;

/// A request as it is put together.
pub(super) struct Request {
    /// With its placeholders.
    pub(super) path: String,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) auth: Map<String, Value>,
    /// With its `bodyType`.
    pub(super) body: Option<(Value, &'static str)>,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Request {
    pub(super) fn new(document: &Document<'_>, path: &str, parameters: &[&Map<String, Value>]) -> Self {
        let mut request = Self {
            path: path.to_owned(),
            query: Map::new(),
            headers: Map::new(),
            auth: Map::new(),
            body: None,
            properties: Map::new(),
            required: Vec::new(),
        };
        request.add_path(document, parameters);
        for parameter in parameters {
            let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
            match parameter.get("in").and_then(Value::as_str) {
                Some("query") if !name.is_empty() => request.add_query(document, name, parameter),
                Some("header") if !name.is_empty() => request.add_header(document, name, parameter),
                Some("cookie") if !name.is_empty() => request.add_cookie(document, name, parameter),
                Some(_) | None => {}
            }
        }
        request
    }

    /// An argument of its own; its name is changed where another has it.
    pub(super) fn argument(&mut self, wanted: &str, place: &str, schema: Value, is_required: bool) -> String {
        let wanted = variable_name(wanted);
        let other = [format!("{place}_{wanted}"), format!("{wanted}_value")];
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.clone()).chain(other).chain(numbered);
        let reserved = |name: &String| matches!(name.as_str(), "callId" | "callbackUrl");
        let free = names.find(|name| !self.properties.contains_key(name) && !reserved(name));
        let name = free.unwrap_or(wanted);
        self.properties.insert(name.clone(), schema);
        if is_required {
            self.required.push(name.clone());
        }
        name
    }

    pub(super) fn schema(&mut self) -> Value {
        json!({
            "type": "object",
            "properties": std::mem::take(&mut self.properties),
            "required": std::mem::take(&mut self.required),
            "additionalProperties": false,
        })
    }

    /// `{id}` in the path, described or not.
    fn add_path(&mut self, document: &Document<'_>, parameters: &[&Map<String, Value>]) {
        let path = std::mem::take(&mut self.path);
        let mut filled = String::new();
        let mut rest = path.as_str();
        let mut known: Vec<(String, String)> = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            filled.push_str(&literal(before));
            let variable = match known.iter().find(|(other, _)| other == name) {
                Some((_, variable)) => variable.clone(),
                None => {
                    let described = parameters.iter().find(|parameter| {
                        parameter.get("in") == Some(&"path".into())
                            && parameter.get("name") == Some(&name.into())
                    });
                    let schema = described
                        .map(|parameter| scalar(parameter_schema(document, parameter)))
                        .unwrap_or_else(|| json!({"type": "string"}));
                    let variable = self.argument(name, "path", schema, true);
                    known.push((name.to_owned(), variable.clone()));
                    variable
                }
            };
            filled.push_str(&format!("{{{{{variable}}}}}"));
            rest = after;
        }
        filled.push_str(&literal(rest));
        self.path = filled;
    }

    fn add_query(&mut self, document: &Document<'_>, name: &str, parameter: &Map<String, Value>) {
        let schema = parameter_schema(document, parameter);
        let is_required = parameter.get("required") == Some(&Value::Bool(true));
        let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
        let is_content = parameter.contains_key("content");
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        let name = name.strip_suffix("[]").map_or(name, |_| name);
        let separator = separator(parameter, style, kind);
        let fields =
            schema.get("properties").and_then(Value::as_object).filter(|_| kind == "object" && !is_content);
        match (separator, fields) {
            (Some(separator), _) => {
                let schema = joined(&schema, separator);
                let variable = self.argument(name, "query", schema, is_required);
                self.query.insert(name.to_owned(), placeholder(&variable));
            }
            (None, Some(fields)) if !fields.is_empty() && fields.keys().all(|field| is_step(field)) => {
                let fields: Vec<String> = fields.keys().cloned().collect();
                let variable = self.argument(name, "query", schema, is_required);
                for field in fields {
                    // Exploded objects are fields of the query itself, or `filter[field]`.
                    let key = if style == "deepObject" { format!("{name}[{field}]") } else { field.clone() };
                    self.query.insert(key, placeholder(&format!("{variable}.{field}")));
                }
            }
            (None, _) => {
                let variable = self.argument(name, "query", schema, is_required);
                self.query.insert(name.to_owned(), placeholder(&variable));
            }
        }
    }

    fn add_header(&mut self, document: &Document<'_>, name: &str, parameter: &Map<String, Value>) {
        let lower = name.to_ascii_lowercase();
        // The standard leaves these to other parts of the document, and the rest is ours.
        let is_ours = ["accept", "content-type", "authorization", "accept-encoding", "user-agent"];
        let is_valid = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
        let is_taken = self.headers.keys().any(|known| known.eq_ignore_ascii_case(name));
        if is_ours.contains(&lower.as_str())
            || NOT_CONFIGURABLE.contains(&lower.as_str())
            || !is_valid
            || is_taken
        {
            return;
        }
        let is_required = parameter.get("required") == Some(&Value::Bool(true));
        let schema = scalar(parameter_schema(document, parameter));
        let variable = self.argument(name, "header", schema, is_required);
        self.headers.insert(name.to_owned(), placeholder(&variable));
    }

    /// Only required cookies: one header holds them all, and cannot be sent with a part missing.
    fn add_cookie(&mut self, document: &Document<'_>, name: &str, parameter: &Map<String, Value>) {
        if parameter.get("required") != Some(&Value::Bool(true)) {
            return;
        }
        let schema = scalar(parameter_schema(document, parameter));
        let variable = self.argument(name, "cookie", schema, true);
        let cookie = format!("{name}={{{{{variable}}}}}");
        let cookies = match self.headers.get("Cookie").and_then(Value::as_str) {
            Some(others) => format!("{others}; {cookie}"),
            None => cookie,
        };
        self.headers.insert("Cookie".to_owned(), cookies.into());
    }
}

pub(super) fn placeholder(variable: &str) -> Value {
    format!("{{{{{variable}}}}}").into()
}

/// What the author's path may hold that a template reads otherwise.
fn literal(text: &str) -> String {
    text.replace('}', "%7D").replace(' ', "%20")
}

/// The name of a field that a placeholder can reach.
fn is_step(field: &str) -> bool {
    variable_name(field) == field
}

/// The schema of a parameter, with its description.
pub(super) fn parameter_schema(document: &Document<'_>, parameter: &Map<String, Value>) -> Value {
    let content = parameter.get("content").and_then(Value::as_object);
    let inner = content.and_then(|content| content.values().next()?.get("schema"));
    let mut schema = match parameter.get("schema").or(inner) {
        Some(schema) => convert(document, schema),
        // In 2.0 the parameter is its own schema.
        None => {
            let mut own = parameter.clone();
            own.shift_remove("required");
            convert(document, &Value::Object(own))
        }
    };
    if let (Value::Object(schema), Some(Value::String(text))) = (&mut schema, parameter.get("description"))
        && !text.trim().is_empty()
    {
        schema.insert("description".to_owned(), super::schema::shortened(text, 1_000).into());
    }
    schema
}

/// A value that stands in a path or a header is one word.
fn scalar(schema: Value) -> Value {
    let is_list = matches!(schema.get("type").and_then(Value::as_str), Some("array" | "object"));
    if is_list { joined(&schema, ",") } else { schema }
}

/// What stands between the items of a list, where they do not each come with the key.
fn separator(parameter: &Map<String, Value>, style: &str, kind: &str) -> Option<&'static str> {
    if kind != "array" {
        return None;
    }
    let is_swagger = !parameter.contains_key("schema") && !parameter.contains_key("content");
    if is_swagger {
        return match parameter.get("collectionFormat").and_then(Value::as_str).unwrap_or("csv") {
            "multi" => None,
            "ssv" => Some(" "),
            "tsv" => Some("\t"),
            "pipes" => Some("|"),
            _ => Some(","),
        };
    }
    let is_exploded = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    match style {
        _ if is_exploded => None,
        "spaceDelimited" => Some(" "),
        "pipeDelimited" => Some("|"),
        _ => Some(","),
    }
}

/// A list as one text.
fn joined(schema: &Value, separator: &str) -> Value {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let allowed =
        schema.get("items").and_then(|items| items.get("enum")).map(|allowed| format!(" Of: {allowed}."));
    let between = match separator {
        "," => "commas",
        " " => "blanks",
        "\t" => "tabs",
        _ => "|",
    };
    let about = format!("{about} Values with {between} between them.{}", allowed.unwrap_or_default());
    json!({"type": "string", "description": about.trim()})
}
