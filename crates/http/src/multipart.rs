//! Encodes `multipart/form-data` bodies: one part per field; files by name and content, or by artifact id.

use std::borrow::Cow;

use bytes::Bytes;
use haft_core::Violation;
use haft_core::artifact::UNKNOWN_TYPE;
use haft_core::error::ROOT;
use http::HeaderValue;
use serde_json::{Map, Value};

use crate::body::decode;
use crate::files::Files;
use crate::fill::as_text;
use crate::query::too_long;

/// Maximum size of all parts: a long name repeated for many items must not exhaust memory.
const LARGEST: usize = 64 << 20;

/// Encodes fields as parts: one per item of a list; nulls are skipped.
pub(crate) fn encode(value: &Value, files: &Files) -> Result<(Bytes, HeaderValue), Violation> {
    let mut parts = Vec::new();
    let mut room = LARGEST;
    let mut push = |part: Vec<u8>| -> Result<(), Violation> {
        room = room.checked_sub(part.len()).ok_or_else(|| Violation::new(ROOT, too_long(LARGEST)))?;
        parts.push(part);
        Ok(())
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate().filter(|(_, item)| !item.is_null()) {
                    push(part(name, item, &format!("{name}.{at}"), files)?)?;
                }
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                push(part(name, value, name, files)?)?;
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
    Ok((body.into(), media.unwrap_or(HeaderValue::from_static("multipart/form-data"))))
}

/// Encodes one part with its headers; `path` is the position of its value.
fn part(name: &str, value: &Value, path: &str, files: &Files) -> Result<Vec<u8>, Violation> {
    let file = value.as_object().filter(|file| file.contains_key("filename"));
    let (more, media, content) = match (file, files.of_value(value)) {
        (Some(file), _) => {
            let text = |field: &str| file.get(field).and_then(Value::as_str).unwrap_or_default();
            let stored = file.get("content").and_then(|content| files.of_value(content));
            let media = Some(text("contentType")).filter(|media| is_media_type(media));
            let media = media.or(stored.map(|stored| stored.media_type.as_str()));
            let content = match stored {
                Some(stored) => Cow::Borrowed(&*stored.bytes),
                None => Cow::Owned(content(file, path)?),
            };
            (as_file(text("filename")), Some(media.unwrap_or(UNKNOWN_TYPE).to_owned()), content)
        }
        (None, Some(stored)) => {
            (as_file(&stored.name), Some(stored.media_type.clone()), Cow::Borrowed(&*stored.bytes))
        }
        (None, None) => {
            let media = value.is_object().then(|| "application/json".to_owned());
            (String::new(), media, Cow::Owned(as_text(value).into_owned().into_bytes()))
        }
    };
    let mut part =
        format!("Content-Disposition: form-data; name=\"{}\"{more}\r\n", quoted(name)).into_bytes();
    if let Some(media) = media {
        part.extend_from_slice(format!("Content-Type: {media}\r\n").as_bytes());
    }
    part.extend_from_slice(b"\r\n");
    part.extend_from_slice(&content);
    Ok(part)
}

fn content(file: &Map<String, Value>, path: &str) -> Result<Vec<u8>, Violation> {
    if let Some(Value::String(text)) = file.get("base64")
        && !text.is_empty()
    {
        return decode(text, &format!("{path}.base64"));
    }
    let text = file.get("content").filter(|text| !text.is_null());
    Ok(text.map(|text| as_text(text).into_owned().into_bytes()).unwrap_or_default())
}

fn as_file(name: &str) -> String {
    format!("; filename=\"{}\"", quoted(name))
}

/// Escapes characters that would end the quoted name or its line.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

pub(crate) fn is_media_type(text: &str) -> bool {
    text.contains('/') && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}

/// A boundary that occurs in none of the parts.
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
    fn fields_and_files_become_parts_with_escaped_names() {
        let fields = json!({
            "title": "a\r\nb", "tags": ["x", 2], "none": null, "meta": {"k": 1},
            "file": {"filename": "a\".txt", "contentType": "text/plain", "content": "hello"},
            "raw": {"filename": "b.bin", "base64": "AAEC"}, "odd\"\r\nX: y": "v",
        });
        let (body, media) = encode(&fields, &Files::default()).expect("parts");
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

    #[test]
    fn a_list_of_files_becomes_one_part_per_file() {
        let files =
            json!({"files": [{"filename": "a", "content": "1"}, null, {"filename": "b", "base64": "Mg=="}]});
        let (body, _) = encode(&files, &Files::default()).expect("parts");
        let body = String::from_utf8(body.to_vec()).expect("text");
        assert_eq!(body.matches("name=\"files\"; filename=").count(), 2, "{body}");
        assert!(body.contains("\r\n\r\n1\r\n") && body.contains("\r\n\r\n2\r\n"), "{body}");
        let wrong = json!({"files": [{"filename": "a", "base64": "!"}]});
        let wrong = encode(&wrong, &Files::default()).expect_err("no base64");
        assert_eq!(wrong.path, "files.0.base64");
    }
}
