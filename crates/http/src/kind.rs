//! The `http` kind: parses a `config` once and prepares a tool that runs many times.

use std::sync::Arc;

use haft_core::mask::Mask;
use haft_core::redact::Redactor;
use haft_core::text::CALLBACK_URL;
use haft_core::{
    BreakerKey, ConfigError, CredentialField, Effect, Kind, Message, Prepared, ToolContext, Violation,
};
use haft_egress::{Destination, Egress, Hosts, ToolPolicy};
use haft_query::Query;
use http::Method;
use serde_json::{Map, Value};
use url::Url;

use crate::auth::Auth;
use crate::body::{self, JsonTemplate};
use crate::config::Config;
use crate::cookies::Cookies;
use crate::credentials::credential_fields;
use crate::deferred::DeferredResult;
use crate::generic::BaseUrl;
use crate::headers::Headers;
use crate::query::{Brackets, encode};
use crate::request::{QueryField, RequestTemplate, Target, UnusedArguments};
use crate::response::Shape;
use crate::tool::HttpTool;
use crate::url::{NOT_ABSOLUTE, UrlTemplate};

haft_core::templates! {
    BAD_DOMAIN = "http.badDomain",
        "{entry} is not a host; write names such as api.example.com, *.example.com or api.example.com:8443",
        "{entry} 不是主机；请写成 api.example.com、*.example.com 或 api.example.com:8443";
    NOT_ALLOWED = "http.ownHostNotAllowed",
        "does not include {host}, the host of the tool's url, so every call would fail; add it",
        "不包含 {host}（工具自身 url 的主机），任何调用都无法成功；请加上它";
    POLL_NOT_ALLOWED = "http.pollHostNotAllowed",
        "is at {host}, which security.allowedDomains does not include, so every poll would fail; add it there, together with the host of the tool's url",
        "位于 {host}，而 security.allowedDomains 不包含该主机，任何轮询都无法成功；请将它与工具自身 url 的主机一并列入";
    TOO_WIDE = "http.domainTooWide",
        "allows nearly every host, which only an admin may configure",
        "几乎开放了所有主机，仅管理员可以这样设置";
}

/// The kind of tools that send HTTP requests. All requests pass through one egress guard.
#[derive(Clone)]
pub struct HttpKind {
    egress: Egress,
}

impl HttpKind {
    pub fn new(egress: Egress) -> Self {
        Self { egress }
    }
}

impl Kind for HttpKind {
    fn name(&self) -> &'static str {
        "http"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["rest"]
    }

    fn credentials<'a>(&self, config: &'a mut Map<String, Value>) -> Vec<CredentialField<'a>> {
        credential_fields(config)
    }

    fn prepare(&self, tool: &ToolContext<'_>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let config = Config::parse(tool.config).map_err(ConfigError)?;
        let tool = prepare(&config, self.egress.clone()).map_err(ConfigError)?;
        Ok(Arc::new(tool))
    }
}

/// All violations of a config, without preparing a tool.
pub(crate) fn check(config: &Map<String, Value>) -> Vec<Violation> {
    let checked = Config::parse(config).and_then(|config| checked(&config).map(|_| ()));
    checked.err().unwrap_or_default()
}

/// The parsed parts of a tool.
struct Checked {
    request: RequestTemplate,
    to: Destination,
    hosts: Hosts,
    shape: Shape,
    later: Option<DeferredResult>,
}

/// Parses all parts of a config, or returns its violations.
fn checked(config: &Config) -> Result<Checked, Vec<Violation>> {
    let mut violations = Vec::new();
    let request = request(config, &mut violations);
    let hosts = hosts(config, &mut violations);
    let shape = shape(config, &mut violations);
    let Some(request) = request else { return Err(violations) };
    let origin = match &request.target {
        Target::Template { url, .. } => url.origin(),
        Target::Generic(base) => base.url(),
    };
    // The URL parser has already checked scheme and user name.
    let Ok(to) = Destination::of(origin) else {
        violations.push(Violation::new("url", Message::new(&NOT_ABSOLUTE)));
        return Err(violations);
    };
    let uses_callback = request.variables().any(|variable| variable.name == CALLBACK_URL);
    let later = DeferredResult::parse(config, uses_callback, &mut violations);
    if violations.is_empty() { Ok(Checked { request, to, hosts, shape, later }) } else { Err(violations) }
}

fn prepare(config: &Config, egress: Egress) -> Result<HttpTool, Vec<Violation>> {
    let Checked { request, to, hosts, shape, later } = checked(config)?;
    let (origin, policy, effect) = match &request.target {
        Target::Template { url, method } => {
            (url.origin(), ToolPolicy::new(url.origin(), hosts), of_method(method))
        }
        // The method is unknown before the call, so the strictest effect applies.
        Target::Generic(base) => {
            (base.url(), ToolPolicy::new(base.url(), hosts).within(base.url().clone()), Effect::Write)
        }
    };
    let for_admins = too_wide(policy.hosts());
    let save_violations = not_allowed(origin, policy.hosts(), later.as_ref());
    let literals = Mask::new(request.literals().iter().map(String::as_str));
    Ok(HttpTool {
        egress,
        breaker: BreakerKey::new(origin.origin().ascii_serialization()),
        to,
        policy,
        effect,
        shape: Arc::new(shape),
        limit: config.security.max_response_size,
        send_defaults: config.send_defaults,
        send_trace: config.send_trace,
        schema: request.schema(),
        secrets: request.secrets(),
        later,
        for_admins,
        save_violations,
        literals: (!literals.is_empty()).then(|| Arc::new(literals)),
        request,
    })
}

