//! Security schemes as `auth`, with secrets that are named after the host they go to and have to be set.

use haft_core::Message;
use serde_json::{Map, Value, json};
use url::Url;

use super::document::Document;
use super::plain::{is_plain, shortened};
use super::servers;
use crate::cookies;
use crate::headers::NOT_CONFIGURABLE;
use crate::import::secret_name;

haft_core::templates! {
    NO_AUTH = "openapi.noAuth",
        "it wants to be called with {schemes}, which tools cannot do; it was imported without",
        "它要求使用 {schemes}，工具不支持该方式；已在不含认证的情况下导入";
}

/// So many alternatives are tried, and so many schemes in each.
const MOST_ALTERNATIVES: usize = 20;
const MOST_SCHEMES: usize = 4;

const LONGEST_NAME: usize = 256;
const LONGEST_URL: usize = 2_048;
const LONGEST_SCOPE: usize = 2_000;

/// A place of a request that holds one thing. Headers are in lower case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    Header(String),
    Query(String),
    Cookie(String),
}

/// What a request carries to say who calls: `auth`, and what has to stand beside it.
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) auth: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) cookies: Map<String, Value>,
    /// Names of the secrets that it takes.
    pub(super) secrets: Vec<String>,
    pub(super) places: Vec<Place>,
}

/// A way of saying who calls that tools know.
enum Way {
    Basic,
    Bearer,
    Key { place: Place, written: String },
    ClientCredentials(Url),
}

/// The first alternative that can be done; where none can, that is said.
pub(super) fn find(
    document: &Document<'_>,
    operation: &Value,
    host: &str,
    notes: &mut Vec<Message>,
) -> Credentials {
    let wanted = operation.get("security").or_else(|| document.root().get("security"));
    let listed = wanted.and_then(Value::as_array).into_iter().flatten();
    let alternatives: Vec<&Map<String, Value>> =
        listed.filter_map(Value::as_object).take(MOST_ALTERNATIVES).collect();
    // Whoever may come without is asked for nothing.
    if alternatives.iter().any(|alternative| alternative.is_empty()) {
        return Credentials::default();
    }
    let found = alternatives.iter().find_map(|alternative| attempt(document, alternative, host));
    found.unwrap_or_else(|| {
        if let Some(first) = alternatives.first() {
            let names: Vec<String> =
                first.keys().take(MOST_SCHEMES).map(|name| shortened(name, 60)).collect();
            notes.push(Message::new(&NO_AUTH).with("schemes", names.join(", ")));
        }
        Credentials::default()
    })
}

/// All schemes of an alternative together, or nothing.
fn attempt(document: &Document<'_>, alternative: &Map<String, Value>, host: &str) -> Option<Credentials> {
    if alternative.len() > MOST_SCHEMES {
        return None;
    }
    let mut ways = Vec::new();
    for (name, scopes) in alternative {
        ways.push((name, scopes, way(scheme(document, name)?)?));
    }
    // Only `auth` can do what is more than a key.
    ways.sort_by_key(|(_, _, way)| matches!(way, Way::Key { .. }));
    let mut credentials = Credentials::default();
    for (name, scopes, way) in ways {
        credentials.add(host, name, scopes, way)?;
    }
    Some(credentials)
}

fn scheme<'a>(document: &Document<'a>, name: &str) -> Option<&'a Map<String, Value>> {
    let root = document.root();
    let schemes = if document.is_swagger {
        root.get("securityDefinitions")
    } else {
        root.get("components").and_then(|components| components.get("securitySchemes"))
    };
    document.resolve(schemes?.get(name)?).as_object()
}

fn way(scheme: &Map<String, Value>) -> Option<Way> {
    let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
    match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("basic", _) | ("http", "basic") => Some(Way::Basic),
        ("http", "bearer") | ("openIdConnect", _) => Some(Way::Bearer),
        ("apiKey", _) => key(text("in"), text("name")),
        // Client credentials are fetched by ourselves; tokens of other flows have to be brought.
        ("oauth2", _) => Some(token_url(scheme).map_or(Way::Bearer, Way::ClientCredentials)),
        _ => None,
    }
}

