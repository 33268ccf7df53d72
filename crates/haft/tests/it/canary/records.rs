//! What is kept and told of calls: rows, copies, replays, statistics, changes, events, metrics, alerts, traces, logs.
//!
//! Calls are given the very secrets that their tools use, so that a record which keeps what a call was given
//! and does not look at it is found out.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use haft_testkit::{Client, HaftProcess, Place, Reply, Seen, Upstream, eventually, json_reply, reply};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::echo::echo;
use super::encode::percent;
use super::files;
use super::watch::Watch;
use crate::agents::make;
use crate::artifacts::upload;
use crate::survival::Settings;

#[tokio::test]
async fn what_is_kept_and_told_of_calls_holds_no_canary() {
    let mut records = Records::start().await;
    records.make_tools().await;
    records.tell_tools_their_secrets().await;
    records.read_them_all().await;
    records.read_what_is_told().await;
    records.look_at_what_is_kept("kept");
    records.end().await;
}

struct Records {
    watch: Watch,
    place: Place,
    settings: Settings,
    server: HaftProcess,
    api: Client,
    log: PathBuf,
    /// Says whatever it hears.
    echo: Upstream,
    /// Repeats the body of a request as it came.
    parrot: Upstream,
    /// Takes traces and webhooks.
    outside: Upstream,
    /// All that is told to somebody who listens from the beginning.
    events: JoinHandle<String>,
    /// The value of the secret that every tool here uses.
    secret: String,
    /// What the author of a tool wants nobody to see.
    hidden: String,
    calls: usize,
}

