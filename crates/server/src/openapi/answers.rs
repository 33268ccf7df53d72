//! What the document says of answers: the envelope of those that worked, and every way to fail.

use std::collections::BTreeSet;

use axum::http::Method;
use haft_core::ErrorKind;
use serde_json::{Map, Value, json};

use super::reference;
use crate::api::{Base, Needs, Route};
use crate::error;

/// Components that are sent without an envelope, and what they are.
const AS_THEY_STAND: [(&str, &str); 6] = [
    ("ArtifactBytes", "application/octet-stream"),
    ("ConversationFile", "application/json"),
    ("OpenApiDocument", "application/json"),
    ("DocsPage", "text/html"),
    ("DocsScript", "text/javascript"),
    ("DocsStyle", "text/css"),
];

/// What has no end and no envelope: events, each a block of its own.
const STREAM: &str = "EventStream";

/// Things whose removal, too, may say which version it means.
const REMOVED_BY_VERSION: [&str; 3] = ["Tool", "Agent", "Alert"];

/// The body does not come, is too large, or not JSON: malformed, each with a status of its own.
const OF_BODIES: [u16; 3] = [408, 413, 415];

/// All answers of a route, by status.
pub(super) fn of(route: &Route, components: &Value) -> Value {
    let mut answers = Map::new();
    for (status, component) in successes(route, components) {
        answers.insert(status.to_string(), success(route, components, status, component));
    }
    if is_sent_as_it_stands(route) {
        answers.insert(
            "304".to_owned(),
            json!({"description": "Not modified: the content still matches the ETag."}),
        );
    }
    for status in failing(route) {
        let answer = match own_failure(route) {
            Some(component) => failure(status, component),
            None => reference("responses", &shared_name(status)),
        };
        answers.insert(status.to_string(), answer);
    }
    Value::Object(answers)
}

/// The ways to fail that routes have in common.
pub(super) fn shared(routes: &[Route]) -> Value {
    let statuses: BTreeSet<u16> =
        routes.iter().filter(|route| own_failure(route).is_none()).flat_map(failing).collect();
    let answers: Map<String, Value> =
        statuses.into_iter().map(|status| (shared_name(status), failure(status, "Error"))).collect();
    Value::Object(answers)
}

fn shared_name(status: u16) -> String {
    format!("Error{status}")
}

pub(super) fn is_sent_as_it_stands(route: &Route) -> bool {
    route.doc.answers.iter().any(|(_, component)| media_type(component).is_some())
}

pub(super) fn is_stream(route: &Route) -> bool {
    route.doc.answers.iter().any(|(_, component)| *component == STREAM)
}

fn media_type(component: &str) -> Option<&'static str> {
    AS_THEY_STAND.iter().find(|(name, _)| *name == component).map(|(_, media_type)| *media_type)
}

fn has(components: &Value, component: &str, property: &str) -> bool {
    components["schemas"][component]["properties"].get(property).is_some()
}

/// Whether a request may say which version it builds upon.
pub(super) fn takes_version(route: &Route, components: &Value) -> bool {
    let versioned = |(_, component): &(u16, &str)| match route.method {
        Method::PUT | Method::PATCH => has(components, component, "version"),
        Method::POST => route.path.contains('{') && has(components, component, "version"),
        Method::DELETE => REMOVED_BY_VERSION.contains(component),
        _ => false,
    };
    route.doc.answers.iter().any(versioned)
}

/// A dry run stores nothing, so it answers 200 where 201 says that something was made.
fn successes(route: &Route, components: &Value) -> Vec<(u16, &'static str)> {
    let mut answers = route.doc.answers.clone();
    let made = answers.iter().find(|(status, _)| *status == 201).map(|(_, component)| *component);
    if let Some(component) = made.filter(|_| has_dry_run(route, components))
        && !answers.iter().any(|(status, _)| *status == 200)
    {
        answers.push((200, component));
    }
    answers.sort_by_key(|(status, _)| *status);
    answers
}

fn has_dry_run(route: &Route, components: &Value) -> bool {
    route.doc.parameters.iter().any(|(name, ..)| *name == "dryRun")
        || route.doc.body.is_some_and(|body| has(components, body, "dryRun"))
}