fn key(place: &str, written: &str) -> Option<Way> {
    if written.is_empty() || written.len() > LONGEST_NAME {
        return None;
    }
    let place = match place {
        "header" => {
            let name = http::HeaderName::from_bytes(written.as_bytes()).ok()?;
            let is_ours = NOT_CONFIGURABLE.contains(&name.as_str());
            (!is_ours).then(|| Place::Header(name.as_str().to_owned()))?
        }
        "query" => is_plain(written).then(|| Place::Query(written.to_owned()))?,
        "cookie" => cookies::is_name(written).then(|| Place::Cookie(written.to_owned()))?,
        _ => return None,
    };
    Some(Way::Key { place, written: written.to_owned() })
}

/// Where client credentials are exchanged for a token, if that is offered at an address we can call.
fn token_url(scheme: &Map<String, Value>) -> Option<Url> {
    let flow = match scheme.get("flows") {
        Some(flows) => flows.get("clientCredentials")?.as_object()?,
        None if scheme.get("flow").and_then(Value::as_str) == Some("application") => scheme,
        None => return None,
    };
    let written = flow.get("tokenUrl")?.as_str()?;
    let is_fixed = written.len() <= LONGEST_URL && !written.contains(['{', '}']) && is_plain(written);
    let url = Url::parse(written.trim()).ok().filter(|_| is_fixed)?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
    (is_http && url.username().is_empty() && url.password().is_none()).then_some(url)
}

impl Credentials {
    /// Adds one scheme; nothing where its place is taken by another.
    fn add(&mut self, host: &str, name: &str, scopes: &Value, way: Way) -> Option<()> {
        let place = match &way {
            Way::Basic | Way::Bearer | Way::ClientCredentials(_) => Place::Header("authorization".to_owned()),
            Way::Key { place, .. } => place.clone(),
        };
        if self.places.contains(&place) {
            return None;
        }
        self.places.push(place.clone());
        let auth = match way {
            Way::Basic => {
                let (username, password) =
                    (self.secret(host, &[name, "username"]), self.secret(host, &[name, "password"]));
                json!({"type": "basic", "username": username, "password": password})
            }
            Way::Bearer => json!({"type": "bearer", "token": self.secret(host, &[name])}),
            Way::ClientCredentials(url) => self.client_credentials(&url, name, scopes),
            Way::Key { written, .. } => {
                let value = self.secret(host, &[name]);
                match (place, self.auth.is_empty()) {
                    (Place::Header(_), true) => {
                        json!({"type": "apiKey", "in": "header", "name": written, "value": value})
                    }
                    (Place::Query(_), true) => {
                        json!({"type": "apiKey", "in": "query", "name": written, "value": value})
                    }
                    (Place::Header(_), false) => {
                        self.headers.insert(written, value.into());
                        return Some(());
                    }
                    (Place::Query(_), false) => {
                        self.query.insert(written, value.into());
                        return Some(());
                    }
                    (Place::Cookie(_), _) => {
                        self.cookies.insert(written, value.into());
                        return Some(());
                    }
                }
            }
        };
        if let Value::Object(auth) = auth {
            self.auth = auth;
        }
        Some(())
    }

    /// A reference to a secret. Its name begins with the host that gets it, so that no
    /// document can have the secret of one host sent to another.
    fn secret(&mut self, host: &str, what: &[&str]) -> String {
        let name = secret_name(host, what);
        let reference = format!("{}{name}", haft_core::secret::SCHEME);
        self.secrets.push(name);
        reference
    }

    fn client_credentials(&mut self, url: &Url, name: &str, scopes: &Value) -> Value {
        // They go to whoever gives the token, not to the API itself.
        let host = servers::authority(url);
        let id = self.secret(&host, &[name, "client_id"]);
        let secret = self.secret(&host, &[name, "client_secret"]);
        let mut auth = json!({
            "type": "oauth2ClientCredentials", "tokenUrl": url.as_str(), "clientId": id, "clientSecret": secret,
        });
        let mut scope = String::new();
        for name in scopes.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if scope.len() + name.len() > LONGEST_SCOPE {
                break;
            }
            scope.push_str(if scope.is_empty() { "" } else { " " });
            scope.push_str(name);
        }
        if !scope.is_empty() {
            auth["scope"] = scope.into();
        }
        auth
    }
}
