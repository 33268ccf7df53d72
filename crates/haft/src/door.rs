//! How commands reach tools: over HTTP to a server, or through the same routes in this process.

mod streaming;
mod working;

use std::io::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use haft_agent::AgentKind;
use haft_core::{CallError, ErrorKind, Locale, Message, Template};
use haft_egress::{Egress, Limits, Policy, Request};
use haft_server::{App, StoredArtifacts, StoredModels, StoredSecrets};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Duration, Instant};
use tower::ServiceExt;
use url::Url;

use crate::cli::ServerArgs;
use crate::config::Config;
use crate::engine::{self, Parts};
use crate::first::{self, Samples};
use crate::login::Login;
use crate::messages;
use crate::refusal::{OrFail as _, Refused, failure, words};
use crate::storage::{Storage, told};

pub(crate) use streaming::{Event, Events};

pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7420";

/// A call may take ten minutes; a server that answers later than this never will.
const PATIENCE: Duration = Duration::from_secs(660);

/// The largest answer of a tool, and more than any page of a list.
const LARGEST_ANSWER: usize = 128 << 20;

/// Bodies from this size on are compressed. Smaller ones any older server takes as they are.
const COMPRESS_FROM: usize = 8 << 20;

/// The cookie of a session.
const SESSION: &str = "haft_session";

/// A way to the API.
pub(crate) struct Door {
    identity: Identity,
    locale: Locale,
    way: Way,
}

/// What a command without a server works on.
#[derive(Clone, Copy)]
pub(crate) enum Data {
    /// What this installation keeps, if anything.
    Kept,
    /// Nothing, and nothing is kept.
    None,
}

/// How we are known there.
enum Identity {
    Token(SecretString),
    /// The cookie as it is sent.
    Session(SecretString),
    /// Not at all: whoever wants to log in.
    Nobody,
}

enum Way {
    Network { egress: Egress, base: Url },
    Here(Router),
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
    /// A server when one is named, by the command, the environment or a login; otherwise this process.
    pub(crate) async fn open(args: &ServerArgs, config: Config) -> anyhow::Result<Self> {
        match Self::named(args, &config)? {
            Some(door) => Ok(door),
            None => Self::here(config, Data::Kept).await,
        }
    }

    /// A server, for what only a server keeps.
    pub(crate) fn to_server(args: &ServerArgs, config: &Config) -> anyhow::Result<Self> {
        let door = Self::named(args, config)?;
        door.or_fail(|| Message::new(&messages::NO_SERVER))
    }

    /// The server that is named, if one is. A token goes to the server that is named beside it, or else to that of
    /// the login. `HAFT_ADMIN_TOKEN` is the token of a server on this machine, and goes to no other unasked.
    pub(crate) fn named(args: &ServerArgs, config: &Config) -> anyhow::Result<Option<Self>> {
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
        let asked = base(&url)?;
        match login.filter(|login| base(&login.url).is_ok_and(|known| known == asked)) {
            Some(login) => Self::with_token(&url, login.token, config).map(Some),
            None => Err(failure(Message::new(&messages::NO_TOKEN).with("url", &url))),
        }
    }

    /// Words in the language of the terminal.
    pub(crate) fn words(&self, template: &'static Template) -> String {
        Message::new(template).render(self.locale)
    }

    /// The address of the server that commands ask.
    pub(crate) fn url_of(args: &ServerArgs, config: &Config) -> anyhow::Result<Url> {
        let given = args.url.clone().filter(|url| !url.is_empty());
        let url = match given {
            Some(url) => Some(url),
            None => Login::stored(config)?.map(|login| login.url),
        };
        base(url.as_deref().unwrap_or(DEFAULT_URL))
    }

    /// A server that knows us by a token.
    pub(crate) fn with_token(url: &str, token: SecretString, config: &Config) -> anyhow::Result<Self> {
        Self::network(url, Identity::Token(token), config)
    }

    /// A server that does not know us yet.
    pub(crate) fn unknown(url: &str, config: &Config) -> anyhow::Result<Self> {
        Self::network(url, Identity::Nobody, config)
    }

    fn network(url: &str, identity: Identity, config: &Config) -> anyhow::Result<Self> {
        let way = Way::Network { egress: config.egress()?, base: base(url)? };
        Ok(Self { identity, locale: config.locale, way })
    }

    /// This process, whatever servers there are: on the data of this installation, or on nothing but what
    /// comes with the program.
    pub(crate) async fn here(config: Config, data: Data) -> anyhow::Result<Self> {
        let (egress, locale) = (config.egress()?, config.locale);
        let (store, log) = match (data, config.storage.exists()) {
            (Data::Kept, true) => {
                let store = config.storage.open(locale).await?;
                (store, config.storage.open_log(locale).await?)
            }
            (Data::Kept, false) | (Data::None, _) => Storage::in_memory(locale).await?,
        };
        let said = |error: CallError| anyhow::anyhow!("{}", told(&error, locale));
        let admin = first::admin(&store, Samples::No).await.map_err(said)?;
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
        Ok(Self { identity: Identity::Token(token), locale, way: Way::Here(app.router()) })
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Method::GET, path, Vec::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(Method::POST, path, serde_json::to_vec(body)?).await
    }

