//! Canaries: secrets of every sort are put in and used, and then looked for in all that ever comes out.

mod commands;
mod echo;
mod edges;
mod encode;
mod lifted;
mod mirror;
mod mistakes;
mod people;
mod records;
mod talk;
mod watch;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, Place, Reply, Seen, Upstream, eventually};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use uuid::Uuid;

use self::echo::{PATHS, echo, parrot};
use self::encode::{base64, percent};
use self::watch::Watch;
use crate::artifacts::upload;
use crate::survival::{Settings, python};

/// A call that is on record, by the id that it was given.
const CALL: &str = "canary-call";

/// Nothing that is read takes longer; a stream, which never ends, is looked at when the server has stopped.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_canary_is_in_no_output_whatsoever() {
    let mut scene = Scene::new().await;
    scene.keep_secrets().await;
    scene.make_and_call_tools().await;
    scene.import_and_search().await;
    scene.share_a_file().await;
    scene.ask_first().await;
    scene.talk().await;
    scene.make_mistakes().await;
    let visitors = scene.let_people_in().await;
    scene.read_everything(&visitors).await;
    scene.run_commands().await;
    scene.look_at_what_is_kept();
    scene.end().await;
}

/// A server that says all it knows, and upstreams that say all they hear.
struct Scene {
    watch: Watch,
    place: Place,
    settings: Settings,
    server: HaftProcess,
    /// The admin, whose token is a canary too.
    api: Client,
    log: PathBuf,
    /// All that is told to somebody who listens from the beginning.
    events: JoinHandle<String>,
    upstream: Upstream,
    /// One tool of each sort of credential.
    tools: Vec<String>,
    /// The id of an alert.
    alert: String,
    /// A file that is there.
    artifact: String,
    /// A call that a person was asked about, and approved.
    task: String,
    /// The secret that the tools name as `shared`.
    shared: String,
    /// One in which every tool was called.
    conversation: String,
}

impl Scene {
    async fn new() -> Self {
        let (watch, place) = (Watch::default(), Place::new());
        let upstream = echo(watch.make("access-token")).await;
        let bytes: Vec<u8> = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes).concat();
        let (key, token) = (encode::hex(&bytes), watch.make("admin-token"));
        watch.add("master key", &key);
        watch.add("master key in base64", &base64(&bytes));
        let settings = Settings::of(&place)
            .with("HAFT_ADMIN_TOKEN", &token)
            .with("HAFT_MASTER_KEY", &key)
            .with("HAFT_SECRET_OPERATORS", &watch.make("secret-of-the-environment"))
            .with("TAVILY_API_KEY", &watch.make("search-key"))
            .with("TAVILY_BASE_URL", upstream.url("").as_str())
            .with("OPENAI_API_KEY", &watch.make("model-key"))
            .with("OPENAI_BASE_URL", upstream.url("/v1").as_str())
            .with("OTEL_EXPORTER_OTLP_ENDPOINT", upstream.url("").as_str())
            .with("OTEL_EXPORTER_OTLP_HEADERS", &format!("x-key={}", percent(&watch.make("collector-key"))))
            .with("HAFT_LOG", "trace");
        let log = std::env::temp_dir().join(format!("haft-canary-{}.log", std::process::id()));
        let (server, api) = settings.start_behind("exec 2>\"$1\"", log.to_str().expect("a path")).await;
        let events = tokio::spawn(api.events("/api/events").await.rest());
        let artifact = upload(&api, "notes.txt", "text/plain", b"Words.").await;
        let artifact = artifact["id"].as_str().expect("an id").to_owned();
        let [alert, task, conversation] = [const { String::new() }; 3];
        let shared = watch.make("secret-of-the-space");
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

    /// Sends something, or only asks, and looks at what comes back.
    async fn send(&self, client: &Client, method: Method, path: &str, body: &Value) -> Reply {
        let sending = async {
            if body.is_null() {
                client.send(method.clone(), path, Vec::new()).await
            } else {
                client.send_json(method.clone(), path, body).await
            }
        };
        let sent = tokio::time::timeout(PATIENCE, sending).await;
        let reply = sent.unwrap_or_else(|_| panic!("{method} {path}: no whole answer in {PATIENCE:?}"));
        self.watch.look_at_reply(&format!("{method} {path}"), &reply);
        reply
    }

