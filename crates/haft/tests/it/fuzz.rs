//! Malformed and unusual requests to every operation of the server's own OpenAPI document.
//!
//! Every response must be documented: its status, and its body by schema.
//! `HAFT_FUZZ_SEED` chooses other requests, and `HAFT_FUZZ_COUNT` their number per operation.

mod generate;
mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use haft_testkit::{Client, HaftProcess, TestResponse};
use serde_json::{Value, json};

use self::generate::{Generator, Rng};
use self::requests::{Request, request};
use crate::HAFT;
use crate::artifacts::upload;

use crate::TOKEN;
const SEED: u64 = 6;
/// Number of requests per operation.
const COUNT: u64 = 40;

/// Statuses of upstream failures, allowed only for operations that call an upstream.
const UPSTREAM_STATUSES: [u16; 3] = [502, 503, 504];

/// Resolves `thing` if it is a `$ref`, and otherwise returns it unchanged.
fn resolved<'a>(document: &'a Value, thing: &'a Value) -> &'a Value {
    match thing["$ref"].as_str() {
        Some(reference) => {
            let pointer = reference.strip_prefix('#').expect("a reference within the document");
            document.pointer(pointer).unwrap_or_else(|| panic!("{reference} points at nothing"))
        }
        None => thing,
    }
}

/// Names and ids for path parameters. They exist unless an earlier request deleted them.
struct Fixtures {
    space: String,
    token: String,
    user: String,
    personal: String,
    alert: String,
    /// A call that waits for an approval.
    task: String,
    artifact: String,
    conversation: String,
}

struct Served {
    server: HaftProcess,
    api: Client,
    document: Value,
    /// Compiled once, because compiling a schema takes longer than a request.
    validators: HashMap<String, jsonschema::Validator>,
}

impl Served {
    async fn start() -> Self {
        // No private network is allowed, so tools and imports reach no other server.
        let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", TOKEN)]).await;
        let api = Client::new(&server.url, TOKEN);
        let document = api.get("/api/openapi.json").await.body;
        Self { server, api, document, validators: HashMap::new() }
    }

    /// Creates everything that an earlier operation may have deleted.
    async fn prepare(&self) -> Fixtures {
        let tool = |name: &str| json!({"name": name, "description": "Answers.", "totalTimeout": 2000});
        let mut mock = tool("fuzz_tool");
        mock["type"] = json!("mock");
        mock["config"] = json!({"answers": [{"data": 1}]});
        let mut http = tool("fuzz_http");
        http["url"] = json!("http://127.0.0.1:9/{{x}}");
        let agent = json!({"name": "fuzz_agent", "toolIds": ["fuzz_tool", "calculator"]});
        for (path, body) in [
            ("/api/tools", mock),
            ("/api/tools", http),
            ("/api/agents", agent),
            ("/api/providers", json!({"name": "fuzz_provider", "kind": "ollama"})),
            ("/api/providers", json!({"name": "fuzz_script", "kind": "scripted", "script": [{"text": "a"}]})),
            ("/api/users", json!({"name": "fuzz_user"})),
        ] {
            let reply = self.api.post(path, &body).await;
            assert!([201, 409].contains(&reply.status), "{path} {body}: {}", reply.body);
        }
        let kept = self.api.put("/api/secrets/fuzz_secret", &json!({"value": "a value"})).await;
        assert_eq!(kept.status, 200, "{}", kept.body);
        let space = self.make("/api/spaces").await;
        let token = self.make("/api/tokens").await;
        let path = format!("/api/spaces/{space}/members/fuzz_user");
        let member = self.api.put(&path, &json!({"role": "viewer"})).await;
        assert_eq!(member.status, 200, "{}", member.body);
        let user = member.data()["userId"].as_str().expect("an id").to_owned();
        let me = self.api.get("/api/me").await;
        let personal = me.data()["space"]["id"].as_str().expect("an id").to_owned();
        let artifact = upload(&self.api, "fuzz.txt", "text/plain", b"Words.").await;
        let artifact = artifact["id"].as_str().expect("an id").to_owned();
        let (alert, task) = (self.alert().await, self.task().await);
        Fixtures {
            space,
            token,
            user,
            personal,
            alert,
            artifact,
            task,
            conversation: self.conversation().await,
        }
    }

