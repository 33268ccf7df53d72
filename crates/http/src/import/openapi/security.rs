//! Converts security schemes to `auth`. Their secrets are named after the host, and must be set by the user.

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
        "it requires {schemes}, which tools do not support; the tool was imported without authentication",
        "它要求使用 {schemes}，工具不支持该方式；已在不含认证的情况下导入";
}

/// Maximum number of alternatives, and of schemes in each.
const MOST_ALTERNATIVES: usize = 20;
const MOST_SCHEMES: usize = 4;

const LONGEST_NAME: usize = 256;
const LONGEST_URL: usize = 2_048;
const LONGEST_SCOPE: usize = 2_000;

/// A part of a request that holds one credential. Header names are in lower case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CredentialLocation {
    Header(String),
    Query(String),
    Cookie(String),
}

/// The credentials of a request: `auth`, and further headers and query fields.
#[derive(Default)]
pub(super) struct Credentials {
    pub(super) auth: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) cookies: Map<String, Value>,
    /// Names of the secrets.
    pub(super) secrets: Vec<String>,
    pub(super) places: Vec<CredentialLocation>,
}

/// An authentication scheme that tools support.
enum Scheme {
    Basic,
    Bearer,
    Key { place: CredentialLocation, written: String },
    ClientCredentials(Url),
}

/// The first alternative that tools support; if there is none, a note is added.
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
    // If requests without authentication are allowed, no credentials are added.
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

/// All schemes of an alternative. Returns `None` if any is not supported.
fn attempt(document: &Document<'_>, alternative: &Map<String, Value>, host: &str) -> Option<Credentials> {
    if alternative.len() > MOST_SCHEMES {
        return None;
    }
    let mut schemes = Vec::new();
    for (name, scopes) in alternative {
        schemes.push((name, scopes, supported_scheme(scheme(document, name)?)?));
    }
    // Schemes other than keys must use `auth`, so they come first.
    schemes.sort_by_key(|(_, _, scheme)| matches!(scheme, Scheme::Key { .. }));
    let mut credentials = Credentials::default();
    for (name, scopes, scheme) in schemes {
        credentials.add(host, name, scopes, scheme)?;
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

fn supported_scheme(scheme: &Map<String, Value>) -> Option<Scheme> {
    let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
    match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
        ("basic", _) | ("http", "basic") => Some(Scheme::Basic),
        ("http", "bearer") | ("openIdConnect", _) => Some(Scheme::Bearer),
        ("apiKey", _) => key(text("in"), text("name")),
        // Haft fetches tokens for client credentials; tokens of other flows must be supplied.
        ("oauth2", _) => Some(token_url(scheme).map_or(Scheme::Bearer, Scheme::ClientCredentials)),
        _ => None,
    }
}

fn key(place: &str, written: &str) -> Option<Scheme> {
    if written.is_empty() || written.len() > LONGEST_NAME {
        return None;
    }
    let place = match place {
        "header" => {
            let name = http::HeaderName::from_bytes(written.as_bytes()).ok()?;
            let is_ours = NOT_CONFIGURABLE.contains(&name.as_str());
            (!is_ours).then(|| CredentialLocation::Header(name.as_str().to_owned()))?
        }
        "query" => is_plain(written).then(|| CredentialLocation::Query(written.to_owned()))?,
        "cookie" => cookies::is_name(written).then(|| CredentialLocation::Cookie(written.to_owned()))?,
        _ => return None,
    };
    Some(Scheme::Key { place, written: written.to_owned() })
}

/// The token endpoint for client credentials, if the scheme has one with a usable URL.
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
    /// Adds one scheme. Returns `None` if its place is already taken.
    fn add(&mut self, host: &str, name: &str, scopes: &Value, scheme: Scheme) -> Option<()> {
        let place = match &scheme {
            Scheme::Basic | Scheme::Bearer | Scheme::ClientCredentials(_) => {
                CredentialLocation::Header("authorization".to_owned())
            }
            Scheme::Key { place, .. } => place.clone(),
        };
        if self.places.contains(&place) {
            return None;
        }
        self.places.push(place.clone());
        let auth = match scheme {
            Scheme::Basic => {
                let (username, password) =
                    (self.secret(host, &[name, "username"]), self.secret(host, &[name, "password"]));
                json!({"type": "basic", "username": username, "password": password})
            }
            Scheme::Bearer => json!({"type": "bearer", "token": self.secret(host, &[name])}),
            Scheme::ClientCredentials(url) => self.client_credentials(&url, name, scopes),
            Scheme::Key { written, .. } => {
                let value = self.secret(host, &[name]);
                match (place, self.auth.is_empty()) {
                    (CredentialLocation::Header(_), true) => {
                        json!({"type": "apiKey", "in": "header", "name": written, "value": value})
                    }
                    (CredentialLocation::Query(_), true) => {
                        json!({"type": "apiKey", "in": "query", "name": written, "value": value})
                    }
                    (CredentialLocation::Header(_), false) => {
                        self.headers.insert(written, value.into());
                        return Some(());
                    }
                    (CredentialLocation::Query(_), false) => {
                        self.query.insert(written, value.into());
                        return Some(());
                    }
                    (CredentialLocation::Cookie(_), _) => {
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

    /// A reference to a secret. Its name begins with the host, so that no document can send the secret of one
    /// host to another.
    fn secret(&mut self, host: &str, what: &[&str]) -> String {
        let name = secret_name(host, what);
        let reference = format!("{}{name}", haft_core::secret::SCHEME);
        self.secrets.push(name);
        reference
    }

    fn client_credentials(&mut self, url: &Url, name: &str, scopes: &Value) -> Value {
        // They are sent to the token endpoint, not to the API itself.
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
