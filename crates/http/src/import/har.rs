//! Imports HAR files: each kind of recorded request becomes one tool.
//!
//! Requests are of one kind if method, host and path are equal except for ids, and so is the GraphQL
//! operation. Images, scripts and other assets are skipped and counted.

use std::collections::HashMap;

use haft_core::error::ROOT;
use haft_core::{Message, Template, Violation};
use serde_json::Value;
use url::Url;

use super::Imported;
use super::example::{
    Address, Body, Content, Example, ExampleOptions, FORM, Importer, Part, Source, TEXT, graphql_operation,
    is_browser_noise, sanitize,
};
use super::media::essence;

haft_core::templates! {
    NOT_A_HAR = "import.har.notAHar",
        "is not a HAR file: it has no list log.entries",
        "不是 HAR 文件：缺少 log.entries 列表";
    ASSETS = "import.har.assets",
        "{count} requests for pages, pictures, scripts and other files",
        "{count} 个对页面、图片、脚本等文件的请求";
    PREFLIGHTS = "import.har.preflights",
        "{count} CORS preflight requests",
        "{count} 个浏览器的预检请求";
    OTHER_SCHEMES = "import.har.otherSchemes",
        "{count} requests that are not http",
        "{count} 个非 http 请求";
    UNREADABLE = "import.har.unreadable",
        "{count} entries that cannot be read",
        "{count} 个无法读取的条目";
    SAME_SHAPE = "import.har.sameShape",
        "{count} more requests of the same shape",
        "另有 {count} 个形式相同的请求";
}

/// Imports the requests of a file.
pub fn har(document: &Value, options: &ExampleOptions) -> Result<Imported, Vec<Violation>> {
    let Some(entries) = document.pointer("/log/entries").and_then(Value::as_array) else {
        return Err(vec![Violation::new(ROOT, Message::new(&NOT_A_HAR))]);
    };
    let mut importer = Importer::new(Source {
        from: "har",
        document: title(document),
        prefix: options.name.as_deref(),
        only: &options.only,
        cancel: &options.cancel,
    });
    let wrong = |message| vec![Violation::new(ROOT, message)];
    let mut kinds: Vec<Kind> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for entry in entries {
        importer.check().map_err(wrong)?;
        match read(entry) {
            Ok(example) => {
                let operation = graphql_operation(&example).map(|name| format!(" {name}"));
                let shape = example.shape() + &operation.unwrap_or_default();
                let place = *places.entry(shape.clone()).or_insert(kinds.len());
                match kinds.get_mut(place) {
                    Some(kind) => {
                        kind.more += 1;
                        if !options.only.is_empty() {
                            kind.example.written_paths.push(example.address.display_path());
                        }
                    }
                    None => {
                        importer.count_request().map_err(wrong)?;
                        kinds.push(Kind { shape, example, more: 0 });
                    }
                }
            }
            Err((reason, operation)) => match left_out.iter_mut().find(|known| known.reason == reason) {
                Some(known) => known.count += 1,
                None => left_out.push(LeftOut { reason, operation, count: 1 }),
            },
        }
    }
    for Kind { shape, example, more } in kinds {
        importer.check().map_err(wrong)?;
        if let Err(reason) = importer.add(&example) {
            importer.skip_example(&shape, &example, reason);
        }
        if more > 0 {
            importer.skip(shape, Message::new(&SAME_SHAPE).with("count", more));
        }
    }
    for LeftOut { reason, operation, count } in left_out {
        importer.skip(operation, Message::new(reason).with("count", count));
    }
    Ok(importer.finish())
}

/// Requests of one kind: the first of them, and the number of others.
struct Kind {
    shape: String,
    example: Example,
    more: usize,
}

/// Entries skipped for one reason, with the first of them.
struct LeftOut {
    reason: &'static Template,
    operation: String,
    count: usize,
}

/// The title of the recording. If it is a URL, only its host: the query may contain private data.
fn title(document: &Value) -> Option<String> {
    let title = sanitize(document.pointer("/log/pages/0/title")?.as_str()?.trim());
    match Url::parse(&title) {
        Ok(url) if url.scheme().starts_with("http") => url.host_str().map(str::to_owned),
        Ok(_) | Err(_) => Some(title).filter(|title| !title.is_empty()),
    }
}

