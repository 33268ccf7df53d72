//! One tool, ready: builds its request, sends it through the guard, reads the answer.

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::mask::{MASKED, Mask};
use haft_core::text::Variable;
use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, Effect, ErrorKind, Message, Prepared,
    SecretRef, ToolOutput, Violation,
};
use haft_egress::{Answer, Destination, Egress, Limits, Policy, Request, ToolPolicy};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use url::Url;

use crate::auth::Auth;
use crate::body::{JsonTemplate, NOT_A_FORM, encode};
use crate::config::BodyType;
use crate::fill::{Filling, as_text};
use crate::generic::BaseUrl;
use crate::headers::{Headers, after_scheme, is_credential};
use crate::query::{Pairs, append};
use crate::response::Shape;
use crate::url::UrlTemplate;

/// A larger answer is read on a thread of its own, so that others need not wait for it.
const HEAVY: usize = 256 << 10;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Where requests go.
pub(crate) enum Target {
    Template { url: UrlTemplate, method: Method },
    Generic(BaseUrl),
}

impl Target {
    pub(crate) fn origin(&self) -> &Url {
        match self {
            Self::Template { url, .. } => url.origin(),
            Self::Generic(base) => base.url(),
        }
    }

    /// The generic form has none of its own.
    pub(crate) fn method(&self) -> Option<&Method> {
        match self {
            Self::Template { method, .. } => Some(method),
            Self::Generic(_) => None,
        }
    }
}

/// Where arguments go that no placeholder takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Nowhere,
    Query,
    Body,
}

/// One field of the query.
pub(crate) struct QueryField {
    pub(crate) name: String,
    pub(crate) encoded_name: String,
    pub(crate) value: JsonTemplate,
}

pub(crate) struct HttpTool {
    pub(crate) egress: Egress,
    pub(crate) policy: ToolPolicy,
    pub(crate) target: Target,
    pub(crate) to: Destination,
    pub(crate) headers: Headers,
    pub(crate) auth: Auth,
    pub(crate) query: Vec<QueryField>,
    pub(crate) body: Option<JsonTemplate>,
    pub(crate) body_type: BodyType,
    pub(crate) rest: Rest,
    pub(crate) limit: usize,
    pub(crate) send_defaults: bool,
    pub(crate) effect: Effect,
    pub(crate) breaker: BreakerKey,
    pub(crate) shape: Arc<Shape>,
    pub(crate) secrets: Vec<SecretRef>,
    pub(crate) schema: Value,
}

/// A request with everything filled in but a token that has to be fetched.
struct Built {
    method: Method,
    /// Path and query, encoded.
    path: String,
    headers: HeaderMap,
    body: Option<Value>,
}

impl HttpTool {
    /// Variables outside the path, in order of appearance.
    pub(crate) fn other_variables(&self) -> impl Iterator<Item = &Variable> {
        let of_url = match &self.target {
            Target::Template { url, .. } => Some(url.query_variables()),
            Target::Generic(_) => None,
        };
        let of_query = self.query.iter().flat_map(|field| field.value.variables());
        let of_body = self.body.iter().flat_map(JsonTemplate::variables);
        of_url.into_iter().flatten().chain(of_query).chain(of_body).chain(self.headers.variables())
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let of_path = match &self.target {
            Target::Template { url, .. } => Some(url.path_variables()),
            Target::Generic(_) => None,
        };
        of_path.into_iter().flatten().chain(self.other_variables())
    }

    fn build<'a>(&'a self, filling: &mut Filling<'a>) -> Built {
        let (method, mut path) = match &self.target {
            Target::Template { url, method } => (method.clone(), url.fill(filling)),
            Target::Generic(base) => {
                let named = filling.arguments().get("method").and_then(Value::as_str).unwrap_or("GET");
                (Method::from_bytes(named.as_bytes()).unwrap_or(Method::GET), base.fill(filling))
            }
        };
        let mut pairs = Pairs::default();
        for field in &self.query {
            if let Some(value) = field.value.fill(filling) {
                pairs.push_value(&field.encoded_name, &value);
            }
        }
        let mut headers = self.headers.fill(filling);
        let body = match (&self.target, &self.body, self.rest) {
            (Target::Generic(_), ..) => {
                filling.arguments().get("body").filter(|body| !body.is_null()).cloned()
            }
            (Target::Template { .. }, Some(body), _) => body.fill(filling).map(Cow::into_owned),
            (Target::Template { .. }, None, Rest::Body) => {
                Some(Value::Object(self.left_over(filling.arguments())))
            }
            (Target::Template { .. }, None, Rest::Query) => {
                pairs.push_fields(&self.left_over(filling.arguments()));
                None
            }
            (Target::Template { .. }, None, Rest::Nowhere) => None,
        };
        if self.body_type == BodyType::Form && body.as_ref().is_some_and(|body| !body.is_object()) {
            filling.violate(Violation::new(self.body_argument(), Message::new(&NOT_A_FORM)));
        }
        self.auth.fill(filling, &mut headers, &mut pairs);
        append(&mut path, &pairs);
        if !matches!(method, Method::GET | Method::HEAD)
            && !headers.contains_key(&IDEMPOTENCY_KEY)
            && let Ok(key) = HeaderValue::from_str(filling.context().call_id().as_str())
        {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        Built { method, path, headers, body }
    }

