//! The server's own OpenAPI document, made from the table of routes, so that none is missing from it.
//!
//! The shapes of bodies are written by hand in `components.json`; no handler lives here.

mod answers;
mod asset;
#[cfg(test)]
mod tests;

pub(crate) use asset::Asset;

use std::sync::LazyLock;

use axum::http::HeaderMap;
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::api::{Base, Needs, Route};
use crate::app::routes;

/// Bodies that are forms, with files in them.
const FORMS: [&str; 1] = ["NewArtifact"];

/// Bodies that may be left out.
const OPTIONAL: [&str; 2] = ["Replay", "ProviderTrial"];

const ABOUT: &str = "Every response has the same envelope: `{code, message, data}`, and `error` if the request failed; `code` is the HTTP status.\n\
    Bodies are JSON in camelCase. The snake_case spelling of every field is accepted, too. An unknown field returns 400 with its name.\n\
    Messages are in English or Chinese, according to `Accept-Language`. Every response has an `x-request-id`, which the server's log contains, too.\n\
    An unknown path returns 404, an unsupported method 405. Resources of a space are visible to its members only; everyone else gets 404.\n\
    Routes below `/v1` use OpenAI's formats instead, also for errors, and ignore unknown fields.";

/// The document as JSON text. Generated at the first request for it: at the start of the server, it would take a
/// quarter of the CPU time and half of the heap.
static TEXT: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("application/json", document(&routes()).to_string().into()));

/// Returns the response to a request for the document.
pub(crate) fn response(headers: &HeaderMap) -> Response {
    TEXT.answer(headers)
}

/// The document of a table of routes.
pub(crate) fn document(routes: &[Route]) -> Value {
    let mut components = components();
    let mut paths = Map::new();
    for route in routes {
        // A name that may hold slashes is a parameter as any other.
        let path = paths.entry(route.full_path().replace("{*", "{")).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route, &components);
    }
    components["responses"] = answers::shared(routes);
    json!({
        "openapi": "3.1.1",
        "info": {
            "title": "Haft",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Define a tool once; agents, OpenAI clients, REST and the command line call it.",
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": tags(routes),
        "paths": paths,
        "components": components,
    })
}

/// A test shows that the file is good.
fn components() -> Value {
    serde_json::from_str(include_str!("components.json")).unwrap_or_default()
}

fn operation(route: &Route, components: &Value) -> Value {
    let (word, mut scopes, roles) = rights(route.needs);
    let checked = route.doc.checks.map(|(scope, says)| ([scope.as_str()], says));
    if let Some((scope, _)) = &checked {
        scopes = scope;
    }
    let security = match route.needs {
        Needs::Nothing => json!([]),
        Needs::ReadOrLink | Needs::EditOrLink => {
            json!([{"bearer": scopes}, {"session": roles}, {"link": []}])
        }
        Needs::Identity
        | Needs::Read
        | Needs::Call
        | Needs::Edit
        | Needs::SpaceAdmin
        | Needs::OperatorRead
        | Needs::Operator => json!([{"bearer": scopes}, {"session": roles}]),
    };
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [tag(route)],
        "summary": route.doc.summary,
        "x-needs": word,
        "security": security,
        "parameters": parameters(route, components),
    });
    if let Some((_, says)) = checked {
        operation["description"] = says.into();
    }
    if let Some(body) = route.doc.body {
        let media_type = if FORMS.contains(&body) { "multipart/form-data" } else { "application/json" };
        let content = json!({media_type: {"schema": reference("schemas", body)}});
        operation["requestBody"] = json!({"required": !OPTIONAL.contains(&body), "content": content});
    }
    operation["responses"] = answers::of(route, components);
    operation
}

/// The word for what a route needs, with the scope of a token and the role that go with it.
fn rights<'a>(needs: Needs) -> (&'static str, &'a [&'static str], &'static [&'static str]) {
    match needs {
        Needs::Nothing => ("nothing", &[], &[]),
        Needs::Identity => ("identity", &[], &[]),
        Needs::Read | Needs::ReadOrLink => ("read", &["read"], &["viewer"]),
        Needs::Call => ("call", &["call"], &["caller"]),
        Needs::Edit | Needs::EditOrLink => ("edit", &["admin"], &["editor"]),
        Needs::SpaceAdmin => ("spaceAdmin", &["admin"], &["admin"]),
        Needs::OperatorRead => ("operatorRead", &["read"], &["operator"]),
        Needs::Operator => ("operator", &["admin"], &["operator"]),
    }
}

