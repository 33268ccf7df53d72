//! Request bodies: the media type that tools send best, and the schema of what goes into it.

use serde_json::{Map, Value, json};

use super::document::Document;
use super::parameters::{Request, parameter_schema, placeholder};
use super::schema::convert;

/// Adds the body that an operation takes, as one argument.
pub(super) fn add(
    document: &Document<'_>,
    operation: &Value,
    parameters: &[&Map<String, Value>],
    request: &mut Request,
) {
    if document.is_swagger {
        add_swagger(document, operation, parameters, request);
        return;
    }
    let Some(body) = operation.get("requestBody") else { return };
    // The value lives in the document, but the borrow checker sees only the operation.
    let reference = body.get("$ref").and_then(Value::as_str);
    let body = reference.map_or(Some(body), |reference| document.find(reference)).unwrap_or(&Value::Null);
    let content = body.get("content").and_then(Value::as_object);
    let Some((media, described)) = content.and_then(best) else { return };
    let schema = described.get("schema").map(|schema| convert(document, schema)).unwrap_or_else(|| json!({}));
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let about = body.get("description").and_then(Value::as_str);
    put(request, media, schema, about, is_required);
}

/// The media type that is sent, of those that are taken.
fn best(content: &Map<String, Value>) -> Option<(&String, &Value)> {
    content.iter().min_by_key(|(media, _)| {
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

fn essence(media: &str) -> String {
    media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn put(request: &mut Request, media: &str, schema: Value, about: Option<&str>, is_required: bool) {
    let essence = essence(media);
    let kind = match essence.as_str() {
        "application/x-www-form-urlencoded" => "form",
        "multipart/form-data" => "multipart",
        "*/*" | "application/*" | "" => "json",
        json if json.ends_with("/json") || json.ends_with("+json") => "json",
        _ => "text",
    };
    let mut schema = match kind {
        "multipart" => with_files(schema),
        "text" => json!({"type": "string", "description": format!("The body as text, of type {essence}.")}),
        _ => schema,
    };
    if let (Value::Object(schema), Some(about)) = (&mut schema, about) {
        schema.entry("description").or_insert_with(|| super::schema::shortened(about, 1_000).into());
    }
    let is_other_type = match kind {
        "json" => !matches!(essence.as_str(), "application/json" | "*/*" | "application/*" | ""),
        "text" => essence != "text/plain",
        _ => false,
    };
    if is_other_type {
        request.headers.insert("Content-Type".to_owned(), media.into());
    }
    let variable = request.argument("body", "request", schema, is_required);
    request.body = Some((placeholder(&variable), kind));
}

/// Files are given with their name and content.
fn with_files(schema: Value) -> Value {
    let mut schema = schema;
    for property in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let (_, property) = property;
        let is_file = |schema: &Value| {
            matches!(schema.get("format").and_then(Value::as_str), Some("binary" | "base64"))
        };
        if is_file(property) || property.get("contentMediaType").is_some() {
            let about = property.get("description").and_then(Value::as_str).unwrap_or("A file.").to_owned();
            *property = json!({
                "type": "object",
                "description": about,
                "properties": {
                    "filename": {"type": "string"},
                    "contentType": {"type": "string"},
                    "content": {"type": "string", "description": "The content, as text."},
                    "base64": {"type": "string", "description": "The content in base64, instead of content."},
                },
                "required": ["filename"],
            });
        }
    }
    schema
}

/// In 2.0 the body is a parameter, or a form is many.
fn add_swagger(
    document: &Document<'_>,
    operation: &Value,
    parameters: &[&Map<String, Value>],
    request: &mut Request,
) {
    let consumes = |value: &Value| -> Vec<String> {
        let listed = value.get("consumes").and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut media = consumes(operation);
    if media.is_empty() {
        media = consumes(document.root());
    }
    let is_in = |parameter: &&&Map<String, Value>, place: &str| parameter.get("in") == Some(&place.into());
    if let Some(body) = parameters.iter().find(|parameter| is_in(parameter, "body")) {
        let schema = body.get("schema").map(|schema| convert(document, schema)).unwrap_or_else(|| json!({}));
        let is_required = body.get("required") == Some(&Value::Bool(true));
        let is_json = |media: &&String| essence(media).ends_with("json");
        let taken = media.iter().find(is_json).or(media.first()).map_or("application/json", String::as_str);
        put(request, taken, schema, body.get("description").and_then(Value::as_str), is_required);
        return;
    }
    let fields: Vec<_> = parameters.iter().filter(|parameter| is_in(parameter, "formData")).collect();
    if fields.is_empty() {
        return;
    }
    let has_file = fields.iter().any(|field| field.get("type") == Some(&"file".into()));
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut schema = parameter_schema(document, field);
        if field.get("type") == Some(&"file".into()) {
            schema["format"] = "binary".into();
        }
        if field.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name.clone()));
        }
        properties.insert(name, schema);
    }
    let is_required = !required.is_empty();
    let mut schema = json!({"type": "object", "properties": properties});
    if is_required {
        schema["required"] = Value::Array(required);
    }
    let is_multipart = has_file || media.iter().any(|media| essence(media) == "multipart/form-data");
    let media = if is_multipart { "multipart/form-data" } else { "application/x-www-form-urlencoded" };
    put(request, media, schema, None, is_required);
}
