//! Makes the fixtures: drives the previous binary until its runs are in every state, kills it, and saves its data.
//!
//! Only if `HAFT_MAKE_FIXTURES` names the directory and `HAFT_PREVIOUS_BINARY` the binary; see `scripts/fixtures`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Response, StatusCode};
use haft_testkit::{Client, ModelServer, RecordedRequest, Upstream, eventually};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::storage::Storage;
use super::{AGENT, IDEMPOTENCY_KEY, clerk, conversation, respond, settings, text};
use crate::chat::{tools_of, user};
use crate::survival::skipped;
use crate::tasks::{accepted_task, execute, make, mock, wait_for_status};
use crate::v1::{choice, complete, function};

/// Attempts to have a turn that is stored in one row, since it ended within 20 ms.
const ATTEMPTS: usize = 100;

/// Seconds for which a task is delayed, or waits for an approval.
const THIRTY_DAYS: u64 = 30 * 24 * 3600;

/// One row per form in which steps are stored, with its count.
const FORMS: &str = "
    SELECT 'runs with begun', COUNT(*) FROM runs WHERE begun IS NOT NULL
    UNION ALL SELECT 'rows with several steps', COUNT(*) FROM run_steps WHERE key LIKE '+%'
    UNION ALL SELECT 'plain ' || state || ' rows', COUNT(*) FROM run_steps WHERE key NOT LIKE '+%' GROUP BY state
    UNION ALL SELECT 'inbox rows', COUNT(*) FROM run_inbox";

/// One row per status of runs, with its count.
const STATUSES: &str = "SELECT program, status, COALESCE(waiting_for, ''), COUNT(*) FROM runs
    GROUP BY program, status, waiting_for ORDER BY program, status, waiting_for";

#[tokio::test(flavor = "multi_thread")]
async fn previous_binary_leaves_runs_in_every_state() {
    let variable = |name| std::env::var(name);
    let (Ok(directory), Ok(binary)) = (variable("HAFT_MAKE_FIXTURES"), variable("HAFT_PREVIOUS_BINARY"))
    else {
        return skipped("HAFT_MAKE_FIXTURES is not set; scripts/fixtures sets it");
    };
    for storage in Storage::available() {
        make_fixture(storage, &binary, Path::new(&directory)).await;
    }
}

/// The upstream while the previous binary runs: jobs do not end, and orders get no response.
async fn respond_never(request: RecordedRequest) -> Response<Vec<u8>> {
    if request.target == "/order" {
        std::future::pending::<()>().await;
    }
    let mut response = respond(&request);
    if request.target == "/jobs/7" {
        *response.body_mut() = br#"{"status": "running"}"#.to_vec();
    }
    if request.target == "/calls" {
        *response.status_mut() = StatusCode::ACCEPTED;
    }
    response
}

/// The previous version, with its tools and its agent.
struct Previous {
    api: Client,
    model: ModelServer,
    upstream: Upstream,
    storage: Storage,
}

async fn make_fixture(storage: Storage, binary: &str, directory: &Path) {
    let held = Arc::new(Semaphore::new(0));
    let model = ModelServer::start(move |request| clerk(request, Some(held.clone()))).await;
    let upstream = Upstream::start_async(respond_never).await;
    let settings = settings(storage.settings(&Value::Null), &model).with("HAFT_TASK_PLACES", "1");
    let (server, api) = settings.start_behind("exec \"$1\" serve", binary).await;
    let previous = Previous { api, model, upstream, storage };
    previous.define().await;

    let mut expected = json!({"upstream": previous.upstream.address.to_string()});
    if previous.storage.name() == "postgres" {
        expected["masterKey"] = json!(settings.get("HAFT_MASTER_KEY"));
    }
    expected["conversations"] = previous.idle_conversations().await;
    expected["tasks"] = previous.tasks_with_free_slot().await;
    expected["conversations"]["approval"] = previous.conversation_with_approval().await;
    expected["suspended"] = previous.turn_with_client_tools().await;
    expected["tasks"]["reserved"] = json!(previous.occupy_slot().await);
    for (name, task) in previous.tasks_without_slot(text(&expected["tasks"]["approved"])).await {
        expected["tasks"][name] = task;
    }
    for (name, conversation) in previous.running_conversations().await {
        expected["conversations"][name] = conversation;
    }
    // The call log is written in the background.
    tokio::time::sleep(Duration::from_secs(2)).await;
    expected["idempotent"] = previous.keyed_result().await;
    expected["failed"] = crate::tasks::task(&previous.api, text(&expected["tasks"]["failed"])).await;
    server.kill().await;
    let last_change = previous.storage.query("SELECT MAX(changed_at) FROM runs");
    expected["lastChange"] = json!(last_change.parse::<i64>().expect("a time"));
    let (forms, statuses) = (previous.storage.query(FORMS), previous.storage.query(STATUSES));
    println!("{}\n{forms}\n{statuses}", previous.storage.name());
    previous.storage.save(directory, &expected);
}

