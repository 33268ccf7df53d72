//! One operation: its name, description, request and input schema.

use haft_core::{Message, ToolSchema};
use serde_json::{Map, Value, json};
use url::Position;

use super::document::Document;
use super::parameters::Request;
use super::plain::{beginning, shortened, written};
use super::{payload, security, servers};
use crate::import::ImportedTool;
use crate::kind;

haft_core::templates! {
    NO_SERVER = "openapi.noServer",
        "the document names no server with an absolute address; give baseUrl",
        "文档没有给出完整地址的服务器；请提供 baseUrl";
    LONG_PATH = "openapi.longPath",
        "its path has more than {limit} bytes",
        "其路径超过 {limit} 字节";
    REFUSED = "openapi.refused",
        "it cannot become a tool: {field} {reason}",
        "无法将其变成工具：{field} {reason}";
    TOO_MUCH = "openapi.tooMuch",
        "earlier operations used up the size limit of the import; select some with only",
        "之前的操作已用完一次导入的容量；请用 only 选择部分操作";
}

const LONGEST_DESCRIPTION: usize = 1_500;
const LONGEST_PATH: usize = 2_000;
const LONGEST_ID: usize = 512;

/// One operation of a document.
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    pub(super) method: &'static str,
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
}

/// The result of converting an operation.
pub(super) struct Converted {
    /// The tool, without a name.
    pub(super) tool: ImportedTool,
    /// Features of the operation that the tool does not have.
    pub(super) notes: Vec<Message>,
    pub(super) secrets: Vec<String>,
}

impl<'a> Operation<'a> {
    /// Method and path, `GET /pets/{id}`: independent of the operation's name.
    pub(super) fn identity(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn operation_id(&self) -> Option<&'a str> {
        let id = self.operation.get("operationId").and_then(Value::as_str)?;
        // An id without letters and digits is unusable.
        beginning(id, LONGEST_ID).bytes().any(|byte| byte.is_ascii_alphanumeric()).then_some(id)
    }

    pub(super) fn preferred_name(&self) -> String {
        match self.operation_id() {
            Some(id) => beginning(id, LONGEST_ID).to_owned(),
            None => format!("{}_{}", self.method.to_ascii_lowercase(), beginning(self.path, LONGEST_ID)),
        }
    }

    /// The names by which an import may select it.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.operation_id().map(str::to_owned).into_iter().chain([self.identity()])
    }

    /// The tool's description: summary and description, or method and path.
    fn description(&self) -> String {
        let text = |name: &str| {
            let text = self.operation.get(name).and_then(Value::as_str).unwrap_or_default();
            beginning(text, LONGEST_DESCRIPTION * 4).trim()
        };
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

    /// Converts the operation, or returns why it cannot become a tool.
    pub(super) fn to_tool(
        &self,
        document: &Document<'a>,
        prefix: Option<&str>,
    ) -> Result<Converted, Message> {
        if document.budget.is_spent() {
            return Err(Message::new(&TOO_MUCH));
        }
        if self.path.len() > LONGEST_PATH {
            return Err(Message::new(&LONG_PATH).with("limit", LONGEST_PATH));
        }
        let server = servers::find(document, self.item, self.operation);
        let server = server.ok_or_else(|| Message::new(&NO_SERVER))?;
        let host = servers::authority(&server);
        let bytes_before = document.budget.bytes_left();
        let mut notes = Vec::new();
        let parameters = document.parameters(self.item, self.operation, &mut notes)?;
        let mut credentials = security::find(document, self.operation, &host, &mut notes);
        let mut request = Request::new(document, self.path, &parameters, &mut credentials)?;
        // Servers ignore the body of a HEAD request.
        if self.method != "HEAD" {
            payload::add(document, self.operation, &parameters, &mut request)?;
        }
        document.budget.take_arguments(request.argument_count());
        if document.budget.is_spent() {
            return Err(Message::new(&TOO_MUCH));
        }
        notes.append(&mut request.notes);
        let input_schema = request.schema();
        let path = format!("{}{}", written(server.path().trim_end_matches('/')), request.path);
        // A user name stays before the host, and is rejected when the URL is parsed.
        let url = format!("{}{path}", &server[..Position::BeforePath]);
        let mut config = request_config(request, credentials.auth);
        config.shift_insert(0, "url".to_owned(), url.into());
        config.shift_insert(1, "method".to_owned(), self.method.into());
        config.insert("sendDefaults".to_owned(), false.into());
        config.insert("imported".to_owned(), self.origin(document, host));
        if let Some(violation) = kind::check(&config).into_iter().next() {
            let message = Message::new(&REFUSED).with("field", violation.path);
            return Err(message.with_messages("reason", vec![violation.message]));
        }
        let config = Value::Object(config);
        // Names, descriptions and placeholders are repeated for each operation.
        let converted = bytes_before - document.budget.bytes_left();
        let finished = input_schema.to_string().len() + config.to_string().len();
        document.budget.take_bytes(finished.saturating_sub(converted));
        if document.budget.is_spent() {
            return Err(Message::new(&TOO_MUCH));
        }
        let mut definition = Map::new();
        definition.insert("description".to_owned(), self.description().into());
        definition.insert("type".to_owned(), "http".into());
        if let Some(prefix) = prefix {
            definition.insert("category".to_owned(), shortened(prefix, 64).into());
        }
        definition.insert("inputSchema".to_owned(), accepted(input_schema));
        definition.insert("config".to_owned(), config);
        let tool = ImportedTool { definition, method: self.method.to_owned(), path: self.path.to_owned() };
        Ok(Converted { tool, notes, secrets: credentials.secrets })
    }

    /// The origin of the tool, which later imports use to recognize it.
    fn origin(&self, document: &Document<'a>, host: String) -> Value {
        let title = document.title().unwrap_or(host);
        json!({"from": "openapi", "document": title, "operation": self.identity()})
    }
}

/// The config of a request, without its URL.
fn request_config(request: Request, auth: Map<String, Value>) -> Map<String, Value> {
    let mut config = Map::new();
    // An empty query prevents that remaining arguments are sent by default.
    config.insert("query".to_owned(), Value::Object(request.query));
    for (name, fields) in [("headers", request.headers), ("cookies", request.cookies), ("auth", auth)] {
        if !fields.is_empty() {
            config.insert(name.to_owned(), Value::Object(fields));
        }
    }
    if let Some((body, kind)) = request.body {
        config.insert("body".to_owned(), body);
        config.insert("bodyType".to_owned(), kind.into());
    }
    if !request.brackets.is_empty() {
        config.insert("brackets".to_owned(), request.brackets.into());
    }
    config
}

/// Makes a schema valid for the validator: removes details from properties until it is accepted.
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