    async fn conversation(&self) -> String {
        let messages = json!([{"role": "user", "content": "a"}]);
        let reply =
            self.api.post("/api/chat", &json!({"provider": "fuzz_script", "messages": messages})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.data()["conversationId"].as_str().expect("an id").to_owned()
    }

    async fn task(&self) -> String {
        let mut asked = json!({"name": "fuzz_asked", "description": "Asks first.", "type": "mock"});
        asked["config"] = json!({"answers": [{"data": 1}]});
        asked["policy"] = json!("ask");
        let made = self.api.post("/api/tools", &asked).await;
        assert!([201, 409].contains(&made.status), "{}", made.body);
        let taken = self.api.post("/api/tools/fuzz_asked/execute", &json!({})).await;
        assert_eq!(taken.status, 202, "{}", taken.body);
        taken.data()["taskId"].as_str().expect("an id").to_owned()
    }

    /// Returns an alert that exists, or creates one. The number of alerts in a space is limited.
    async fn alert(&self) -> String {
        let listed = self.api.get("/api/alerts").await;
        let first = match listed.data()["items"].get(0) {
            Some(alert) => alert.clone(),
            None => {
                let made = self.api.post("/api/alerts", &json!({"metric": "p95", "above": 1000})).await;
                assert_eq!(made.status, 201, "{}", made.body);
                made.data().clone()
            }
        };
        first["id"].as_str().expect("an id").to_owned()
    }

    async fn make(&self, path: &str) -> String {
        let made = self.api.post(path, &json!({"name": "fuzz"})).await;
        assert_eq!(made.status, 201, "{path}: {}", made.body);
        made.data()["id"].as_str().expect("an id").to_owned()
    }

    async fn send(&self, request: &Request) -> TestResponse {
        // The server may refuse a large body unread and close the connection, so no other request may use it.
        let is_large = request.body.len() > 2000;
        let client = if is_large { Client::new(&self.server.url, TOKEN) } else { self.api.clone() };
        let client = request.headers.iter().fold(client, |client, (name, value)| client.with(name, value));
        client.send(request.method.clone(), &request.target, request.body.clone()).await
    }

    /// Describes the first fault of a response. Returns `None` if the response is as documented.
    fn fault(&mut self, (path, operation): (&str, &Value), reply: &TestResponse) -> Option<String> {
        let status = reply.status;
        let documented = resolved(&self.document, &operation["responses"][status.to_string()]);
        if !documented.is_object() {
            return Some(format!("{status} is not in the document"));
        }
        let ends = [
            "/execute",
            "/replay",
            "/import/openapi",
            "/completions",
            "/responses",
            "/chat",
            "/with-tools",
            "/continue",
        ];
        let calls_upstream = ends.iter().any(|end| path.ends_with(end));
        if status >= 500 && !(calls_upstream && UPSTREAM_STATUSES.contains(&status)) {
            return Some(format!("{status}: the server failed"));
        }
        if reply.header("x-request-id").is_none() {
            return Some("no x-request-id".to_owned());
        }
        let schema = documented["content"]["application/json"].get("schema")?;
        if reply.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return None;
        }
        let is_file = path.ends_with("/export") && path.contains("/conversations/") && status == 200;
        let has_envelope = path != "/api/openapi.json" && !path.starts_with("/v1/") && !is_file;
        if has_envelope && reply.body["code"] != status {
            return Some(format!("{status}: code is {}", reply.body["code"]));
        }
        let validator = self.validators.entry(schema.to_string()).or_insert_with(|| {
            let mut schema = schema.clone();
            schema["components"] = self.document["components"].clone();
            let options = jsonschema::options().offline().with_draft(jsonschema::Draft::Draft202012);
            options.should_validate_formats(true).build(&schema).expect("a good schema")
        });
        let error = validator.iter_errors(&reply.body).next()?;
        Some(format!("{status}: the body is not as documented: {}: {error}", error.instance_path().as_str()))
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn every_response_is_documented() {
    let (seed, count) = (setting("HAFT_FUZZ_SEED", SEED), setting("HAFT_FUZZ_COUNT", COUNT));
    let mut served = Served::start().await;
    let document = served.document.clone();
    let mut faults: BTreeMap<String, String> = BTreeMap::new();
    let (mut worked, mut refused, mut all) = (BTreeSet::new(), BTreeSet::new(), 0);
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let name = format!("{} {path}", method.to_ascii_uppercase());
            let fixtures = served.prepare().await;
            let mut generator = Generator::new(Rng::new(seed, &name), &document, &fixtures.personal);
            all += 1;
            for number in 0..count {
                let request = request(&mut generator, &document, &fixtures, (method, path, operation));
                let reply = served.send(&request).await;
                match reply.status {
                    200..300 => worked.insert(name.clone()),
                    _ => refused.insert(name.clone()),
                };
                if let Some(fault) = served.fault((path, operation), &reply) {
                    let about = format!("{name}: {fault}");
                    let details = format!("seed {seed}, request {number}: {request}\n{}", reply.body);
                    faults.entry(about).or_insert(details);
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), format_faults(&faults));
    // If nearly all requests were refused, this test would show nothing.
    assert!(worked.len() * 2 > all, "only {} of {all} operations worked at all: {worked:?}", worked.len());
    assert!(refused.len() * 2 > all, "only {} of {all} operations refused anything", refused.len());
}

fn format_faults(faults: &BTreeMap<String, String>) -> String {
    let lines = faults.iter().map(|(about, details)| format!("{about}\n  {details}\n"));
    lines.collect::<Vec<_>>().join("\n")
}
