//! From something foreign to tools: OpenAPI documents, cURL commands, Postman collections, HAR files.
//!
//! An importer reads and writes definitions, nothing else: nobody is called,
//! nothing is stored, and what is left out is said.

mod cancel;
mod curl;
mod example;
mod har;
mod media;
mod names;
mod only;
mod openapi;
mod postman;
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

/// What was found in something foreign: definitions as anyone could have written them, and what was left out.
#[derive(Debug, Default)]
pub struct Imported {
    pub tools: Vec<ImportedTool>,
    pub skipped: Vec<Skipped>,
    /// What became a tool, but without something that the source asks for.
    pub notes: Vec<Skipped>,
    pub secrets: Vec<FoundSecret>,
}

/// One tool that was found.
#[derive(Debug, Clone)]
pub struct ImportedTool {
    /// A whole definition: name, description, type, inputSchema, config.
    pub definition: Map<String, Value>,
    pub method: String,
    /// As the source has it: `/pets/{id}`, or a URL's path.
    pub path: String,
}

/// Something that did not become a tool.
#[derive(Debug, Clone)]
pub struct Skipped {
    pub operation: String,
    pub reason: Message,
}

/// A secret that the definitions name; with its value where the source held one.
#[derive(Debug)]
pub struct FoundSecret {
    pub name: String,
    pub value: Option<SecretString>,
}

impl Imported {
    /// Names a secret once, however many tools use it.
    pub(crate) fn needs_secret(&mut self, name: &str) {
        if !self.secrets.iter().any(|known| known.name == name) {
            self.secrets.push(FoundSecret { name: name.to_owned(), value: None });
        }
    }
}

/// Every message of the importers.
pub(crate) fn all_templates() -> Vec<&'static Template> {
    let own = [har::TEMPLATES, source::TEMPLATES, yaml::TEMPLATES].into_iter().flatten().copied();
    let of_curl = curl::all_templates().chain(example::all_templates()).chain(postman::all_templates());
    own.chain(of_curl).chain(openapi::all_templates()).collect()
}
