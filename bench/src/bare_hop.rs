//! A hop as a developer would write it by hand: axum, one route, one request, the response in an envelope.
//!
//! Two routes use different clients: `/plain` the one that Haft's client is built on, `/guarded` Haft's own
//! client under the operator's policy.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::extract::State;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use haft_egress::{Destination, Egress, Limits, Request, RequestPolicy};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;
use url::Url;

use crate::http_tool::{PlainClient, client, plain_call};

const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BYTES: usize = 1 << 20;

struct Upstream {
    base: String,
    client: PlainClient,
    destination: Destination,
    egress: Egress,
}

type HopResult = Result<Json<Value>, (StatusCode, String)>;

pub(crate) async fn serve(listener: TcpListener, base: &str) -> anyhow::Result<()> {
    let upstream = Upstream {
        base: base.to_owned(),
        client: client(),
        destination: Destination::of(&Url::parse(base)?)?,
        egress: Egress::default(),
    };
    let router = Router::new()
        .route("/plain", post(by_plain_client))
        .route("/guarded", post(by_guarded_client))
        .with_state(Arc::new(upstream));
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
    Ok(())
}

async fn by_plain_client(State(upstream): State<Arc<Upstream>>, Json(body): Json<Value>) -> HopResult {
    let response = async { plain_call(&upstream.client, &upstream.base, city(&body)?).await };
    envelope(response.await)
}

async fn by_guarded_client(State(upstream): State<Arc<Upstream>>, Json(body): Json<Value>) -> HopResult {
    let response = async { guarded(&upstream, city(&body)?).await };
    envelope(response.await)
}

async fn guarded(upstream: &Upstream, city: &str) -> anyhow::Result<Value> {
    let path = format!("/forecast/{city}?days={}&units=metric", 3);
    let mut request = Request::to(Method::GET, upstream.destination.clone(), path)?;
    request.headers.insert("x-weather-api-key", HeaderValue::from_static("k-0123456789"));
    let limits = Limits { deadline: Some(Instant::now() + TIMEOUT), bytes: MAX_BYTES };
    let response = upstream.egress.send(RequestPolicy::Operator, request, limits).await?;
    ensure!(response.status.is_success(), "{}", response.status);
    Ok(serde_json::from_slice(&response.body)?)
}

fn city(body: &Value) -> anyhow::Result<&str> {
    body["arguments"]["city"].as_str().context("a city")
}

fn envelope(response: anyhow::Result<Value>) -> HopResult {
    match response {
        Ok(data) => Ok(Json(json!({"code": 200, "message": "success", "data": {"data": data}}))),
        Err(error) => Err((StatusCode::BAD_GATEWAY, error.to_string())),
    }
}
