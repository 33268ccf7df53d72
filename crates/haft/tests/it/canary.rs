//! Leak tests with canaries: every type of secret is stored and used, then all output of the server is
//! searched for it.

mod call_records;
mod commands;
mod conversations;
mod echo_model;
mod echo_upstream;
mod edge_cases;
mod encodings;
mod invalid_requests;
mod lifted_credentials;
mod users;
mod watch;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, RecordedRequest, TestResponse, TestStorage, Upstream, eventually};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use uuid::Uuid;

use self::echo_upstream::{PATHS, echo, parrot};
use self::encodings::{base64, percent};
use self::watch::Watch;
use crate::artifacts::upload;
use crate::survival::{Settings, python};

/// The id of a logged call.
const CALL: &str = "canary-call";

/// Maximum time of a request. Endless streams are searched after the server has stopped.
const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn no_output_contains_a_canary() {
    let mut scene = Scene::new().await;
    scene.store_secrets().await;
    scene.make_and_call_tools().await;
    scene.import_and_search().await;
    scene.share_a_file().await;
    scene.call_with_approval().await;
    scene.run_conversations().await;
    scene.send_invalid_requests().await;
    let readers = scene.add_readers().await;
    scene.read_everything(&readers).await;
    scene.run_commands().await;
    scene.search_stored_data();
    scene.end().await;
}

/// A server with all logs and exports enabled, and upstreams that echo their requests.
struct Scene {
    watch: Watch,
    place: TestStorage,
    settings: Settings,
    server: HaftProcess,
    /// The admin, whose token is a canary too.
    api: Client,
    log: PathBuf,
    /// All events since the start of the server.
    events: JoinHandle<String>,
    upstream: Upstream,
    /// One tool for each type of credential.
    tools: Vec<String>,
    /// The id of an alert.
    alert: String,
    /// The id of a file.
    artifact: String,
    /// The id of a task whose call was approved.
    task: String,
    /// The value of the secret `shared`, which the tools use.
    shared: String,
    /// The id of a conversation in which every tool was called.
    conversation: String,
}

impl Scene {
    async fn new() -> Self {
        let (watch, place) = (Watch::default(), TestStorage::new());
        let upstream = echo(watch.new_canary("access-token")).await;
        let bytes: Vec<u8> = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
        let (key, token) = (encodings::hex(&bytes), watch.new_canary("admin-token"));
        watch.add("master key", &key);
        watch.add("master key in base64", &base64(&bytes));
        let settings = Settings::of(&place)
            .with("HAFT_ADMIN_TOKEN", &token)
            .with("HAFT_MASTER_KEY", &key)
            .with("HAFT_SECRET_OPERATORS", &watch.new_canary("secret-of-the-environment"))
            .with("TAVILY_API_KEY", &watch.new_canary("search-key"))
            .with("TAVILY_BASE_URL", upstream.url("").as_str())
            .with("OPENAI_API_KEY", &watch.new_canary("model-key"))
            .with("OPENAI_BASE_URL", upstream.url("/v1").as_str())
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", upstream.url("").as_str())
            .with(
                "OTEL_EXPORTER_OTLP_HEADERS",
                &format!("x-key={}", percent(&watch.new_canary("collector-key"))),
            )
            .with("HAFT_LOG", "trace");
        let log = std::env::temp_dir().join(format!("haft-canary-{}.log", std::process::id()));
        let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
        let events = tokio::spawn(api.events("/api/events").await.remaining_text());
        let artifact = upload(&api, "notes.txt", "text/plain", b"Words.").await;
        let artifact = artifact["id"].as_str().expect("an id").to_owned();
        let [alert, task, conversation] = [const { String::new() }; 3];
        let shared = watch.new_canary("secret-of-the-space");
        Self {
            watch,
            place,
            settings,
            server,
            api,
            log,
            events,
            upstream,
            tools: Vec::new(),
            alert,
            artifact,
            task,
            shared,
            conversation,
        }
    }

