//! One request of a collection: URL, headers, body and auth in all their formats.

use std::collections::HashMap;

use haft_core::Message;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::variables::Variables;
use crate::fill::as_text;
use crate::import::example::{
    Address, Body, Content, Credentials, Example, Part, TEXT, behind_mark, first_mark, has_marks, quoted,
    sanitize, written_path,
};

haft_core::templates! {
    NO_URL = "import.postman.noUrl",
        "it has no URL",
        "没有 URL";
    NO_BASE = "import.postman.noBase",
        "the variable {name} determines the address but has no value in the collection; give baseUrl",
        "变量 {name} 决定请求地址，但集合中没有它的值；请提供 baseUrl";
    AUTH_KIND = "import.postman.authKind",
        "auth of the type {kind} has to be computed for each request, which a tool cannot do",
        "{kind} 类型的认证需要为每个请求计算，工具无法做到";
    FILE_BODY = "import.postman.fileBody",
        "its body is a file",
        "请求体是文件";
    BODY_MODE = "import.postman.bodyMode",
        "the body mode {mode} is not supported",
        "无法识别 {mode} 类型的请求体";
}

/// Parses a request; `auth` is its own or inherited; `base_url` replaces a variable without a value.
pub(super) fn read(
    request: &Value,
    auth: Option<&Value>,
    variables: &Variables,
    base_url: Option<&str>,
) -> Result<Example, Message> {
    let read = read_request(request, auth, variables, base_url);
    // If a text was truncated, that error takes precedence.
    variables.check().and(read)
}

fn read_request(
    request: &Value,
    auth: Option<&Value>,
    variables: &Variables,
    base_url: Option<&str>,
) -> Result<Example, Message> {
    let url = request.get("url").unwrap_or(request);
    let written = written_url(url).ok_or_else(|| Message::new(&NO_URL))?;
    let address = address(url, &written, variables, base_url)?;
    let method = request.get("method").and_then(Value::as_str).filter(|method| !method.is_empty());
    let mut example = Example::new(method.unwrap_or("GET"), address);
    example.written_paths.extend(written_path(&written));
    example.values = path_values(url, variables);
    example.shared_values = variables.secrets();
    example.headers = headers(request.get("header"), variables);
    example.credentials = auth.map(|auth| credentials(auth, variables)).transpose()?.flatten();
    example.body = match request.get("body").filter(|body| is_on(body)) {
        Some(body) => read_body(body, variables)?,
        None => None,
    };
    Ok(example)
}

fn is_on(listed: &Value) -> bool {
    listed.get("disabled") != Some(&Value::Bool(true))
}

/// The items of a list that are enabled.
fn enabled(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten().filter(|listed| is_on(listed))
}

/// A field as text. Returns `None` if it is absent or null.
fn text(object: &Value, field: &str) -> Option<String> {
    object.get(field).filter(|value| !value.is_null()).map(|value| as_text(value).into_owned())
}

/// The URL as written, with its variables.
fn written_url(url: &Value) -> Option<String> {
    let whole = url.as_str().map(str::to_owned).or_else(|| text(url, "raw"));
    whole.filter(|raw| !raw.trim().is_empty()).or_else(|| joined(url))
}

fn address(
    url: &Value,
    written: &str,
    variables: &Variables,
    base_url: Option<&str>,
) -> Result<Address, Message> {
    let listed = url.get("query").filter(|query| query.is_array());
    let written = match (listed, written.split_once('?')) {
        (Some(_), Some((before, _))) => before,
        (Some(_) | None, _) => written,
    };
    let resolved = variables.resolve(written.trim());
    let (origin, rest) = split_origin(&resolved);
    let mut address = match (open_variable(origin), base_url) {
        (None, _) => Address::parse(&resolved)?,
        (Some(_), Some(base)) => Address::parse(&based(base, origin, rest))?,
        (Some(name), None) => return Err(Message::new(&NO_BASE).with("name", name)),
    };
    // Values in the table are literal, except percent-encodings.
    let decoded = |text: &str| percent_decode_str(&variables.resolve(text)).decode_utf8_lossy().into_owned();
    for pair in enabled(listed) {
        let Some(name) = text(pair, "key").filter(|name| !name.is_empty()) else { continue };
        address.query.push((decoded(&name), text(pair, "value").map(|value| decoded(&value))));
    }
    address.mark_named_segments();
    Ok(address)
}

