//! Parameters in path, query, header and cookie: placeholders and schemas.

use haft_core::Message;
use serde_json::{Map, Value, json};

use super::document::{Document, Parameter};
use super::plain::{is_plain, shortened, written};
use super::schema::convert;
use super::security::{CredentialLocation, Credentials};
use super::styles::{self, Style, as_json_text, joined, scalar};
use crate::cookies;
use crate::headers::NOT_CONFIGURABLE;
use crate::import::variable_name;
use crate::query::encode;

haft_core::templates! {
    NEEDED = "openapi.neededParameter",
        "it needs the parameter {name} in {place}, which tools cannot send",
        "它需要位于 {place} 的参数 {name}，工具无法发送";
    LEFT_OUT = "openapi.leftOutParameter",
        "the parameter {name} in {place} cannot be sent together with the others; the tool was imported without it",
        "位于 {place} 的参数 {name} 无法与其他参数一起发送；导入的工具不含该参数";
    NOT_IN_PATH = "openapi.notInPath",
        "the parameter {name} is not in the path; the tool was imported without it",
        "参数 {name} 未出现在路径中；导入的工具不含该参数";
    NOT_SPREAD = "openapi.notSpread",
        "the parameter {name} is sent as JSON text: its fields cannot be separate query fields",
        "参数 {name} 以 JSON 文本发送：其字段无法各自放入查询";
    OWN_HEADER = "openapi.ownHeader",
        "the header {name} is not an argument: Haft or auth sets it",
        "请求头 {name} 不是参数：由 Haft 或 auth 设置";
}

/// Headers that are set by other parts of the document or by Haft.
const OWN_HEADERS: [&str; 4] = ["content-type", "authorization", "accept-encoding", "user-agent"];