    async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(&self.api, Method::POST, path, body).await
    }

    async fn keep_secrets(&self) {
        for (path, value) in [
            ("/api/secrets/shared", self.shared.clone()),
            ("/api/secrets/plain", self.watch.make_plain("secret-of-letters")),
            ("/api/secrets/own?owner=me", self.watch.make("own-secret")),
        ] {
            let kept = self.send(&self.api, Method::PUT, path, &json!({"value": value})).await;
            assert_eq!(kept.status, 200, "{path}: {}", kept.body);
        }
    }

    /// Every way in which a tool can hold a credential, literal or named.
    fn credentials(&self) -> Vec<(&'static str, Value)> {
        let make = |what| self.watch.make(what);
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
        for (sort, credential) in self.credentials() {
            for (number, url) in urls.iter().enumerate() {
                let name = format!("{sort}_{number}");
                let timeout = if url.ends_with("/slow") { 300 } else { 10_000 };
                let mut tool = json!({
                    "name": name, "description": "Echoes.", "url": url, "timeout": timeout, "retryCount": 0,
                    // No answer fits it, so that each makes a warning.
                    "outputSchema": {"type": "object", "required": ["nowhere"], "additionalProperties": {"type": "integer"}},
                });
                for (field, value) in credential.as_object().expect("fields") {
                    tool[field] = value.clone();
                }
                let tried = self.post("/api/tools?dryRun=true", &tool).await;
                assert_eq!(tried.status, 200, "{name}: {}", tried.body);
                let made = self.post("/api/tools", &tool).await;
                assert_eq!(made.status, 201, "{name}: {}", made.body);
                self.post("/api/tools/schema-preview", &tool).await;
                let path = format!("/api/tools/{name}/execute");
                let shown = self.post(&path, &json!({"options": {"dryRun": true}})).await;
                assert_eq!(shown.status, 200, "{name}: {}", shown.body);
                statuses.push(self.post(&path, &json!({})).await.status);
                // What fails on purpose must not keep the next from being called.
                self.post(&format!("/api/tools/{name}/circuit/reset"), &json!({})).await;
            }
            self.tools.push(format!("{sort}_0"));
        }
        for status in [200, 400, 403, 404, 422, 429, 502, 504] {
            assert!(statuses.contains(&status), "no call ended with {status}: {statuses:?}");
        }
        self.change_and_bind().await;
        // Where it leads is for those who may edit, so that its address is no canary.
        let alert = json!({"metric": "errorRate", "above": 0.5, "webhook": self.upstream.url("/hook?key=k")});
        let made = self.post("/api/alerts", &alert).await;
        assert_eq!(made.status, 201, "{}", made.body);
        self.alert = made.data()["id"].as_str().expect("an id").to_owned();
    }

    /// A second version of each, for diffs, and an agent that has them all.
    async fn change_and_bind(&self) {
        for tool in &self.tools {
            let path = format!("/api/tools/{tool}");
            let changed = self.send(&self.api, Method::PATCH, &path, &json!({"description": "Other."})).await;
            assert_eq!((changed.status, &changed.data()["version"]), (200, &json!(2)), "{}", changed.body);
        }
        let provider = json!({"name": "models", "kind": "openai", "apiKey": self.watch.make("provider-key")});
        assert_eq!(self.post("/api/providers", &provider).await.status, 201);
        // Whoever is asked says all that it was sent.
        for trial in [json!({}), json!({"model": "m"})] {
            let tried = self.post("/api/providers/openai/test", &trial).await;
            assert_eq!(tried.status, 200, "{}", tried.body);
        }
        let agent = json!({"name": "reader", "toolIds": self.tools, "config": {"provider": "models"}});
        let made = self.post("/api/agents", &agent).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let call = json!({"options": {"callId": CALL}});
        assert_eq!(self.post("/api/tools/header_0/execute", &call).await.status, 200);
        let path = format!("/api/tool-calls/{CALL}");
        eventually("a call is on record", async || self.api.get(&path).await.status == 200).await;
    }

    async fn import_and_search(&self) {
        let make = |what| self.watch.make(what);
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

    /// A link is shown this once; its signature is a canary from then on.
    async fn share_a_file(&self) {
        let path = format!("/api/artifacts/{}", self.artifact);
        let made = self.api.post(&format!("{path}/link"), &json!({})).await;
        let url = made.data()["url"].as_str().expect("a URL").to_owned();
        let (_, signature) = url.split_once("?sig=").expect("a signature");
        self.watch.add("signature of a link", signature);
        let anyone = Client::anonymous(&self.server.url);
        for (signature, status) in [(signature, 200), (&signature[..40], 404)] {
            let path = format!("{path}?sig={signature}");
            let reply = anyone.get(&path).await;
            assert_eq!(reply.status, status, "{}", reply.body);
            self.watch.look_at_reply("a file by a link", &reply);
        }
    }

    /// One of the tools as a task: a person is asked, and what the upstream echoes is kept in the journal.
    async fn ask_first(&mut self) {
        let tool = self.tools.first().expect("a tool").clone();
        let path = format!("/api/tools/{tool}");
        let asks = json!({"policy": "ask", "inputSchema": {"type": "object", "additionalProperties": true}});
        let asks = self.send(&self.api, Method::PATCH, &path, &asks).await;
        assert_eq!(asks.status, 200, "{}", asks.body);
        // The caller knows a secret of the tool and passes it on, and so does the person who edits the arguments.
        let given = |more: &str| json!({"said": format!("it is {}{more}", self.shared)});
        let taken = self.post(&format!("{path}/execute"), &json!({"arguments": given("")})).await;
        assert_eq!(taken.status, 202, "{}", taken.body);
        self.task = taken.data()["taskId"].as_str().expect("an id").to_owned();
        let approval = format!("/api/approvals/{}", self.task);
        eventually("somebody is asked", async || self.api.get(&approval).await.status == 200).await;
        let decision = json!({"decision": "approve", "arguments": given(", edited")});
        let approved = self.post(&approval, &decision).await;
        assert_eq!(approved.status, 200, "{}", approved.body);
        let task = format!("/api/tasks/{}", self.task);
        let ended = async || self.api.get(&task).await.data()["endedAt"].is_string();
        eventually("the task has ended", ended).await;
        let free = self.send(&self.api, Method::PATCH, &path, &json!({"policy": null})).await;
        assert_eq!(free.status, 200, "{}", free.body);
    }

    /// Every route that can be read, as the OpenAPI document has them.
    async fn read_everything(&self, visitors: &[Client]) {
        let document = self.send(&self.api, Method::GET, "/api/openapi.json", &Value::Null).await;
        let me = self.send(&self.api, Method::GET, "/api/me", &Value::Null).await;
        let space = me.data()["space"]["id"].as_str().expect("an id");
        let mut read = 0;
        for (path, methods) in document.body["paths"].as_object().expect("paths") {
            if methods.get("get").is_none() {
                continue;
            }
            for filled in self.filled(path, space) {
                let reply = self.send(&self.api, Method::GET, &filled, &Value::Null).await;
                assert_eq!(reply.status, 200, "{filled}: {}", reply.body);
                for visitor in visitors {
                    self.send(visitor, Method::GET, &filled, &Value::Null).await;
                }
                read += 1;
            }
        }
        assert!(read >= 40, "only {read} things were read");
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

    /// A route with something that is there in the place of each parameter.
    fn filled(&self, path: &str, space: &str) -> Vec<String> {
        let things: Vec<&str> = if !path.contains("{id}") {
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
            things.iter().map(|thing| path.replace("{id}", thing).replace("{version}", "1")).collect();
        let is_whole = !filled.is_empty() && filled.iter().all(|path| !path.contains('{'));
        assert!(is_whole, "{path}: say here what to read by it");
        filled
    }

    /// The database and a copy of it, without the key.
    fn look_at_what_is_kept(&self) {
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
            return self.watch.look("the dump of the database", &tables);
        }
        let backup = std::env::temp_dir().join(format!("haft-canary-{}.db", std::process::id()));
        let script =
            "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', (sys.argv[2],))";
        let database = self.place.directory.join("haft.db");
        if python(script, &[&database, &backup]).is_some() {
            self.watch.look_at_bytes("a backup", &std::fs::read(&backup).expect("a backup"));
            let _ = std::fs::remove_file(backup);
        }
        let kept = files(&self.place.directory);
        for name in ["haft.db", "haft.db-wal", "calls.db", "calls.db-wal"] {
            assert!(
                kept.iter().any(|(known, bytes)| known == name && !bytes.is_empty()),
                "{name} is not there"
            );
        }
        for (name, bytes) in kept {
            self.watch.look_at_bytes(&name, &bytes);
        }
    }

    /// What is left when the server has stopped: its data again, and its log.
    async fn end(self) {
        self.server.terminate();
        assert_eq!(self.server.ended().await, Some(0));
        let events = self.events.await.expect("a text");
        for name in ["tool.created", "tool.updated", "tool.call.completed", "tool.call.failed"] {
            assert!(events.contains(&format!("event: {name}\n")), "nothing is told of {name}");
        }
        assert!(!events.contains("event: dropped"), "not all was heard");
        self.watch.look("the events", &events);
        for (name, bytes) in files(&self.place.directory) {
            self.watch.look_at_bytes(&format!("{name} after the stop"), &bytes);
        }
        let traces: Vec<Seen> =
            self.upstream.seen().into_iter().filter(|seen| seen.target == "/v1/traces").collect();
        assert!(!traces.is_empty(), "no trace was sent");
        for trace in traces {
            self.watch.look_at_bytes("a trace", &trace.body);
        }
        let log = std::fs::read(&self.log).expect("a log");
        let _ = std::fs::remove_file(&self.log);
        let text = String::from_utf8_lossy(&log);
        for level in ["TRACE", "DEBUG", "Called tool `header_0`"] {
            assert!(text.contains(level), "the log does not say {level}");
        }
        self.watch.look("the log", &text);
        self.watch.end(500);
    }
}

/// All files below a directory, by their names.
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
