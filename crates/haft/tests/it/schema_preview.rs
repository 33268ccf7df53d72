//! Warnings of a schema preview about private hosts in the tool's URL, its poll and its token URL.

use haft_testkit::{Client, HaftProcess};
use serde_json::json;

use crate::HAFT;

#[tokio::test]
async fn preview_warns_of_private_poll_and_token_hosts_without_credentials() {
    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "secret-admin-token")]).await;
    let api = Client::new(&server.url, "secret-admin-token");
    let own = "http://10.1.2.3/jobs";
    for (url, more, hosts) in [
        ("https://api.example.com/a", json!({"poll": {"url": "http://10.9.8.7/{{id}}"}}), vec!["10.9.8.7"]),
        (
            "https://api.example.com/a",
            json!({"auth": {"tokenUrl": "http://login.internal/t"}}),
            vec!["login.internal"],
        ),
        (
            "https://api.example.com/a",
            json!({"auth": {"token_url": "http://me:pa55@10.9.8.7/t"}}),
            vec!["10.9.8.7"],
        ),
        (
            own,
            json!({"poll": {"url": own}, "auth": {"tokenUrl": "https://login.example.com/t"}}),
            vec!["10.1.2.3"],
        ),
        (own, json!({"poll": {"url": "/jobs/{{id}}"}, "auth": {"type": "bearer"}}), vec!["10.1.2.3"]),
        ("https://api.example.com/a", json!({"poll": {"url": "{{statusUrl}}"}, "auth": "basic"}), vec![]),
    ] {
        let mut config = more.clone();
        config["url"] = json!(url);
        let reply = api.post("/api/tools/schema-preview", &json!({"type": "http", "config": config})).await;
        assert_eq!(reply.status, 200, "{more}: {}", reply.body);
        let warnings = reply.data()["warnings"].as_array().expect("warnings");
        assert_eq!(warnings.len(), hosts.len(), "{more}: {warnings:?}");
        for (warning, host) in warnings.iter().zip(hosts) {
            let warning = warning.as_str().expect("text");
            assert!(warning.contains(host) && !warning.contains("pa55"), "{more}: {warning}");
        }
    }
}