/// Splits a URL after its origin.
fn split_origin(url: &str) -> (&str, &str) {
    let is_scheme = |at: &usize| url.get(..*at).is_some_and(|before| !before.contains(['/', '?', '#']));
    let start = url.find("://").filter(is_scheme).map_or(0, |at| at + 3);
    let rest = url.get(start..).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    url.split_at(end)
}

/// The variable that makes an origin unknown. A user name may be a variable.
fn open_variable(origin: &str) -> Option<&str> {
    let scheme = origin.split_once("://").map_or("", |(scheme, _)| scheme);
    let host = origin.rsplit_once('@').map_or(origin, |(_, host)| host);
    first_mark(scheme).or_else(|| first_mark(host))
}

/// Replaces the variable at the start of a URL by a base URL.
fn based(base: &str, origin: &str, rest: &str) -> String {
    let base = base.trim_end_matches('/');
    match behind_mark(origin) {
        // Two variables: the second belongs to the path.
        Some(behind) if !behind.is_empty() && !behind.starts_with(':') => format!("{base}/{behind}{rest}"),
        Some(_) | None => format!("{base}{rest}"),
    }
}

/// A URL that is given only in parts.
fn joined(url: &Value) -> Option<String> {
    let join = |field: &str, between: &str| match url.get(field)? {
        Value::Array(parts) => {
            let part = |part: &Value| text(part, "value").unwrap_or_else(|| as_text(part).into_owned());
            Some(parts.iter().map(part).collect::<Vec<_>>().join(between))
        }
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let scheme = text(url, "protocol").map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let port = text(url, "port").map(|port| format!(":{port}")).unwrap_or_default();
    let path = join("path", "/").unwrap_or_default();
    Some(format!("{scheme}{}{port}/{}", join("host", ".")?, path.trim_start_matches('/')))
}

/// The values of path variables.
fn path_values(url: &Value, variables: &Variables) -> HashMap<String, String> {
    let value = |listed: &Value| {
        let name = text(listed, "key").or_else(|| text(listed, "id"))?;
        let value = variables.resolve(&text(listed, "value")?);
        (!value.is_empty() && !has_marks(&value)).then_some((name, value))
    };
    enabled(url.get("variable")).filter_map(value).collect()
}

fn headers(header: Option<&Value>, variables: &Variables) -> Vec<(String, String)> {
    // Old collections store headers as lines.
    if let Some(lines) = header.and_then(Value::as_str) {
        let pair = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), variables.resolve(value.trim())))
        };
        return lines.lines().filter_map(pair).collect();
    }
    let pair = |listed: &Value| {
        let name = text(listed, "key").filter(|name| !name.is_empty())?;
        Some((variables.resolve(name.trim()), variables.resolve(&text(listed, "value").unwrap_or_default())))
    };
    enabled(header).filter_map(pair).collect()
}

