//! Imports tools from OpenAPI documents, cURL commands, Postman collections and HAR files.
//!
//! Importers only convert text to definitions. They send no request, store nothing, and report skipped items.

mod cancel;
mod curl;
mod example;
mod har;
mod media;
mod names;
mod openapi;
mod postman;
mod selection;
mod source;
mod yaml;

use haft_core::{Message, Template};
use secrecy::SecretString;
use serde_json::{Map, Value};

pub use cancel::CancelFlag;
pub use curl::{CurlOptions, curl};
pub use example::ExampleOptions;
pub(crate) use example::is_issued;
pub use har::har;
pub(crate) use names::{Names, secret_name, variable_name};
pub use openapi::{OpenApiOptions, openapi};
pub use postman::postman;
pub use source::{parse_document, parse_document_until, parse_value};

/// The result of an import: definitions like hand-written ones, and the skipped items.
#[derive(Debug, Default)]
pub struct Imported {
    pub tools: Vec<ImportedTool>,
    pub skipped: Vec<Skipped>,
    /// Features of the source that an imported tool does not have.
    pub notes: Vec<Skipped>,
    pub secrets: Vec<FoundSecret>,
}

/// One imported tool.
#[derive(Debug, Clone)]
pub struct ImportedTool {
    /// A complete definition: name, description, type, inputSchema, config.
    pub definition: Map<String, Value>,
    pub method: String,
    /// The path as in the source: `/pets/{id}`, or a URL's path.
    pub path: String,
}

/// An item that did not become a tool.
#[derive(Debug, Clone)]
pub struct Skipped {
    pub operation: String,
    pub reason: Message,
}

/// A secret that the definitions use, with its value if the source contains it.
#[derive(Debug)]
pub struct FoundSecret {
    pub name: String,
    pub value: Option<SecretString>,
}

impl Imported {
    /// Adds a secret once, even if several tools use it.
    pub(crate) fn needs_secret(&mut self, name: &str) {
        if !self.secrets.iter().any(|known| known.name == name) {
            self.secrets.push(FoundSecret { name: name.to_owned(), value: None });
        }
    }
}

/// All message templates of the importers.
pub(crate) fn all_templates() -> Vec<&'static Template> {
    let own = [har::TEMPLATES, source::TEMPLATES, yaml::TEMPLATES].into_iter().flatten().copied();
    let of_curl = curl::all_templates().chain(example::all_templates()).chain(postman::all_templates());
    own.chain(of_curl).chain(openapi::all_templates()).collect()
}
