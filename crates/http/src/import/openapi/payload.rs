//! Request bodies: selects the best supported media type, and converts its schema.

use haft_core::Message;
use serde_json::{Map, Value, json};

use super::document::{Document, Parameter, unresolved};
use super::parameters::{Request, parameter_schema, placeholder};
use super::plain::{is_plain, shortened};
use super::schema::convert;
use super::styles::{is_nested, joined, kind_of, of_list};
use crate::import::media::essence;

haft_core::templates! {
    NEEDED_BODY = "openapi.neededBody",
        "it needs a body of a type that tools cannot send",
        "它需要的请求体类型工具无法发送";
    LEFT_OUT_BODY = "openapi.leftOutBody",
        "its body is of a type that tools cannot send; the tool was imported without it",
        "其请求体类型工具无法发送；导入的工具不含请求体";
    OTHER_STYLE = "openapi.otherStyle",
        "the field {name} of its body is sent as JSON and not in the style {style}",
        "请求体字段 {name} 以 JSON 发送，而不是 {style} 样式";
}

const LONGEST_MEDIA: usize = 200;

/// Maximum number of fields listed in `brackets`; above it, all fields use brackets.
const MOST_BRACKETS: usize = 500;

/// A body as the document describes it.
struct Body<'a> {
    media: &'a str,
    schema: Option<&'a Value>,
    /// The encoding of fields, by name.
    encoding: Option<&'a Map<String, Value>>,
    about: Option<&'a str>,
    is_required: bool,
}

/// Adds the operation's body as one argument.
pub(super) fn add<'a>(
    document: &Document<'a>,
    operation: &'a Value,
    parameters: &[Parameter<'a>],
    request: &mut Request,
) -> Result<(), Message> {
    if document.is_swagger {
        add_swagger(document, operation, parameters, request);
        return Ok(());
    }
    let Some(described) = operation.get("requestBody") else { return Ok(()) };
    let body = document.resolve(described);
    if body.is_null() {
        request.notes.push(unresolved(described));
        return Ok(());
    }
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let content = body.get("content").and_then(Value::as_object);
    let media = best(content.into_iter().flatten().map(|(media, _)| media.as_str()));
    let Some((media, content)) = media.zip(content) else {
        if is_required {
            return Err(Message::new(&NEEDED_BODY));
        }
        request.notes.push(Message::new(&LEFT_OUT_BODY));
        return Ok(());
    };
    let described = content.get(media);
    let schema = described.and_then(|described| described.get("schema"));
    if !is_required && schema.is_some_and(|schema| is_nothing(document.resolve(schema))) {
        return Ok(());
    }
    put(
        document,
        request,
        &Body {
            media,
            schema,
            encoding: described.and_then(|described| described.get("encoding")?.as_object()),
            about: body.get("description").and_then(Value::as_str),
            is_required,
        },
    );
    Ok(())
}

/// Returns true if a schema describes an object without any field.
fn is_nothing(schema: &Value) -> bool {
    const MORE: [&str; 5] = ["additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf"];
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.is_some_and(Map::is_empty) && !MORE.iter().any(|name| schema.get(*name).is_some())
}

/// The preferred media type among the accepted ones.
fn best<'a>(content: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // The type may become a header, so it must not contain anything else.
    let is_usable = |media: &&str| {
        let is_part = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        media.len() <= LONGEST_MEDIA && media.contains('/') && media.bytes().all(is_part) && is_plain(media)
    };
    content.filter(is_usable).min_by_key(|media| {
        let media = essence(media);
        let order = [
            "application/json",
            "+json",
            "*/*",
            "x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
        ];
        order.iter().position(|kind| media.ends_with(kind)).unwrap_or(order.len())
    })
}

/// The `bodyType` of a media type.
fn body_type(essence: &str) -> &'static str {
    const TEXTS: [&str; 9] =
        ["xml", "yaml", "yml", "csv", "ndjson", "jsonlines", "graphql", "sparql-query", "javascript"];
    match essence {
        "application/x-www-form-urlencoded" => "form",
        "multipart/form-data" => "multipart",
        "*/*" | "application/*" => "json",
        media if media.ends_with("/json") || media.ends_with("+json") => "json",
        media if media.starts_with("text/") || TEXTS.iter().any(|end| media.ends_with(end)) => "text",
        _ => "binary",
    }
}

fn put<'a>(document: &Document<'a>, request: &mut Request, body: &Body<'a>) {
    let essence = essence(body.media);
    let kind = body_type(&essence);
    let mut schema = match (kind, body.schema) {
        ("text", _) => {
            json!({"type": "string", "description": format!("The body as text, of type {essence}.")})
        }
        ("binary", _) => bytes(&essence),
        (_, Some(schema)) => convert(document, schema),
        (_, None) => json!({}),
    };
    match kind {
        "multipart" => add_files(document, request, body, &mut schema),
        "form" => add_brackets(request, body, &mut schema),
        _ => {}
    }
    add_body(request, body, kind, schema);
}

/// Adds the body, with its media type unless it is the default.
fn add_body(request: &mut Request, body: &Body<'_>, kind: &'static str, schema: Value) {
    let (mut schema, essence) = (schema, essence(body.media));
    if let (Value::Object(schema), Some(about)) = (&mut schema, body.about) {
        schema.entry("description").or_insert_with(|| shortened(about, 1_000).into());
    }
    let usual = match kind {
        "json" => "application/json",
        "text" => "text/plain",
        "binary" => "application/octet-stream",
        _ => essence.as_str(),
    };
    if essence != usual && !essence.contains('*') {
        request.headers.insert("Content-Type".to_owned(), body.media.trim().into());
    }
    let variable = request.argument("body", "request", schema, body.is_required);
    request.body = Some((placeholder(&variable), kind));
}