    /// Sends what may be large, such as a document to be imported: compressed, where that is worth it.
    pub(crate) async fn post_large(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let body = serde_json::to_vec(body)?;
        if body.len() < COMPRESS_FROM {
            return self.send(Method::POST, path, body).await;
        }
        let body = tokio::task::spawn_blocking(move || gzip(&body)).await??;
        let (answer, _) = self.exchange(Method::POST, path, body, Some("gzip")).await?;
        Ok(answer)
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.send(Method::PUT, path, serde_json::to_vec(body)?).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Method::DELETE, path, Vec::new()).await
    }

    /// Logs in, and gives the door that the new session opens; the answer when we were refused.
    pub(crate) async fn log_in(self, credentials: &Value) -> anyhow::Result<Result<Self, Answer>> {
        let body = serde_json::to_vec(credentials)?;
        let (answer, headers) = self.exchange(Method::POST, "/api/login", body, None).await?;
        if answer.error.is_some() {
            return Ok(Err(answer));
        }
        let cookies = headers.get_all(header::SET_COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let mut pairs = cookies.filter_map(|line| line.split(';').next()).map(str::trim);
        let own = pairs.find(|pair| pair.split_once('=').is_some_and(|(name, _)| name == SESSION));
        let cookie = own.or_fail(|| Message::new(&messages::NO_SESSION))?;
        Ok(Ok(Self { identity: Identity::Session(cookie.into()), ..self }))
    }

    async fn send(&self, method: Method, path: &str, body: Vec<u8>) -> anyhow::Result<Answer> {
        let (answer, _) = self.exchange(method, path, body, None).await?;
        Ok(answer)
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        encoding: Option<&'static str>,
    ) -> anyhow::Result<(Answer, HeaderMap)> {
        let mut headers = self.headers()?;
        if let Some(encoding) = encoding {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let (status, headers, bytes) = match &self.way {
            Way::Here(router) => {
                let mut request = axum::http::Request::new(Body::from(body));
                *request.method_mut() = method;
                *request.uri_mut() = path.parse()?;
                *request.headers_mut() = headers;
                let response = router.clone().oneshot(request).await?;
                let (head, body) = response.into_parts();
                (head.status, head.headers, body.collect().await?.to_bytes())
            }
            Way::Network { egress, base } => {
                let url = format!("{}{path}", base.as_str().trim_end_matches('/'));
                let mut request = Request::new(method, &Url::parse(&url)?)?;
                request.headers = headers;
                request.body = body.into();
                let limits = Limits { deadline: Some(Instant::now() + PATIENCE), bytes: LARGEST_ANSWER };
                let answer = egress.send(Policy::Operator, request, limits).await;
                let answer = answer.map_err(|error| self.unanswered(base, &error))?;
                (answer.status, answer.headers, answer.body)
            }
        };
        Ok((read(status, &bytes)?, headers))
    }

    fn unanswered(&self, base: &Url, error: &CallError) -> anyhow::Error {
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
                self.come_from_there(&mut headers)?;
            }
            Identity::Nobody => self.come_from_there(&mut headers)?,
        }
        Ok(headers)
    }

    /// Sessions are for pages of the server itself, and it asks where a request comes from.
    fn come_from_there(&self, headers: &mut HeaderMap) -> anyhow::Result<()> {
        if let Way::Network { base, .. } = &self.way {
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

/// The server that a token of the environment goes to: that of the login. The token works without a login, so a login
/// that cannot be read is only reported.
fn url_for_token(config: &Config) -> String {
    let login = Login::stored(config).unwrap_or_else(|error| {
        let message = Message::new(&messages::LOGIN_IGNORED)
            .with("reason", words(&error, config.locale))
            .with("url", DEFAULT_URL);
        anstream::eprintln!("{}", message.render(config.locale));
        None
    });
    login.map_or_else(|| DEFAULT_URL.to_owned(), |login| login.url)
}

/// Where a server is, as somebody wrote it.
pub(crate) fn base(written: &str) -> anyhow::Result<Url> {
    let url = Url::parse(written.trim_end_matches('/')).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https")).or_fail(|| {
        Message::new(&messages::BAD_URL).with("written", format!("{written:?}")).with("example", DEFAULT_URL)
    })
}

/// There is no server, or it does not answer.
fn unreachable(base: &Url, error: &CallError) -> anyhow::Error {
    let details = error.details(Locale::En);
    let cause = details.get("cause").and_then(Value::as_str).map(|cause| format!(" ({cause})"));
    let template = if error.did_nothing() { &messages::NOT_RUNNING } else { &messages::NOT_ANSWERING };
    let message = Message::new(template).with("base", base.as_str().trim_end_matches('/'));
    Refused::new(ErrorKind::Unavailable, message.with("cause", cause.unwrap_or_default())).into()
}

/// Whether an error says that there is no server, or that it does not answer.
pub(crate) fn is_unreachable(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.kind == ErrorKind::Unavailable)
}

fn read(status: StatusCode, bytes: &[u8]) -> anyhow::Result<Answer> {
    serde_json::from_slice(bytes).or_fail(|| Message::new(&messages::NOT_OURS).with("status", status))
}
