//! The API client of the commands: over HTTP to a server, or through the same routes in this process.

mod events;
mod local_worker;

use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use haft_agent::AgentKind;
use haft_core::{CallError, ErrorKind, Locale, Message, Template};
use haft_egress::{Egress, Limits, Request, RequestPolicy};
use haft_server::{App, StoredArtifacts, StoredModels, StoredSecrets};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Duration, Instant};
use tower::ServiceExt;
use url::Url;

use crate::cli::ServerArgs;
use crate::cli_error::{CliError, OrFail as _, failure, render_error};
use crate::config::Config;
use crate::engine::{self, Parts};
use crate::first_start::{self, Samples};
use crate::login::Login;
use crate::messages;
use crate::storage::{Storage, with_cause};

pub(crate) use events::{Event, Events};

pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7420";

/// Timeout of a request. It is longer than the maximum of ten minutes for one attempt of a call.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(660);

/// Maximum size of a response. The result of a tool and a page of a list are smaller.
const MAX_RESPONSE_BYTES: usize = 128 << 20;

/// The size from which request bodies are compressed. Older servers accept only smaller ones, uncompressed.
const COMPRESS_FROM: usize = 8 << 20;

/// The name of the session cookie.
const SESSION: &str = "haft_session";

/// A client of the REST API, with its credentials.
pub(crate) struct ApiClient {
    identity: Identity,
    locale: Locale,
    transport: Transport,
}

/// The data of a command that runs without a server.
#[derive(Clone, Copy)]
pub(crate) enum LocalData {
    /// The database of this installation, if it exists; otherwise an in-memory store.
    Persisted,
    /// An in-memory store that is discarded with the process.
    Empty,
}

/// The credentials of requests.
enum Identity {
    Token(SecretString),
    /// The cookie as `name=value`.
    Session(SecretString),
    /// No credentials, for the login itself.
    Anonymous,
}

enum Transport {
    Http { egress: Egress, base: Url },
    InProcess(Router),
}

/// The envelope of a response of the API.
#[derive(Debug, Deserialize)]
pub(crate) struct ApiResponse {
    pub(crate) message: String,
    pub(crate) data: Value,
    pub(crate) error: Option<ApiFailure>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApiFailure {
    pub(crate) kind: ErrorKind,
    #[serde(default)]
    pub(crate) details: Value,
}

impl ApiClient {
    /// Returns a client of the named server (by flag, environment or login), or else of this process.
    pub(crate) async fn open(args: &ServerArgs, config: Config) -> anyhow::Result<Self> {
        match Self::for_named_server(args, &config)? {
            Some(client) => Ok(client),
            None => Self::in_process(config, LocalData::Persisted).await,
        }
    }

    /// Returns a client of the named server. Fails if no server is named.
    pub(crate) fn for_server(args: &ServerArgs, config: &Config) -> anyhow::Result<Self> {
        let client = Self::for_named_server(args, config)?;
        client.or_fail(|| Message::new(&messages::NO_SERVER))
    }

    /// Returns a client of the named server. Returns `None` if no server is named.
    ///
    /// A token is sent to the server named with `--url`, or else to that of the login. `HAFT_ADMIN_TOKEN` is
    /// the token of a server on this machine: without a URL it is sent to [`DEFAULT_URL`] only, never to that
    /// of the login.
    pub(crate) fn for_named_server(args: &ServerArgs, config: &Config) -> anyhow::Result<Option<Self>> {
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let url = given(&args.url);
        if let Some(token) = given(&args.token) {
            let url = url.unwrap_or_else(|| url_for_token(config));
            return Self::with_token(&url, token.into(), config).map(Some);
        }
        if let Some(token) = given(&args.admin_token) {
            let url = url.as_deref().unwrap_or(DEFAULT_URL);
            return Self::with_token(url, token.into(), config).map(Some);
        }
        let login = Login::stored(config)?;
        let Some(url) = url else {
            return login.map(|login| Self::with_token(&login.url, login.token, config)).transpose();
        };
        let asked = parse_base_url(&url)?;
        match login.filter(|login| parse_base_url(&login.url).is_ok_and(|known| known == asked)) {
            Some(login) => Self::with_token(&url, login.token, config).map(Some),
            None => Err(failure(Message::new(&messages::NO_TOKEN).with("url", &url))),
        }
    }

    /// Renders a message in the language of the terminal.
    pub(crate) fn render(&self, template: &'static Template) -> String {
        Message::new(template).render(self.locale)
    }

