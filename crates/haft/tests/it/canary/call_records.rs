//! Leak tests of call records: log rows, cURL commands, replays, statistics, changes, events, metrics,
//! alerts, traces and logs.
//!
//! The arguments of the calls contain the secrets of their tools, so that a record with unmasked arguments is
//! detected.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use haft_testkit::{
    Client, HaftProcess, RecordedRequest, TestResponse, TestStorage, Upstream, eventually, http_response,
    json_reply,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::echo_upstream::echo;
use super::encodings::percent;
use super::files;
use super::watch::Watch;
use crate::agents::make;
use crate::artifacts::upload;
use crate::survival::Settings;

#[tokio::test]
async fn call_records_contain_no_canary() {
    let mut records = Records::start().await;
    records.make_tools().await;
    records.call_with_secrets().await;
    records.read_all_calls().await;
    records.read_aggregates().await;
    records.search_stored_data("while running");
    records.end().await;
}

struct Records {
    watch: Watch,
    place: TestStorage,
    settings: Settings,
    server: HaftProcess,
    api: Client,
    log: PathBuf,
    /// Echoes its requests in many encodings.
    echo: Upstream,
    /// Echoes the body of a request unchanged.
    parrot: Upstream,
    /// Receives traces and webhooks.
    outside: Upstream,
    /// All events since the start of the server.
    events: JoinHandle<String>,
    /// The value of the secret that every tool here uses.
    secret: String,
    /// A value that matches a redaction rule of a tool.
    hidden: String,
    calls: usize,
}