    /// Sends a request, without a body if it is null, and searches the response.
    async fn send(&self, client: &Client, method: Method, path: &str, body: &Value) -> TestResponse {
        let sending = async {
            if body.is_null() {
                client.send(method.clone(), path, Vec::new()).await
            } else {
                client.send_json(method.clone(), path, body).await
            }
        };
        let sent = tokio::time::timeout(TIMEOUT, sending).await;
        let reply = sent.unwrap_or_else(|_| panic!("{method} {path}: no complete response in {TIMEOUT:?}"));
        self.watch.search_reply(&format!("{method} {path}"), &reply);
        reply
    }

    async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send(&self.api, Method::POST, path, body).await
    }

    async fn store_secrets(&self) {
        for (path, value) in [
            ("/api/secrets/shared", self.shared.clone()),
            ("/api/secrets/plain", self.watch.new_plain_canary("secret-of-letters")),
            ("/api/secrets/own?owner=me", self.watch.new_canary("own-secret")),
        ] {
            let saved = self.send(&self.api, Method::PUT, path, &json!({"value": value})).await;
            assert_eq!(saved.status, 200, "{path}: {}", saved.body);
        }
    }

    /// Returns every way in which a tool can contain a credential: literal and as a reference.
    fn credentials(&self) -> Vec<(&'static str, Value)> {
        let make = |what| self.watch.new_canary(what);
        let oauth = |path: &str, what| {
            json!({"auth": {
                "type": "oauth2ClientCredentials", "tokenUrl": self.upstream.url(path),
                "clientId": "haft", "clientSecret": make(what),
            }})
        };
        vec![
            (
                "header",
                json!({"headers": {
                    "Authorization": format!("Bearer {}", make("bearer-token")), "X-Token": "secret://shared",
                    "X-Plain-Key": "secret://plain", "X-Own-Key": "secret://me/own",
                    "X-Operators-Key": "secret://operators", "Cookie": make("cookie"),
                }}),
            ),
            ("bearer", json!({"auth": {"type": "bearer", "token": make("auth-token")}})),
            (
                "basic",
                json!({"auth": {"type": "basic", "username": "ada", "password": make("password-of-a-tool")}}),
            ),
            ("key", json!({"auth": {"type": "apiKey", "name": "X-Api-Key", "value": make("api-key")}})),
            (
                "query",
                json!({"auth": {"type": "apiKey", "in": "query", "name": "key", "value": make("key-in-query")}}),
            ),
            ("oauth", oauth("/token", "client-secret")),
            ("refused", oauth("/refused", "refused-client-secret")),
            (
                "named",
                json!({"method": "POST", "query": {"q": "secret://shared"},
                    "body": {"plain": "secret://plain", "deep": ["secret://me/own"]}}),
            ),
        ]
    }

    async fn make_and_call_tools(&mut self) {
        let parrots = [
            parrot(b"").await,
            parrot(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").await,
            parrot(b"HTTP/1.1 500 ").await,
        ];
        let urls: Vec<String> = PATHS.map(|path| self.upstream.url(path)).to_vec();
        let urls: Vec<String> =
            urls.into_iter().chain(parrots.each_ref().map(|parrot| parrot.url("/"))).collect();
        let mut statuses = Vec::new();
        for (kind, credential) in self.credentials() {
            for (number, url) in urls.iter().enumerate() {
                let name = format!("{kind}_{number}");
                let timeout = if url.ends_with("/slow") { 300 } else { 10_000 };
                let mut tool = json!({
                    "name": name, "description": "Echoes.", "url": url, "timeout": timeout, "retryCount": 0,
                    // No response matches this schema, so each one causes a warning.
                    "outputSchema": {"type": "object", "required": ["nowhere"], "additionalProperties": {"type": "integer"}},
                });
                for (field, value) in credential.as_object().expect("fields") {
                    tool[field] = value.clone();
                }
                let dry_run = self.post("/api/tools?dryRun=true", &tool).await;
                assert_eq!(dry_run.status, 200, "{name}: {}", dry_run.body);
                let created = self.post("/api/tools", &tool).await;
                assert_eq!(created.status, 201, "{name}: {}", created.body);
                self.post("/api/tools/schema-preview", &tool).await;
                let path = format!("/api/tools/{name}/execute");
                let dry_run = self.post(&path, &json!({"options": {"dryRun": true}})).await;
                assert_eq!(dry_run.status, 200, "{name}: {}", dry_run.body);
                statuses.push(self.post(&path, &json!({})).await.status);
                // Failures are intended here and must not open the circuit for the next calls.
                self.post(&format!("/api/tools/{name}/circuit/reset"), &json!({})).await;
            }
            self.tools.push(format!("{kind}_0"));
        }
        for status in [200, 400, 403, 404, 422, 429, 502, 504] {
            assert!(statuses.contains(&status), "no call ended with {status}: {statuses:?}");
        }
        self.change_and_bind().await;
        // The webhook URL is visible to editors, so it is not a canary.
        let alert = json!({"metric": "errorRate", "above": 0.5, "webhook": self.upstream.url("/hook?key=k")});
        let created = self.post("/api/alerts", &alert).await;
        assert_eq!(created.status, 201, "{}", created.body);
        self.alert = created.data()["id"].as_str().expect("an id").to_owned();
    }

    /// Creates a second version of each tool, for diffs, and an agent with all tools.
    async fn change_and_bind(&self) {
        for tool in &self.tools {
            let path = format!("/api/tools/{tool}");
            let changed = self.send(&self.api, Method::PATCH, &path, &json!({"description": "Other."})).await;
            assert_eq!((changed.status, &changed.data()["version"]), (200, &json!(2)), "{}", changed.body);
        }
        let provider =
            json!({"name": "models", "kind": "openai", "apiKey": self.watch.new_canary("provider-key")});
        assert_eq!(self.post("/api/providers", &provider).await.status, 201);
        // The provider is the echo upstream.
        for trial in [json!({}), json!({"model": "m"})] {
            let tried = self.post("/api/providers/openai/test", &trial).await;
            assert_eq!(tried.status, 200, "{}", tried.body);
        }
        let agent = json!({"name": "reader", "toolIds": self.tools, "config": {"provider": "models"}});
        let created = self.post("/api/agents", &agent).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let call = json!({"options": {"callId": CALL}});
        assert_eq!(self.post("/api/tools/header_0/execute", &call).await.status, 200);
        let path = format!("/api/tool-calls/{CALL}");
        eventually("the call is logged", async || self.api.get(&path).await.status == 200).await;
    }

    async fn import_and_search(&self) {
        let make = |what| self.watch.new_canary(what);
        let command = format!(
            "curl '{}?api_key={}' -u 'ada:{}' -H 'X-Api-Key: {}'",
            self.upstream.url("/imported"),
            percent(&make("key-of-curl")),
            make("password-of-curl"),
            make("header-of-curl"),
        );
        for dry in [true, false] {
            let body = json!({"command": command, "name": "imported", "dryRun": dry});
            let imported = self.post("/api/tools/import/curl", &body).await;
            assert!(imported.status < 300, "{}", imported.body);
        }
        let called = self.post("/api/tools/imported/execute", &json!({})).await;
        assert_eq!(called.status, 200, "{}", called.body);
        let seen = self.upstream.seen();
        let seen = seen.iter().find(|seen| seen.target.starts_with("/imported")).expect("a call");
        assert!(seen.header("authorization").is_some() && seen.header("x-api-key").is_some(), "{seen:?}");
        let literal = json!({"name": "given", "description": "d", "url": self.upstream.url("/text"),
            "headers": {"Authorization": format!("Bearer {}", make("token-in-a-file"))}});
        for dry in [true, false] {
            let given = self.post("/api/tools/import", &json!({"tools": [literal], "dryRun": dry})).await;
            assert_eq!(given.status, 200, "{}", given.body);
        }
        let found = self.post("/api/tools/web_search/execute", &json!({"arguments": {"query": "q"}})).await;
        assert_eq!(found.status, 200, "{}", found.body);
        assert!(found.body.to_string().contains("***"), "the key was echoed: {}", found.body);
    }

    /// Creates a link to a file. Its signature is returned only here and is a canary afterwards.
    async fn share_a_file(&self) {
        let path = format!("/api/artifacts/{}", self.artifact);
        let created = self.api.post(&format!("{path}/link"), &json!({})).await;
        let url = created.data()["url"].as_str().expect("a URL").to_owned();
        let (_, signature) = url.split_once("?sig=").expect("a signature");
        self.watch.add("signature of a link", signature);
        let anyone = Client::anonymous(&self.server.url);
        for (signature, status) in [(signature, 200), (&signature[..40], 404)] {
            let path = format!("{path}?sig={signature}");
            let reply = anyone.get(&path).await;
            assert_eq!(reply.status, status, "{}", reply.body);
            self.watch.search_reply("a file by a link", &reply);
        }
    }

    /// Runs one of the tools as a task with an approval. Its journal contains the echo of the upstream.
    async fn call_with_approval(&mut self) {
        let tool = self.tools.first().expect("a tool").clone();
        let path = format!("/api/tools/{tool}");
        let asks = json!({"policy": "ask", "inputSchema": {"type": "object", "additionalProperties": true}});
        let asks = self.send(&self.api, Method::PATCH, &path, &asks).await;
        assert_eq!(asks.status, 200, "{}", asks.body);
        // The arguments contain a secret of the tool, both in the call and in the edited approval.
        let arguments = |more: &str| json!({"text": format!("it is {}{more}", self.shared)});
        let taken = self.post(&format!("{path}/execute"), &json!({"arguments": arguments("")})).await;
        assert_eq!(taken.status, 202, "{}", taken.body);
        self.task = taken.data()["taskId"].as_str().expect("an id").to_owned();
        let approval = format!("/api/approvals/{}", self.task);
        eventually("an approval waits", async || self.api.get(&approval).await.status == 200).await;
        let decision = json!({"decision": "approve", "arguments": arguments(", edited")});
        let approved = self.post(&approval, &decision).await;
        assert_eq!(approved.status, 200, "{}", approved.body);
        let task = format!("/api/tasks/{}", self.task);
        let ended = async || self.api.get(&task).await.data()["endedAt"].is_string();
        eventually("the task has ended", ended).await;
        let free = self.send(&self.api, Method::PATCH, &path, &json!({"policy": null})).await;
        assert_eq!(free.status, 200, "{}", free.body);
    }

    /// Requests every GET route of the OpenAPI document.
    async fn read_everything(&self, readers: &[Client]) {
        let document = self.send(&self.api, Method::GET, "/api/openapi.json", &Value::Null).await;
        let me = self.send(&self.api, Method::GET, "/api/me", &Value::Null).await;
        let space = me.data()["space"]["id"].as_str().expect("an id");
        let mut read = 0;
        for (path, methods) in document.body["paths"].as_object().expect("paths") {
            if methods.get("get").is_none() {
                continue;
            }
            for filled in self.fill_parameters(path, space) {
                let reply = self.send(&self.api, Method::GET, &filled, &Value::Null).await;
                assert_eq!(reply.status, 200, "{filled}: {}", reply.body);
                for reader in readers {
                    self.send(reader, Method::GET, &filled, &Value::Null).await;
                }
                read += 1;
            }
        }
        assert!(read >= 40, "only {read} routes were read");
        for path in [
            "/api/secrets?owner=me",
            "/api/tools?limit=200",
            "/api/tools/nowhere",
            "/readyz",
            "/login",
            "/metrics",
        ] {
            self.send(&self.api, Method::GET, path, &Value::Null).await;
        }
    }

    /// Replaces the parameters of a route with ids of existing resources.
    fn fill_parameters(&self, path: &str, space: &str) -> Vec<String> {
        let ids: Vec<&str> = if !path.contains("{id}") {
            vec![""]
        } else if path.starts_with("/api/tools/") {
            self.tools.iter().map(String::as_str).collect()
        } else if ["/api/agents/", "/v1/models/"].iter().any(|start| path.starts_with(start)) {
            vec!["reader"]
        } else if path.starts_with("/api/providers/") {
            vec!["models", "openai"]
        } else if path.starts_with("/api/alerts/") {
            vec![self.alert.as_str()]
        } else if ["/api/tasks/", "/api/approvals/", "/api/callbacks/"]
            .iter()
            .any(|start| path.starts_with(start))
        {
            vec![self.task.as_str()]
        } else if path.starts_with("/api/tool-calls/") {
            vec![CALL]
        } else if path.starts_with("/api/conversations/") {
            vec![self.conversation.as_str()]
        } else if path.starts_with("/api/spaces/") {
            vec![space]
        } else if path.starts_with("/api/artifacts/") {
            vec![self.artifact.as_str()]
        } else {
            Vec::new()
        };
        let filled: Vec<String> =
            ids.iter().map(|id| path.replace("{id}", id).replace("{version}", "1")).collect();
        let is_whole = !filled.is_empty() && filled.iter().all(|path| !path.contains('{'));
        assert!(is_whole, "{path}: add an id for this route here");
        filled
    }

    /// Searches the database and a backup of it. The master key is not stored there.
    fn search_stored_data(&self) {
        assert!(!self.place.directory.join("master.key").exists(), "the key is in no file");
        if self.place.is_postgres() {
            let url = self.settings.get("HAFT_DATABASE_URL");
            let dumped = Command::new("pg_dump").args(["--inserts", url]).output().expect("pg_dump runs");
            let tables = String::from_utf8_lossy(&dumped.stdout);
            for table in ["secrets", "tools", "tool_versions", "tokens", "sessions", "passwords", "providers"]
            {
                assert!(tables.contains(&format!("INSERT INTO public.{table} ")), "no rows of {table}");
            }
            // Rows of calls are in a table for each day.
            for table in ["tool_call_log", "tool_call_bodies"] {
                assert!(tables.contains(&format!("INSERT INTO public.{table}")), "no rows of {table}");
            }
            return self.watch.search("the dump of the database", &tables);
        }
        let backup = std::env::temp_dir().join(format!("haft-canary-{}.db", std::process::id()));
        let script =
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', (sys.argv[2],))";
        let database = self.place.directory.join("haft.db");
        if python(script, &[&database, &backup]).is_some() {
            self.watch.search_bytes("a backup", &std::fs::read(&backup).expect("a backup"));
            let _ = std::fs::remove_file(backup);
        }
        let files = files(&self.place.directory);
        for name in ["haft.db", "haft.db-wal", "calls.db", "calls.db-wal"] {
            assert!(
                files.iter().any(|(file, bytes)| file == name && !bytes.is_empty()),
                "{name} is missing or empty"
            );
        }
        for (name, bytes) in files {
            self.watch.search_bytes(&name, &bytes);
        }
    }

    /// Stops the server, then searches its events, data, traces and log.
    async fn end(self) {
        self.server.terminate();
        assert_eq!(self.server.ended().await, Some(0));
        let events = self.events.await.expect("a text");
        for name in ["tool.created", "tool.updated", "tool.call.completed", "tool.call.failed"] {
            assert!(events.contains(&format!("event: {name}\n")), "no event {name}");
        }
        assert!(!events.contains("event: dropped"), "events were dropped");
        self.watch.search("the events", &events);
        for (name, bytes) in files(&self.place.directory) {
            self.watch.search_bytes(&format!("{name} after the stop"), &bytes);
        }
        let traces: Vec<RecordedRequest> =
            self.upstream.seen().into_iter().filter(|seen| seen.target == "/v1/traces").collect();
        assert!(!traces.is_empty(), "no trace was sent");
        for trace in traces {
            self.watch.search_bytes("a trace", &trace.body);
        }
        let log = std::fs::read(&self.log).expect("a log");
        let _ = std::fs::remove_file(&self.log);
        let text = String::from_utf8_lossy(&log);
        for level in ["TRACE", "DEBUG", "Called tool `header_0`"] {
            assert!(text.contains(level), "the log does not contain {level}");
        }
        self.watch.search("the log", &text);
        self.watch.end(500);
    }
}

/// Returns all files below a directory with their names.
fn files(directory: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        match std::fs::read(&path) {
            Ok(bytes) => files.push((entry.file_name().to_string_lossy().into_owned(), bytes)),
            Err(_) => files.extend(self::files(&path)),
        }
    }
    files
}
