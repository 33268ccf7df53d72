//! A prepared tool: fills its request, sends it through the egress guard, interprets the response.

use std::sync::Arc;

use haft_core::mask::{MASKED, Mask};
use haft_core::redact::Redactor;
use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, CurlExport, Effect, ErrorKind, Prepared,
    ResultDelivery, SecretRef, ToolOutput, Violation,
};
use haft_egress::{Destination, Egress, EgressResponse, Limits, Request, RequestPolicy, ToolPolicy};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::auth::Auth;
use crate::config::BodyType;
use crate::deferred::{DeferredResult, callback_mask};
use crate::files::{self, Files};
use crate::fill::{Filling, as_text};
use crate::headers::{after_scheme, is_credential};
use crate::request::RequestTemplate;
use crate::response::Shape;

const TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACE_STATE: HeaderName = HeaderName::from_static("tracestate");

/// Responses above this size are processed on a blocking thread, so that other tasks are not delayed.
const HEAVY: usize = 256 << 10;

/// Lower limit if a filter or redaction patterns apply, whose cost does not depend on size alone.
const HEAVY_TO_SHAPE: usize = 8 << 10;

pub(crate) struct HttpTool {
    pub(crate) egress: Egress,
    pub(crate) to: Destination,
    pub(crate) policy: ToolPolicy,
    pub(crate) request: RequestTemplate,
    pub(crate) shape: Arc<Shape>,
    /// Maximum response size, in bytes.
    pub(crate) limit: usize,
    pub(crate) send_defaults: bool,
    /// Sends the caller's trace context.
    pub(crate) send_trace: bool,
    pub(crate) effect: Effect,
    pub(crate) breaker: BreakerKey,
    pub(crate) schema: Value,
    pub(crate) secrets: Vec<SecretRef>,
    pub(crate) for_admins: Vec<Violation>,
    /// Reasons why the config cannot be saved, although calls work.
    pub(crate) save_violations: Vec<Violation>,
    /// How the result arrives later, if calls may be deferred.
    pub(crate) later: Option<DeferredResult>,
    /// Masks literal credentials of the definition.
    pub(crate) literals: Option<Arc<Mask>>,
}

impl HttpTool {
    async fn call(&self, arguments: &Arguments, context: &CallContext) -> Result<ToolOutput, CallError> {
        let mut masks: Vec<Arc<Mask>> = self.literals.iter().chain(context.mask()).cloned().collect();
        masks.extend(callback_mask(context).map(Arc::new));
        let outcome = match (&self.later, context.resumed()) {
            (Some(later), Some(resumed)) => {
                let stored = (&resumed.parked.later.state, resumed.came.as_ref());
                Box::pin(self.check_job(later, stored, &mut masks, arguments, context)).await
            }
            // The definition is no longer deferred; the request must not be sent again.
            (None, Some(_)) => Err(crate::deferred::no_longer_deferred()),
            (_, None) => self.send(arguments, context, &mut masks).await,
        };
        outcome.map_err(|error| masks.iter().fold(error, |error, mask| error.masked(mask)))
    }

    async fn send(
        &self,
        arguments: &Arguments,
        context: &CallContext,
        masks: &mut Vec<Arc<Mask>>,
    ) -> Result<ToolOutput, CallError> {
        self.check_callback(context)?;
        let mut filling = Filling::to_send(arguments.as_value(), context);
        let filled = self.request.fill(&mut filling);
        filling.check()?;
        let kind = self.request.body_type;
        let files = match filled.body.as_ref().filter(|_| files::may_stand_in(kind)) {
            Some(body) => Box::pin(Files::of(body, kind, context)).await?,
            None => Files::default(),
        };
        let request = self.request.to_send(filled, &files, self.to.clone())?;
        let answer = self.send_authorized(request, &mut filling, masks, context).await?;
        match &self.later {
            Some(later) => Box::pin(self.read_first_response(later, answer, masks, arguments, context)).await,
            None => {
                let limit = self.limit;
                let read = move |shape: &Shape, answer: EgressResponse, masks: &[Arc<Mask>]| {
                    shape.read(&answer, masks, limit)
                };
                self.read(answer, masks, context, read).await
            }
        }
    }

    /// Adds the caller's trace context, unless disabled or set by the tool's headers.
    pub(crate) fn add_trace(&self, headers: &mut HeaderMap, context: &CallContext) {
        let Some((parent, state)) = context.trace().filter(|_| self.send_trace) else { return };
        if headers.contains_key(&TRACE_PARENT) || headers.contains_key(&TRACE_STATE) {
            return;
        }
        if let Ok(parent) = HeaderValue::from_str(&parent.to_string()) {
            headers.insert(TRACE_PARENT, parent);
        }
        if let Some(state) = state.as_ref().and_then(|state| HeaderValue::from_str(state.as_str()).ok()) {
            headers.insert(TRACE_STATE, state);
        }
    }