impl Previous {
    async fn define(&self) {
        let write = |name: &str, more: Value| {
            let mut tool = json!({
                "name": name, "description": "Writes.", "url": self.upstream.url(&format!("/{name}")),
                "method": "POST", "effect": "write", "timeout": 600_000, "params": {"n": "{{n}}"},
                "inputSchema": {"type": "object", "properties": {"n": {"type": "string"}}},
            });
            for (field, value) in more.as_object().expect("an object") {
                tool[field] = value.clone();
            }
            tool
        };
        let poll = json!({"url": "/jobs/{{id}}", "status": "status", "result": "result", "interval": 1});
        let body = json!({"notify": "{{callbackUrl}}"});
        let city =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        for tool in [
            write("order", json!({})),
            write("purchase", json!({})),
            write("pay", json!({"policy": "ask"})),
            write("jobs", json!({"config": {"poll": poll}})),
            write("calls", json!({"config": {"body": body}, "params": null})),
            // A mock without a script returns its arguments.
            mock("weather", json!({"config": {}, "inputSchema": city})),
            mock("note", json!({"config": {}, "inputSchema": {"type": "object"}})),
            mock("report", json!({"async": true})),
            mock("limited", json!({"rateLimit": {"perMinute": 1, "burst": 1}})),
            mock(
                "broken",
                json!({"retryCount": 0, "config": {"answers": [{"error": {"kind": "Server", "message": "Broken."}}]}}),
            ),
        ] {
            make(&self.api, tool).await;
        }
        let tools = tools_of(&self.api, &["weather", "order", "pay", "report"]).await;
        let agent = json!({
            "name": AGENT, "systemPrompt": "You are a clerk.", "toolIds": tools,
            "config": {"provider": "openai", "model": "test-model"},
        });
        let created = self.api.post("/api/agents", &agent).await;
        assert_eq!(created.status, 201, "{}", created.body);
    }

    /// Sends a message to a conversation, or to a new one, and waits for the response. Returns the conversation.
    async fn ask(&self, conversation: Option<&str>, message: &str) -> String {
        let mut body = json!({"messages": [user(message)]});
        match conversation {
            Some(id) => body["conversationId"] = json!(id),
            None => body["agentId"] = json!(AGENT),
        }
        let reply = self.api.post("/api/chat", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        text(&reply.data()["conversationId"]).to_owned()
    }

    /// Sends a message without waiting for the response. Returns the conversation.
    async fn send(&self, conversation: Option<&str>, message: &str) -> String {
        let mut body = json!({"messages": [user(message)], "detach": true});
        match conversation {
            Some(id) => body["conversationId"] = json!(id),
            None => body["agentId"] = json!(AGENT),
        }
        let reply = self.api.post("/api/chat", &body).await;
        assert_eq!(reply.status, 202, "{}", reply.body);
        text(&reply.data()["conversationId"]).to_owned()
    }

    /// Has a conversation until its rows are as `is_stored_so` wants them.
    async fn converse(&self, messages: &[&str], is_stored_so: impl Fn(&str) -> bool) -> Value {
        for _ in 0..ATTEMPTS {
            let mut id = None;
            for message in messages {
                id = Some(self.ask(id.as_deref(), message).await);
            }
            let id = id.expect("a message");
            if is_stored_so(&self.rows(&id)) {
                return self.describe(&id).await;
            }
            let deleted = self.api.delete(&format!("/api/conversations/{id}")).await;
            assert!(deleted.status < 300, "{}", deleted.body);
        }
        panic!("{messages:?}: never stored in the expected form");
    }

    /// Describes the rows of a run: `begun` if its first steps are in the run's row, then the keys of the others.
    fn rows(&self, id: &str) -> String {
        self.storage.query(&format!(
            "SELECT key FROM (SELECT 'begun' AS key, 0 AS n FROM runs WHERE id = '{id}' AND begun IS NOT NULL
             UNION ALL SELECT key, n FROM run_steps WHERE run_id = '{id}') AS rows ORDER BY n"
        ))
    }

    /// Returns an idle conversation as the API shows it, with its rows and the last request to the model.
    async fn describe(&self, id: &str) -> Value {
        let shown = conversation(&self.api, id).await;
        assert_eq!(shown["status"], "idle", "{shown}");
        let request = self.model.seen().last().expect("a request").body["messages"].clone();
        let rows: Vec<String> = self.rows(id).lines().map(str::to_owned).collect();
        json!({"id": id, "rows": rows, "turns": shown["turns"], "lastRequest": request})
    }

