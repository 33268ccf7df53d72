//! One tool, ready: builds its request, sends it through the guard, reads the answer.

use std::sync::Arc;

use haft_core::text::Variable;
use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, Effect, ErrorKind, Prepared, SecretRef,
    ToolOutput,
};
use haft_egress::{Answer, Destination, Egress, Limits, Policy, Request, ToolPolicy};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use url::Url;

use crate::auth::Auth;
use crate::body::{JsonTemplate, encode};
use crate::config::BodyType;
use crate::fill::{Filling, as_text};
use crate::generic::BaseUrl;
use crate::headers::{Headers, is_credential};
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

pub(crate) struct HttpTool {
    pub(crate) egress: Egress,
    pub(crate) policy: ToolPolicy,
    pub(crate) target: Target,
    pub(crate) to: Destination,
    pub(crate) headers: Headers,
    pub(crate) auth: Auth,
    pub(crate) query: Vec<(String, JsonTemplate)>,
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
        let of_query = self.query.iter().flat_map(|(_, value)| value.variables());
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

    fn build(&self, filling: &mut Filling<'_>) -> Built {
        let (method, mut path) = match &self.target {
            Target::Template { url, method } => (method.clone(), url.fill(filling)),
            Target::Generic(base) => {
                let named = filling.arguments().get("method").and_then(Value::as_str).unwrap_or("GET");
                (Method::from_bytes(named.as_bytes()).unwrap_or(Method::GET), base.fill(filling))
            }
        };
        let mut pairs = Pairs::default();
        for (name, template) in &self.query {
            if let Some(value) = template.fill(filling) {
                pairs.push_value(&crate::query::encode(name), &value);
            }
        }
        let mut headers = self.headers.fill(filling);
        let body = match (&self.target, &self.body, self.rest) {
            (Target::Generic(_), ..) => {
                filling.arguments().get("body").filter(|body| !body.is_null()).cloned()
            }
            (Target::Template { .. }, Some(body), _) => body.fill(filling),
            (Target::Template { .. }, None, Rest::Body) => {
                Some(Value::Object(self.left_over(filling.arguments())))
            }
            (Target::Template { .. }, None, Rest::Query) => {
                pairs.push_fields(&self.left_over(filling.arguments()));
                None
            }
            (Target::Template { .. }, None, Rest::Nowhere) => None,
        };
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
        format!("{}{path}", self.to.url().as_str().trim_end_matches('/'))
    }

    async fn call(&self, arguments: &Arguments, context: &CallContext) -> Result<Value, CallError> {
        let mut filling = Filling::to_send(arguments.as_value(), context);
        let built = self.build(&mut filling);
        let token = match &self.auth {
            Auth::ClientCredentials(oauth) => Some((oauth, oauth.token(&self.egress, &mut filling).await?)),
            Auth::None | Auth::Header { .. } | Auth::Basic { .. } | Auth::Query { .. } => None,
        };
        filling.finish()?;
        let mut request = self.request(built)?;
        if let Some(value) = token.as_ref().and_then(|(_, token)| token.header()) {
            request.headers.insert(AUTHORIZATION, value);
        }
        let limits = Limits { deadline: context.deadline().into(), bytes: self.limit };
        let answer = self.egress.send(Policy::Tool(context.space(), &self.policy), request, limits).await?;
        if answer.status == http::StatusCode::UNAUTHORIZED
            && let Some((oauth, token)) = &token
        {
            oauth.forget(token);
        }
        let outcome = self.read(answer).await;
        match token {
            None => outcome,
            Some((_, token)) => match outcome {
                Ok(mut value) => {
                    token.mask.value(&mut value);
                    Ok(value)
                }
                Err(error) => Err(error.masked(&token.mask)),
            },
        }
    }

    async fn read(&self, answer: Answer) -> Result<Value, CallError> {
        let now = Timestamp::now();
        if answer.body.len() <= HEAVY {
            return self.shape.read(&answer, now);
        }
        let shape = self.shape.clone();
        let work = tokio::task::spawn_blocking(move || shape.read(&answer, now));
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
        filling.finish()?;
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
                BodyType::Form => String::from_utf8_lossy(&bytes).into(),
                BodyType::Text => as_text(body).into(),
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

/// A header as a dry run shows it: a credential that is written out is masked, a secret's name is not.
fn shown(name: &HeaderName, text: String) -> String {
    if !is_credential(name.as_str()) || text.contains(haft_core::secret::SCHEME) {
        return text;
    }
    match text.split_once(' ') {
        Some((scheme, _)) => format!("{scheme} {}", haft_core::mask::MASKED),
        None => haft_core::mask::MASKED.to_owned(),
    }
}
