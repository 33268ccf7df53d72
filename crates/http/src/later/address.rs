//! Where one asks how a job stands: an address that the answer gives, or one that is made of what it says.

use haft_core::text::{Part, Text, Variable};
use haft_core::{CallContext, CallError, ErrorKind, Message, Violation};
use haft_egress::Answer;
use serde_json::{Map, Value};
use url::Url;

use crate::config::Config;
use crate::fill::{Filling, as_text};
use crate::url::UrlTemplate;

haft_core::templates! {
    NO_ADDRESS = "http.noPollAddress",
        "{host} took the job on, and does not say where to ask for it",
        "{host} 已受理任务，但没有说明在何处查询";
    NO_SECRET = "http.secretInPollUrl",
        "must hold no secret, since it is kept while the job goes on; headers and auth are sent with it",
        "不能包含密钥，因为任务进行期间会保存该地址；请求头和 auth 会随之发送";
    NO_FIELD = "http.noPollField",
        "{host} took the job on, and its answer has no {field}, which the address to ask at is made of",
        "{host} 已受理任务，但应答中没有构成查询地址的 {field}";
}

/// Headers in which upstreams say where a job is found.
const HEADERS: [&str; 3] = ["operation-location", "azure-asyncoperation", "location"];

pub(super) enum Address {
    /// In a header of the answer.
    Header,
    /// A field of the answer is the address.
    Field(Variable),
    /// Made of fields of the answer, and of arguments.
    Made(UrlTemplate),
}

impl Address {
    pub(super) fn parse(
        written: Option<&str>,
        config: &Config,
        violations: &mut Vec<Violation>,
    ) -> Option<Self> {
        let Some(written) = written else { return Some(Self::Header) };
        let read = match Text::parse(written) {
            Ok(text) => match text.parts() {
                [Part::Variable(variable)] => Ok(Self::Field(variable.clone())),
                // It is kept as it is filled in, and no secret may be.
                parts if parts.iter().any(|part| matches!(part, Part::Secret(_))) => {
                    Err(Message::new(&NO_SECRET))
                }
                _ => UrlTemplate::parse(&absolute(written, config)).map(Self::Made),
            },
            Err(message) => Err(message),
        };
        read.map_err(|message| violations.push(Violation::new("poll.url", message))).ok()
    }

    /// The origin of an address that does not depend on the upstream's answer.
    pub(super) fn origin(&self) -> Option<&Url> {
        match self {
            Self::Made(url) => Some(url.origin()),
            Self::Header | Self::Field(_) => None,
        }
    }

    /// Where to ask, by what an upstream said when it took the job on.
    pub(super) fn find(
        &self,
        answer: &Answer,
        said: &Value,
        arguments: &Value,
        context: &CallContext,
    ) -> Result<Url, CallError> {
        let host = answer.from.host_str();
        let none = || CallError::new(ErrorKind::Execution, Message::new(&NO_ADDRESS).with("host", host));
        let given = match self {
            Self::Header => {
                let given = HEADERS.iter().find_map(|name| answer.headers.get(*name)?.to_str().ok());
                given.ok_or_else(none)?.to_owned()
            }
            Self::Field(variable) => {
                let given = variable.find(said).filter(|given| given.is_string());
                let missing = || {
                    let message = Message::new(&NO_FIELD).with("host", host).with("field", variable);
                    CallError::new(ErrorKind::Execution, message)
                };
                as_text(given.ok_or_else(missing)?).into_owned()
            }
            Self::Made(url) => {
                let known = both(arguments, said);
                let mut filling = Filling::to_send(&known, context);
                let path = url.fill(&mut filling);
                if let Some(field) = filling.first_wrong() {
                    let message = Message::new(&NO_FIELD).with("host", host).with("field", field);
                    return Err(CallError::new(ErrorKind::Execution, message));
                }
                return url.origin().join(&path).map_err(|_| none());
            }
        };
        answer.url().join(given.trim()).map_err(|_| none())
    }
}

/// A path alone is one at the tool's own origin.
fn absolute(written: &str, config: &Config) -> String {
    if !written.starts_with('/') {
        return written.to_owned();
    }
    let own = config.base_url.as_deref().or(config.url.as_deref()).unwrap_or_default();
    let end = own.find("://").and_then(|at| own[at + 3..].find('/').map(|slash| at + 3 + slash));
    format!("{}{written}", &own[..end.unwrap_or(own.len())])
}

/// What the upstream said; and the arguments, where it does not say the same by that name.
fn both(arguments: &Value, said: &Value) -> Value {
    let mut known: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    known.extend(said.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    Value::Object(known)
}