/// The schema of a binary body, as text or in base64.
fn bytes(essence: &str) -> Value {
    json!({
        "description": format!("The body, of type {essence}: as text, or as an object with base64."),
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {"base64": {"type": "string", "description": "The bytes in base64."}},
                "required": ["base64"],
                "additionalProperties": false,
            },
        ],
    })
}

/// Fields that contain objects use bracket notation; lists may be joined to one text.
fn add_brackets(request: &mut Request, body: &Body<'_>, schema: &mut Value) {
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        request.brackets.push("*".to_owned());
        return;
    };
    let mut names = Vec::new();
    for (name, field) in fields.iter_mut() {
        let encoding = body.encoding.and_then(|encoding| encoding.get(name));
        let style = encoding.and_then(|encoding| encoding.get("style")?.as_str());
        if style == Some("deepObject") || is_nested(field) {
            names.push(name.clone());
        } else if kind_of(field) == "array"
            && let Some(separator) = encoding.and_then(of_list)
        {
            *field = joined(field, separator);
        }
    }
    if names.len() > MOST_BRACKETS {
        names = vec!["*".to_owned()];
    }
    request.brackets.extend(names);
}

/// The schema of files: name and content.
fn add_files<'a>(document: &Document<'a>, request: &mut Request, body: &Body<'a>, schema: &mut Value) {
    let described = body.schema.map(|schema| document.resolve(schema));
    let described = described.and_then(|schema| schema.get("properties")?.as_object());
    for (name, field) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let encoding = body.encoding.and_then(|encoding| encoding.get(name));
        if let Some(style) = encoding.and_then(|encoding| encoding.get("style")?.as_str())
            && is_nested(field)
        {
            let message = Message::new(&OTHER_STYLE).with("name", shortened(name, 60));
            request.notes.push(message.with("style", shortened(style, 60)));
        }
        let Some(written) = described.and_then(|fields| fields.get(name)) else { continue };
        let written = document.resolve(written);
        if kind_of(field) == "array"
            && let Some(separator) = encoding.and_then(of_list)
        {
            *field = joined(field, separator);
            continue;
        }
        let media = encoding.and_then(|encoding| encoding.get("contentType")?.as_str());
        make_file(document, written, media, field);
    }
}

/// Makes a field accept files, if it is described as a file or a list of files.
fn make_file<'a>(document: &Document<'a>, written: &'a Value, media: Option<&str>, field: &mut Value) {
    let about = field.get("description").and_then(Value::as_str).unwrap_or("A file.").to_owned();
    let items = written.get("items").map(|items| document.resolve(items));
    if is_file(written, media) {
        *field = file(&about);
    } else if items.is_some_and(|items| is_file(items, media)) && field.is_object() {
        field["items"] = file("A file.");
    }
}

fn is_file(written: &Value, media: Option<&str>) -> bool {
    let text = |name: &str| written.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_binary = |media: &str| body_type(&essence(media)) == "binary";
    let is_text = matches!(text("type"), "" | "string") && written.get("enum").is_none();
    text("type") == "file"
        || (is_text && matches!(text("format"), "binary" | "base64"))
        || (is_text && is_binary(text("contentMediaType")) && !text("contentMediaType").is_empty())
        || (text("type") == "string" && media.is_some_and(is_binary))
}

fn file(about: &str) -> Value {
    json!({
        "type": "object",
        "description": about,
        "properties": {
            "filename": {"type": "string"},
            "contentType": {"type": "string"},
            "content": {"type": "string", "description": "The content, as text."},
            "base64": {"type": "string", "description": "The content in base64, instead of content."},
        },
        "required": ["filename"],
    })
}

/// In 2.0 the body is one parameter, or a form of several.
fn add_swagger<'a>(
    document: &Document<'a>,
    operation: &'a Value,
    parameters: &[Parameter<'a>],
    request: &mut Request,
) {
    let consumes = |value: &'a Value| {
        value.get("consumes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    };
    let mut media: Vec<&'a str> = consumes(operation).take(100).collect();
    if media.is_empty() {
        media = consumes(document.root()).take(100).collect();
    }
    if let Some(body) = parameters.iter().find(|parameter| parameter.place == "body") {
        put(
            document,
            request,
            &Body {
                media: best(media.into_iter()).unwrap_or("application/json"),
                schema: body.value.get("schema"),
                encoding: None,
                about: body.value.get("description").and_then(Value::as_str),
                is_required: body.is_required,
            },
        );
        return;
    }
    let fields: Vec<&Parameter<'a>> =
        parameters.iter().filter(|parameter| parameter.place == "formData").collect();
    if fields.is_empty() {
        return;
    }
    let has_file = fields.iter().any(|field| field.text("type") == Some("file"));
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut schema = parameter_schema(document, field);
        let are_files = field.value.get("items").is_some_and(|items| is_file(items, None));
        match of_list(field.value) {
            Some(separator) if kind_of(&schema) == "array" && !are_files => {
                schema = joined(&schema, separator);
            }
            Some(_) | None => make_file(document, field.value, None, &mut schema),
        }
        if field.is_required {
            required.push(Value::from(field.name));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let is_required = !required.is_empty();
    let mut schema = json!({"type": "object", "properties": properties});
    if is_required {
        schema["required"] = Value::Array(required);
    }
    let is_multipart = has_file || media.iter().any(|media| essence(media) == "multipart/form-data");
    let (media, kind) = if is_multipart {
        ("multipart/form-data", "multipart")
    } else {
        ("application/x-www-form-urlencoded", "form")
    };
    let body = Body { media, schema: None, encoding: None, about: None, is_required };
    add_body(request, &body, kind, schema);
}
