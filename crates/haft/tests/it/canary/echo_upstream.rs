//! Upstreams that echo their requests: as HTTP responses in many encodings, and as raw bytes.

use std::time::Duration;

use axum::http::Response;
use haft_testkit::{RecordedRequest, Upstream, http_response, json_reply};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::encodings::{base64, hex, percent, unbase64};

/// The paths of all echo responses. `/slow` is slower than the timeout of its tools.
pub(super) const PATHS: [&str; 18] = [
    "/status/200",
    "/status/201",
    "/status/400",
    "/status/401",
    "/status/403",
    "/status/404",
    "/status/418",
    "/status/429",
    "/status/500",
    "/status/503",
    "/text",
    "/broken-text",
    "/bytes",
    "/escaped",
    "/utf16",
    "/html",
    "/redirect",
    "/slow",
];

/// Starts an upstream that echoes each request. `/token` returns this access token.
pub(super) async fn echo(access: String) -> Upstream {
    Upstream::start_async(move |seen| respond(seen, access.clone())).await
}

/// Starts an upstream that sends a prefix and then the raw bytes of the request.
pub(super) async fn parrot(prefix: &'static [u8]) -> Upstream {
    Upstream::raw(move |mut stream| async move {
        let mut request = vec![0; 16 << 10];
        let length = stream.read(&mut request).await.unwrap_or_default();
        let _ = stream.write_all(prefix).await;
        let _ = stream.write_all(&request[..length]).await;
    })
    .await
}

async fn respond(seen: RecordedRequest, access: String) -> Response<Vec<u8>> {
    let path = seen.target.split('?').next().unwrap_or_default().to_owned();
    if let Some(status) = path.strip_prefix("/status/") {
        return json_reply(status.parse().expect("a status"), &document(&seen));
    }
    let text = |status, kind: &str, text: String| http_response(status, &[("content-type", kind)], text);
    match path.as_str() {
        // A trace collector sends no body.
        "/v1/traces" => http_response(200, &[("content-type", "application/x-protobuf")], ""),
        "/token" => json_reply(200, &json!({"access_token": access, "token_type": "bearer"})),
        "/refused" => json_reply(400, &json!({"error": "invalid_client", "error_description": seen.text()})),
        "/search" => {
            let text = values(&seen).join(" ");
            json_reply(
                200,
                &json!({"results": [{"title": text, "url": "https://a.example/", "content": text}]}),
            )
        }
        // A result larger than the limit for models, with the echo at both ends.
        "/large" => {
            let (echo, between) = (echo_text(&seen), "x".repeat(40 << 10));
            text(200, "text/plain", format!("{echo}\n{between}\n{echo}"))
        }
        "/broken-text" => text(500, "text/plain", echo_text(&seen)),
        "/bytes" => {
            // Without further encodings: binary responses are encoded by Haft.
            let bytes = [[0, 0xff, 0xfe].as_slice(), values(&seen).join("\n").as_bytes()].concat();
            http_response(200, &[("content-type", "application/octet-stream")], bytes)
        }
        "/escaped" => {
            let escaped: String =
                echo_text(&seen).encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            text(200, "application/json", format!("{{\"said\": \"{escaped}\"}}"))
        }
        "/utf16" => {
            let bytes: Vec<u8> = echo_text(&seen).encode_utf16().flat_map(u16::to_le_bytes).collect();
            http_response(200, &[("content-type", "text/plain; charset=utf-16le")], bytes)
        }
        "/html" => text(200, "text/html", format!("<p>{}</p>", echo_text(&seen).replace('&', "&amp;"))),
        "/redirect" => {
            // A host name allows only some characters.
            let host = seen.header("x-plain-key").unwrap_or("elsewhere").to_owned();
            let all: Vec<String> = values(&seen).iter().map(|value| percent(value)).collect();
            let location = format!("http://{host}.invalid/?said={}", all.join("&said="));
            http_response(302, &[("location", location.as_str())], echo_text(&seen))
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(3)).await;
            text(200, "text/plain", echo_text(&seen))
        }
        _ => text(200, "text/plain", echo_text(&seen)),
    }
}

/// Returns the raw headers, target and body of a request.
fn raw(seen: &RecordedRequest) -> Vec<String> {
    let headers = seen.headers.values().filter_map(|value| value.to_str().ok()).map(str::to_owned);
    headers.chain([seen.target.clone(), seen.text()]).collect()
}

/// Returns the values of the query and headers, without prefixes such as `Bearer`.
fn values(seen: &RecordedRequest) -> Vec<String> {
    let url = Url::parse(&format!("http://upstream{}", seen.target)).expect("a URL");
    let mut values: Vec<String> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
    for text in seen.headers.values().filter_map(|value| value.to_str().ok()) {
        match text.split_once(' ') {
            Some(("Basic", credential)) => values.extend(unbase64(credential)),
            Some(("Bearer", credential)) => values.push(credential.to_owned()),
            Some(_) | None => values.push(text.to_owned()),
        }
    }
    values
}

/// Builds a JSON document with all values in all encodings.
fn document(seen: &RecordedRequest) -> Value {
    let values = values(seen);
    let in_base64 = |value: &String| -> Vec<String> {
        ["", "u", "u:"].iter().map(|before| base64(format!("{before}{value}").as_bytes())).collect()
    };
    let form = |value: &String| percent(value).replace("%20", "+").replace('~', "%7E");
    let names: Map<String, Value> = values.iter().map(|value| (value.clone(), json!(1))).collect();
    json!({
        "raw": raw(seen),
        "plain": values,
        "base64": values.iter().flat_map(in_base64).collect::<Vec<_>>(),
        "percent": values.iter().map(|value| percent(value)).collect::<Vec<_>>(),
        "lower": values.iter().map(|value| lower(&percent(value))).collect::<Vec<_>>(),
        "form": values.iter().map(form).collect::<Vec<_>>(),
        "json": values.iter().map(|value| json!(value).to_string()).collect::<Vec<_>>(),
        "hex": values.iter().map(|value| hex(value.as_bytes())).collect::<Vec<_>>(),
        "twice": values.iter().flat_map(|value| twice(value)).collect::<Vec<_>>(),
        "names": names,
    })
}

/// Returns a value in all combinations of two encodings.
fn twice(value: &str) -> Vec<String> {
    let base64 = |text: &str| base64(text.as_bytes());
    let quoted = |text: &str| json!(text).to_string();
    let encodings: [&dyn Fn(&str) -> String; 3] = [&percent, &base64, &quoted];
    let pairs = encodings.iter().flat_map(|first| encodings.iter().map(move |second| (first, second)));
    pairs.map(|(first, second)| second(&first(value))).collect()
}

/// Returns the raw request and the JSON document as text.
fn echo_text(seen: &RecordedRequest) -> String {
    format!("{}\n{}", raw(seen).join("\n"), document(seen))
}

/// Converts the digits of percent escapes to lower case.
fn lower(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at(2);
        format!("{text}%{}{rest}", digits.to_ascii_lowercase())
    })
}
