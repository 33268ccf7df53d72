//! Whole requests, good and bad: path, parameters, headers and body.

use std::fmt;

use axum::http::Method;
use serde_json::Value;

use super::generate::{Generator, Rng};
use super::{Fixtures, resolved};
use crate::permissions::good_body;

/// Ids, names and numbers that no resource has, percent-encoded for a path.
const ODD_PATHS: [&str; 17] = [
    "0190b5a0-0000-7000-8000-000000000000",
    "%00",
    "..%2f..%2fetc",
    "%ff",
    "%E5%A4%A9",
    "%20",
    "a%0Ab",
    "-1",
    "0",
    "2",
    "99999999999999999999",
    "9223372036854775808",
    "nope",
    "%F0%9F%98%80",
    "a%2Fb",
    "%25",
    "null",
];

/// Unusual parameter values, percent-encoded. Some are cursors: of two texts, with NUL in one, of numbers.
const ODD_PARAMETERS: [&str; 23] = [
    "",
    "-1",
    "0",
    "1",
    "200",
    "201",
    "99999999999",
    "9223372036854775808",
    "18446744073709551615",
    "abc",
    "%00",
    "%ff",
    "true",
    "false",
    "me",
    "system",
    "%E5%A4%A9",
    "WyJhIiwiYiJd",
    "WyJhXHUwMDAwIiwiYiJd",
    "WzEsMl0",
    "%25",
    "null",
    "1.5",
];

const ODD_VERSIONS: [&str; 8] =
    ["1", "\"1\"", "*", "abc", "\"2\"", "18446744073709551615", "9223372036854775808", "-1"];

const LONG: usize = 3000;

pub(super) struct Request {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        let shown: String = body.chars().take(2000).collect();
        write!(f, "{} {} {:?} {shown}", self.method, self.target, self.headers)
    }
}

/// Builds a random request for an operation.
pub(super) fn request(
    generator: &mut Generator<'_>,
    document: &Value,
    fixtures: &Fixtures,
    (method, path, operation): (&str, &str, &Value),
) -> Request {
    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("a method");
    let mut target = fill(&mut generator.rng, fixtures, path);
    let mut headers = Vec::new();
    let mut parameters = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = resolved(document, parameter);
        let name = parameter["name"].as_str().expect("a name");
        if parameter["in"] == "query" && generator.rng.chance(30) {
            let given = format!("{name}={}", parameter_value(generator, &parameter["schema"]));
            let times = if generator.rng.chance(5) { 2 } else { 1 };
            parameters.extend(std::iter::repeat_n(given, times));
        }
        if parameter["in"] == "header" && generator.rng.chance(25) {
            let name = match name {
                "If-Match" => "if-match",
                "If-None-Match" => "if-none-match",
                "Last-Event-ID" => "last-event-id",
                _ => "haft-space",
            };
            headers.push((name, (*generator.rng.pick(&ODD_VERSIONS)).to_owned()));
        }
    }
    if generator.rng.chance(5) {
        parameters.push("nope=1".to_owned());
    }
    if generator.rng.chance(10) {
        headers.push(("accept-language", "zh".to_owned()));
    }
    if !parameters.is_empty() {
        target = format!("{target}?{}", parameters.join("&"));
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let body = if schema.is_object() {
        body(generator, (&format!("{method} {path}"), schema), &mut headers)
    } else {
        Vec::new()
    };
    Request { method, target, headers, body }
}

/// Fills the `{…}` segments of a path, mostly with existing names and ids.
fn fill(rng: &mut Rng, fixtures: &Fixtures, path: &str) -> String {
    let noun = path.split('/').nth(2).unwrap_or_default();
    let mut segments = Vec::new();
    for segment in path.split('/') {
        let there: Vec<&str> = match (segment, noun) {
            ("{version}", _) => vec!["1"],
            ("{toolId}", _) => vec!["fuzz_tool", "calculator"],
            ("{user}", _) => vec!["fuzz_user", fixtures.user.as_str()],
            ("{name}", _) => vec!["fuzz_secret"],
            ("{id}", "tools") => vec!["fuzz_tool", "fuzz_http", "calculator"],
            ("{id}", "agents" | "models") => vec!["fuzz_agent"],
            ("{id}", "conversations") => vec![fixtures.conversation.as_str()],
            ("{id}", "providers") => vec!["fuzz_provider", "fuzz_script"],
            ("{id}", "spaces") => vec![fixtures.space.as_str()],
            ("{id}", "tokens") => vec![fixtures.token.as_str()],
            ("{id}", "users") => vec![fixtures.user.as_str()],
            ("{id}", "alerts") => vec![fixtures.alert.as_str()],
            ("{id}", "artifacts") => vec![fixtures.artifact.as_str()],
            ("{id}", "tasks" | "approvals" | "callbacks") => vec![fixtures.task.as_str()],
            _ => Vec::new(),
        };
        segments.push(if !segment.starts_with('{') {
            segment.to_owned()
        } else if there.is_empty() || rng.chance(30) {
            (*rng.pick(&ODD_PATHS)).to_owned()
        } else if rng.chance(5) {
            "y".repeat(LONG)
        } else {
            (*rng.pick(&there)).to_owned()
        });
    }
    segments.join("/")
}

fn parameter_value(generator: &mut Generator<'_>, schema: &Value) -> String {
    if generator.rng.chance(5) {
        return "z".repeat(LONG);
    }
    if generator.rng.chance(60) {
        return (*generator.rng.pick(&ODD_PARAMETERS)).to_owned();
    }
    let sample = generator.sample(schema, 1);
    let text = sample.as_str().map_or_else(|| sample.to_string(), str::to_owned);
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Builds a valid body, an invalid one, or none.
fn body(
    generator: &mut Generator<'_>,
    (operation, schema): (&str, &Value),
    headers: &mut Vec<(&'static str, String)>,
) -> Vec<u8> {
    let name = format!("fuzz_{}", generator.rng.below(1_000_000));
    let good = if generator.rng.chance(40) { good_body(operation, &name) } else { None };
    let mut value = good.unwrap_or_else(|| generator.sample(schema, 0));
    let way = generator.rng.below(100);
    if (35..85).contains(&way) {
        for _ in 0..=generator.rng.below(2) {
            generator.spoil(&mut value);
        }
    }
    // Examples name hosts that must not be called.
    let written = value.to_string().replace("https://api.example.com", "http://127.0.0.1:9").into_bytes();
    let is_whole = way < 85;
    let raw = if is_whole { usize::MAX } else { generator.rng.below(9) };
    let content_type = match raw {
        0 => "text/plain",
        1 => "",
        2 => "application/json; charset=utf-16",
        3 => "application/merge-patch+json",
        _ => "application/json",
    };
    if !content_type.is_empty() {
        headers.push(("content-type", content_type.to_owned()));
    }
    match raw {
        4 => written[..written.len() / 2].to_vec(),
        5 => b"{\"name\": 1, \"name\": 2}".to_vec(),
        6 => b"\xef\xbb\xbf{}".to_vec(),
        7 => b"{\"name\": \"\xff\xfe\"}".to_vec(),
        8 => [b"[".repeat(LONG), written].concat(),
        _ => written,
    }
}
