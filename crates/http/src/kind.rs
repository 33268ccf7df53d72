//! The kind itself: reads a `config` once and gives what runs many times.

use std::sync::Arc;

use haft_core::mask::Mask;
use haft_core::redact::Redactor;
use haft_core::text::CALLBACK_URL;
use haft_core::{BreakerKey, ConfigError, Effect, Kind, Message, Prepared, SecretRef, Violation};
use haft_egress::{Destination, Egress, Hosts, ToolPolicy};
use haft_query::Query;
use http::Method;
use serde_json::{Map, Value};

use crate::auth::Auth;
use crate::body::{self, JsonTemplate};
use crate::config::Config;
use crate::generic::BaseUrl;
use crate::headers::{Headers, credentials, is_credential};
use crate::query::encode;
use crate::response::Shape;
use crate::schema;
use crate::tool::{HttpTool, QueryField, Rest, Target};
use crate::url::UrlTemplate;

haft_core::templates! {
    BAD_DOMAIN = "http.badDomain",
        "{entry} is not a host; write names such as api.example.com, *.example.com or api.example.com:8443",
        "{entry} 不是主机；请写成 api.example.com、*.example.com 或 api.example.com:8443";
    NO_CALLBACK = "http.noCallback",
        "callbackUrl needs background runs, which this server does not have yet",
        "callbackUrl 需要后台运行，本服务暂不支持";
}

/// Tools that are HTTP requests. Everything they send goes through one egress guard.
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

    fn prepare(&self, config: &Map<String, Value>) -> Result<Arc<dyn Prepared>, ConfigError> {
        let config = Config::parse(config).map_err(ConfigError)?;
        prepare(&config, self.egress.clone())
            .map(|tool| Arc::new(tool) as Arc<dyn Prepared>)
            .map_err(ConfigError)
    }
}

fn prepare(config: &Config, egress: Egress) -> Result<HttpTool, Vec<Violation>> {
    let mut violations = Vec::new();
    let target = target(config, &mut violations);
    let headers = Headers::parse(&config.headers, &mut violations);
    let auth = Auth::parse(config.auth.as_ref(), &headers, &mut violations);
    let (params_query, params_body) = match &config.params {
        Some(params) if config.params_are_query() => (Some(params), None),
        Some(params) => (None, Some(Value::Object(params.clone()))),
        None => (None, None),
    };
    let (query_name, query) =
        if params_query.is_some() { ("params", params_query) } else { ("query", config.query.as_ref()) };
    let query = query.map(|fields| {
        let fields = JsonTemplate::parse_fields(fields, query_name, &mut violations);
        let field =
            |(name, value): (String, JsonTemplate)| QueryField { encoded_name: encode(&name), name, value };
        fields.into_iter().map(field).collect::<Vec<_>>()
    });
    let body_name = if params_body.is_some() { "params" } else { "body" };
    let body = params_body.as_ref().or(config.body.as_ref());
    let body = body.map(|value| JsonTemplate::parse(value, body_name, &mut violations));
    if let Some(body) = &body {
        violations.extend(body::check(body, config.body_type, body_name));
    }
    let domains = config.security.allowed_domains.iter().map(String::as_str);
    let hosts = Hosts::parse(domains).map_err(|(at, _)| {
        let entry = config.security.allowed_domains.get(at).cloned().unwrap_or_default();
        let message = Message::new(&BAD_DOMAIN).with("entry", entry);
        violations.push(Violation::new(format!("security.allowedDomains.{at}"), message));
    });
    let redact = config.redact.as_ref().map(Redactor::parse).transpose().unwrap_or_else(|found| {
        violations.extend(found.into_iter().map(|violation| violation.within("redact")));
        None
    });
    let filter = config.response_filter.as_deref().map(Query::parse).transpose().unwrap_or_else(|message| {
        violations.push(Violation::new("responseFilter", message));
        None
    });
    let (Some(target), Ok(hosts)) = (target, hosts) else { return Err(violations) };

    let rest = match (&target, &query, &body, &config.params) {
        (Target::Generic(_), ..) => Rest::Nowhere,
        (Target::Template { method, .. }, None, None, None) => {
            if matches!(*method, Method::GET | Method::HEAD | Method::DELETE) {
                Rest::Query
            } else {
                Rest::Body
            }
        }
        (Target::Template { .. }, ..) => Rest::Nowhere,
    };
    let origin = target.origin();
    // Scheme and user name were looked at when the URL was read.
    let Ok(to) = Destination::of(origin) else {
        violations.push(Violation::new("url", Message::new(&crate::url::NOT_ABSOLUTE)));
        return Err(violations);
    };
    let mut tool = HttpTool {
        egress,
        to,
        policy: ToolPolicy::new(origin, hosts),
        effect: target.method().map_or(Effect::Write, of_method),
        breaker: BreakerKey::new(origin.origin().ascii_serialization()),
        shape: Arc::new(Shape { redact: redact.unwrap_or_default(), filter, literals: None }),
        headers,
        auth,
        query: query.unwrap_or_default(),
        body,
        body_type: config.body_type,
        rest,
        limit: config.security.max_response_size,
        send_defaults: config.send_defaults,
        secrets: Vec::new(),
        schema: Value::Null,
        target,
    };
    tool.schema = schema_of(&tool);
    tool.secrets = secrets_of(&tool);
    let literals = literals_of(&tool);
    if let Some(shape) = Arc::get_mut(&mut tool.shape) {
        shape.literals = literals;
    }
    if tool.variables().any(|variable| variable.name == CALLBACK_URL) {
        violations.push(Violation::new(haft_core::error::ROOT, Message::new(&NO_CALLBACK)));
    }
    if violations.is_empty() { Ok(tool) } else { Err(violations) }
}

