//! How commands reach tools: over HTTP to a server, or through the same routes in this process.

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use haft_core::{ErrorKind, Locale};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tower::ServiceExt;

use crate::cli::ServerArgs;
use crate::engine;

const DEFAULT_URL: &str = "http://127.0.0.1:7420";

/// A way to the API.
pub(crate) struct Door {
    token: SecretString,
    locale: Locale,
    way: Way,
}

enum Way {
    Network { client: reqwest::Client, base: String },
    Here(Router),
}

/// There is no server, or it does not answer.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach a server at {base}: {reason}")]
pub(crate) struct Unreachable {
    base: String,
    reason: &'static str,
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
    pub(crate) fn open(args: &ServerArgs, locale: Locale) -> anyhow::Result<Self> {
        let token = args.token.clone().or_else(|| args.admin_token.clone());
        if token.is_none() && args.url.is_none() {
            let token = new_token()?;
            let settings = haft_server::Settings { token: token.clone() };
            let way = Way::Here(haft_server::router(engine::for_command(), settings));
            return Ok(Self { token, locale, way });
        }
        let Some(token) = token else {
            bail!("a token is needed for {}; set HAFT_TOKEN", args.url.as_deref().unwrap_or(DEFAULT_URL));
        };
        let base = args.url.as_deref().unwrap_or(DEFAULT_URL).trim_end_matches('/').to_owned();
        if base.starts_with("https:") {
            bail!("https is not possible yet; use http on a trusted network, or a tunnel");
        }
        #[expect(clippy::disallowed_methods, reason = "the command line talks to its own server only")]
        let client = reqwest::Client::builder().no_proxy().build().context("cannot make an HTTP client")?;
        Ok(Self { token: token.into(), locale, way: Way::Network { client, base } })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(Method::POST, path, serde_json::to_vec(body)?).await
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> anyhow::Result<Answer> {
        let language = match self.locale {
            Locale::En => "en",
            Locale::Zh => "zh",
        };
        let authorization = format!("Bearer {}", self.token.expose_secret());
        let (status, bytes) = match &self.way {
            Way::Here(router) => {
                let request = Request::builder()
                    .method(method)
                    .uri(path)
                    .header(header::AUTHORIZATION, authorization)
                    .header(header::ACCEPT_LANGUAGE, language)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(haft_server::SOURCE, "cli")
                    .body(Body::from(body))?;
                let response = router.clone().oneshot(request).await?;
                (response.status(), response.into_body().collect().await?.to_bytes())
            }
            Way::Network { client, base } => {
                let request = client
                    .request(method, format!("{base}{path}"))
                    .header(header::AUTHORIZATION, authorization)
                    .header(header::ACCEPT_LANGUAGE, language)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(haft_server::SOURCE, "cli")
                    .body(body);
                let response = request.send().await.map_err(|error| Unreachable {
                    base: base.clone(),
                    reason: if error.is_connect() { "is it running?" } else { "it did not answer" },
                })?;
                (response.status(), response.bytes().await?)
            }
        };
        read(status, &bytes)
    }
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
