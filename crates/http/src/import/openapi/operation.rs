//! One operation: its name, its words, its request, and the schema of what it takes.

use haft_core::{Message, ToolSchema};
use serde_json::{Map, Value, json};

use super::document::Document;
use super::parameters::Request;
use super::schema::shortened;
use super::{payload, security};
use crate::import::{Imported, ImportedTool};
use crate::url::UrlTemplate;

haft_core::templates! {
    NO_SERVER = "openapi.noServer",
        "the document names no server with an absolute address; give baseUrl",
        "文档没有给出完整地址的服务器；请提供 baseUrl";
    BAD_URL = "openapi.badUrl",
        "its address cannot be called: {reason}",
        "其地址无法调用: {reason}";
}

const LONGEST_DESCRIPTION: usize = 1_500;

/// One operation of a document.
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    pub(super) method: String,
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
}

impl<'a> Operation<'a> {
    /// `GET /pets/{id}`: what it is, whatever it is called.
    pub(super) fn identity(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn operation_id(&self) -> Option<&'a str> {
        let id = self.operation.get("operationId").and_then(Value::as_str)?;
        // An id without a single usable letter names nothing.
        id.bytes().any(|byte| byte.is_ascii_alphanumeric()).then_some(id)
    }

    pub(super) fn wanted_name(&self) -> String {
        self.operation_id()
            .map_or_else(|| format!("{}_{}", self.method.to_ascii_lowercase(), self.path), str::to_owned)
    }

    pub(super) fn is_called(&self, wanted: &str) -> bool {
        let same_identity = || {
            wanted.split_once(' ').is_some_and(|(method, path)| {
                method.eq_ignore_ascii_case(&self.method) && path.trim() == self.path
            })
        };
        self.operation_id() == Some(wanted) || same_identity()
    }

    /// When to use it: summary and description, or what it is.
    fn description(&self) -> String {
        let text =
            |name: &str| self.operation.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let (summary, description) = (text("summary"), text("description"));
        let whole = match (summary.is_empty(), description.is_empty()) {
            (true, true) => return self.identity(),
            (false, true) => summary.to_owned(),
            (true, false) => description.to_owned(),
            (false, false) if description.starts_with(summary) => description.to_owned(),
            (false, false) => format!("{}. {description}", summary.trim_end_matches('.')),
        };
        shortened(&whole, LONGEST_DESCRIPTION)
    }

    /// The tool, without a name.
    pub(super) fn to_tool(
        &self,
        document: &Document<'a>,
        prefix: Option<&str>,
        imported: &mut Imported,
    ) -> Result<ImportedTool, Message> {
        let server = document.server(self.item, self.operation).ok_or_else(|| Message::new(&NO_SERVER))?;
        let parameters = document.parameters(self.item, self.operation);
        let mut request = Request::new(document, self.path, &parameters);
        // No server reads the body of a HEAD.
        if self.method != "HEAD" {
            payload::add(document, self.operation, &parameters, &mut request);
        }
        let named = prefix.unwrap_or_else(|| document.title());
        for secret in security::add(document, self.operation, named, &mut request) {
            imported.needs_secret(&secret);
        }
        let url = format!("{}{}", server.as_str().trim_end_matches('/'), request.path);
        UrlTemplate::parse(&url)
            .map_err(|reason| Message::new(&BAD_URL).with_messages("reason", vec![reason]))?;
        let mut config = Map::new();
        config.insert("url".to_owned(), url.into());
        config.insert("method".to_owned(), self.method.clone().into());
        let input_schema = request.schema();
        // An empty query says that arguments have their place, even where nothing is sent.
        config.insert("query".to_owned(), Value::Object(std::mem::take(&mut request.query)));
        for (name, fields) in [("headers", &mut request.headers), ("auth", &mut request.auth)] {
            if !fields.is_empty() {
                config.insert(name.to_owned(), Value::Object(std::mem::take(fields)));
            }
        }
        if let Some((body, kind)) = request.body.take() {
            config.insert("body".to_owned(), body);
            config.insert("bodyType".to_owned(), kind.into());
        }
        let mut definition = Map::new();
        definition.insert("description".to_owned(), self.description().into());
        definition.insert("type".to_owned(), "http".into());
        if let Some(prefix) = prefix {
            definition.insert("category".to_owned(), shortened(prefix, 64).into());
        }
        definition.insert("inputSchema".to_owned(), accepted(input_schema));
        definition.insert("config".to_owned(), Value::Object(config));
        Ok(ImportedTool { definition, method: self.method.clone(), path: self.path.to_owned() })
    }
}

/// A schema that our own validator takes: where it does not, properties lose their detail one by one.
fn accepted(schema: Value) -> Value {
    if ToolSchema::of_arguments(&schema).is_ok() {
        return schema;
    }
    let mut schema = schema;
    let names: Vec<String> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    for name in names {
        let alone = json!({"type": "object", "properties": {"it": schema["properties"][&name]}});
        if ToolSchema::of_arguments(&alone).is_err() {
            let about = schema["properties"][&name]["description"].as_str().unwrap_or_default().to_owned();
            schema["properties"][&name] =
                json!({"description": format!("{about} (its schema cannot be used)")});
        }
    }
    if ToolSchema::of_arguments(&schema).is_ok() { schema } else { haft_core::schema::any_arguments() }
}
