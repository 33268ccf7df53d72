//! An upstream that says all it was told, in every way it can, and one that answers no HTTP at all.

use std::time::Duration;

use axum::http::Response;
use haft_testkit::{Seen, Upstream, json_reply, reply};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use url::Url;

use super::encode::{base64, hex, percent, unbase64};

/// Where each answer is found. `/slow` outlasts the tools that call it.
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

/// Echoes whatever it is sent. Who asks at `/token` gets this access token.
pub(super) async fn echo(access: String) -> Upstream {
    Upstream::start_async(move |seen| answer(seen, access.clone())).await
}

/// Sends back the bytes of the request, behind a beginning.
pub(super) async fn parrot(beginning: &'static [u8]) -> Upstream {
    Upstream::raw(move |mut stream| async move {
        let mut request = vec![0; 16 << 10];
        let length = stream.read(&mut request).await.unwrap_or_default();
        let _ = stream.write_all(beginning).await;
        let _ = stream.write_all(&request[..length]).await;
    })
    .await
}

async fn answer(seen: Seen, access: String) -> Response<Vec<u8>> {
    let path = seen.target.split('?').next().unwrap_or_default().to_owned();
    if let Some(status) = path.strip_prefix("/status/") {
        return json_reply(status.parse().expect("a status"), &document(&seen));
    }
    let text = |status, kind: &str, text: String| reply(status, &[("content-type", kind)], text);
    match path.as_str() {
        // A collector says nothing.
        "/v1/traces" => reply(200, &[("content-type", "application/x-protobuf")], ""),
        "/token" => json_reply(200, &json!({"access_token": access, "token_type": "bearer"})),
        "/refused" => json_reply(400, &json!({"error": "invalid_client", "error_description": seen.text()})),
        "/search" => {
            let said = values(&seen).join(" ");
            json_reply(
                200,
                &json!({"results": [{"title": said, "url": "https://a.example/", "content": said}]}),
            )
        }
        // More than a model is shown at once, with all of it at both ends.
        "/large" => {
            let (said, between) = (said(&seen), "x".repeat(40 << 10));
            text(200, "text/plain", format!("{said}\n{between}\n{said}"))
        }
        "/broken-text" => text(500, "text/plain", said(&seen)),
        "/bytes" => {
            // Not in other encodings: bytes that are no text get one of their own.
            let bytes = [[0, 0xff, 0xfe].as_slice(), values(&seen).join("\n").as_bytes()].concat();
            reply(200, &[("content-type", "application/octet-stream")], bytes)
        }
        "/escaped" => {
            let escaped: String = said(&seen).encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            text(200, "application/json", format!("{{\"said\": \"{escaped}\"}}"))
        }
        "/utf16" => {
            let bytes: Vec<u8> = said(&seen).encode_utf16().flat_map(u16::to_le_bytes).collect();
            reply(200, &[("content-type", "text/plain; charset=utf-16le")], bytes)
        }
        "/html" => text(200, "text/html", format!("<p>{}</p>", said(&seen).replace('&', "&amp;"))),
        "/redirect" => {
            // A host cannot hold every character.
            let host = seen.header("x-plain-key").unwrap_or("elsewhere").to_owned();
            let all: Vec<String> = values(&seen).iter().map(|value| percent(value)).collect();
            let location = format!("http://{host}.invalid/?said={}", all.join("&said="));
            reply(302, &[("location", location.as_str())], said(&seen))
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_secs(3)).await;
            text(200, "text/plain", said(&seen))
        }
        _ => text(200, "text/plain", said(&seen)),
    }
}

/// What came, as it came: headers, address and body.
fn raw(seen: &Seen) -> Vec<String> {
    let headers = seen.headers.values().filter_map(|value| value.to_str().ok()).map(str::to_owned);
    headers.chain([seen.target.clone(), seen.text()]).collect()
}

/// The values that were sent, freed of what they were wrapped in.
fn values(seen: &Seen) -> Vec<String> {
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

/// Everything in every encoding, as JSON.
fn document(seen: &Seen) -> Value {
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

/// Encoded, and encoded again.
fn twice(value: &str) -> Vec<String> {
    let base64 = |text: &str| base64(text.as_bytes());
    let quoted = |text: &str| json!(text).to_string();
    let encodings: [&dyn Fn(&str) -> String; 3] = [&percent, &base64, &quoted];
    let pairs = encodings.iter().flat_map(|first| encodings.iter().map(move |second| (first, second)));
    pairs.map(|(first, second)| second(&first(value))).collect()
}

/// The same as a text.
fn said(seen: &Seen) -> String {
    format!("{}\n{}", raw(seen).join("\n"), document(seen))
}

/// Escapes in small letters, and nothing else.
fn lower(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at(2);
        format!("{text}%{}{rest}", digits.to_ascii_lowercase())
    })
}
