//! A server in this process, on a free port.

use std::time::Duration;

use haft_engine::{BreakerSettings, MockKind, Tool, ToolService};
use haft_server::Settings;
use haft_testkit::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) const TOKEN: &str = "test-token";

pub(crate) struct App {
    pub(crate) url: String,
    pub(crate) api: Client,
    _stop: DropGuard,
}

impl App {
    /// With the mock kind, and `fixed`, a tool that the program itself provides.
    pub(crate) async fn start() -> Self {
        let engine = ToolService::builder()
            .kind(MockKind)
            .breaker(BreakerSettings::default())
            .cache()
            .limits()
            .build();
        let fixed = Tool::native_json(
            "fixed",
            "Comes with the program.",
            json!({"type": "object"}),
            |arguments, _| async { Ok(arguments) },
        );
        engine.register(fixed.category("utility")).expect("registered");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let stop = CancellationToken::new();
        let router = haft_server::router(engine, Settings { token: TOKEN.to_owned().into() });
        tokio::spawn(haft_server::serve(listener, router, stop.clone(), Duration::from_secs(1)));
        Self { api: Client::new(&url, TOKEN), url, _stop: stop.drop_guard() }
    }

    /// Creates a mock tool and gives it back.
    pub(crate) async fn create(&self, definition: Value) -> Value {
        let reply = self.api.post("/api/tools", &definition).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.data().clone()
    }

    pub(crate) async fn execute(&self, tool: &str, body: Value) -> haft_testkit::Reply {
        self.api.post(&format!("/api/tools/{tool}/execute"), &body).await
    }
}

pub(crate) fn mock(name: &str, answers: Value) -> Value {
    json!({"name": name, "description": "A mock.", "type": "mock", "config": {"answers": answers}})
}