impl Records {
    async fn start() -> Self {
        let (watch, place) = (Watch::default(), TestStorage::new());
        let echo = echo(watch.new_canary("access-token")).await;
        let parrot = Upstream::start(|seen| json_reply(200, &json!({"text": seen.text()}))).await;
        let outside = Upstream::start(|_| http_response(200, &[], "")).await;
        let (token, collector) =
            (watch.new_canary("admin-token"), percent(&watch.new_canary("collector-key")));
        let settings = Settings::of(&place)
            .with("HAFT_ADMIN_TOKEN", &token)
            .with("HAFT_LOG", "trace")
            .with("HAFT_LOG_FORMAT", "json")
            .with("HAFT_ALERT_INTERVAL", "200")
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", outside.url("").as_str())
            .with("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-key={collector}"));
        let log = std::env::temp_dir().join(format!("haft-records-{}.log", std::process::id()));
        let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
        let events = tokio::spawn(api.events("/api/events").await.remaining_text());
        let (secret, hidden) = (watch.new_canary("secret"), watch.new_canary("hidden"));
        let saved = api.put("/api/secrets/shared", &json!({"value": secret})).await;
        assert_eq!(saved.status, 200, "{}", saved.body);
        let alert = json!({"metric": "errorRate", "above": 0, "webhook": outside.url("/hook")});
        make(&api, "/api/alerts", &alert).await;
        upload(&api, "a.txt", "text/plain", b"Words.").await;
        Self {
            watch,
            place,
            settings,
            server,
            api,
            log,
            echo,
            parrot,
            outside,
            events,
            secret,
            hidden,
            calls: 0,
        }
    }

    async fn make_tools(&self) {
        let tool = |name: &str, url: String, more: Value| {
            let mut tool = json!({
                "name": name, "description": "d", "url": url, "params": {"q": "{{q}}"}, "retryCount": 0,
                "headers": {"X-Token": "secret://shared"},
                "inputSchema": {
                    "type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
                },
                // No response matches this schema, so each one causes a warning.
                "outputSchema": {
                    "type": "object", "required": ["nowhere"], "additionalProperties": {"type": "integer"},
                },
            });
            for (field, value) in more.as_object().expect("fields") {
                tool[field] = value.clone();
            }
            tool
        };
        let rules = json!([{"pattern": "cn-hidden-[0-9a-f]+[/+=&?%~x]*"}]);
        for tool in [
            tool("works", self.echo.url("/status/200"), json!({"method": "POST"})),
            tool("cached", self.echo.url("/text"), json!({"cacheTtl": 600})),
            tool("fails", self.echo.url("/status/400"), json!({})),
            tool("slow", self.echo.url("/slow"), json!({"timeout": 200})),
            tool("limited", self.echo.url("/text"), json!({"rateLimit": {"perMinute": 1, "burst": 1}})),
            tool("off", self.echo.url("/text"), json!({"isActive": false})),
            tool("hides", self.parrot.url("/"), json!({"method": "POST", "config": {"redact": rules}})),
        ] {
            make(&self.api, "/api/tools", &tool).await;
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> TestResponse {
        self.calls += 1;
        self.api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
    }

    /// Makes calls with secrets in the arguments, one for each way in which a call can end.
    async fn call_with_secrets(&mut self) {
        let arguments_with_secret = json!({"q": format!("my {} and more", self.secret)});
        let wrong = json!({"q": format!("my {}", self.secret), "n": self.secret});
        let long = json!({"q": format!("{}{}", "x".repeat((16 << 10) - 40), self.secret)});
        for (tool, arguments, status) in [
            // Rejected before the tool's secrets are resolved.
            ("works", wrong, 400),
            ("works", arguments_with_secret.clone(), 200),
            ("works", long, 200),
            ("cached", arguments_with_secret.clone(), 200),
            ("cached", arguments_with_secret.clone(), 200),
            ("fails", arguments_with_secret.clone(), 400),
            ("slow", arguments_with_secret.clone(), 504),
            ("limited", arguments_with_secret.clone(), 200),
            ("limited", arguments_with_secret.clone(), 429),
            ("off", arguments_with_secret, 409),
        ] {
            let reply = self.call(tool, arguments).await;
            assert_eq!(reply.status, status, "{tool}: {}", reply.body);
            self.watch.search_reply(tool, &reply);
        }
        let redacted = self.call("hides", json!({"q": format!("my {}", self.hidden)})).await;
        assert_eq!(redacted.status, 200, "{}", redacted.body);
        self.watch.search_reply("hides", &redacted);
        // The response is not searched: the caller may see the wrong argument in the error.
        let refused = self.call("hides", json!({"q": "fine", "n": self.hidden})).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        // A disconnect cancels the call.
        self.calls += 1;
        let body = json!({"arguments": {"q": self.secret}, "options": {"timeout": 10_000}});
        let pending = self.api.post("/api/tools/slow/execute", &body);
        assert!(tokio::time::timeout(Duration::from_millis(300), pending).await.is_err());
    }

    async fn get(&self, path: &str) -> TestResponse {
        let reply = self.api.get(path).await;
        self.watch.search_reply(path, &reply);
        reply
    }

    async fn rows(&self) -> Vec<Value> {
        let list = self.get("/api/tool-calls?limit=200").await;
        assert_eq!(list.status, 200, "{}", list.body);
        list.data()["items"].as_array().expect("a list").clone()
    }

    /// Reads the log row, the cURL command and the replay of every call.
    async fn read_all_calls(&self) {
        eventually("all calls are logged", async || self.rows().await.len() == self.calls).await;
        let (mut copies, mut replays) = (Vec::new(), Vec::new());
        for row in self.rows().await {
            let path = format!("/api/tool-calls/{}", row["id"].as_str().expect("an id"));
            let read = self.get(&path).await;
            assert_eq!(read.status, 200, "{}", read.body);
            copies.push(self.get(&format!("{path}/curl")).await.status);
            for body in [json!({}), json!({"arguments": {"q": self.secret}})] {
                let again = self.api.post(&format!("{path}/replay"), &body).await;
                self.watch.search_reply(&format!("POST {path}/replay"), &again);
                replays.push(again.status);
            }
        }
        // Calls with masked arguments cannot be copied or replayed unchanged.
        assert!(copies.iter().all(|status| *status == 409), "{copies:?}");
        for status in [200, 409] {
            assert!(replays.contains(&status), "no replay ended with {status}: {replays:?}");
        }
        let plain = self.api.post("/api/tools/works/execute", &json!({"arguments": {"q": "plain"}})).await;
        let path = format!("/api/tool-calls/{}/curl", plain.data()["callId"].as_str().expect("an id"));
        eventually("the call is logged", async || self.api.get(&path).await.status == 200).await;
        let copied = self.get(&path).await;
        assert!(copied.data()["command"].to_string().contains("$SHARED"), "{}", copied.body);
    }

    /// Reads statistics, changes, alerts, files and metrics, and waits for webhooks and traces.
    async fn read_aggregates(&self) {
        for path in [
            "/api/tool-calls?text=zeppelin",
            "/api/stats?window=1h",
            "/api/changes?limit=200",
            "/api/changes?of=server&limit=200",
            "/api/alerts",
            "/api/artifacts",
            "/metrics",
        ] {
            let reply = self.get(path).await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        }
        let metrics = self.api.get("/metrics").await.body.to_string();
        assert!(metrics.contains("haft_tool_calls") && metrics.contains("works"), "{metrics}");
        for target in ["/hook", "/v1/traces"] {
            eventually(target, async || !self.sent_to(target).is_empty()).await;
        }
    }

    fn sent_to(&self, target: &str) -> Vec<RecordedRequest> {
        self.outside.seen().into_iter().filter(|seen| seen.target == target).collect()
    }

    /// Searches the database files including write-ahead logs, or a dump of PostgreSQL.
    fn search_stored_data(&self, when: &str) {
        if self.place.is_postgres() {
            let url = self.settings.get("HAFT_DATABASE_URL");
            let dumped = Command::new("pg_dump").args(["--inserts", url]).output().expect("pg_dump runs");
            let dump = String::from_utf8_lossy(&dumped.stdout);
            assert!(dump.contains("my *** and more"), "no call is in the dump");
            return self.watch.search("the dump of the database", &dump);
        }
        let files = files(&self.place.directory);
        let is_of_calls = |(name, _): &&(String, Vec<u8>)| name.starts_with("calls.db");
        let of_calls: Vec<u8> =
            files.iter().filter(is_of_calls).flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        assert!(String::from_utf8_lossy(&of_calls).contains("my *** and more"), "no call is stored {when}");
        for (name, bytes) in files {
            self.watch.search_bytes(&format!("{name}, {when}"), &bytes);
        }
    }

    async fn end(self) {
        self.server.terminate();
        assert_eq!(self.server.ended().await, Some(0));
        let events = self.events.await.expect("a text");
        for name in ["tool.call.started", "tool.call.completed", "tool.call.failed"] {
            assert!(events.contains(name), "no event {name}");
        }
        self.watch.search("the events", &events);
        for seen in self.outside.seen() {
            self.watch.search_bytes(&format!("the request to {}", seen.target), &seen.body);
        }
        for (name, bytes) in files(&self.place.directory) {
            self.watch.search_bytes(&format!("{name} after the stop"), &bytes);
        }
        let log = std::fs::read(&self.log).expect("a log");
        let _ = std::fs::remove_file(&self.log);
        let log = String::from_utf8_lossy(&log);
        let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object());
        assert!(log.lines().all(is_json), "not every line of the log is JSON");
        assert!(log.contains("Called tool `works`"), "the log contains no calls");
        self.watch.search("the log", &log);
        self.watch.end(60);
    }
}
