//! An HTTP tool through the whole pipeline, compared with a plain call of the same client. Measures the CPU
//! time of the calling process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use axum::Router;
use axum::extract::{Path, Query};
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use haft_egress::Egress;
use haft_engine::{BreakerSettings, CallOptions, Effect, Tool, ToolExecutionResult, ToolService};
use haft_http::HttpKind;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::http::start;
use crate::load::cpu_time;
use crate::no_op::DiscardingSink;
use crate::table::{median, print};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(30);
const CITY: &str = "Tokyo";

/// Serves the API that is called, which returns a small JSON response.
pub(crate) async fn serve_upstream(listener: TcpListener) -> anyhow::Result<()> {
    let forecast = async |Path(city): Path<String>, Query(query): Query<Value>| {
        axum::Json(json!({"city": city, "days": query["days"], "units": query["units"],
            "forecast": [{"day": 1, "high": 21.5, "low": 14}, {"day": 2, "high": 19, "low": 12.5}]}))
    };
    let router = Router::new().route("/forecast/{city}", get(forecast));
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
    Ok(())
}

pub(crate) type PlainClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Returns the HTTP client that Haft's client is built on, without its guard.
pub(crate) fn client() -> PlainClient {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    connector.enforce_http(false);
    let connector = HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

/// Sends a request as a developer would write it by hand: a client with TLS, a timeout, JSON.
pub(crate) async fn plain_call(client: &PlainClient, base: &str, city: &str) -> anyhow::Result<Value> {
    let uri = format!("{base}/forecast/{city}?days={}&units=metric", 3);
    let request = axum::http::Request::get(uri)
        .header("user-agent", "bench")
        .header("accept", "*/*")
        .header("x-weather-api-key", "k-0123456789")
        .body(Full::default())?;
    let response = async {
        let response = client.request(request).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        Ok(response.into_body().collect().await?.to_bytes())
    };
    Ok(serde_json::from_slice(&tokio::time::timeout(TIMEOUT, response).await??)?)
}

fn engine(base: &str) -> anyhow::Result<ToolService> {
    let egress = Egress::builder().open("127.0.0.0/8".parse()?).build();
    let engine = ToolService::builder()
        .kind(HttpKind::new(egress))
        .breaker(BreakerSettings::default())
        .cache()
        .limits()
        .events()
        .sink_of(Arc::new(DiscardingSink), 1 << 20)
        .build();
    let tool = Tool::new("forecast", "A forecast.", "http", config(base)).input_schema(schema());
    engine.register(tool.effect(Effect::Read).per_minute(1_000_000, 1_000_000).max_concurrency(1000))?;
    Ok(engine)
}

/// Returns the `config` of the tool.
pub(crate) fn config(base: &str) -> Value {
    json!({
        "url": format!("{base}/forecast/{{{{city}}}}"),
        "params": {"days": "{{days}}", "units": "metric"},
        "headers": {"X-Weather-API-Key": "k-0123456789"},
    })
}

/// Returns the argument schema of the tool.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
        "additionalProperties": false,
    })
}

async fn through_haft(engine: &ToolService) -> anyhow::Result<ToolExecutionResult> {
    let result = engine.execute("forecast", json!({"city": CITY}), CallOptions::default()).await?;
    ensure!(result.is_success(), "the call failed: {:?}", result.error());
    Ok(result)
}

/// Runs `callers` at the same time. Returns microseconds of this process's CPU per call, and calls per
/// second.
async fn round<F, A, R>(callers: usize, call: F) -> anyhow::Result<(f64, f64)>
where
    F: Fn() -> A + Clone + Send + 'static,
    A: Future<Output = anyhow::Result<R>> + Send,
{
    let before = cpu_time(std::process::id())?;
    let start = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let call = call.clone();
            tokio::spawn(async move {
                let mut calls = 0_u64;
                while start.elapsed() < ROUND {
                    std::hint::black_box(call().await?);
                    calls += 1;
                }
                anyhow::Ok(calls)
            })
        })
        .collect();
    let mut calls = 0;
    for task in tasks {
        calls += task.await??;
    }
    let elapsed = start.elapsed().as_secs_f64();
    let cpu = cpu_time(std::process::id())?.checked_sub(before).context("CPU time that grows")?;
    Ok((cpu.as_secs_f64() * 1e6 / calls as f64, calls as f64 / elapsed))
}

pub(crate) async fn run() -> anyhow::Result<()> {
    let upstream = start(&["upstream"])?;
    let base = format!("http://{}", upstream.address());
    let client = client();
    let engine = engine(&base)?;
    let expected = plain_call(&client, &base, CITY).await?;
    ensure!(through_haft(&engine).await?.data() == Some(&expected), "the results differ");
    for callers in [1, 16, 64] {
        let (mut of_plain, mut of_haft) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (client, base) = (client.clone(), base.clone());
            of_plain.push(
                round(callers, move || {
                    let (client, base) = (client.clone(), base.clone());
                    async move { plain_call(&client, &base, CITY).await }
                })
                .await?,
            );
            let engine = engine.clone();
            of_haft.push(
                round(callers, move || {
                    let engine = engine.clone();
                    async move { through_haft(&engine).await }
                })
                .await?,
            );
        }
        let figures = |rounds: &[(f64, f64)]| {
            let middle = |figure: fn(&(f64, f64)) -> f64| median(rounds.iter().map(figure).collect());
            (middle(|round| round.0), middle(|round| round.1))
        };
        let (plain, haft) = (figures(&of_plain), figures(&of_haft));
        let row = |name: &str, (cpu, per_second): (f64, f64)| {
            vec![name.to_owned(), format!("{cpu:.1} µs"), format!("{per_second:.0}")]
        };
        let ratio =
            vec!["ratio".to_owned(), format!("{:.2}", haft.0 / plain.0), format!("{:.2}", haft.1 / plain.1)];
        let heading = ["", "CPU per call", "calls/s"].map(str::to_owned).to_vec();
        print(
            &format!("HTTP tool, {callers} at a time (upstream on the same two cores)"),
            &[heading, row("plain call of the same client", plain), row("through the pipeline", haft), ratio],
        );
    }
    Ok(())
}