    /// Sends a request, with a fetched token if the tool uses client credentials.
    ///
    /// If the upstream rejects a cached token, such as a revoked one, the request is sent once more with a
    /// new token.
    pub(crate) async fn send_authorized(
        &self,
        mut request: Request,
        filling: &mut Filling<'_>,
        masks: &mut Vec<Arc<Mask>>,
        context: &CallContext,
    ) -> Result<EgressResponse, CallError> {
        self.add_trace(&mut request.headers, context);
        // The engine enforces the deadline of an attempt.
        let limits = Limits { deadline: None, bytes: self.limit };
        let policy = RequestPolicy::Tool(context.space(), &self.policy);
        let client = match &self.request.auth {
            Auth::ClientCredentials(client) => client,
            Auth::None | Auth::Header { .. } | Auth::Basic { .. } | Auth::Query { .. } => {
                return self.egress.send(policy, request, limits).await;
            }
        };
        loop {
            let token = Box::pin(client.token(&self.egress, filling)).await;
            let (token, is_cached) = token.map_err(|error| {
                let is_own_origin = client.token_url().origin() == self.to.url().origin();
                if is_own_origin { error } else { error.about_another_host() }
            })?;
            let repeated = is_cached.then(|| request.clone());
            request.headers.insert(AUTHORIZATION, token.header.clone());
            masks.push(token.mask.clone());
            let answer = self.egress.send(policy, request, limits).await?;
            if answer.status != StatusCode::UNAUTHORIZED {
                return Ok(answer);
            }
            client.forget(&token);
            match repeated {
                Some(again) => request = again,
                None => return Ok(answer),
            }
        }
    }

    /// Processes a response, on a blocking thread if that may be slow.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        answer: EgressResponse,
        masks: &[Arc<Mask>],
        context: &CallContext,
        read: impl FnOnce(&Shape, EgressResponse, &[Arc<Mask>]) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let heavy = if self.shape.costs_more_than_its_size() { HEAVY_TO_SHAPE } else { HEAVY };
        if answer.body.len() <= heavy {
            return read(&self.shape, answer, masks);
        }
        // The context holds the call's slot until the blocking work ends, even if the caller is cancelled.
        let (shape, masks, context) = (self.shape.clone(), masks.to_vec(), context.clone());
        let work = tokio::task::spawn_blocking(move || {
            let outcome = read(&shape, answer, &masks);
            drop(context);
            outcome
        });
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

    fn result_delivery(&self) -> ResultDelivery {
        self.later.as_ref().map(DeferredResult::reply_kind).unwrap_or_default()
    }

    fn reads_own_files(&self, _: &Arguments) -> bool {
        files::may_stand_in(self.request.body_type)
    }

    fn save_violations(&self) -> &[Violation] {
        &self.save_violations
    }

    fn for_admins(&self) -> &[Violation] {
        &self.for_admins
    }

    fn takes_defaults(&self) -> bool {
        self.send_defaults
    }

    fn preview(&self, arguments: &Arguments, context: &CallContext) -> Result<Option<Value>, CallError> {
        let mut filling = Filling::to_show(arguments.as_value(), context);
        let mut filled = self.request.fill(&mut filling);
        filling.check()?;
        self.add_trace(&mut filled.headers, context);
        let mut headers = Map::new();
        for (name, value) in &filled.headers {
            let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
            headers.insert(name.to_string(), displayed(name, text).into());
        }
        let origin = self.to.url().as_str().trim_end_matches('/');
        let url = format!("{origin}{}", readable(&filled.path));
        let mut preview = json!({"method": filled.method.as_str(), "url": url, "headers": headers});
        if let Some(body) = &filled.body {
            let kind = self.request.body_type;
            // A dry run does not read files; it shows their references.
            let (bytes, media) = self.request.encoded(body, &Files::default())?;
            if !filled.headers.contains_key(CONTENT_TYPE) {
                preview["headers"][CONTENT_TYPE.as_str()] = String::from_utf8_lossy(media.as_bytes()).into();
            }
            preview["body"] = match kind {
                BodyType::Json | BodyType::Multipart | BodyType::Binary => body.clone(),
                BodyType::Form => readable(&String::from_utf8_lossy(&bytes)).into(),
                BodyType::Text => as_text(body).into_owned().into(),
            };
        }
        if let Some(mask) = &self.literals {
            mask.value(&mut preview);
        }
        Ok(Some(preview))
    }

    fn as_curl_export(&self) -> Option<&dyn CurlExport> {
        Some(self)
    }

    fn redactor(&self) -> Option<&Redactor> {
        Some(&self.shape.redact).filter(|redactor| !redactor.is_empty())
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        Box::pin(self.call(arguments, context))
    }
}

/// Restores the names of secrets in an encoded text.
fn readable(encoded: &str) -> String {
    encoded.replace("secret%3A%2F%2Fme%2F", "secret://me/").replace("secret%3A%2F%2F", "secret://")
}

/// A header in a dry run: literal credentials are masked, names of secrets are not.
fn displayed(name: &HeaderName, text: String) -> String {
    if !is_credential(name.as_str()) || text.contains(haft_core::secret::SCHEME) {
        return text;
    }
    hidden(&text)
}

/// Masks a credential, but keeps its scheme.
pub(crate) fn hidden(credential: &str) -> String {
    match after_scheme(credential) {
        Some((scheme, _)) => format!("{scheme} {MASKED}"),
        None => MASKED.to_owned(),
    }
}
