//! Security schemes as `auth`, with secrets that are named and have to be set.

use serde_json::{Map, Value, json};

use super::document::Document;
use super::parameters::Request;
use crate::import::secret_name;

/// Adds what an operation wants to know of its caller; gives the names of the secrets that takes.
pub(super) fn add(
    document: &Document<'_>,
    operation: &Value,
    named: &str,
    request: &mut Request,
) -> Vec<String> {
    let wanted = operation.get("security").or_else(|| document.root().get("security"));
    let alternatives: Vec<&Map<String, Value>> =
        wanted.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).collect();
    // Whoever may come without is asked for nothing.
    if alternatives.iter().any(|alternative| alternative.is_empty()) {
        return Vec::new();
    }
    // The alternative with the fewest schemes is the easiest to set up.
    let Some(chosen) = alternatives.into_iter().min_by_key(|alternative| alternative.len()) else {
        return Vec::new();
    };
    let mut secrets = Vec::new();
    for (name, scopes) in chosen {
        if let Some(scheme) = scheme(document, name) {
            Use { named, name, scopes, request, secrets: &mut secrets }.of(scheme);
        }
    }
    secrets
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

/// One scheme in one request.
struct Use<'r> {
    named: &'r str,
    name: &'r str,
    scopes: &'r Value,
    request: &'r mut Request,
    secrets: &'r mut Vec<String>,
}

impl Use<'_> {
    fn of(&mut self, scheme: &Map<String, Value>) {
        let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), text("scheme").to_ascii_lowercase().as_str()) {
            ("basic", _) | ("http", "basic") => {
                let (username, password) = (self.secret(&["username"]), self.secret(&["password"]));
                self.auth(json!({"type": "basic", "username": username, "password": password}));
            }
            ("http", _) | ("openIdConnect", _) => self.bearer(),
            ("apiKey", _) => self.key(text("in"), text("name")),
            ("oauth2", _) => self.oauth(scheme),
            _ => {}
        }
    }

    fn secret(&mut self, more: &[&str]) -> String {
        let name = secret_name(&[&[self.named, self.name], more].concat());
        self.secrets.push(name.clone());
        format!("secret://{name}")
    }

    /// The first scheme is the request's own auth; others have to find a place beside it.
    fn auth(&mut self, auth: Value) {
        if let (Value::Object(auth), true) = (auth, self.request.auth.is_empty()) {
            self.request.auth = auth;
        }
    }

    fn bearer(&mut self) {
        let token = self.secret(&[]);
        self.auth(json!({"type": "bearer", "token": token}));
    }

    fn key(&mut self, place: &str, name: &str) {
        let value = self.secret(&[]);
        match place {
            "query" => {
                self.request.query.insert(name.to_owned(), value.into());
            }
            "cookie" => {
                self.request.headers.insert("Cookie".to_owned(), format!("{name}={value}").into());
            }
            _ if http::HeaderName::from_bytes(name.as_bytes()).is_ok() => {
                self.request.headers.insert(name.to_owned(), value.into());
            }
            _ => {}
        }
    }

    /// Client credentials are fetched by ourselves; tokens of other flows have to be brought.
    fn oauth(&mut self, scheme: &Map<String, Value>) {
        let flow = match scheme.get("flows") {
            Some(flows) => flows.get("clientCredentials"),
            None if scheme.get("flow") == Some(&"application".into()) => Some(&Value::Null),
            None => None,
        };
        let token_url = match flow {
            Some(Value::Object(flow)) => flow.get("tokenUrl"),
            Some(_) => scheme.get("tokenUrl"),
            None => None,
        };
        let token_url = token_url.and_then(Value::as_str).filter(|url| url.starts_with("http"));
        let Some(token_url) = token_url else { return self.bearer() };
        let (id, secret) = (self.secret(&["client_id"]), self.secret(&["client_secret"]));
        let mut auth = json!({"type": "oauth2ClientCredentials", "tokenUrl": token_url, "clientId": id, "clientSecret": secret});
        let scopes: Vec<&str> =
            self.scopes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !scopes.is_empty() {
            auth["scope"] = scopes.join(" ").into();
        }
        self.auth(auth);
    }
}