/// `GET /tools/{id}/versions` as `getToolsByIdVersions`.
fn operation_id(route: &Route) -> String {
    let mut id = route.method.as_str().to_ascii_lowercase();
    if route.base == Base::V1 {
        id.push_str("V1");
    }
    for segment in segments(route.path) {
        match placeholder(segment) {
            Some(name) => id.extend(["By".to_owned(), capitalized(name)]),
            None => id.extend(segment.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized)),
        }
    }
    id
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

fn placeholder(segment: &str) -> Option<&str> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    Some(name.strip_prefix('*').unwrap_or(name))
}

fn parameters(route: &Route, components: &Value) -> Vec<Value> {
    let mut parameters: Vec<Value> =
        segments(route.path).filter_map(placeholder).map(path_parameter).collect();
    for (name, kind, says) in &route.doc.parameters {
        parameters.push(json!({"name": name, "in": "query", "description": says, "schema": schema(kind)}));
    }
    if answers::takes_version(route, components) {
        parameters.push(reference("parameters", "IfMatch"));
    }
    if answers::is_sent_as_it_stands(route) {
        parameters.push(reference("parameters", "IfNoneMatch"));
    }
    if answers::is_stream(route) {
        parameters.push(reference("parameters", "LastEventId"));
    }
    if route.needs != Needs::Nothing {
        parameters.push(reference("parameters", "HaftSpace"));
    }
    parameters
}

fn path_parameter(name: &str) -> Value {
    let (kind, says) = match name {
        "n" | "version" => ("integer", "The version number."),
        "id" => ("string", "The id. For tools and agents, also the name."),
        "name" => ("string", "The name."),
        "toolId" => ("string", "The id or name of a tool."),
        "user" => ("string", "The id or name of a user."),
        _ => ("string", "The id or name."),
    };
    json!({"name": name, "in": "path", "required": true, "description": says, "schema": schema(kind)})
}

/// The schema of a parameter: a type of JSON, a format of text, or words between `|`.
fn schema(kind: &str) -> Value {
    match kind {
        "date-time" | "uuid" => json!({"type": "string", "format": kind}),
        _ if kind.contains('|') => json!({"type": "string", "enum": kind.split('|').collect::<Vec<_>>()}),
        _ => json!({"type": kind}),
    }
}

fn reference(part: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{part}/{name}")})
}

/// Routes belong together by the first segment of their path, and those in OpenAI's form by that.
fn tag(route: &Route) -> &str {
    if route.base == Base::V1 {
        return "v1";
    }
    match segments(route.path).next().unwrap_or_default() {
        "login" | "logout" | "me" => "identity",
        "openapi.json" | "docs" => "documentation",
        noun => noun,
    }
}

fn tags(routes: &[Route]) -> Vec<Value> {
    let mut names: Vec<&str> = Vec::new();
    for route in routes {
        let name = tag(route);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| json!({"name": name, "description": said_of_tag(name)})).collect()
}

fn said_of_tag(name: &str) -> &'static str {
    match name {
        "tools" => "Tools: definitions, versions, calls and imports.",
        "tool-calls" => "The call log, and repeating calls.",
        "stats" => "Call statistics: counts, outcomes and durations.",
        "events" => "Event streams. Not in the envelope.",
        "agents" => "Agents: models with instructions and tools.",
        "providers" => "Model providers.",
        "alerts" => "Alerts: metrics with limits, and the webhooks to call.",
        "artifacts" => "Files that calls read. File contents are not in the envelope.",
        "secrets" => "Credentials that tools use. Values are never returned.",
        "spaces" => "Spaces that teams share, and their members.",
        "users" => "User accounts.",
        "tokens" => "API tokens.",
        "changes" => "The change log: who changed what, and when.",
        "audit" => "Verification of the change log and the call log.",
        "identity" => "Authentication and current user.",
        "v1" => "The OpenAI-compatible API. Neither its responses nor its errors are in the envelope.",
        "documentation" => "This document and the page that displays it. Not in the envelope.",
        _ => "",
    }
}