impl Records {
    async fn start() -> Self {
        let (watch, place) = (Watch::default(), Place::new());
        let echo = echo(watch.make("access-token")).await;
        let parrot = Upstream::start(|seen| json_reply(200, &json!({"said": seen.text()}))).await;
        let outside = Upstream::start(|_| reply(200, &[], "")).await;
        let (token, collector) = (watch.make("admin-token"), percent(&watch.make("collector-key")));
        let settings = Settings::of(&place)
            .with("HAFT_ADMIN_TOKEN", &token)
            .with("HAFT_LOG", "trace")
            .with("HAFT_LOG_FORMAT", "json")
            .with("HAFT_ALERT_INTERVAL", "200")
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", outside.url("").as_str())
            .with("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-key={collector}"));
        let log = std::env::temp_dir().join(format!("haft-records-{}.log", std::process::id()));
        let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
        let events = tokio::spawn(api.events("/api/events").await.rest());
        let (secret, hidden) = (watch.make("secret"), watch.make("hidden"));
        let kept = api.put("/api/secrets/shared", &json!({"value": secret})).await;
        assert_eq!(kept.status, 200, "{}", kept.body);
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
                // No answer fits it, so that each makes a warning.
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
            tool("kept", self.echo.url("/text"), json!({"cacheTtl": 600})),
            tool("fails", self.echo.url("/status/400"), json!({})),
            tool("slow", self.echo.url("/slow"), json!({"timeout": 200})),
            tool("limited", self.echo.url("/text"), json!({"rateLimit": {"perMinute": 1, "burst": 1}})),
            tool("off", self.echo.url("/text"), json!({"isActive": false})),
            tool("hides", self.parrot.url("/"), json!({"method": "POST", "config": {"redact": rules}})),
        ] {
            make(&self.api, "/api/tools", &tool).await;
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        self.calls += 1;
        self.api.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
    }

    /// Every way in which a call can end, each with a secret where an argument belongs.
    async fn tell_tools_their_secrets(&mut self) {
        let told = json!({"q": format!("my {} and more", self.secret)});
        let wrong = json!({"q": format!("my {}", self.secret), "n": self.secret});
        let long = json!({"q": format!("{}{}", "x".repeat((16 << 10) - 40), self.secret)});
        for (tool, arguments, status) in [
            // Refused before anybody needed the secret.
            ("works", wrong, 400),
            ("works", told.clone(), 200),
            ("works", long, 200),
            ("kept", told.clone(), 200),
            ("kept", told.clone(), 200),
            ("fails", told.clone(), 400),
            ("slow", told.clone(), 504),
            ("limited", told.clone(), 200),
            ("limited", told.clone(), 429),
            ("off", told, 409),
        ] {
            let reply = self.call(tool, arguments).await;
            assert_eq!(reply.status, status, "{tool}: {}", reply.body);
            self.watch.look_at_reply(tool, &reply);
        }
        let said = self.call("hides", json!({"q": format!("my {}", self.hidden)})).await;
        assert_eq!(said.status, 200, "{}", said.body);
        self.watch.look_at_reply("hides", &said);
        // Who sent it may read in the answer what was wrong with it.
        let refused = self.call("hides", json!({"q": "fine", "n": self.hidden})).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        // Who goes away cancels the call.
        self.calls += 1;
        let body = json!({"arguments": {"q": self.secret}, "options": {"timeout": 10_000}});
        let leaving = self.api.post("/api/tools/slow/execute", &body);
        assert!(tokio::time::timeout(Duration::from_millis(300), leaving).await.is_err());
    }

    async fn get(&self, path: &str) -> Reply {
        let reply = self.api.get(path).await;
        self.watch.look_at_reply(path, &reply);
        reply
    }

    async fn rows(&self) -> Vec<Value> {
        let list = self.get("/api/tool-calls?limit=200").await;
        assert_eq!(list.status, 200, "{}", list.body);
        list.data()["items"].as_array().expect("a list").clone()
    }

    /// Every row, its copy and its replay.
    async fn read_them_all(&self) {
        eventually("all calls are on record", async || self.rows().await.len() == self.calls).await;
        let (mut copies, mut replays) = (Vec::new(), Vec::new());
        for row in self.rows().await {
            let path = format!("/api/tool-calls/{}", row["id"].as_str().expect("an id"));
            let read = self.get(&path).await;
            assert_eq!(read.status, 200, "{}", read.body);
            copies.push(self.get(&format!("{path}/curl")).await.status);
            for body in [json!({}), json!({"arguments": {"q": self.secret}})] {
                let again = self.api.post(&format!("{path}/replay"), &body).await;
                self.watch.look_at_reply(&format!("POST {path}/replay"), &again);
                replays.push(again.status);
            }
        }
        // Nothing that a secret was masked in can be copied, or made again as it was.
        assert!(copies.iter().all(|status| *status == 409), "{copies:?}");
        for status in [200, 409] {
            assert!(replays.contains(&status), "no replay ended with {status}: {replays:?}");
        }
        let plain = self.api.post("/api/tools/works/execute", &json!({"arguments": {"q": "plain"}})).await;
        let path = format!("/api/tool-calls/{}/curl", plain.data()["callId"].as_str().expect("an id"));
        eventually("a call is on record", async || self.api.get(&path).await.status == 200).await;
        let copied = self.get(&path).await;
        assert!(copied.data()["command"].to_string().contains("$SHARED"), "{}", copied.body);
    }

    /// What others are told of calls, now and later.
    async fn read_what_is_told(&self) {
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

    fn sent_to(&self, target: &str) -> Vec<Seen> {
        self.outside.seen().into_iter().filter(|seen| seen.target == target).collect()
    }

    /// The files of the databases, with what is not in their places yet; or a dump.
    fn look_at_what_is_kept(&self, when: &str) {
        if self.place.is_postgres() {
            let url = self.settings.get("HAFT_DATABASE_URL");
            let dumped = Command::new("pg_dump").args(["--inserts", url]).output().expect("pg_dump runs");
            let dump = String::from_utf8_lossy(&dumped.stdout);
            assert!(dump.contains("my *** and more"), "no call is in the dump");
            return self.watch.look("the dump of the database", &dump);
        }
        let kept = files(&self.place.directory);
        let is_of_calls = |(name, _): &&(String, Vec<u8>)| name.starts_with("calls.db");
        let of_calls: Vec<u8> =
            kept.iter().filter(is_of_calls).flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        assert!(String::from_utf8_lossy(&of_calls).contains("my *** and more"), "no call is {when}");
        for (name, bytes) in kept {
            self.watch.look_at_bytes(&format!("{name}, {when}"), &bytes);
        }
    }

    async fn end(self) {
        self.server.terminate();
        assert_eq!(self.server.ended().await, Some(0));
        let events = self.events.await.expect("a text");
        for name in ["tool.call.started", "tool.call.completed", "tool.call.failed"] {
            assert!(events.contains(name), "nothing is told of {name}");
        }
        self.watch.look("the events", &events);
        for seen in self.outside.seen() {
            self.watch.look_at_bytes(&format!("what was sent to {}", seen.target), &seen.body);
        }
        for (name, bytes) in files(&self.place.directory) {
            self.watch.look_at_bytes(&format!("{name} after the stop"), &bytes);
        }
        let log = std::fs::read(&self.log).expect("a log");
        let _ = std::fs::remove_file(&self.log);
        let log = String::from_utf8_lossy(&log);
        let is_json = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object());
        assert!(log.lines().all(is_json), "not every line of the log is JSON");
        assert!(log.contains("Called tool `works`"), "the log does not tell of calls");
        self.watch.look("the log", &log);
        self.watch.end(60);
    }
}
