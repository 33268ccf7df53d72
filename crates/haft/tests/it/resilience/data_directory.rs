//! Damaged data directories: the server refuses to start, or reports that it is not ready.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use haft_testkit::{TestStorage, eventually};
use serde_json::json;

use super::call_often;
use crate::artifacts::upload;
use crate::survival::Settings;

#[tokio::test]
async fn empty_database_beside_a_call_log_is_refused() {
    let place = TestStorage::new();
    if place.is_postgres() {
        return;
    }
    let settings = Settings::of(&place);
    let (server, api) = settings.start().await;
    call_often(&api, 3).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    let database = place.directory.join("haft.db");
    let original = std::fs::read(&database).expect("a database");
    let emptied: [&dyn Fn(); 2] = [&|| std::fs::write(&database, b"").expect("written"), &|| {
        std::fs::remove_file(&database).expect("gone")
    }];
    for empty in emptied {
        empty();
        let refused = settings.haft(&["serve", "--addr", "127.0.0.1:0"], "").await;
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("haft.db is missing or empty, but"), "{}", refused.stderr);
        assert!(refused.stderr.contains("Restore"), "{}", refused.stderr);
    }
    std::fs::write(&database, original).expect("restored");
    let (_server, api) = settings.start().await;
    assert_eq!(api.get("/api/tool-calls").await.data()["items"].as_array().map(Vec::len), Some(3));
}

/// A text that only the damaged pages hold.
const MARKER: &str = "the text of a page that will be damaged";

/// Overwrites the pages of a database file that hold the marker. Nothing reads them while a server starts.
fn damage(path: &Path) {
    let bytes = std::fs::read(path).expect("a database");
    let page_size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let file = OpenOptions::new().write(true).open(path).expect("a database");
    let mut damaged = 0;
    for (number, page) in bytes.chunks(page_size).enumerate() {
        if page.windows(MARKER.len()).any(|part| part == MARKER.as_bytes()) {
            file.write_all_at(&[0xa5; 2048], (number * page_size) as u64).expect("damaged");
            damaged += 1;
        }
    }
    assert!(damaged > 0, "no page of {} holds the marker", path.display());
}

#[tokio::test]
async fn server_with_a_damaged_database_file_is_not_ready() {
    for (file, status) in
        [("haft.db", "the database cannot be used"), ("calls.db", "the call log cannot be used")]
    {
        let place = TestStorage::new();
        if place.is_postgres() {
            return;
        }
        let settings = Settings::of(&place);
        let (server, api) = settings.start().await;
        upload(&api, "file.txt", "text/plain", MARKER.repeat(1000).as_bytes()).await;
        let body = json!({"arguments": {"operation": "length", "text": MARKER}});
        assert_eq!(api.post("/api/tools/string/execute", &body).await.status, 200);
        server.terminate();
        assert_eq!(server.ended().await, Some(0));
        damage(&place.directory.join(file));
        let (_server, api) = settings.start().await;
        let is_unready = async || api.get("/readyz").await.status == 503;
        eventually("the server says that it is not ready", is_unready).await;
        let reply = api.get("/readyz").await;
        let reason = format!("The database file {file} is damaged. Restore it from a backup.");
        assert_eq!(reply.body, json!({"status": status, "reason": reason}));
    }
}
