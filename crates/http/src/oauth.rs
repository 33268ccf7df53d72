//! OAuth 2 client credentials: one cached token per space, fetched once for all concurrent calls.
//!
//! Token refresh: `token` fetches a new one shortly before the cached one expires (`MARGIN`), or after the upstream
//! rejected it (`forget`). Haft uses no refresh tokens.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use haft_core::mask::Mask;
use haft_core::text::Text;
use haft_core::{CallError, ErrorKind, Message, SpaceId};
use haft_egress::{Egress, EgressResponse, Hosts, Limits, Request, RequestPolicy, ToolPolicy};
use http::header::ACCEPT;
use http::{HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use tokio::time::Instant;
use url::Url;

use crate::fill::Filling;
use crate::query::Pairs;

haft_core::templates! {
    BAD_TOKEN_URL = "http.tokenUrl",
        "must be an absolute http or https URL without user name, variables or secrets",
        "必须是完整的 http 或 https URL，不含用户名、变量或密钥";
    REFUSED = "http.tokenRefused",
        "{host} returned no token: {status}; check the client id, the secret and the scope",
        "{host} 未返回令牌: {status}；请检查客户端 ID、密钥和 scope";
    UNAVAILABLE = "http.tokenUnavailable",
        "{host} returned no token: {status}",
        "{host} 未返回令牌: {status}";
    NOT_A_TOKEN = "http.notAToken",
        "The response of {host} is not a bearer token",
        "{host} 的应答不是 Bearer 令牌";
}

/// A token is renewed this long before it expires, or at half its lifetime if that is shorter.
const MARGIN: Duration = Duration::from_secs(60);

/// Lifetime of a token whose issuer does not state one.
const DEFAULT_LIFE: Duration = Duration::from_secs(3600);
const LONGEST_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Timeout for fetching a token.
const FETCH: Duration = Duration::from_secs(30);
const TOKEN_BYTES: usize = 256 << 10;

/// Maximum length of an issuer's error texts, in bytes.
const MAX_ERROR_TEXT: usize = 1024;

/// Maximum size of the credential cache of a tool: one token for each space and set of credentials. If it is full, a
/// fetch has to evict all of them.
const MOST_TOKENS: usize = 256;

/// The client of the grant, and its cached tokens.
pub(crate) struct ClientCredentials {
    request: Request,
    policy: ToolPolicy,
    pub(crate) client_id: Text,
    pub(crate) client_secret: Text,
    scope: Option<String>,
    tokens: Mutex<HashMap<Key, Slot>>,
}

/// Cache key of a token.
#[derive(Clone)]
struct Key {
    space: SpaceId,
    client_id: String,
    client_secret: SecretString,
}

impl Key {
    fn parts(&self) -> (SpaceId, &str, &str) {
        (self.space, &self.client_id, self.client_secret.expose_secret())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

/// A token ready for use, with the mask that removes it from responses.
pub(crate) struct Token {
    /// The value of the `Authorization` header.
    pub(crate) header: HeaderValue,
    pub(crate) mask: Arc<Mask>,
    until: Instant,
}

type Fetch = Shared<BoxFuture<'static, Result<Arc<Token>, CallError>>>;

enum Slot {
    Cached(Arc<Token>),
    /// A fetch in progress, polled by the callers that wait for it. It is started again after this instant if
    /// all of them were cancelled.
    Pending(Fetch, Instant),
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientCredentials").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl ClientCredentials {
    pub(crate) fn new(
        url: &str,
        client_id: Text,
        client_secret: Text,
        scope: Option<String>,
    ) -> Result<Self, Message> {
        let bad = || Message::new(&BAD_TOKEN_URL);
        let url = Url::parse(url).map_err(|_| bad())?;
        let mut request = Request::new(Method::POST, &url).map_err(|_| bad())?;
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.content_type = Some(HeaderValue::from_static("application/x-www-form-urlencoded"));
        request.body_is_secret = true;
        let policy = ToolPolicy::new(&url, Hosts::of_url(&url));
        Ok(Self { policy, request, client_id, client_secret, scope, tokens: Mutex::default() })
    }

    /// The address of the token endpoint.
    pub(crate) fn token_url(&self) -> Url {
        self.request.url()
    }

    /// Returns the current token, and whether it came from the cache. A cached token may have been revoked.
    pub(crate) async fn token(
        &self,
        egress: &Egress,
        filling: &mut Filling<'_>,
    ) -> Result<(Arc<Token>, bool), CallError> {
        let key = self.key(filling);
        let now = Instant::now();
        let fetch = {
            let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            match tokens.get(&key) {
                Some(Slot::Cached(token)) if token.until > now => return Ok((token.clone(), true)),
                Some(Slot::Pending(fetch, until)) if *until > now => fetch.clone(),
                Some(Slot::Cached(_) | Slot::Pending(..)) | None => {
                    if tokens.len() >= MOST_TOKENS {
                        tokens.clear();
                    }
                    let fetch = self.fetch(egress.clone(), &key).boxed().shared();
                    tokens.insert(key.clone(), Slot::Pending(fetch.clone(), now + FETCH));
                    fetch
                }
            }
        };
        let outcome = fetch.clone().await;
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        // The first waiter stores the result; a newer fetch is not replaced.
        if matches!(tokens.get(&key), Some(Slot::Pending(known, _)) if known.ptr_eq(&fetch)) {
            match &outcome {
                Ok(token) => tokens.insert(key, Slot::Cached(token.clone())),
                Err(_) => tokens.remove(&key),
            };
        }
        outcome.map(|token| (token, false))
    }

    /// Removes a token that the upstream rejected, so that the next call fetches another.
    pub(crate) fn forget(&self, token: &Arc<Token>) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|_, slot| !matches!(slot, Slot::Cached(kept) if Arc::ptr_eq(kept, token)));
    }

    fn key(&self, filling: &mut Filling<'_>) -> Key {
        Key {
            space: filling.context().space(),
            client_id: filling.text(&self.client_id),
            client_secret: filling.text(&self.client_secret).into(),
        }
    }

    fn fetch(
        &self,
        egress: Egress,
        key: &Key,
    ) -> impl Future<Output = Result<Arc<Token>, CallError>> + use<> {
        let mut fields = Map::new();
        fields.insert("grant_type".to_owned(), "client_credentials".into());
        fields.insert("client_id".to_owned(), key.client_id.clone().into());
        fields.insert("client_secret".to_owned(), key.client_secret.expose_secret().into());
        if let Some(scope) = &self.scope {
            fields.insert("scope".to_owned(), scope.clone().into());
        }
        let mut form = Pairs::default();
        form.push_fields(&fields);
        let mut request = self.request.clone();
        request.body = form.into_text().into();
        let (space, policy) = (key.space, self.policy.clone());
        let mask = Mask::new([key.client_secret.expose_secret()]);
        async move {
            let asked = Instant::now();
            let limits = Limits { deadline: Some(asked + FETCH), bytes: TOKEN_BYTES };
            let answer = egress.send(RequestPolicy::Tool(space, &policy), request, limits).await;
            // Without a token no request is sent, so the tool itself had no effect.
            let answer = answer.map_err(CallError::that_did_nothing)?;
            // An issuer may echo the credentials.
            read(&answer, asked, &mask).map(Arc::new).map_err(|error| error.masked(&mask))
        }
    }
}

fn read(answer: &EgressResponse, asked: Instant, mask: &Mask) -> Result<Token, CallError> {
    let host = answer.from.host_str();
    if !answer.status.is_success() {
        let (kind, template) = match answer.status.as_u16() {
            429 => (ErrorKind::RateLimit, &UNAVAILABLE),
            500.. => (ErrorKind::Server, &UNAVAILABLE),
            _ => (ErrorKind::Authentication, &REFUSED),
        };
        let message = Message::new(template).with("host", host).with("status", answer.status);
        let error = CallError::new(kind, message).detail("status", answer.status.as_u16()).that_did_nothing();
        // RFC 6749 error responses have two fields that contain no secret.
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let says = |field: &str| {
            // Mask before truncating: half a secret would no longer be recognized.
            let text = mask.text(body.get(field).and_then(Value::as_str)?);
            Some(text.get(..text.floor_char_boundary(MAX_ERROR_TEXT)).unwrap_or_default().to_owned())
        };
        let cause: Vec<String> = [says("error"), says("error_description")].into_iter().flatten().collect();
        let error = match answer.requested_pause().filter(|_| kind.is_transient()) {
            Some(pause) => error.retry_after(pause),
            None => error,
        };
        return Err(if cause.is_empty() { error } else { error.caused_by(cause.join(": ")) });
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let is_bearer =
        body.get("token_type").and_then(Value::as_str).is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let bearer = |value: &str| {
        let mut header = HeaderValue::from_str(&format!("Bearer {value}")).ok()?;
        header.set_sensitive(true);
        Some(header)
    };
    let value =
        body.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty() && is_bearer);
    let Some((value, header)) = value.and_then(|value| Some((value, bearer(value)?))) else {
        let message = Message::new(&NOT_A_TOKEN).with("host", host);
        return Err(CallError::new(ErrorKind::Authentication, message).that_did_nothing());
    };
    let seconds = match body.get("expires_in") {
        Some(Value::String(text)) => text.parse::<f64>().ok(),
        Some(number) => number.as_f64(),
        None => None,
    };
    let life = seconds.map_or(DEFAULT_LIFE, |seconds| {
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST_LIFE).min(LONGEST_LIFE)
    });
    Ok(Token {
        mask: Arc::new(Mask::new([value])),
        header,
        until: asked + life.saturating_sub(MARGIN).max(life / 2),
    })
}