/// A request under construction.
pub(super) struct Request {
    /// The path, with placeholders.
    pub(super) path: String,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) cookies: Map<String, Value>,
    /// The body and its `bodyType`.
    pub(super) body: Option<(Value, &'static str)>,
    /// Query and form fields in bracket notation.
    pub(super) brackets: Vec<String>,
    /// Features of the operation that the request does not have.
    pub(super) notes: Vec<Message>,
    taken: Vec<CredentialLocation>,
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Request {
    /// A request with these parameters, next to the credentials.
    pub(super) fn new<'a>(
        document: &Document<'a>,
        path: &str,
        parameters: &[Parameter<'a>],
        credentials: &mut Credentials,
    ) -> Result<Self, Message> {
        let mut request = Self {
            path: String::new(),
            query: std::mem::take(&mut credentials.query),
            headers: std::mem::take(&mut credentials.headers),
            cookies: std::mem::take(&mut credentials.cookies),
            body: None,
            brackets: Vec::new(),
            notes: Vec::new(),
            taken: std::mem::take(&mut credentials.places),
            properties: Map::new(),
            required: Vec::new(),
        };
        request.add_path(document, path, parameters);
        for parameter in parameters {
            match parameter.place {
                "query" => request.add_query(document, parameter, parameters)?,
                "header" => request.add_header(document, parameter)?,
                "cookie" => request.add_cookie(document, parameter)?,
                // Path parameters are already added, and bodies are added later.
                _ => {}
            }
        }
        Ok(request)
    }

    /// Adds an argument under a unique name.
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

    pub(super) fn argument_count(&self) -> usize {
        self.properties.len()
    }

    pub(super) fn schema(&mut self) -> Value {
        json!({
            "type": "object",
            "properties": std::mem::take(&mut self.properties),
            "required": std::mem::take(&mut self.required),
            "additionalProperties": false,
        })
    }

    /// Adds every `{id}` in the path, even if it is not described.
    fn add_path<'a>(&mut self, document: &Document<'a>, path: &str, parameters: &[Parameter<'a>]) {
        let mut filled = String::new();
        let mut rest = path;
        let mut known: Vec<(&str, String)> = Vec::new();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            filled.push_str(&written(before));
            let is_it = |parameter: &&Parameter<'a>| parameter.place == "path" && parameter.name == name;
            let described = parameters.iter().find(is_it);
            let (prefix, separator) = described.map_or(("", ","), styles::of_path);
            let variable = match known.iter().find(|(other, _)| *other == name) {
                Some((_, variable)) => variable.clone(),
                None => {
                    let schema = described
                        .map(|parameter| scalar(parameter_schema(document, parameter), separator))
                        .unwrap_or_else(|| json!({"type": "string"}));
                    let variable = self.argument(name, "path", schema, true);
                    known.push((name, variable.clone()));
                    variable
                }
            };
            filled.push_str(prefix);
            if prefix == ";" {
                filled.push_str(&format!("{}=", encode(name)));
            }
            filled.push_str(&format!("{{{{{variable}}}}}"));
            rest = after;
        }
        filled.push_str(&written(rest));
        self.path = filled;
        for parameter in parameters.iter().filter(|parameter| parameter.place == "path") {
            if !known.iter().any(|(name, _)| *name == parameter.name) {
                self.notes.push(Message::new(&NOT_IN_PATH).with("name", shortened(parameter.name, 60)));
            }
        }
    }

    fn add_query<'a>(
        &mut self,
        document: &Document<'a>,
        parameter: &Parameter<'a>,
        all: &[Parameter<'a>],
    ) -> Result<(), Message> {
        let name = parameter.name;
        // Credentials are not arguments.
        if self.taken.contains(&CredentialLocation::Query(name.to_owned())) {
            return Ok(());
        }
        if !is_plain(name) || self.query.contains_key(name) {
            return self.leave_out(parameter);
        }
        let schema = parameter_schema(document, parameter);
        let schema = match styles::of_query(parameter, &schema) {
            Style::Plain => schema,
            Style::Json => as_json_text(&schema),
            Style::Joined(separator) => joined(&schema, separator),
            Style::Brackets => {
                self.brackets.push(name.to_owned());
                schema
            }
            Style::Spread => match self.free_fields(&schema, all) {
                Some(fields) => {
                    let variable = self.argument(name, "query", schema, parameter.is_required);
                    for field in fields {
                        let value = placeholder(&format!("{variable}.{field}"));
                        self.query.insert(field, value);
                    }
                    return Ok(());
                }
                None => {
                    self.notes.push(Message::new(&NOT_SPREAD).with("name", name));
                    schema
                }
            },
        };
        let variable = self.argument(name, "query", schema, parameter.is_required);
        self.query.insert(name.to_owned(), placeholder(&variable));
        Ok(())
    }

    /// The fields of an object, if each can become a separate parameter.
    fn free_fields(&self, schema: &Value, all: &[Parameter<'_>]) -> Option<Vec<String>> {
        let fields = schema.get("properties").and_then(Value::as_object)?;
        let is_declared = |field: &str| all.iter().any(|other| other.place == "query" && other.name == field);
        let is_free = |field: &String| {
            let is_taken = self.query.contains_key(field)
                || self.taken.contains(&CredentialLocation::Query(field.clone()))
                || is_declared(field);
            // A placeholder must be able to name the field.
            variable_name(field) == *field && !is_taken
        };
        (!fields.is_empty() && fields.keys().all(is_free)).then(|| fields.keys().cloned().collect())
    }

    fn add_header<'a>(&mut self, document: &Document<'a>, parameter: &Parameter<'a>) -> Result<(), Message> {
        let name = parameter.name;
        let lower = name.to_ascii_lowercase();
        if self.taken.contains(&CredentialLocation::Header(lower.clone())) {
            return Ok(());
        }
        // Haft sets `Accept` itself, unless the server requires the parameter.
        let is_own = OWN_HEADERS.contains(&lower.as_str())
            || NOT_CONFIGURABLE.contains(&lower.as_str())
            || (lower == "accept" && !parameter.is_required);
        if is_own {
            if parameter.is_required && lower != "content-type" {
                self.notes.push(Message::new(&OWN_HEADER).with("name", name));
            }
            return Ok(());
        }
        let is_known = self.headers.keys().any(|known| known.eq_ignore_ascii_case(name));
        if is_known || http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            return self.leave_out(parameter);
        }
        let schema = scalar(parameter_schema(document, parameter), ",");
        let variable = self.argument(name, "header", schema, parameter.is_required);
        self.headers.insert(name.to_owned(), placeholder(&variable));
        Ok(())
    }

    fn add_cookie<'a>(&mut self, document: &Document<'a>, parameter: &Parameter<'a>) -> Result<(), Message> {
        let name = parameter.name;
        if self.taken.contains(&CredentialLocation::Cookie(name.to_owned())) {
            return Ok(());
        }
        let is_line_taken = self.taken.contains(&CredentialLocation::Header("cookie".to_owned()));
        if is_line_taken || !cookies::is_name(name) {
            return self.leave_out(parameter);
        }
        let schema = scalar(parameter_schema(document, parameter), ",");
        let variable = self.argument(name, "cookie", schema, parameter.is_required);
        self.cookies.insert(name.to_owned(), placeholder(&variable));
        Ok(())
    }

    /// Drops a parameter, or returns an error if it is required.
    fn leave_out(&mut self, parameter: &Parameter<'_>) -> Result<(), Message> {
        let template = if parameter.is_required { &NEEDED } else { &LEFT_OUT };
        let message = Message::new(template).with("name", shortened(parameter.name, 60));
        let message = message.with("place", parameter.place);
        if parameter.is_required {
            return Err(message);
        }
        self.notes.push(message);
        Ok(())
    }
}

pub(super) fn placeholder(variable: &str) -> Value {
    format!("{{{{{variable}}}}}").into()
}

/// The schema of a parameter, with its description.
pub(super) fn parameter_schema<'a>(document: &Document<'a>, parameter: &Parameter<'a>) -> Value {
    let content = parameter.value.get("content").and_then(Value::as_object);
    let inner = content.and_then(|content| content.values().next()?.get("schema"));
    // In 2.0 the parameter is its own schema.
    let described = parameter.value.get("schema").or(inner).unwrap_or(parameter.value);
    let mut schema = convert(document, described);
    let about = shortened(parameter.text("description").unwrap_or_default(), 1_000);
    if let Value::Object(schema) = &mut schema
        && !about.is_empty()
    {
        schema.insert("description".to_owned(), about.into());
    }
    schema
}
