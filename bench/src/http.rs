//! `execute` over HTTP, compared with a bare axum handler that reads and returns JSON.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use haft_core::CallError;
use haft_core::user::Scope;
use haft_egress::Egress;
use haft_server::{App, ConnectionSettings, ModelSettings, Settings, StoredModels, StoredSecrets};
use haft_store::{CallLog, Database, Key, MasterKeys, Store};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::haft::TOKEN;
use crate::load::{Round, Target};
use crate::no_op::engine;
use crate::table::print;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);

/// Runs one of the servers of the benchmarks until the process is killed.
pub(crate) fn serve(which: &[&str]) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        match which {
            ["upstream"] => crate::http_tool::serve_upstream(listener).await?,
            ["hop", base] => crate::bare_hop::serve(listener, base).await?,
            ["model", milliseconds] => {
                let latency = Duration::from_millis(milliseconds.parse()?);
                crate::agent::serve_model(listener, latency).await?;
            }
            ["weather"] => crate::agent::serve_weather(listener).await?,
            ["agent", model, weather] => crate::agent::serve_loop(listener, model, weather).await?,
            ["bare"] => {
                let router = Router::new().route("/execute", post(bare));
                let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
                axum::serve(listener, router).await?;
            }
            _ => {
                let app = {
                    let store = store().await?;
                    let secrets =
                        Arc::new(StoredSecrets::new(store.clone(), uuid::Uuid::nil().into(), HashMap::new()));
                    let log = CallLog::open(&Database::Memory).await;
                    let log = log.map_err(|error| anyhow::anyhow!("{error}"))?;
                    let (egress, metrics) = (Egress::default(), Arc::default());
                    let models = StoredModels::new(
                        store.clone(),
                        secrets.clone(),
                        egress.clone(),
                        ModelSettings::default(),
                    );
                    let (models, settings) = (Arc::new(models), Settings::default());
                    App::new(engine(10)?, (store, log), secrets, models, egress, metrics, settings)
                };
                let (settings, stop) = (ConnectionSettings::default(), CancellationToken::new());
                haft_server::serve(listener, app, settings, stop, Duration::ZERO).await;
            }
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Creates an in-memory store with an admin that has the token.
async fn store() -> anyhow::Result<Store> {
    let to_error = |error: CallError| anyhow::anyhow!("{error}");
    let keys = MasterKeys::new(Key::generate().map_err(to_error)?, Vec::new());
    let store = Store::open(&Database::Memory, keys).await.map_err(to_error)?;
    let (admin, space) = store.create_user("admin", None, true).await.map_err(to_error)?;
    let token = SecretString::from(TOKEN);
    store.create_token_with(space.id, admin.id, "bench", Scope::Admin, &token).await.map_err(to_error)?;
    Ok(store)
}

async fn bare(Json(body): Json<Value>) -> Json<Value> {
    Json(json!({"code": 200, "message": "success", "data": {"data": body["arguments"]}}))
}

/// A server of [`serve`] in a separate process.
pub(crate) struct BenchServer {
    child: Child,
    address: String,
}

impl BenchServer {
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the target of load on this server.
    pub(crate) fn target(&self, path: &str) -> Target {
        Target::new(&self.address, path, vec![self.child.id()])
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts one of the servers of [`serve`] by its name and arguments.
pub(crate) fn start(which: &[&str]) -> anyhow::Result<BenchServer> {
    let mut child =
        Command::new(std::env::current_exe()?).arg("serve").args(which).stdout(Stdio::piped()).spawn()?;
    let mut address = String::new();
    BufReader::new(child.stdout.take().context("a pipe")?).read_line(&mut address)?;
    Ok(BenchServer { address: address.trim().to_owned(), child })
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let (bare_server, haft_server) = (start(&["bare"])?, start(&["haft"])?);
    let bare = bare_server.target("/execute");
    let haft = haft_server.target("/api/tools/kind_0/execute");
    for connections in [1, 16, 64] {
        let (mut of_bare, mut of_haft) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            of_bare.push(bare.round(connections, ROUND).await?);
            of_haft.push(haft.round(connections, ROUND).await?);
        }
        let (bare, haft) = (Round::medians(&of_bare), Round::medians(&of_haft));
        let heading =
            ["server", "calls/s", "median", "slowest 1 %", "CPU per call"].map(str::to_owned).to_vec();
        let ratio = vec![
            "ratio".to_owned(),
            format!("{:.2}", haft.per_second / bare.per_second),
            format!("{:.2}", haft.median / bare.median),
            format!("{:.2}", haft.slowest / bare.slowest),
            format!("{:.2}", haft.cpu / bare.cpu),
        ];
        let rows = [heading, row("bare axum handler", &bare), row("haft, execute", &haft), ratio];
        print(&format!("HTTP, {connections} connections (client on the same two cores)"), &rows);
    }
    Ok(())
}

fn row(name: &str, middle: &Round) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{:.0}", middle.per_second),
        format!("{:.0} µs", middle.median),
        format!("{:.0} µs", middle.slowest),
        format!("{:.1} µs", middle.cpu),
    ]
}
