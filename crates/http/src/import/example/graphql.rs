//! GraphQL requests: the operation name, which distinguishes requests to the same URL.

use serde_json::Value;

use super::marks::quoted;
use super::{Body, Example};

/// Keywords at the start of operations.
const KINDS: [&str; 3] = ["query", "mutation", "subscription"];

/// Maximum length of an operation name.
const LONGEST_NAME: usize = 100;

/// The name of the requested operation. Returns `None` if the request is not GraphQL.
pub(crate) fn operation(example: &Example) -> Option<String> {
    match &example.body {
        Some(Body::Raw { text, .. }) if text.contains("\"query\"") || text.contains("\"operationName\"") => {
            of_json(&serde_json::from_str::<Value>(&quoted(text)).ok()?)
        }
        Some(Body::Json(value)) => of_json(value),
        Some(Body::Raw { .. } | Body::Form(_) | Body::Multipart(_)) => None,
        None => {
            let pair = |name: &str| example.address.query.iter().find(|(known, _)| known == name);
            let text = |name: &str| pair(name).and_then(|(_, value)| value.as_deref());
            let is_persisted = text("extensions").is_some();
            OperationFields { name: text("operationName"), query: text("query"), is_persisted }.name()
        }
    }
}

fn of_json(body: &Value) -> Option<String> {
    // A batch is named after its first operation.
    let body = body.as_array().and_then(|operations| operations.first()).unwrap_or(body);
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let is_persisted = body.get("extensions").is_some();
    OperationFields { name: text("operationName"), query: text("query"), is_persisted }.name()
}

/// The parts of a request that identify its operation.
struct OperationFields<'a> {
    name: Option<&'a str>,
    query: Option<&'a str>,
    /// A persisted query: the server stores the text.
    is_persisted: bool,
}

impl OperationFields<'_> {
    fn name(&self) -> Option<String> {
        let inside = match self.query {
            Some(query) => Some(first_name(query)?),
            None if self.is_persisted => None,
            None => return None,
        };
        let is_word =
            |text: &&str| !text.is_empty() && text.len() <= LONGEST_NAME && word(text).len() == text.len();
        self.name.filter(is_word).or(inside.filter(is_word)).map(str::to_owned)
    }
}

/// The operation's name, or its first field. Returns `None` if the text is not an operation.
fn first_name(query: &str) -> Option<&str> {
    let mut rest = query.trim_start();
    while let Some(comment) = rest.strip_prefix('#') {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
    }
    let fields = rest.split_once('{').map(|(_, fields)| fields.trim_start())?;
    let kind = word(rest);
    if !rest.starts_with('{') && kind != "fragment" && !KINDS.contains(&kind) {
        return None;
    }
    let name = rest.strip_prefix(kind).map(|rest| word(rest.trim_start())).unwrap_or_default();
    Some(if kind.is_empty() || name.is_empty() { word(fields) } else { name })
}

/// The word at the start of a text.
fn word(text: &str) -> &str {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = text.find(|character: char| !is_part(character)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_identified_by_name() {
        for (body, name) in [
            (json!({"operationName": "GetUser", "query": "query GetUser { user { id } }"}), Some("GetUser")),
            (json!({"query": "mutation AddUser($a: Int) { add(a: $a) }"}), Some("AddUser")),
            (json!({"query": "query($id: ID!) { user(id: $id) { name } }"}), Some("user")),
            (json!({"query": "# a remark\n{ orders { id } }", "operationName": null}), Some("orders")),
            (json!([{"query": "query A { a }"}, {"query": "query B { b }"}]), Some("A")),
            (json!({"operationName": "Stored", "extensions": {"persistedQuery": {}}}), Some("Stored")),
            (json!({"query": "shoes"}), None),
            (json!({"query": "query shoes"}), None),
            (json!({"operationName": "x"}), None),
            (json!({"operationName": "a b", "query": "{ }"}), None),
            (json!([]), None),
            (json!("query A { a }"), None),
        ] {
            assert_eq!(of_json(&body).as_deref(), name, "{body}");
        }
    }
}
