//! The address at which a deferred call is polled: given by the response, or built from its fields.

use haft_core::text::{Text, TextPart, Variable};
use haft_core::{CallContext, CallError, ErrorKind, Message, Violation};
use haft_egress::EgressResponse;
use serde_json::{Map, Value};
use url::Url;

use crate::config::Config;
use crate::fill::{Filling, as_text};
use crate::url::UrlTemplate;

haft_core::templates! {
    NO_ADDRESS = "http.noPollAddress",
        "{host} accepted the job but did not say where to poll for its result",
        "{host} 已受理任务，但没有说明在何处查询";
    NO_SECRET = "http.secretInPollUrl",
        "must not contain a secret, since it is stored while the job runs; headers and auth are sent with it",
        "不能包含密钥，因为任务进行期间会保存该地址；请求头和 auth 会随之发送";
    NO_FIELD = "http.noPollField",
        "{host} accepted the job, but its response lacks {field}, which the poll address needs",
        "{host} 已受理任务，但应答中没有构成查询地址的 {field}";
}

/// Response headers in which upstreams return the address of a job.
const HEADERS: [&str; 3] = ["operation-location", "azure-asyncoperation", "location"];

pub(super) enum Address {
    /// A header of the response.
    Header,
    /// A field of the response.
    Field(Variable),
    /// Built from fields of the response and from arguments.
    Template(UrlTemplate),
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
                [TextPart::Variable(variable)] => Ok(Self::Field(variable.clone())),
                // The address is stored after filling, so it must not contain a secret.
                parts if parts.iter().any(|part| matches!(part, TextPart::Secret(_))) => {
                    Err(Message::new(&NO_SECRET))
                }
                _ => UrlTemplate::parse(&absolute(written, config)).map(Self::Template),
            },
            Err(message) => Err(message),
        };
        read.map_err(|message| violations.push(Violation::new("poll.url", message))).ok()
    }

    /// The origin of the address, if it does not depend on the response.
    pub(super) fn origin(&self) -> Option<&Url> {
        match self {
            Self::Template(url) => Some(url.origin()),
            Self::Header | Self::Field(_) => None,
        }
    }

    /// Determines the poll address from the response that accepted the job.
    pub(super) fn find(
        &self,
        answer: &EgressResponse,
        response: &Value,
        arguments: &Value,
        context: &CallContext,
    ) -> Result<Url, CallError> {
        let host = answer.from.host_str();
        let none = || CallError::new(ErrorKind::Execution, Message::new(&NO_ADDRESS).with("host", host));
        let address = match self {
            Self::Header => {
                let address = HEADERS.iter().find_map(|name| answer.headers.get(*name)?.to_str().ok());
                address.ok_or_else(none)?.to_owned()
            }
            Self::Field(variable) => {
                let address = variable.find(response).filter(|address| address.is_string());
                let missing = || {
                    let message = Message::new(&NO_FIELD).with("host", host).with("field", variable);
                    CallError::new(ErrorKind::Execution, message)
                };
                as_text(address.ok_or_else(missing)?).into_owned()
            }
            Self::Template(url) => {
                let values = merged(arguments, response);
                let mut filling = Filling::to_send(&values, context);
                let path = url.fill(&mut filling);
                if let Some(field) = filling.first_wrong() {
                    let message = Message::new(&NO_FIELD).with("host", host).with("field", field);
                    return Err(CallError::new(ErrorKind::Execution, message));
                }
                return url.origin().join(&path).map_err(|_| none());
            }
        };
        answer.url().join(address.trim()).map_err(|_| none())
    }
}

/// Resolves a path against the tool's origin.
fn absolute(written: &str, config: &Config) -> String {
    if !written.starts_with('/') {
        return written.to_owned();
    }
    let own = config.base_url.as_deref().or(config.url.as_deref()).unwrap_or_default();
    let end = own.find("://").and_then(|at| own[at + 3..].find('/').map(|slash| at + 3 + slash));
    format!("{}{written}", &own[..end.unwrap_or(own.len())])
}

/// The arguments, overridden by the fields of the response.
fn merged(arguments: &Value, response: &Value) -> Value {
    let mut values: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    values.extend(
        response.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
    );
    Value::Object(values)
}