    async fn idle_conversations(&self) -> Value {
        json!({
            "one_row": self.converse(&["Hello"], |rows| rows == "begun").await,
            "one_row_with_call": self.converse(&["Weather Rome"], |rows| rows == "begun").await,
            "several_rows": self
                .converse(&["Weather Rome", "Both Kyiv", "Thanks"], |rows| rows == "begun\n+2\n+3")
                .await,
            // The second turn took longer than 20 ms, so its end is in plain rows.
            "mixed_rows": self
                .converse(&["Hello", "Slowly", "Thanks"], |rows| {
                    rows.starts_with("begun\n+2\n2.") && rows.ends_with("\n+3")
                })
                .await,
        })
    }

    /// Starts a task. Returns its id.
    async fn start(&self, tool: &str, number: &str, options: Value) -> String {
        let body = json!({"arguments": {"n": number}, "options": options});
        accepted_task(&execute(&self.api, tool, body).await)
    }

    async fn keyed_result(&self) -> Value {
        let keyed = self.api.with("idempotency-key", IDEMPOTENCY_KEY);
        let reply = execute(&keyed, "purchase", json!({"arguments": {"n": "1"}})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.data().clone()
    }

    async fn tasks_with_free_slot(&self) -> Value {
        let background = || json!({"mode": "async"});
        self.keyed_result().await;
        let failed = self.start("broken", "1", background()).await;
        wait_for_status(&self.api, &failed, "failed").await;
        assert_eq!(execute(&self.api, "limited", json!({})).await.status, 200);
        let retry = accepted_task(&execute(&self.api, "limited", json!({"options": background()})).await);
        let asks = json!({"approvalTimeout": THIRTY_DAYS});
        let (approval, approved) =
            (self.start("pay", "1", asks.clone()).await, self.start("pay", "2", asks).await);
        let (poll, callback) =
            (self.start("jobs", "1", background()).await, self.start("calls", "1", background()).await);
        for (task, reason) in [
            (&retry, "retry"),
            (&approval, "approval"),
            (&approved, "approval"),
            (&poll, "poll"),
            (&callback, "callback"),
        ] {
            let waiting = wait_for_status(&self.api, task, "waiting").await;
            assert_eq!(waiting["waitingFor"], reason, "{waiting}");
        }
        let scheduled = self.start("note", "later", json!({"delay": THIRTY_DAYS})).await;
        json!({
            "failed": failed, "retry": retry, "approval": approval, "approved": approved, "poll": poll,
            "callback": callback, "scheduled": scheduled,
        })
    }

    /// A conversation whose turn waits for an approval.
    async fn conversation_with_approval(&self) -> Value {
        let id = self.send(None, "Pay 3").await;
        eventually("the conversation waits", async || {
            conversation(&self.api, &id).await["status"] == "waiting"
        })
        .await;
        let call = conversation(&self.api, &id).await["turns"][0]["steps"][0]["calls"][0].clone();
        json!({"id": id, "task": text(&call["taskId"])})
    }

    /// A turn of `/v1` that waits for the results of the client's tools.
    async fn turn_with_client_tools(&self) -> Value {
        let messages = json!([user("Look around")]);
        let reply = complete(&self.api, AGENT, &messages, &json!({"tools": [function("look")]})).await;
        assert_eq!(choice(&reply)["finish_reason"], "tool_calls", "{}", reply.body);
        json!({"message": choice(&reply)["message"]})
    }

    /// Occupies the only slot with a write that gets no response.
    async fn occupy_slot(&self) -> String {
        let task = self.start("order", "1", json!({"mode": "async"})).await;
        self.until_ordered(1).await;
        task
    }

    async fn until_ordered(&self, count: usize) {
        eventually("the orders are sent", async || {
            self.upstream.seen().iter().filter(|seen| seen.target == "/order").count() == count
        })
        .await;
    }

    /// Tasks that stay in the queue, since the only slot is occupied.
    async fn tasks_without_slot(&self, approved: &str) -> Vec<(&'static str, Value)> {
        let mut queued = Vec::new();
        for (number, priority) in [("one", 0), ("two", 5), ("three", 0)] {
            let options = json!({"mode": "async", "priority": priority});
            queued.push(self.start("note", number, options).await);
        }
        let path = format!("/api/approvals/{approved}");
        let decided = self.api.post(&path, &json!({"decision": "approve"})).await;
        assert_eq!(decided.status, 200, "{}", decided.body);
        wait_for_status(&self.api, approved, "queued").await;
        vec![("queued", json!(queued))]
    }

    /// Conversations that the kill interrupts.
    async fn running_conversations(&self) -> Vec<(&'static str, Value)> {
        let report = self.ask(None, "Report 1").await;
        let order = self.ask(None, "Hello").await;
        self.send(Some(&order), "Order 9").await;
        self.until_ordered(2).await;
        self.send(Some(&order), "Thanks").await;
        let response = self.send(None, "Wait").await;
        eventually("the model is requested", async || {
            self.model.seen().last().is_some_and(|request| request.user_text() == "Wait")
        })
        .await;
        vec![
            ("pending_result", json!({"id": report})),
            ("reserved_write", json!({"id": order})),
            ("model_request", json!({"id": response})),
        ]
    }
}
