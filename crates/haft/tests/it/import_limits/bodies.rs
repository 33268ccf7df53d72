//! Bodies of imports: up to 64 MB, compressed or not, over HTTP and from the command line.

use std::io::Write as _;

use axum::http::Method;
use flate2::Compression;
use flate2::write::GzEncoder;
use haft_testkit::run;
use serde_json::{Value, json};

use crate::HAFT;
use crate::http_tools::start;

/// A document with one operation and a description of `megabytes` megabytes.
pub(super) fn document(megabytes: usize) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Large", "version": "1", "description": "long ".repeat((megabytes << 20) / 5)},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/users": {"get": {"operationId": "listUsers"}}},
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

#[tokio::test]
async fn a_document_larger_than_other_bodies_is_imported() {
    let (_server, api) = start(&[]).await;
    let body = json!({"spec": document(12).to_string()});
    let imported = api.post("/api/tools/import/openapi", &body).await;
    assert_eq!(imported.status, 201, "{}", imported.message());
    let compressed = api.with("content-encoding", "gzip").with("content-type", "application/json");
    let body = gzip(json!({"spec": document(1)}).to_string().as_bytes());
    let again = compressed.send(Method::POST, "/api/tools/import/openapi", body).await;
    assert_eq!(again.status, 201, "{}", again.message());
    assert_eq!(again.data()["tools"][0]["change"], "unchanged");
    let body = json!({"name": "t", "description": "x".repeat(11 << 20)});
    // The server may close the connection before the whole body is sent.
    let elsewhere = api.try_send_json(Method::POST, "/api/tools", &body).await;
    assert!(elsewhere.is_none_or(|reply| reply.status == 413), "the limit of other bodies is unchanged");
}

#[tokio::test]
async fn a_body_past_the_limit_is_refused_with_the_limit() {
    let (_server, api) = start(&[]).await;
    let api = api.with("content-type", "application/json");
    let refused = api.send(Method::POST, "/api/tools/import/openapi", vec![b' '; 65 << 20]).await;
    assert_eq!(refused.status, 413, "{}", refused.message());
    assert!(refused.message().contains("larger than 64 MB"), "{}", refused.message());
    let compressed = api.with("content-encoding", "gzip");
    let bomb = compressed.send(Method::POST, "/api/tools/import/har", gzip(&vec![b' '; 65 << 20])).await;
    assert_eq!(bomb.status, 413, "{}", bomb.message());
    let broken = compressed.send(Method::POST, "/api/tools/import/har", b"{}".to_vec()).await;
    assert_eq!(broken.status, 400, "{}", broken.message());
    assert!(broken.message().contains("not valid gzip"), "{}", broken.message());
    let other =
        api.with("content-encoding", "br").send(Method::POST, "/api/tools/import", b"{}".to_vec()).await;
    assert_eq!(other.status, 415, "{}", other.message());
    assert!(other.message().contains("Content-Encoding br is not supported"), "{}", other.message());
}

#[tokio::test]
async fn the_command_line_imports_large_files_and_shows_why_a_larger_one_is_refused() {
    let (server, _api) = start(&[]).await;
    let directory = tempfile();
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    for (megabytes, code, says) in [(12, 0, "listUsers"), (66, 2, "larger than 64 MB")] {
        let file = directory.join(format!("{megabytes}.json"));
        std::fs::write(&file, document(megabytes).to_string()).expect("a file");
        let file = file.to_string_lossy().into_owned();
        let done = run(HAFT, &["import", "openapi", &file, "--dry-run"], &environment, "").await;
        let output = format!("{}{}", done.stdout, done.stderr);
        assert!(output.contains(says), "{output}");
        assert!(!output.contains("Broken pipe") && !output.contains("cannot reach"), "{output}");
        assert_eq!(done.code == 0, code == 0, "{output}");
    }
    std::fs::remove_dir_all(directory).expect("removed");
}

fn tempfile() -> std::path::PathBuf {
    let directory = std::env::temp_dir().join(format!("haft-import-{}", uuid::Uuid::now_v7().simple()));
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}
