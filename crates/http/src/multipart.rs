//! Bodies of `multipart/form-data`: a part for each field, with files given by name and content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Map, Value};

use crate::fill::as_text;

/// Fields as parts; a list is a part for each of its items, null is left out.
pub(crate) fn encode(value: &Value) -> (Bytes, HeaderValue) {
    let mut parts = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::Array(items) => parts.extend(items.iter().map(|item| part(name, item))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                parts.push(part(name, value))
            }
        }
    }
    let boundary = boundary(&parts);
    let mut body = Vec::new();
    for part in &parts {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        body.extend_from_slice(part);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let media = HeaderValue::from_str(&format!("multipart/form-data; boundary={boundary}"));
    (body.into(), media.unwrap_or(HeaderValue::from_static("multipart/form-data")))
}

/// One part, with its headers.
fn part(name: &str, value: &Value) -> Vec<u8> {
    let file = value.as_object().filter(|file| file.contains_key("filename"));
    let (more, media, content) = match file {
        Some(file) => {
            let text = |field: &str| file.get(field).and_then(Value::as_str).unwrap_or_default();
            let media = Some(text("contentType")).filter(|media| is_media_type(media));
            (
                format!("; filename=\"{}\"", quoted(text("filename"))),
                Some(media.unwrap_or("application/octet-stream").to_owned()),
                content(file),
            )
        }
        None => {
            let media = value.is_object().then(|| "application/json".to_owned());
            (String::new(), media, as_text(value).into_owned().into_bytes())
        }
    };
    let mut part =
        format!("Content-Disposition: form-data; name=\"{}\"{more}\r\n", quoted(name)).into_bytes();
    if let Some(media) = media {
        part.extend_from_slice(format!("Content-Type: {media}\r\n").as_bytes());
    }
    part.extend_from_slice(b"\r\n");
    part.extend_from_slice(&content);
    part
}

fn content(file: &Map<String, Value>) -> Vec<u8> {
    let decoded = file.get("base64").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok());
    decoded.unwrap_or_else(|| {
        file.get("content").map(|text| as_text(text).into_owned().into_bytes()).unwrap_or_default()
    })
}

/// A name cannot end its quotes, nor the line it stands in.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn is_media_type(text: &str) -> bool {
    text.contains('/') && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// A line that stands in none of the parts.
fn boundary(parts: &[Vec<u8>]) -> String {
    let mut seed = parts.iter().flatten().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    loop {
        let boundary = format!("haft-{seed:016x}");
        let is_in = |part: &Vec<u8>| memchr::memmem::find(part, boundary.as_bytes()).is_some();
        if !parts.iter().any(is_in) {
            return boundary;
        }
        seed = seed.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_and_files_are_parts_and_names_stay_names() {
        let (body, media) = encode(&json!({
            "title": "a\r\nb", "tags": ["x", 2], "none": null, "meta": {"k": 1},
            "file": {"filename": "a\".txt", "contentType": "text/plain", "content": "hello"},
            "raw": {"filename": "b.bin", "base64": "AAEC"}, "odd\"\r\nX: y": "v",
        }));
        let body = String::from_utf8(body.to_vec()).expect("text");
        let boundary = media.to_str().expect("text").rsplit_once('=').expect("a boundary").1.to_owned();
        let parts: Vec<&str> = body.split(&format!("--{boundary}\r\n")).skip(1).collect();
        let expected = [
            "Content-Disposition: form-data; name=\"title\"\r\n\r\na\r\nb\r\n",
            "Content-Disposition: form-data; name=\"tags\"\r\n\r\nx\r\n",
            "Content-Disposition: form-data; name=\"tags\"\r\n\r\n2\r\n",
            "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"k\":1}\r\n",
            "Content-Disposition: form-data; name=\"file\"; filename=\"a%22.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n",
            "Content-Disposition: form-data; name=\"raw\"; filename=\"b.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n\0\u{1}\u{2}\r\n",
        ];
        assert_eq!(parts[..6], expected);
        assert!(
            parts[6].starts_with("Content-Disposition: form-data; name=\"odd%22%0D%0AX: y\"\r\n\r\nv\r\n"),
            "{}",
            parts[6]
        );
        assert!(body.ends_with(&format!("--{boundary}--\r\n")));
    }
}