fn credentials(auth: &Value, variables: &Variables) -> Result<Option<Credentials>, Message> {
    let kind = auth.get("type").and_then(Value::as_str).unwrap_or("noauth");
    // Newer collections list the fields of an auth; older ones use an object.
    let field = |name: &str| {
        let fields = auth.get(kind)?;
        let found = match fields.as_array() {
            Some(listed) => {
                let is_named = |field: &&Value| field.get("key").and_then(Value::as_str) == Some(name);
                text(listed.iter().find(is_named)?, "value")
            }
            None => text(fields, name),
        };
        found.map(|value| variables.resolve(&value))
    };
    let or_nothing = |name: &str| field(name).unwrap_or_default();
    Ok(match kind {
        "noauth" => None,
        "bearer" => Some(Credentials::Bearer(or_nothing("token"))),
        "basic" => Some(Credentials::Basic { username: or_nothing("username"), password: field("password") }),
        "apikey" => {
            let name =
                Some(or_nothing("key")).filter(|name| !name.is_empty()).unwrap_or("X-API-Key".to_owned());
            let value = or_nothing("value");
            Some(match or_nothing("in").as_str() {
                "query" => Credentials::Query { name, value },
                _ => Credentials::Header { name, value },
            })
        }
        "oauth2" if or_nothing("addTokenTo") == "queryParams" => {
            Some(Credentials::Query { name: "access_token".to_owned(), value: or_nothing("accessToken") })
        }
        "oauth2" => Some(Credentials::Bearer(or_nothing("accessToken"))),
        other => return Err(Message::new(&AUTH_KIND).with("kind", other)),
    })
}

fn read_body(body: &Value, variables: &Variables) -> Result<Option<Body>, Message> {
    let mode = body.get("mode").and_then(Value::as_str).unwrap_or_default();
    let pair = |listed: &Value| {
        let value = variables.resolve(&text(listed, "value").unwrap_or_default());
        Some((variables.resolve(&text(listed, "key")?), value))
    };
    Ok(match mode {
        "" | "none" => None,
        "raw" => {
            let text = variables.resolve(&text(body, "raw").unwrap_or_default());
            let language = body.pointer("/options/raw/language").and_then(Value::as_str);
            let assumed = match language.unwrap_or_default() {
                "json" => "application/json",
                "xml" => "application/xml",
                "html" => "text/html",
                "javascript" => "application/javascript",
                _ => TEXT,
            };
            (!text.trim().is_empty()).then_some(Body::Raw { text, assumed })
        }
        "urlencoded" => Some(Body::Form(enabled(body.get(mode)).filter_map(pair).collect())),
        "formdata" => {
            let parts = |listed: &Value| pair(listed).map(|pair| parts(listed, pair)).unwrap_or_default();
            Some(Body::Multipart(enabled(body.get(mode)).flat_map(parts).collect()))
        }
        "graphql" => body.get(mode).map(|graphql| Body::Json(as_json(graphql, variables))),
        "file" => return Err(Message::new(&FILE_BODY)),
        other => return Err(Message::new(&BODY_MODE).with("mode", other)),
    })
}

/// The parts of a field: one, or one for each file.
fn parts(listed: &Value, (name, value): (String, String)) -> Vec<Part> {
    let media = text(listed, "contentType");
    let is_file = listed.get("type").and_then(Value::as_str) == Some("file");
    let part = |content: Content| Part { name: name.clone(), content };
    if name.is_empty() {
        return Vec::new();
    }
    if !is_file {
        return vec![part(Content::of_text(&value, media.as_deref()))];
    }
    let file = |path: &str| part(Content::file(&sanitize(path), media.as_deref()));
    match listed.get("src") {
        Some(Value::Array(paths)) if !paths.is_empty() => {
            paths.iter().map(|path| file(path.as_str().unwrap_or_default())).collect()
        }
        Some(Value::String(path)) => vec![file(path)],
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => {
            vec![file("")]
        }
    }
}

/// The JSON body of a GraphQL request.
fn as_json(graphql: &Value, variables: &Variables) -> Value {
    let mut sent = Map::new();
    sent.insert("query".to_owned(), variables.resolve(&text(graphql, "query").unwrap_or_default()).into());
    let given = variables.resolve(&text(graphql, "variables").unwrap_or_default());
    let given = serde_json::from_str::<Value>(&quoted(&given)).ok().filter(Value::is_object);
    sent.insert("variables".to_owned(), given.unwrap_or_else(|| json!({})));
    if let Some(name) = text(graphql, "operationName").filter(|name| !name.is_empty()) {
        sent.insert("operationName".to_owned(), variables.resolve(&name).into());
    }
    Value::Object(sent)
}