fn request(config: &Config, violations: &mut Vec<Violation>) -> Option<RequestTemplate> {
    let target = target(config, violations);
    let headers = Headers::parse(&config.headers, violations);
    let cookies = Cookies::parse(&config.cookies, violations);
    let auth = Auth::parse(config.auth.as_ref(), &headers, violations);
    let brackets = Brackets::of(&config.brackets);
    let query = query(config, &brackets, violations);
    let body = body(config, violations);
    let target = target?;
    let rest = match (&target, &query, &body) {
        (Target::Template { method, .. }, None, None) => match *method {
            Method::GET | Method::HEAD | Method::DELETE => UnusedArguments::Query,
            _ => UnusedArguments::Body,
        },
        (Target::Template { .. } | Target::Generic(_), ..) => UnusedArguments::Nowhere,
    };
    let query = query.unwrap_or_default();
    let body_type = config.body_type;
    Some(RequestTemplate { target, headers, cookies, auth, query, body, body_type, brackets, rest })
}

fn target(config: &Config, violations: &mut Vec<Violation>) -> Option<Target> {
    let mut at = |field: &str, message: Message| violations.push(Violation::new(field, message));
    let base = match config.base_url.as_deref().map(BaseUrl::parse) {
        Some(Err(message)) => {
            at("baseUrl", message);
            return None;
        }
        Some(Ok(base)) => Some(base),
        None => None,
    };
    let Some(url) = &config.url else { return base.map(Target::Generic) };
    // A base with a path is equivalent to one full URL.
    let base = config.base_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let url = UrlTemplate::parse(&format!("{base}{url}")).map_err(|message| at("url", message)).ok()?;
    let method = Method::from_bytes(config.method().as_bytes()).unwrap_or(Method::GET);
    Some(Target::Template { url, method })
}

/// The query template. Returns `None` if the config has no query.
fn query(config: &Config, brackets: &Brackets, violations: &mut Vec<Violation>) -> Option<Vec<QueryField>> {
    let (name, fields) = match &config.params {
        Some(params) if config.params_are_query() => ("params", params),
        Some(_) | None => ("query", config.query.as_ref()?),
    };
    let fields = JsonTemplate::parse_fields(fields, name, violations);
    let field = |(name, value): (String, JsonTemplate)| QueryField {
        encoded_name: encode(&name),
        is_bracketed: brackets.contains(&name),
        name,
        value,
    };
    Some(fields.into_iter().map(field).collect())
}

fn body(config: &Config, violations: &mut Vec<Violation>) -> Option<JsonTemplate> {
    let params = config.params.as_ref().filter(|_| !config.params_are_query());
    let params = params.map(|params| Value::Object(params.clone()));
    let (name, value) = match &params {
        Some(params) => ("params", params),
        None => ("body", config.body.as_ref()?),
    };
    let body = JsonTemplate::parse(value, name, violations);
    violations.extend(body::check(&body, config.body_type, name));
    Some(body)
}

fn hosts(config: &Config, violations: &mut Vec<Violation>) -> Hosts {
    let domains = &config.security.allowed_domains;
    Hosts::parse(domains.iter().map(String::as_str)).unwrap_or_else(|(at, _)| {
        let entry = domains.get(at).map_or("", String::as_str);
        let message = Message::new(&BAD_DOMAIN).with("entry", entry);
        violations.push(Violation::new(format!("security.allowedDomains.{at}"), message));
        Hosts::default()
    })
}

/// Violations for hosts that the tool needs, but `allowedDomains` does not include.
fn not_allowed(origin: &Url, allowed: &Hosts, later: Option<&DeferredResult>) -> Vec<Violation> {
    let violation = |url: &Url, path: &str, template| {
        let message = Message::new(template).with("host", url.host_str().unwrap_or_default());
        (!allowed.cover(url)).then(|| Violation::new(path, message))
    };
    let own = violation(origin, "security.allowedDomains", &NOT_ALLOWED);
    let polled = later.and_then(DeferredResult::poll_origin).filter(|url| url.host() != origin.host());
    let polled = polled.and_then(|url| violation(url, "poll.url", &POLL_NOT_ALLOWED));
    own.into_iter().chain(polled).collect()
}

/// Violations for lists that only an admin may save because they allow nearly every host.
fn too_wide(hosts: &Hosts) -> Vec<Violation> {
    let violation = |at| Violation::new(format!("security.allowedDomains.{at}"), Message::new(&TOO_WIDE));
    hosts.too_wide().map(violation).collect()
}

fn shape(config: &Config, violations: &mut Vec<Violation>) -> Shape {
    let redact = config.redact.as_ref().map(Redactor::parse).transpose().unwrap_or_else(|found| {
        violations.extend(found.into_iter().map(|violation| violation.within("redact")));
        None
    });
    let filter = config.response_filter.as_deref().map(Query::parse).transpose().unwrap_or_else(|message| {
        violations.push(Violation::new("responseFilter", message));
        None
    });
    Shape { redact: redact.unwrap_or_default(), filter }
}

fn of_method(method: &Method) -> Effect {
    match *method {
        Method::GET | Method::HEAD => Effect::Read,
        Method::PUT | Method::DELETE => Effect::Idempotent,
        _ => Effect::Write,
    }
}