fn success(route: &Route, components: &Value, status: u16, component: &str) -> Value {
    let data = reference("schemas", component);
    if let Some(media_type) = media_type(component) {
        return json!({
            "description": "The content itself, without an envelope.",
            "headers": {"ETag": reference("headers", "ContentTag")},
            "content": {media_type: {"schema": data}},
        });
    }
    let mut headers = json!({"x-request-id": reference("headers", "RequestId")});
    if route.base == Base::V1 {
        let mut content = json!({"application/json": {"schema": data}});
        if route.method == Method::POST {
            content["text/event-stream"] = json!({"schema": reference("schemas", STREAM)});
        }
        return json!({"description": "A response in OpenAI's format.", "headers": headers, "content": content});
    }
    if component == STREAM {
        return json!({
            "description": "Server-sent events, without an envelope, until the client or the server ends the stream.",
            "headers": headers,
            "content": {"text/event-stream": {"schema": data}},
        });
    }
    if has(components, component, "version") {
        headers["ETag"] = reference("headers", "ETag");
    }
    if route.path == "/login" {
        headers["Set-Cookie"] = reference("headers", "Session");
    }
    let envelope = json!({
        "type": "object",
        "required": ["code", "message", "data"],
        "additionalProperties": false,
        "properties": {"code": {"const": status}, "message": {"const": "success"}, "data": data},
    });
    let says = match status {
        201 => "Created.",
        _ if has_dry_run(route, components) => {
            "Success; with dryRun, the request was checked and nothing was stored."
        }
        _ => "Success.",
    };
    json!({"description": says, "headers": headers, "content": {"application/json": {"schema": envelope}}})
}

fn is_call(route: &Route) -> bool {
    route.path.ends_with("/execute") || route.path.ends_with("/replay")
}

/// How a route fails that does not fail like all others.
fn own_failure(route: &Route) -> Option<&'static str> {
    match route.base {
        Base::V1 => Some("OpenAiError"),
        Base::Api if is_call(route) => Some("ExecutionError"),
        Base::Api => is_asked(route).then_some("ChatFailure"),
    }
}

/// Statuses that a route may fail with.
fn failing(route: &Route) -> BTreeSet<u16> {
    if is_sent_as_it_stands(route) && route.needs == Needs::Nothing {
        return BTreeSet::new();
    }
    let of_kinds = kinds(route).into_iter().map(|kind| error::status(kind).as_u16());
    let of_body = OF_BODIES.into_iter().filter(|_| route.doc.body.is_some());
    of_kinds.chain(of_body).collect()
}

/// Whether a model is asked, which may fail in every way, and of which there is more to tell than its failure.
fn is_asked(route: &Route) -> bool {
    route.path.starts_with("/chat") || route.path.ends_with("/continue")
}

fn kinds(route: &Route) -> Vec<ErrorKind> {
    if is_call(route) || is_asked(route) || (route.base == Base::V1 && route.method == Method::POST) {
        return ErrorKind::ALL.to_vec();
    }
    let mut kinds = vec![
        ErrorKind::BadRequest,
        ErrorKind::Unauthorized,
        ErrorKind::Permission,
        ErrorKind::RateLimit,
        ErrorKind::Internal,
        ErrorKind::Unavailable,
    ];
    if route.needs != Needs::Nothing || route.path.contains('{') {
        kinds.push(ErrorKind::NotFound);
    }
    // What is not on record whole cannot be copied, either.
    if route.method != Method::GET || route.path.ends_with("/curl") {
        kinds.push(ErrorKind::Conflict);
    }
    // The one route besides calls that fetches something from elsewhere.
    if route.path == "/tools/import/openapi" {
        kinds.extend([ErrorKind::Execution, ErrorKind::Network, ErrorKind::Timeout]);
    }
    kinds
}

fn failure(status: u16, component: &str) -> Value {
    let mut headers = json!({
        "x-request-id": reference("headers", "RequestId"),
        "x-should-retry": reference("headers", "ShouldRetry"),
    });
    if [429, 503].contains(&status) {
        headers["Retry-After"] = reference("headers", "RetryAfter");
    }
    json!({
        "description": format!("{} Kinds: {}.", said_of(status), kinds_of(status).join(", ")),
        "headers": headers,
        "content": {"application/json": {"schema": reference("schemas", component)}},
    })
}

fn kinds_of(status: u16) -> Vec<String> {
    let kinds: Vec<String> = ErrorKind::ALL
        .into_iter()
        .filter(|kind| error::status(*kind).as_u16() == status)
        .map(|kind| kind.to_string())
        .collect();
    if kinds.is_empty() { vec![ErrorKind::BadRequest.to_string()] } else { kinds }
}

fn said_of(status: u16) -> &'static str {
    match status {
        400 => "The request is invalid; the message says what is wrong and where.",
        401 => "The token or session is missing or invalid.",
        403 => "The role or the scope is not sufficient, or the user is not a member of the session's space.",
        404 => "The resource does not exist, or the caller may not see it.",
        408 => "The body did not arrive in time.",
        409 => {
            "The request conflicts with the current state: a stale version, a name that is taken, a resource in use."
        }
        413 => "The body, or a file in it, is larger than the route allows; the message contains the limit.",
        415 => "The body is not JSON, or not a form where a form is required.",
        422 => "The request was executed and failed.",
        429 => "Too many requests; wait.",
        499 => "The client disconnected.",
        500 => "The server failed.",
        502 => "The upstream failed.",
        503 => "Temporarily unavailable; retry later.",
        504 => "The upstream took too long.",
        _ => "The request failed.",
    }
}
