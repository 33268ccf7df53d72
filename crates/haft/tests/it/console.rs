//! The console served by the binary: its page, files, headers, and the OpenAPI document of its types.

use haft_testkit::{Client, HaftProcess};
use serde_json::Value;

use crate::HAFT;

#[tokio::test]
async fn every_path_outside_the_apis_returns_the_page() {
    let server = HaftProcess::start(HAFT, &["serve"], &[]).await;
    let browser = Client::anonymous(&server.url);
    if haft_console::FILES.is_empty() {
        let reply = browser.get("/tools").await;
        assert_eq!((reply.status, reply.kind()), (503, "Unavailable"));
        assert!(reply.message().contains("make build"), "{}", reply.body);
        return;
    }
    for path in ["/", "/login?link=x", "/tools/some_tool", "/settings"] {
        let (status, headers, page) = browser.download(path).await;
        assert_eq!((status, &headers["content-type"]), (200, &"text/html; charset=utf-8".parse().expect("")));
        assert_eq!(headers["cache-control"], "no-cache");
        let policy = headers["content-security-policy"].to_str().expect("text");
        assert!(policy.contains("default-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(
            (&headers["x-content-type-options"], &headers["referrer-policy"]),
            (&"nosniff".parse().expect(""), &"no-referrer".parse().expect(""))
        );
        assert!(String::from_utf8_lossy(&page).contains("<div id=\"root\">"), "{path}");
    }
    assert_eq!(browser.get("/assets/nothing.js").await.status, 404);
    assert_eq!(browser.post("/tools", &Value::Null).await.status, 404);
    assert_eq!(browser.get("/api/nothing").await.status, 401);
}

#[tokio::test]
async fn files_are_compressed_and_cached_permanently() {
    let Some(script) = haft_console::FILES.iter().find(|file| file.path.starts_with("assets/index-")) else {
        return;
    };
    let server = HaftProcess::start(HAFT, &["serve"], &[]).await;
    let browser = Client::anonymous(&server.url);
    let path = format!("/{}", script.path);
    let (status, headers, plain) = browser.with("accept-encoding", "identity").download(&path).await;
    assert_eq!((status, headers.get("content-encoding")), (200, None));
    assert_eq!(plain, script.bytes);
    assert!(headers["cache-control"].to_str().expect("text").contains("immutable"));
    let (_, headers, small) = browser.with("accept-encoding", "gzip, br").download(&path).await;
    assert_eq!(headers["content-encoding"], "br");
    assert_eq!(Some(&*small), script.brotli);
    let tag = headers["etag"].to_str().expect("text");
    let (status, _, nothing) = browser.with("if-none-match", tag).download(&path).await;
    assert_eq!((status, nothing.len()), (304, 0));
}

#[tokio::test]
async fn openapi_document_of_the_console_is_current() {
    let server = HaftProcess::start(HAFT, &["serve"], &[]).await;
    let document = Client::anonymous(&server.url).get("/api/openapi.json").await.body;
    let document = format!("{}\n", serde_json::to_string_pretty(&document).expect("JSON"));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json");
    if std::env::var_os("HAFT_WRITE_GUIDE").is_some() {
        std::fs::write(&path, &document).expect("written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(current == document, "web/openapi.json is out of date. Run `make guide`.");
}
