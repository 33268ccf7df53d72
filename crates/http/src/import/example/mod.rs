//! From one example request to a definition: what cURL commands, Postman collections and HAR files share.
//!
//! Values of the example become placeholders that keep them as defaults, and
//! credentials become secrets. Who reads the source does not decide that.

mod address;
mod arguments;
mod body;
mod credentials;
mod draft;
mod marks;
mod noise;
mod request;
mod words;

use haft_core::{Message, Template};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

pub(crate) use address::{Address, pairs};
pub(crate) use body::{Body, Content, FORM, Part, TEXT};
pub(crate) use credentials::is_secret_variable;
pub(crate) use marks::{MarkKind, clean, has_marks, mark, quoted};
pub(crate) use noise::is_browser_noise;
pub(crate) use request::Credentials;
pub(crate) use words::{path_shape, snake};

use self::credentials::SecretBook;
use self::draft::Draft;
use self::request::Request;
use super::{Imported, ImportedTool, Names, Skipped};
use crate::generic::METHODS;

haft_core::templates! {
    NOT_A_METHOD = "import.method",
        "{method} is not a method that tools can use; they have {methods}",
        "工具不支持 {method} 方法；可用：{methods}";
    HEAD_BODY = "import.headBody",
        "a HEAD request cannot carry a body",
        "HEAD 请求不能带请求体";
}

/// Every message about example requests.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, address::TEMPLATES, draft::TEMPLATES, request::TEMPLATES].into_iter().flatten().copied()
}

/// One request as somebody sent it. Its texts may hold marks.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    /// In capitals.
    pub(crate) method: String,
    pub(crate) address: Address,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) body: Option<Body>,
    /// What the tool shall be called, and what is said of it; the request says it otherwise.
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    /// For one attempt, in milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) retry_count: Option<u64>,
    /// What the source says its variables are.
    pub(crate) values: Vec<(String, String)>,
}

impl Example {
    pub(crate) fn new(method: &str, address: Address) -> Self {
        Self {
            method: method.to_ascii_uppercase(),
            address,
            headers: Vec::new(),
            credentials: None,
            body: None,
            name: None,
            description: None,
            timeout: None,
            retry_count: None,
            values: Vec::new(),
        }
    }

    /// The value of a header; the last one where there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Gathers the tools, the secrets and what is left out of one import.
pub(crate) struct Importer {
    names: Names,
    secrets: SecretBook,
    imported: Imported,
}

impl Importer {
    /// Tools are called `prefix_…` where there is a prefix.
    pub(crate) fn new(prefix: Option<&str>) -> Self {
        Self { names: Names::new(prefix), secrets: SecretBook::default(), imported: Imported::default() }
    }

    /// Adds the tool that an example makes, or says why it makes none.
    pub(crate) fn add(&mut self, example: &Example) -> Result<(), Message> {
        let known = self.secrets.len();
        match self.tool(example) {
            Ok(tool) => {
                self.imported.tools.push(tool);
                Ok(())
            }
            Err(reason) => {
                self.secrets.forget_after(known);
                Err(reason)
            }
        }
    }

    pub(crate) fn skip(&mut self, operation: impl Into<String>, reason: Message) {
        self.imported.skipped.push(Skipped { operation: operation.into(), reason });
    }

    pub(crate) fn finish(self) -> Imported {
        Imported { secrets: self.secrets.into_found(), ..self.imported }
    }

    fn tool(&mut self, example: &Example) -> Result<ImportedTool, Message> {
        let Example { method, address, .. } = example;
        if !METHODS.contains(&method.as_str()) {
            let message = Message::new(&NOT_A_METHOD).with("method", method);
            return Err(message.with("methods", METHODS.join(", ")));
        }
        if method == "HEAD" && example.body.is_some() {
            return Err(Message::new(&HEAD_BODY));
        }
        let label = words::label(&address.host);
        let mut draft = Draft::new(&mut self.secrets, &example.values, label);
        let Request { config, path } = request::write(&mut draft, example)?;
        let schema = draft.into_schema();
        let path = if path.is_empty() { "/".to_owned() } else { path.replace("{{", "{").replace("}}", "}") };
        let identity = format!("{method} {}{path}", address.authority());
        let wanted = example.name.clone().unwrap_or_else(|| {
            let decoded = |segment: &String| percent_decode_str(segment).decode_utf8_lossy().into_owned();
            let segments: Vec<String> = address.segments.iter().map(decoded).collect();
            words::tool_name(method, &segments, label)
        });
        let mut definition = Map::new();
        let mut put = |field: &str, value: Value| definition.insert(field.to_owned(), value);
        put("name", self.names.unique(&wanted, &identity).into());
        put("description", example.description.clone().unwrap_or(identity).into());
        put("type", "http".into());
        put("inputSchema", schema);
        for (field, number) in [("timeout", example.timeout), ("retryCount", example.retry_count)] {
            if let Some(number) = number {
                put(field, number.into());
            }
        }
        put("config", Value::Object(config));
        Ok(ImportedTool { definition, method: method.clone(), path })
    }
}