    /// Returns the URL of the named server, that of the login, or else [`DEFAULT_URL`].
    pub(crate) fn server_url(args: &ServerArgs, config: &Config) -> anyhow::Result<Url> {
        let given = args.url.clone().filter(|url| !url.is_empty());
        let url = match given {
            Some(url) => Some(url),
            None => Login::stored(config)?.map(|login| login.url),
        };
        parse_base_url(url.as_deref().unwrap_or(DEFAULT_URL))
    }

    /// Returns a client that authenticates with a token.
    pub(crate) fn with_token(url: &str, token: SecretString, config: &Config) -> anyhow::Result<Self> {
        Self::over_http(url, Identity::Token(token), config)
    }

    /// Returns a client without credentials.
    pub(crate) fn anonymous(url: &str, config: &Config) -> anyhow::Result<Self> {
        Self::over_http(url, Identity::Anonymous, config)
    }

    fn over_http(url: &str, identity: Identity, config: &Config) -> anyhow::Result<Self> {
        let transport = Transport::Http { egress: config.egress()?, base: parse_base_url(url)? };
        Ok(Self { identity, locale: config.locale, transport })
    }

    /// Returns a client of an API within this process.
    pub(crate) async fn in_process(config: Config, data: LocalData) -> anyhow::Result<Self> {
        let (egress, locale) = (config.egress()?, config.locale);
        let (store, log) = match (data, config.storage.exists()) {
            (LocalData::Persisted, true) => {
                let store = config.storage.open(locale).await?;
                (store, config.storage.open_log(locale).await?)
            }
            (LocalData::Persisted, false) | (LocalData::Empty, _) => Storage::in_memory(locale).await?,
        };
        let to_error = |error: CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        let admin = first_start::admin(&store, Samples::No).await.map_err(to_error)?;
        let secrets = Arc::new(StoredSecrets::new(store.clone(), admin.space, config.storage.environment));
        let models = StoredModels::new(store.clone(), secrets.clone(), egress.clone(), config.models);
        let parts = Parts {
            egress: egress.clone(),
            store: store.clone(),
            secrets: secrets.clone(),
            artifacts: Arc::new(StoredArtifacts::new(store.clone(), config.public_url)),
            search: config.search,
            agents: AgentKind::default(),
        };
        let tools = engine::for_command(parts);
        let (metrics, settings) = (Arc::default(), haft_server::Settings::default());
        let app = App::new(tools, (store, log), secrets, Arc::new(models), egress, metrics, settings);
        let token = app.let_in(admin.user, admin.space);
        Ok(Self { identity: Identity::Token(token), locale, transport: Transport::InProcess(app.router()) })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<ApiResponse> {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<ApiResponse> {
        self.send(Method::POST, path, serde_json::to_vec(body)?).await
    }

    /// Sends a body that may be large, such as a document to import. Large bodies are compressed.
    pub(crate) async fn post_large(&self, path: &str, body: &Value) -> anyhow::Result<ApiResponse> {
        let body = serde_json::to_vec(body)?;
        if body.len() < COMPRESS_FROM {
            return self.send(Method::POST, path, body).await;
        }
        let body = tokio::task::spawn_blocking(move || gzip(&body)).await??;
        let (response, _) = self.exchange(Method::POST, path, body, Some("gzip")).await?;
        Ok(response)
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<ApiResponse> {
        self.send(Method::PUT, path, serde_json::to_vec(body)?).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<ApiResponse> {
        self.send(Method::DELETE, path, Vec::new()).await
    }

    /// Logs in and returns a client with the new session, or the response if the login is refused.
    pub(crate) async fn log_in(self, credentials: &Value) -> anyhow::Result<Result<Self, ApiResponse>> {
        let body = serde_json::to_vec(credentials)?;
        let (response, headers) = self.exchange(Method::POST, "/api/login", body, None).await?;
        if response.error.is_some() {
            return Ok(Err(response));
        }
        let cookies = headers.get_all(header::SET_COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let mut pairs = cookies.filter_map(|line| line.split(';').next()).map(str::trim);
        let own = pairs.find(|pair| pair.split_once('=').is_some_and(|(name, _)| name == SESSION));
        let cookie = own.or_fail(|| Message::new(&messages::NO_SESSION))?;
        Ok(Ok(Self { identity: Identity::Session(cookie.into()), ..self }))
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> anyhow::Result<ApiResponse> {
        let (response, _) = self.exchange(method, path, body, None).await?;
        Ok(response)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        encoding: Option<&'static str>,
    ) -> anyhow::Result<(ApiResponse, HeaderMap)> {
        let mut headers = self.headers()?;
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let (status, headers, bytes) = match &self.transport {
            Transport::InProcess(router) => {
                let mut request = axum::http::Request::new(Body::from(body));
                *request.method_mut() = method;
                *request.uri_mut() = path.parse()?;
                *request.headers_mut() = headers;
                let response = router.clone().oneshot(request).await?;
                let (head, body) = response.into_parts();
                (head.status, head.headers, body.collect().await?.to_bytes())
            }
            Transport::Http { egress, base } => {
                let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
                let mut request = Request::new(method, &Url::parse(&url)?)?;
                request.headers = headers;
                request.body = body.into();
                let limits =
                    Limits { deadline: Some(Instant::now() + REQUEST_TIMEOUT), bytes: MAX_RESPONSE_BYTES };
                let response = egress.send(RequestPolicy::Operator, request, limits).await;
                let response = response.map_err(|error| self.request_error(base, &error))?;
                (response.status, response.headers, response.body)
            }
        };
        Ok((parse_response(status, &bytes)?, headers))
    }

    fn request_error(&self, base: &Url, error: &CallError) -> anyhow::Error {
        if matches!(error.kind(), ErrorKind::Network | ErrorKind::Timeout) {
            return unreachable(base, error);
        }
        anyhow::anyhow!("{}", error.message().render(self.locale))
    }

    fn headers(&self) -> anyhow::Result<HeaderMap> {
        let language = match self.locale {
            Locale::En => "en",
            Locale::Zh => "zh",
        };
        let mut headers = HeaderMap::from_iter([
            (header::ACCEPT_LANGUAGE, HeaderValue::from_static(language)),
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (haft_server::SOURCE, HeaderValue::from_static("cli")),
        ]);
        match &self.identity {
            Identity::Token(token) => {
                let bearer = sensitive(&format!("Bearer {}", token.expose_secret()));
                let bearer = bearer.or_fail(|| Message::new(&messages::BAD_TOKEN))?;
                headers.insert(header::AUTHORIZATION, bearer);
            }
            Identity::Session(cookie) => {
                let cookie =
                    sensitive(cookie.expose_secret()).or_fail(|| Message::new(&messages::BAD_SESSION))?;
                headers.insert(header::COOKIE, cookie);
                self.set_origin(&mut headers)?;
            }
            Identity::Anonymous => self.set_origin(&mut headers)?,
        }
        Ok(headers)
    }

    /// Sets the `Origin` header to the server, which accepts sessions from its own pages only.
    fn set_origin(&self, headers: &mut HeaderMap) -> anyhow::Result<()> {
        if let Transport::Http { base, .. } = &self.transport {
            headers.insert(header::ORIGIN, HeaderValue::from_str(&base.origin().ascii_serialization())?);
        }
        Ok(())
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns the server that a token of the environment is sent to: that of the login, or else [`DEFAULT_URL`].
/// The token works without a login, so an unreadable login is reported and ignored.
fn url_for_token(config: &Config) -> String {
    let login = Login::stored(config).unwrap_or_else(|error| {
        let message = Message::new(&messages::LOGIN_IGNORED)
            .with("reason", render_error(&error, config.locale))
            .with("url", DEFAULT_URL);
        anstream::eprintln!("{}", message.render(config.locale));
        None
    });
    login.map_or_else(|| DEFAULT_URL.to_owned(), |login| login.url)
}

/// Parses the URL of a server as a user wrote it.
pub(crate) fn parse_base_url(written: &str) -> anyhow::Result<Url> {
    let url = Url::parse(written.trim_end_matches('/')).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https")).or_fail(|| {
        Message::new(&messages::BAD_URL).with("written", format!("{written:?}")).with("example", DEFAULT_URL)
    })
}

/// Returns the error of a server that refuses connections or does not respond.
fn unreachable(base: &Url, error: &CallError) -> anyhow::Error {
    let details = error.details(Locale::En);
    let cause = details.get("cause").and_then(Value::as_str).map(|cause| format!(" ({cause})"));
    let template = if error.did_nothing() { &messages::NOT_RUNNING } else { &messages::NOT_ANSWERING };
    let message = Message::new(template).with("base", base.as_str().trim_end_matches('/'));
    CliError::new(ErrorKind::Unavailable, message.with("cause", cause.unwrap_or_default())).into()
}

/// Returns true if the server refused the connection or did not respond.
pub(crate) fn is_unreachable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<CliError>().is_some_and(|refused| refused.kind == ErrorKind::Unavailable)
}

fn parse_response(status: StatusCode, bytes: &[u8]) -> anyhow::Result<ApiResponse> {
    serde_json::from_slice(bytes).or_fail(|| Message::new(&messages::NOT_HAFT).with("status", status))
}
