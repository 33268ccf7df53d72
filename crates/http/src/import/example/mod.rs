//! From one example request to a definition: what cURL commands, Postman collections and HAR files share.
//!
//! Values of the example become placeholders that keep them as defaults, and
//! credentials become secrets. Who reads the source does not decide that.

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
mod words;

use std::collections::HashMap;
use std::rc::Rc;

use haft_core::{Message, Template};

use super::CancelFlag;

pub(crate) use address::{Address, pairs, written_path};
pub(crate) use body::{Body, Content, FORM, Part, TEXT};
pub(crate) use credentials::{is_issued, is_secret_variable, mark_variable};
pub(crate) use graphql::operation as graphql_operation;
pub(crate) use importer::{Importer, MOST_REQUESTS, Source, too_many_requests};
pub(crate) use marks::{MarkKind, behind_mark, clean, first_mark, has_marks, mark, quoted};
pub(crate) use noise::is_browser_noise;
pub(crate) use request::Credentials;
pub(crate) use words::{path_shape, snake};

/// How a collection or a recording shall be read.
#[derive(Debug, Default, Clone)]
pub struct ExampleOptions {
    /// Put before every tool's name.
    pub name: Option<String>,
    /// Only these: a tool's name or `METHOD /path`. Empty: all.
    pub only: Vec<String>,
    /// Where requests go whose address begins with a variable that nobody gave a value.
    pub base_url: Option<String>,
    /// Makes the import end early, with an error.
    pub cancel: CancelFlag,
}

/// Every message about example requests.
pub(super) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [address::TEMPLATES, draft::TEMPLATES, importer::TEMPLATES, request::TEMPLATES]
        .into_iter()
        .flatten()
        .copied()
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
    /// What the source says its variables are: those of this request, and those of all.
    pub(crate) values: HashMap<String, String>,
    pub(crate) shared_values: Rc<HashMap<String, String>>,
    /// Its path in other spellings of the source.
    pub(crate) written_paths: Vec<String>,
    /// Where in the source it stands: `Folder / Name`.
    pub(crate) place: Option<String>,
    /// What the source asks for and the tool goes without.
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

    /// The value of a header; the last one where there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().rev().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// What a variable is, where the source says so.
    pub(crate) fn value(&self, variable: &str) -> Option<&str> {
        self.values.get(variable).or_else(|| self.shared_values.get(variable)).map(String::as_str)
    }

    /// Method, host and path in one line, in which every id is the same.
    pub(crate) fn shape(&self) -> String {
        format!("{} {}{}", self.method, self.address.authority(), path_shape(&self.address.segments))
    }
}
