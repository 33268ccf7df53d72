//! A document as a whole: which dialect it is, what its references mean, where its servers are.

use haft_core::error::ROOT;
use haft_core::{Message, Violation};
use serde_json::{Map, Value};
use url::Url;

haft_core::templates! {
    NOT_OPENAPI = "openapi.notOne",
        "is not an OpenAPI document: it has neither openapi 3.0 or 3.1 nor swagger 2.0",
        "不是 OpenAPI 文档：缺少 openapi 3.0/3.1 或 swagger 2.0";
    BAD_BASE = "openapi.badBase",
        "must be an absolute http or https URL",
        "必须是完整的 http 或 https URL";
}

/// References of references are followed so far.
const LONGEST_CHAIN: usize = 16;

/// A document and what was said about it.
pub(super) struct Document<'a> {
    root: &'a Value,
    pub(super) is_swagger: bool,
    base: Option<Url>,
    source: Option<&'a Url>,
}

impl<'a> Document<'a> {
    pub(super) fn new(
        root: &'a Value,
        base: Option<&str>,
        source: Option<&'a Url>,
    ) -> Result<Self, Vec<Violation>> {
        let version = |name: &str| match root.get(name) {
            Some(Value::String(version)) => version.clone(),
            Some(Value::Number(version)) => version.to_string(),
            _ => String::new(),
        };
        let is_swagger = version("swagger").starts_with('2');
        if !is_swagger && !version("openapi").starts_with("3.") {
            return Err(vec![Violation::new(ROOT, Message::new(&NOT_OPENAPI))]);
        }
        let base = base.map(|base| {
            let url = Url::parse(base.trim()).ok().filter(is_http);
            url.ok_or_else(|| vec![Violation::new("baseUrl", Message::new(&BAD_BASE))])
        });
        Ok(Self { root, is_swagger, base: base.transpose()?, source })
    }

    pub(super) fn root(&self) -> &'a Value {
        self.root
    }

    /// The title, as a name for what belongs together.
    pub(super) fn title(&self) -> &'a str {
        self.root.get("info").and_then(|info| info.get("title")).and_then(Value::as_str).unwrap_or_default()
    }

    /// What a local reference points to.
    pub(super) fn find(&self, reference: &str) -> Option<&'a Value> {
        let pointer = reference.strip_prefix('#')?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8().ok()?;
        self.root.pointer(&decoded)
    }

    /// The thing itself, where a reference stands for it.
    pub(super) fn resolve(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            let Some(Value::String(reference)) = value.get("$ref") else { return value };
            let Some(target) = self.find(reference) else { return &Value::Null };
            value = target;
        }
        &Value::Null
    }

    /// Where an operation is called: what was asked for, or the first server with an absolute address.
    pub(super) fn server(&self, item: &'a Value, operation: &'a Value) -> Option<Url> {
        if let Some(base) = &self.base {
            return Some(base.clone());
        }
        let own =
            |value: &'a Value| value.get("servers").and_then(Value::as_array).filter(|list| !list.is_empty());
        let servers = own(operation).or_else(|| own(item)).or_else(|| own(self.root));
        let written: Vec<String> = match servers {
            Some(servers) => servers.iter().filter_map(server_url).collect(),
            None if self.is_swagger => self.swagger_servers(),
            None => vec!["/".to_owned()],
        };
        written.iter().find_map(|written| self.absolute(written))
    }

    fn absolute(&self, written: &str) -> Option<Url> {
        let url = match Url::parse(written) {
            Ok(url) => url,
            Err(_) => self.source?.join(written).ok()?,
        };
        Some(url).filter(is_http)
    }

    fn swagger_servers(&self) -> Vec<String> {
        let text = |name: &str| self.root.get(name).and_then(Value::as_str).unwrap_or_default();
        let (host, path) = (text("host"), text("basePath"));
        if host.is_empty() {
            return vec![if path.is_empty() { "/".to_owned() } else { path.to_owned() }];
        }
        let schemes = self.root.get("schemes").and_then(Value::as_array).into_iter().flatten();
        let mut schemes: Vec<&str> = schemes.filter_map(Value::as_str).collect();
        // Whoever offers both means the safe one.
        schemes.sort_by_key(|scheme| *scheme != "https");
        if schemes.is_empty() {
            schemes.push("https");
        }
        schemes.iter().map(|scheme| format!("{scheme}://{host}{path}")).collect()
    }

    /// Paths and their operations, in the document's order.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.root.get("paths").and_then(Value::as_object).into_iter().flatten()
    }

    /// The parameters of a path and of its operation, which may replace some of them.
    pub(super) fn parameters(&self, item: &'a Value, operation: &'a Value) -> Vec<&'a Map<String, Value>> {
        let listed =
            |value: &'a Value| value.get("parameters").and_then(Value::as_array).into_iter().flatten();
        let mut found: Vec<&'a Map<String, Value>> = Vec::new();
        for parameter in listed(item).chain(listed(operation)) {
            let Value::Object(parameter) = self.resolve(parameter) else { continue };
            let same = |known: &&Map<String, Value>| {
                known.get("name") == parameter.get("name") && known.get("in") == parameter.get("in")
            };
            found.retain(|known| !same(known));
            found.push(parameter);
        }
        found
    }
}

/// A server's address with its variables at their defaults.
fn server_url(server: &Value) -> Option<String> {
    let mut url = server.get("url")?.as_str()?.to_owned();
    for (name, variable) in server.get("variables").and_then(Value::as_object).into_iter().flatten() {
        let default = match variable.get("default") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => continue,
        };
        url = url.replace(&format!("{{{name}}}"), &default);
    }
    // A variable without a default leaves no address to call.
    (!url.contains('{')).then_some(url)
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}