/// The request of an entry, or the reason why it is skipped.
fn read(entry: &Value) -> Result<Example, (&'static Template, String)> {
    let text = |pointer: &str| sanitize(entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
    let (method, url) = (text("/request/method").to_ascii_uppercase(), text("/request/url"));
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if method.is_empty() || url.is_empty() {
        return Err((&UNREADABLE, method));
    }
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err((&OTHER_SCHEMES, format!("{method} {scheme}:")));
    }
    let Ok(address) = Address::parse(&url) else { return Err((&UNREADABLE, method)) };
    let operation = format!("{method} {}", address.authority());
    if matches!(method.as_str(), "OPTIONS" | "CONNECT" | "TRACE") {
        return Err((&PREFLIGHTS, operation));
    }
    let media = text("/response/content/mimeType");
    if is_asset(&method, &address, &essence(&media)) {
        return Err((&ASSETS, operation));
    }
    let mut example = Example::new(&method, address);
    let headers = entry.pointer("/request/headers").and_then(Value::as_array).into_iter().flatten();
    for (name, value) in headers.filter_map(|header| Some((field(header, "name")?, field(header, "value")?)))
    {
        if !is_browser_noise(&name, &value) {
            example.headers.push((name, value));
        }
    }
    if let Some(data) = entry.pointer("/request/postData") {
        let media = text("/request/postData/mimeType");
        example.body = body(data, &media);
        if !media.is_empty() && example.body.is_some() && example.header("content-type").is_none() {
            example.headers.push(("Content-Type".to_owned(), media));
        }
    }
    Ok(example)
}

fn field(object: &Value, name: &str) -> Option<String> {
    object.get(name).and_then(Value::as_str).map(sanitize)
}

/// Returns true if a response is an asset, by its media type or the file extension.
fn is_asset(method: &str, address: &Address, media: &str) -> bool {
    const KINDS: [&str; 4] = ["image/", "font/", "audio/", "video/"];
    const TYPES: [&str; 5] = [
        "text/css",
        "text/javascript",
        "application/javascript",
        "application/x-javascript",
        "application/wasm",
    ];
    const ENDINGS: &[&str] = &[
        "avif", "css", "eot", "gif", "htm", "html", "ico", "jpeg", "jpg", "js", "map", "mjs", "mp3", "mp4",
        "otf", "png", "svg", "ttf", "wasm", "webm", "webp", "woff", "woff2",
    ];
    if media.ends_with("json") {
        return false;
    }
    let ending = address.segments.last().and_then(|last| last.rsplit_once('.')).map(|(_, ending)| ending);
    let has_ending = ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()));
    let is_page = method == "GET" && media == "text/html";
    let is_kind = KINDS.iter().any(|kind| media.starts_with(kind)) || TYPES.contains(&media);
    is_kind || is_page || (method == "GET" && has_ending)
}

fn body(data: &Value, media: &str) -> Option<Body> {
    let text = field(data, "text").unwrap_or_default();
    let params: Vec<&Value> = data.get("params").and_then(Value::as_array).into_iter().flatten().collect();
    match essence(media).as_str() {
        "multipart/form-data" if !params.is_empty() => {
            Some(Body::Multipart(params.into_iter().filter_map(part).collect()))
        }
        "multipart/form-data" => {
            Some(parts(&text, media)).filter(|parts| !parts.is_empty()).map(Body::Multipart)
        }
        FORM if text.is_empty() => {
            let pair =
                |param: &Value| Some((field(param, "name")?, field(param, "value").unwrap_or_default()));
            Some(Body::Form(params.into_iter().filter_map(pair).collect()))
        }
        _ => (!text.is_empty()).then_some(Body::Raw { text, assumed: TEXT }),
    }
}

fn part(param: &Value) -> Option<Part> {
    let media = field(param, "contentType").filter(|media| !media.is_empty());
    let content = match field(param, "fileName") {
        Some(name) => Content::file(&name, media.as_deref()),
        None => Content::of_text(&field(param, "value").unwrap_or_default(), media.as_deref()),
    };
    Some(Part { name: field(param, "name")?, content })
}

/// Splits a multipart body that is recorded as raw text.
fn parts(text: &str, media: &str) -> Vec<Part> {
    let boundary = media.split_once("boundary=").map(|(_, rest)| rest.split(';').next().unwrap_or_default());
    let Some(boundary) =
        boundary.map(|boundary| boundary.trim().trim_matches('"')).filter(|it| !it.is_empty())
    else {
        return Vec::new();
    };
    let text = text.replace("\r\n", "\n");
    text.split(&format!("--{boundary}")).skip(1).filter_map(sent_part).collect()
}

fn sent_part(text: &str) -> Option<Part> {
    let (head, content) = text.trim_start_matches('\n').split_once("\n\n")?;
    let quoted = |name: &str| {
        let (_, rest) = head.split_once(&format!("; {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    let media = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-type").then(|| value.trim())
    });
    let content = match quoted("filename") {
        Some(filename) => Content::file(filename, media),
        None => Content::of_text(content.strip_suffix('\n').unwrap_or(content), media),
    };
    Some(Part { name: quoted("name")?.to_owned(), content })
}
