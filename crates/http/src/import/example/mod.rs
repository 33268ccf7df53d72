//! Converts example requests to definitions; shared by cURL commands, Postman collections and HAR files.
//!
//! Example values become placeholders with defaults, and credentials become secrets. The importers of each
//! format only parse.

mod address;
mod arguments;
mod body;
mod credentials;
mod draft;
mod graphql;
mod importer;
mod marks;
mod noise;
mod request;
mod secrets;
mod types;
mod url_names;

use std::collections::HashMap;
use std::rc::Rc;

use haft_core::{Message, Template};

use super::CancelFlag;

pub(crate) use address::{Address, pairs, written_path};
pub(crate) use body::{Body, Content, FORM, Part, TEXT};
pub(crate) use credentials::{is_issued, is_secret_variable, mark_variable};
pub(crate) use graphql::operation as graphql_operation;
pub(crate) use importer::{Importer, MOST_REQUESTS, Source, too_many_requests};
pub(crate) use marks::{MarkKind, behind_mark, first_mark, has_marks, mark, quoted, sanitize};
pub(crate) use noise::is_browser_noise;
pub(crate) use request::Credentials;
pub(crate) use url_names::{path_shape, snake};

/// Options of an import of a collection or recording.
#[derive(Debug, Default, Clone)]
pub struct ExampleOptions {
    /// Prefix of every tool name.
    pub name: Option<String>,
    /// Tool names or `METHOD /path` of the requests to import. Empty: all.
    pub only: Vec<String>,
    /// The base URL of requests whose URL begins with a variable without a value.
    pub base_url: Option<String>,
    /// Makes the import end early, with an error.
    pub cancel: CancelFlag,
}

/// All message templates of this module.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [address::TEMPLATES, draft::TEMPLATES, importer::TEMPLATES, request::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
}

/// One example request. Its texts may contain marks.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    /// In capitals.
    pub(crate) method: String,
    pub(crate) address: Address,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) body: Option<Body>,
    /// The tool's name and description. Derived from the request if absent.
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    /// Timeout of one attempt, in milliseconds.
    pub(crate) timeout: Option<u64>,
    pub(crate) retry_count: Option<u64>,
    /// Values of variables: those of this request, and those of all requests.
    pub(crate) values: HashMap<String, String>,
    pub(crate) shared_values: Rc<HashMap<String, String>>,
    /// The path in other spellings of the source.
    pub(crate) written_paths: Vec<String>,
    /// The position in the source: `Folder / Name`.
    pub(crate) place: Option<String>,
    /// Features of the request that the tool does not have.
    pub(crate) notes: Vec<Message>,
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
            values: HashMap::new(),
            shared_values: Rc::default(),
            written_paths: Vec::new(),
            place: None,
            notes: Vec::new(),
        }
    }

    /// The value of a header; the last one if there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The value of a variable, if the source defines it.
    pub(crate) fn value(&self, variable: &str) -> Option<&str> {
        self.values.get(variable).or_else(|| self.shared_values.get(variable)).map(String::as_str)
    }

    /// Method, host and path in one line, with ids unified.
    pub(crate) fn shape(&self) -> String {
        format!("{} {}{}", self.method, self.address.authority(), path_shape(&self.address.segments))
    }
}