    /// The argument that the whole body is.
    fn body_argument(&self) -> String {
        let whole = self.body.as_ref().and_then(JsonTemplate::only_variable);
        whole.map_or_else(|| "body".to_owned(), ToString::to_string)
    }

    /// Arguments that no placeholder takes.
    fn left_over(&self, arguments: &Value) -> Map<String, Value> {
        let fields = arguments.as_object().into_iter().flatten();
        let is_used = |name: &str| self.variables().any(|variable| variable.name == name);
        fields.filter(|(name, _)| !is_used(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn request(&self, built: Built) -> Result<Request, CallError> {
        let mut request = Request::to(built.method, self.to.clone(), built.path)?;
        request.headers = built.headers;
        if let Some(body) = built.body {
            let (bytes, kind) = encode(&body, self.body_type);
            request.body = bytes;
            request.content_type = Some(kind);
            request.body_is_secret = self.body.iter().any(|body| body.secrets().next().is_some());
        }
        Ok(request)
    }

    fn shown_url(&self, path: &str) -> String {
        format!("{}{}", self.to.url().as_str().trim_end_matches('/'), readable(path))
    }

    async fn call(&self, arguments: &Arguments, context: &CallContext) -> Result<Value, CallError> {
        let mut filling = Filling::to_send(arguments.as_value(), context);
        let built = self.build(&mut filling);
        filling.check()?;
        let mut request = self.request(built)?;
        let mut masks: Vec<Arc<Mask>> = context.mask().cloned().into_iter().collect();
        let token = match &self.auth {
            Auth::ClientCredentials(client) => {
                let token = client.token(&self.egress, &mut filling).await?;
                request.headers.insert(AUTHORIZATION, token.header.clone());
                masks.push(token.mask.clone());
                Some((client, token))
            }
            Auth::None | Auth::Header { .. } | Auth::Basic { .. } | Auth::Query { .. } => None,
        };
        // The engine ends every attempt in its time.
        let limits = Limits { deadline: None, bytes: self.limit };
        let answer = self.egress.send(Policy::Tool(context.space(), &self.policy), request, limits).await?;
        if let (StatusCode::UNAUTHORIZED, Some((client, token))) = (answer.status, &token) {
            client.forget(token);
        }
        self.read(answer, masks).await
    }

    async fn read(&self, answer: Answer, masks: Vec<Arc<Mask>>) -> Result<Value, CallError> {
        let now = Timestamp::now();
        if answer.body.len() <= HEAVY {
            return self.shape.read(&answer, &masks, now);
        }
        let shape = self.shape.clone();
        let work = tokio::task::spawn_blocking(move || shape.read(&answer, &masks, now));
        match work.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(CallError::text(ErrorKind::Cancelled, error.to_string())),
        }
    }
}

impl Prepared for HttpTool {
    fn effect(&self) -> Effect {
        self.effect
    }

    fn input_schema(&self) -> Option<Value> {
        Some(self.schema.clone())
    }

    fn breaker_key(&self, _: &Arguments) -> Option<BreakerKey> {
        Some(self.breaker.clone())
    }

    fn secrets(&self) -> &[SecretRef] {
        &self.secrets
    }

    fn takes_defaults(&self) -> bool {
        self.send_defaults
    }

    fn preview(&self, arguments: &Arguments, context: &CallContext) -> Result<Option<Value>, CallError> {
        let mut filling = Filling::to_show(arguments.as_value(), context);
        let built = self.build(&mut filling);
        filling.check()?;
        let mut headers = Map::new();
        for (name, value) in &built.headers {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.insert(name.to_string(), shown(name, text).into());
        }
        let mut shown =
            json!({"method": built.method.as_str(), "url": self.shown_url(&built.path), "headers": headers});
        if let Some(body) = &built.body {
            let (bytes, kind) = encode(body, self.body_type);
            if !built.headers.contains_key(http::header::CONTENT_TYPE) {
                shown["headers"]["content-type"] = String::from_utf8_lossy(kind.as_bytes()).into();
            }
            shown["body"] = match self.body_type {
                BodyType::Json => body.clone(),
                BodyType::Form => readable(&String::from_utf8_lossy(&bytes)).into(),
                BodyType::Text => as_text(body).into_owned().into(),
            };
        }
        if let Some(mask) = &self.shape.literals {
            mask.value(&mut shown);
        }
        Ok(Some(shown))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(async move { self.call(arguments, context).await.map(ToolOutput::from) })
    }
}

/// Encoded text in which the names of secrets can still be read.
fn readable(encoded: &str) -> String {
    encoded.replace("secret%3A%2F%2Fme%2F", "secret://me/").replace("secret%3A%2F%2F", "secret://")
}

/// A header as a dry run shows it: a credential that is written out is masked, a secret's name is not.
fn shown(name: &HeaderName, text: String) -> String {
    if !is_credential(name.as_str()) || text.contains(haft_core::secret::SCHEME) {
        return text;
    }
    match after_scheme(&text) {
        Some((scheme, _)) => format!("{scheme} {MASKED}"),
        None => MASKED.to_owned(),
    }
}
