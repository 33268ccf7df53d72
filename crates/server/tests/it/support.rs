//! A server in this process, on a free port.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::user::Scope;
use haft_egress::Egress;
use haft_engine::{
    Arguments, BoxFuture, BreakerSettings, CallContext, CallError, CallRecord, CallSink, ConfigError, Effect,
    Kind, MockKind, Prepared, SinkError, Tool, ToolContext, ToolOutput, ToolService, ToolServiceBuilder,
};
use haft_server::{ConnectionSettings, ModelSettings, Settings, StoredModels, StoredSecrets, StoredTools};
use haft_store::{CallLog, Database, Key, MasterKeys, Store};
use haft_testkit::Client;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) const TOKEN: &str = "test-token";

/// A kind whose preview panics: the one place where a kind's code runs in our own hands.
struct Clumsy;

impl Kind for Clumsy {
    fn name(&self) -> &'static str {
        "clumsy"
    }

    fn prepare(&self, _: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        Ok(Arc::new(Clumsy))
    }
}

impl Prepared for Clumsy {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn preview(&self, _: &Arguments, _: &CallContext) -> Result<Option<Value>, CallError> {
        panic!("oh no")
    }

    fn run<'a>(
        &'a self,
        _: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async { Ok(Value::Null.into()) })
    }
}

/// A sink that never gets done.
struct Stuck;

impl CallSink for Stuck {
    fn write<'a>(&'a self, _: &'a [CallRecord]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(std::future::pending())
    }
}

/// A store that is gone with the test, with an admin who has the token.
async fn store() -> Store {
    let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
    let store = Store::open(&Database::Memory, keys).await.expect("a store");
    let (admin, space) = store.create_user("admin", None, true).await.expect("an admin");
    let token = SecretString::from(TOKEN);
    store.create_token_with(space.id, admin.id, "test", Scope::Admin, &token).await.expect("a token");
    store
}

pub(crate) struct App {
    pub(crate) url: String,
    pub(crate) api: Client,
    pub(crate) engine: ToolService,
    pub(crate) store: Store,
    pub(crate) secrets: Arc<StoredSecrets>,
    pub(crate) models: Arc<StoredModels>,
    /// What is served, for who wants to ask it without a connection.
    pub(crate) app: haft_server::App,
    pub(crate) served: JoinHandle<()>,
    pub(crate) stop: CancellationToken,
    _stop: DropGuard,
}

impl App {
    /// With the mock kind, and `fixed`, a tool that the program itself provides.
    pub(crate) async fn start() -> Self {
        Self::start_with(ToolService::builder(), Duration::from_secs(1)).await
    }

    /// With a call log that takes three calls and then is stuck.
    pub(crate) async fn start_stuck() -> Self {
        Self::start_with(ToolService::builder().sink_of(Arc::new(Stuck), 3), Duration::from_secs(1)).await
    }

    pub(crate) async fn start_with(builder: ToolServiceBuilder, grace: Duration) -> Self {
        let builder = builder.kind(MockKind).kind(Clumsy).breaker(BreakerSettings::default());
        let store = store().await;
        let engine = builder.cache().limits().tools(Arc::new(StoredTools::new(store.clone()))).build();
        let fixed = Tool::native_json(
            "fixed",
            "Comes with the program.",
            json!({"type": "object"}),
            |arguments, _| async { Ok(arguments) },
        );
        engine.register(fixed.category("utility")).expect("registered");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let secrets = Arc::new(StoredSecrets::new(store.clone(), uuid::Uuid::nil().into(), HashMap::new()));
        let egress = Egress::builder().open("127.0.0.0/8".parse().expect("networks")).build();
        let log = CallLog::open(&Database::Memory).await.expect("a call log in memory");
        let models =
            StoredModels::new(store.clone(), secrets.clone(), egress.clone(), ModelSettings::default());
        let models = Arc::new(models);
        let (tools, metrics, settings) = (engine.clone(), Arc::default(), Settings::default());
        let kept = (store.clone(), log);
        let app =
            haft_server::App::new(tools, kept, secrets.clone(), models.clone(), egress, metrics, settings);
        let stop = app.stopping();
        let served = tokio::spawn(haft_server::serve(
            listener,
            app.clone(),
            ConnectionSettings::default(),
            stop.clone(),
            grace,
        ));
        Self {
            api: Client::new(&url, TOKEN),
            url,
            engine,
            store,
            secrets,
            models,
            app,
            served,
            stop: stop.clone(),
            _stop: stop.drop_guard(),
        }
    }

    /// Creates a mock tool and gives it back.
    pub(crate) async fn create(&self, definition: Value) -> Value {
        let reply = self.api.post("/api/tools", &definition).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        reply.data().clone()
    }

    pub(crate) async fn execute(&self, tool: &str, body: Value) -> haft_testkit::TestResponse {
        self.api.post(&format!("/api/tools/{tool}/execute"), &body).await
    }
}

pub(crate) fn mock(name: &str, answers: Value) -> Value {
    json!({"name": name, "description": "A mock.", "type": "mock", "config": {"answers": answers}})
}