fn target(config: &Config, violations: &mut Vec<Violation>) -> Option<Target> {
    if config.is_generic() {
        let base = BaseUrl::parse(config.base_url.as_deref().unwrap_or_default());
        return base
            .map(Target::Generic)
            .map_err(|message| violations.push(Violation::new("baseUrl", message)))
            .ok();
    }
    // A base beside a path is only another way of writing one URL.
    if let Some(base) = &config.base_url
        && let Err(message) = BaseUrl::parse(base)
    {
        violations.push(Violation::new("baseUrl", message));
        return None;
    }
    let base = config.base_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let url = format!("{base}{}", config.url.as_deref().unwrap_or_default());
    let url =
        UrlTemplate::parse(&url).map_err(|message| violations.push(Violation::new("url", message))).ok();
    let method = Method::from_bytes(config.method().as_bytes()).unwrap_or(Method::GET);
    Some(Target::Template { url: url?, method })
}

fn of_method(method: &Method) -> Effect {
    if matches!(*method, Method::GET | Method::HEAD) {
        Effect::Read
    } else if matches!(*method, Method::PUT | Method::DELETE) {
        Effect::Idempotent
    } else {
        Effect::Write
    }
}

fn schema_of(tool: &HttpTool) -> Value {
    match &tool.target {
        Target::Generic(_) => BaseUrl::schema(tool.other_variables()),
        Target::Template { url, .. } => schema::generate(url.path_variables(), tool.other_variables()),
    }
}

fn secrets_of(tool: &HttpTool) -> Vec<SecretRef> {
    let of_url: Vec<&SecretRef> = match &tool.target {
        Target::Generic(_) => Vec::new(),
        Target::Template { url, .. } => url.secrets().collect(),
    };
    let of_query = tool.query.iter().flat_map(|field| field.value.secrets());
    let of_body = tool.body.iter().flat_map(JsonTemplate::secrets);
    let all = of_url
        .into_iter()
        .chain(of_query)
        .chain(tool.headers.secrets())
        .chain(of_body)
        .chain(tool.auth.secrets());
    let mut secrets: Vec<SecretRef> = all.cloned().collect();
    secrets.sort_unstable();
    secrets.dedup();
    secrets
}

/// Credentials that stand in the definition as they are: an upstream may echo them.
fn literals_of(tool: &HttpTool) -> Option<Mask> {
    let mut literals = tool.auth.literals();
    for (_, text) in tool.headers.iter().filter(|(name, _)| is_credential(name.as_str())) {
        literals.extend(text.plain().into_iter().flat_map(credentials));
    }
    for field in tool.query.iter().filter(|field| is_credential(&field.name)) {
        if let JsonTemplate::Fixed(Value::String(text)) = &field.value {
            literals.push(text.clone());
        }
    }
    if let Target::Template { url, .. } = &tool.target {
        literals.extend(url.literals());
    }
    let mask = Mask::new(literals.iter().map(String::as_str));
    (!mask.is_empty()).then_some(mask)
}
