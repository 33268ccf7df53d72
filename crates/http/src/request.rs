//! The request template of a tool, and filling it with arguments.

use std::borrow::Cow;

use bytes::Bytes;
use haft_core::error::ROOT;
use haft_core::text::Variable;
use haft_core::{CallError, Message, SecretRef, Violation};
use haft_egress::{Destination, Request};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value};
use url::Url;

use crate::auth::Auth;
use crate::body::{JsonTemplate, NOT_A_FORM, encode};
use crate::config::BodyType;
use crate::cookies::Cookies;
use crate::files::Files;
use crate::fill::Filling;
use crate::generic::{BaseUrl, METHODS};
use crate::headers::{Headers, credentials, is_credential, looks_secret};
use crate::query::{Brackets, LONGEST, Pairs, append, too_long};
use crate::schema;
use crate::url::UrlTemplate;

haft_core::templates! {
    SET_BY_TOOL = "http.setByTool",
        "is set by the tool and cannot be supplied",
        "由工具自身设置，不能作为参数给出";
    NOT_A_METHOD = "http.notAMethod",
        "must be one of {methods}",
        "必须是以下之一：{methods}";
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The URL and method of a request, fixed or generic.
pub(crate) enum Target {
    Template { url: UrlTemplate, method: Method },
    Generic(BaseUrl),
}

/// The destination of arguments that no placeholder uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnusedArguments {
    Nowhere,
    Query,
    Body,
}

/// One field of the query.
pub(crate) struct QueryField {
    pub(crate) name: String,
    pub(crate) encoded_name: String,
    pub(crate) is_bracketed: bool,
    pub(crate) value: JsonTemplate,
}

/// Everything that is sent, with its placeholders.
pub(crate) struct RequestTemplate {
    pub(crate) target: Target,
    pub(crate) headers: Headers,
    pub(crate) cookies: Cookies,
    pub(crate) auth: Auth,
    pub(crate) query: Vec<QueryField>,
    pub(crate) body: Option<JsonTemplate>,
    pub(crate) body_type: BodyType,
    pub(crate) brackets: Brackets,
    pub(crate) rest: UnusedArguments,
}

/// A request with all placeholders filled in, except a token that must be fetched.
pub(crate) struct Filled {
    pub(crate) method: Method,
    /// Path and query, encoded.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Value>,
}

impl RequestTemplate {
    /// The schema of the arguments that the placeholders need.
    pub(crate) fn schema(&self) -> Value {
        match &self.target {
            Target::Generic(_) => BaseUrl::schema(self.other_variables()),
            Target::Template { url, .. } => schema::generate(url.path_variables(), self.other_variables()),
        }
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        let of_path = match &self.target {
            Target::Template { url, .. } => Some(url.path_variables()),
            Target::Generic(_) => None,
        };
        of_path.into_iter().flatten().chain(self.other_variables())
    }

    /// Variables outside the path, in order of appearance.
    fn other_variables(&self) -> impl Iterator<Item = &Variable> {
        let of_url = match &self.target {
            Target::Template { url, .. } => Some(url.query_variables()),
            Target::Generic(_) => None,
        };
        let of_query = self.query.iter().flat_map(|field| field.value.variables());
        let of_body = self.body.iter().flat_map(JsonTemplate::variables);
        let of_headers = self.headers.variables().chain(self.cookies.variables());
        of_url.into_iter().flatten().chain(of_query).chain(of_body).chain(of_headers)
    }

    pub(crate) fn secrets(&self) -> Vec<SecretRef> {
        let of_url = match &self.target {
            Target::Template { url, .. } => Some(url.secrets()),
            Target::Generic(_) => None,
        };
        let of_query = self.query.iter().flat_map(|field| field.value.secrets());
        let of_body = self.body.iter().flat_map(JsonTemplate::secrets);
        let all = of_url.into_iter().flatten().chain(of_query).chain(of_body);
        let all = all.chain(self.headers.secrets()).chain(self.cookies.secrets()).chain(self.auth.secrets());
        let mut secrets: Vec<SecretRef> = all.cloned().collect();
        secrets.sort_unstable();
        secrets.dedup();
        secrets
    }

    /// Literal credentials: an upstream may echo them.
    pub(crate) fn literals(&self) -> Vec<String> {
        let mut literals = self.auth.literals();
        for (_, text) in self.headers.iter().filter(|(name, _)| is_credential(name.as_str())) {
            literals.extend(text.plain().into_iter().flat_map(credentials));
        }
        literals.extend(self.cookies.literals());
        let mut fields: Vec<(&str, &str)> = Vec::new();
        for field in &self.query {
            field.value.fixed_texts(&field.name, &mut fields);
        }
        if let Some(body) = &self.body {
            body.fixed_texts("", &mut fields);
        }
        let is_literal = |(name, text): &(&str, &str)| is_credential(name) && looks_secret(text);
        literals.extend(fields.into_iter().filter(is_literal).map(|(_, text)| text.to_owned()));
        if let Target::Template { url, .. } = &self.target {
            literals.extend(url.literals());
        }
        literals
    }

