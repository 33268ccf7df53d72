//! How commands reach tools: over HTTP to a server, or through the same routes in this process.

use std::sync::Arc;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use haft_core::{CallError, ErrorKind, Locale};
use haft_egress::{Egress, Limits, Policy, Request};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Duration, Instant};
use tower::ServiceExt;
use url::Url;

use crate::cli::ServerArgs;
use crate::config::Config;
use crate::engine;

const DEFAULT_URL: &str = "http://127.0.0.1:7420";

/// A call may take ten minutes; a server that answers later than this never will.
const PATIENCE: Duration = Duration::from_secs(660);

/// The largest answer of a tool, and more than any page of a list.
const LARGEST_ANSWER: usize = 128 << 20;

/// A way to the API.
pub(crate) struct Door {
    token: SecretString,
    locale: Locale,
    way: Way,
}

enum Way {
    Network { egress: Egress, base: Url },
    Here(Router),
}

/// There is no server, or it does not answer.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach a server at {base}: {reason}")]
pub(crate) struct Unreachable {
    base: String,
    reason: String,
}

/// What the API answered.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) message: String,
    pub(crate) data: Value,
    pub(crate) error: Option<Failure>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    #[serde(default)]
    pub(crate) details: Value,
}

impl Door {
    /// A server when the command names one or has a token for one; otherwise this process.
    pub(crate) fn open(args: &ServerArgs, config: Config) -> anyhow::Result<Self> {
        let token = args.token.clone().or_else(|| args.admin_token.clone());
        if token.is_none() && args.url.is_none() {
            return Self::here(config);
        }
        let written = args.url.as_deref().unwrap_or(DEFAULT_URL);
        let Some(token) = token else { bail!("a token is needed for {written}; set HAFT_TOKEN") };
        let base =
            Url::parse(written.trim_end_matches('/')).with_context(|| format!("{written:?} is not a URL"))?;
        let way = Way::Network { egress: config.egress()?, base };
        Ok(Self { token: token.into(), locale: config.locale, way })
    }

    /// This process, whatever servers there are.
    pub(crate) fn here(config: Config) -> anyhow::Result<Self> {
        let token = new_token()?;
        let (egress, secrets) = (config.egress()?, config.secrets.clone());
        let settings = haft_server::Settings {
            token: token.clone(),
            egress: egress.clone(),
            secrets: Arc::new(secrets.clone()),
        };
        let locale = config.locale;
        let tools = engine::for_command(egress, secrets, config.search);
        Ok(Self { token, locale, way: Way::Here(haft_server::router(tools, settings)) })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(Method::POST, path, serde_json::to_vec(body)?).await
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> anyhow::Result<Answer> {
        let headers = self.headers()?;
        let (status, bytes) = match &self.way {
            Way::Here(router) => {
                let mut request = axum::http::Request::new(Body::from(body));
                *request.method_mut() = method;
                *request.uri_mut() = path.parse()?;
                *request.headers_mut() = headers;
                let response = router.clone().oneshot(request).await?;
                (response.status(), response.into_body().collect().await?.to_bytes())
            }
            Way::Network { egress, base } => {
                let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
                let mut request = Request::new(method, &Url::parse(&url)?)?;
                request.headers = headers;
                request.body = body.into();
                let limits = Limits { deadline: Some(Instant::now() + PATIENCE), bytes: LARGEST_ANSWER };
                let answer = egress.send(Policy::Operator, request, limits).await;
                let answer = answer.map_err(|error| self.unanswered(base, &error))?;
                (answer.status, answer.body)
            }
        };
        read(status, &bytes)
    }

    fn unanswered(&self, base: &Url, error: &CallError) -> anyhow::Error {
        if matches!(error.kind(), ErrorKind::Network | ErrorKind::Timeout) {
            return unreachable(base, error).into();
        }
        anyhow::anyhow!("{}", error.message().render(self.locale))
    }

    fn headers(&self) -> anyhow::Result<HeaderMap> {
        let language = match self.locale {
            Locale::En => "en",
            Locale::Zh => "zh",
        };
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", self.token.expose_secret()))
            .context("the token holds a character that no token can")?;
        authorization.set_sensitive(true);
        Ok(HeaderMap::from_iter([
            (header::AUTHORIZATION, authorization),
            (header::ACCEPT_LANGUAGE, HeaderValue::from_static(language)),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (haft_server::SOURCE, HeaderValue::from_static("cli")),
        ]))
    }
}

fn unreachable(base: &Url, error: &CallError) -> Unreachable {
    let cause = error.details(Locale::En).get("cause").and_then(Value::as_str).map(str::to_owned);
    let reason = if error.did_nothing() { "is it running?" } else { "it did not answer" };
    let reason = cause.map_or_else(|| reason.to_owned(), |cause| format!("{reason} ({cause})"));
    Unreachable { base: base.as_str().trim_end_matches('/').to_owned(), reason }
}

fn read(status: StatusCode, bytes: &[u8]) -> anyhow::Result<Answer> {
    serde_json::from_slice(bytes)
        .with_context(|| format!("the server's answer ({status}) is not one of Haft's"))
}

/// 32 random bytes with a prefix that secret scanners can find.
pub(crate) fn new_token() -> anyhow::Result<SecretString> {
    use std::fmt::Write as _;
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).context("no randomness for a token")?;
    let mut token = String::from("haft_");
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token.into())
}