    pub(crate) fn fill<'a>(&'a self, filling: &mut Filling<'a>) -> Filled {
        let (method, mut path) = match &self.target {
            Target::Template { url, method } => (method.clone(), url.fill(filling)),
            Target::Generic(base) => (given_method(filling), self.fill_under(base, filling)),
        };
        let mut pairs = Pairs::default();
        for field in &self.query {
            match field.value.fill(filling) {
                Some(value) if field.is_bracketed => pairs.push_bracketed(&field.encoded_name, &value),
                Some(value) => pairs.push_value(&field.encoded_name, &value),
                None => {}
            }
        }
        let mut headers = self.headers.fill(filling);
        self.cookies.fill(filling, &mut headers);
        let body = match (&self.target, &self.body, self.rest) {
            (Target::Generic(_), ..) if method == Method::HEAD => None,
            (Target::Generic(_), ..) => {
                filling.arguments().get("body").filter(|body| !body.is_null()).cloned()
            }
            (Target::Template { .. }, Some(body), _) => body.fill(filling).map(Cow::into_owned),
            (Target::Template { .. }, None, UnusedArguments::Body) => {
                Some(Value::Object(self.left_over(filling)))
            }
            (Target::Template { .. }, None, UnusedArguments::Query) => {
                let fields = self.left_over(filling);
                for name in fields.keys().filter(|name| self.sets_query(name)) {
                    filling.violate(Violation::new(name.as_str(), Message::new(&SET_BY_TOOL)));
                }
                pairs.push_fields_with(&fields, &self.brackets);
                None
            }
            (Target::Template { .. }, None, UnusedArguments::Nowhere) => None,
        };
        if matches!(self.body_type, BodyType::Form | BodyType::Multipart)
            && body.as_ref().is_some_and(|body| !body.is_object())
        {
            filling.violate(Violation::new(self.body_argument(), Message::new(&NOT_A_FORM)));
        }
        self.auth.fill(filling, &mut headers, &mut pairs);
        if pairs.is_full() {
            filling.violate(Violation::new(ROOT, too_long(LONGEST)));
        }
        append(&mut path, &pairs);
        if !matches!(method, Method::GET | Method::HEAD)
            && !headers.contains_key(&IDEMPOTENCY_KEY)
            && let Ok(key) = HeaderValue::from_str(filling.context().call_id().as_str())
        {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        Filled { method, path, headers, body }
    }

    /// Returns the headers, and the path with the query, of an authenticated request to another URL of the same
    /// origin.
    pub(crate) fn fill_credentials(&self, filling: &mut Filling<'_>, url: &Url) -> (HeaderMap, String) {
        let mut headers = self.headers.fill(filling);
        self.cookies.fill(filling, &mut headers);
        headers.remove(CONTENT_TYPE);
        headers.remove(&IDEMPOTENCY_KEY);
        let mut pairs = Pairs::default();
        self.auth.fill(filling, &mut headers, &mut pairs);
        let mut path = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        append(&mut path, &pairs);
        (headers, path)
    }

    /// Fills the path that the model supplied; its query must not override the tool's fields.
    fn fill_under(&self, base: &BaseUrl, filling: &mut Filling<'_>) -> String {
        let path = base.fill(filling);
        let query = path.split_once('?').map_or("", |(_, query)| query);
        for (name, _) in url::form_urlencoded::parse(query.as_bytes()) {
            if self.sets_query(&name) {
                filling.violate(Violation::new(format!("url?{name}"), Message::new(&SET_BY_TOOL)));
            }
        }
        path
    }

    /// Returns true if the tool itself sets this query field, so that the model must not repeat it.
    fn sets_query(&self, name: &str) -> bool {
        let by_auth = matches!(&self.auth, Auth::Query { name: own, .. } if own == name);
        by_auth || self.query.iter().any(|field| field.name == name)
    }

    /// The argument that is the whole body.
    fn body_argument(&self) -> String {
        let whole = self.body.as_ref().and_then(JsonTemplate::only_variable);
        whole.map_or_else(|| "body".to_owned(), ToString::to_string)
    }

    /// Arguments that no placeholder uses.
    fn left_over(&self, filling: &Filling<'_>) -> Map<String, Value> {
        let fields = filling.arguments().as_object().into_iter().flatten();
        let is_used = |name: &str| self.variables().any(|variable| variable.name == name);
        fields.filter(|(name, _)| !is_used(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Encodes the body with its files, and returns its content type.
    pub(crate) fn encoded(&self, body: &Value, files: &Files) -> Result<(Bytes, HeaderValue), CallError> {
        encode(body, self.body_type, &self.brackets, files)
            .map_err(|violation| CallError::invalid(vec![violation.within(&self.body_argument())]))
    }

    /// Builds the request for the egress guard.
    pub(crate) fn to_send(
        &self,
        filled: Filled,
        files: &Files,
        to: Destination,
    ) -> Result<Request, CallError> {
        let mut request = Request::to(filled.method, to, filled.path)?;
        request.headers = filled.headers;
        if let Some(body) = filled.body {
            let (bytes, kind) = self.encoded(&body, files)?;
            request.body = bytes;
            request.content_type = Some(kind);
            request.body_is_secret = self.body.iter().any(|body| body.secrets().next().is_some());
        }
        Ok(request)
    }
}

/// The method that the model supplied, in any case.
fn given_method(filling: &mut Filling<'_>) -> Method {
    let given = filling.arguments().get("method").and_then(Value::as_str).unwrap_or("GET");
    match METHODS.iter().find(|name| name.eq_ignore_ascii_case(given)) {
        Some(name) => Method::from_bytes(name.as_bytes()).unwrap_or(Method::GET),
        None => {
            let message = Message::new(&NOT_A_METHOD).with("methods", METHODS.join(", "));
            filling.violate(Violation::new("method", message));
            Method::GET
        }
    }
}
