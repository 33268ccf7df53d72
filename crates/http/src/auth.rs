//! Authentication of a tool's requests: none, bearer token, basic, API key, or OAuth client credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::mask::MASKED;
use haft_core::text::Text;
use haft_core::{Message, SecretRef, Violation};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::fill::Filling;
use crate::headers::{self, Headers};
use crate::oauth::ClientCredentials;
use crate::query::{Pairs, encode};

haft_core::templates! {
    UNKNOWN_TYPE = "http.authType",
        "{kind} is not an auth type; use none, bearer, basic, apiKey or oauth2ClientCredentials",
        "{kind} 不是支持的认证类型；可用：none、bearer、basic、apiKey、oauth2ClientCredentials";
    NEEDED = "http.authNeeded",
        "is required for {kind}",
        "{kind} 需要此字段";
    UNKNOWN_FIELD = "http.authField",
        "is not a field of {kind}; it has {fields}",
        "不是 {kind} 的字段；可用：{fields}";
    NOT_A_TEXT = "http.authText",
        "must be a text",
        "必须是文本";
    VARIABLE = "http.authVariable",
        "cannot contain a variable: credentials come from secrets, not from the model",
        "不能包含变量：凭据应来自密钥，而不是模型";
    BAD_PLACE = "http.authPlace",
        "must be header or query",
        "必须是 header 或 query";
    TWO_HEADERS = "http.authTwice",
        "sets the header {name}, which headers also sets; give only one of them",
        "与 headers 都设置了请求头 {name}；请只保留一个";
    NOT_FOR_BASIC = "http.authColon",
        "must not contain a colon: it ends the user name",
        "不能包含冒号：冒号用于结束用户名";
}

/// The credentials that a tool sends to its upstream.
#[derive(Debug)]
pub(crate) enum Auth {
    None,
    /// A header: the credential with an optional scheme before it.
    Header {
        name: HeaderName,
        value: Text,
    },
    Basic {
        username: Text,
        password: Text,
    },
    Query {
        name: String,
        value: Text,
    },
    ClientCredentials(Box<ClientCredentials>),
}

impl Auth {
    pub(crate) fn parse(
        config: Option<&Map<String, Value>>,
        headers: &Headers,
        violations: &mut Vec<Violation>,
    ) -> Self {
        let Some(config) = config else { return Self::None };
        let mut reader = Reader { config, kind: String::new(), violations };
        let auth = reader.read();
        let set = match &auth {
            Some(Self::Header { name, .. }) => Some(name.clone()),
            Some(Self::Basic { .. } | Self::ClientCredentials(_)) => Some(AUTHORIZATION),
            Some(Self::None | Self::Query { .. }) | None => None,
        };
        if let Some(name) = set.filter(|name| headers.contains(name)) {
            violations.push(Violation::new("auth", Message::new(&TWO_HEADERS).with("name", name)));
        }
        auth.unwrap_or(Self::None)
    }

    pub(crate) fn texts(&self) -> Vec<&Text> {
        match self {
            Self::None => Vec::new(),
            Self::Header { value, .. } | Self::Query { value, .. } => vec![value],
            Self::Basic { username, password } => vec![username, password],
            Self::ClientCredentials(oauth) => vec![&oauth.client_id, &oauth.client_secret],
        }
    }

    pub(crate) fn secrets(&self) -> impl Iterator<Item = &SecretRef> {
        self.texts().into_iter().flat_map(Text::secrets)
    }

    /// Credentials written literally in the definition, not as references to secrets.
    pub(crate) fn literals(&self) -> Vec<String> {
        let texts = match self {
            Self::None => Vec::new(),
            Self::Header { value, .. } | Self::Query { value, .. } => vec![value],
            Self::Basic { password, .. } => vec![password],
            Self::ClientCredentials(oauth) => vec![&oauth.client_secret],
        };
        texts.into_iter().filter_map(Text::plain).flat_map(headers::credentials).collect()
    }

    /// Adds the credentials to a request, except OAuth tokens, which need a request to the issuer.
    pub(crate) fn fill(&self, filling: &mut Filling<'_>, headers: &mut HeaderMap, pairs: &mut Pairs) {
        match self {
            Self::None => {}
            // The token is fetched when the request is sent; a dry run shows a placeholder.
            Self::ClientCredentials(_) => {
                if filling.shows_names() {
                    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer ***"));
                }
            }
            Self::Header { name, value } => {
                if filling.is_seen() && value.plain().is_some() {
                    headers.insert(name, masked(name));
                } else if let Some(mut value) = headers::fill(name, value, filling) {
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
            }
            Self::Basic { username, password } => {
                if filling.shows_names() {
                    headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic ***"));
                    return;
                }
                let both = format!("{}:{}", filling.text(username), filling.text(password));
                if let Ok(mut value) = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(both))) {
                    value.set_sensitive(true);
                    headers.insert(AUTHORIZATION, value);
                }
            }
            Self::Query { name, value } => {
                if filling.is_seen() && value.plain().is_some() {
                    pairs.push_written(encode(name), Some(MASKED.to_owned()));
                } else if filling.shows_names() {
                    let shown = filling.text(value);
                    pairs.push_written(encode(name), Some(shown));
                } else {
                    let filled = filling.text(value);
                    pairs.push_written(encode(name), Some(encode(&filled)));
                }
            }
        }
    }
}

fn masked(name: &HeaderName) -> HeaderValue {
    HeaderValue::from_static(if name == AUTHORIZATION { "Bearer ***" } else { "***" })
}

/// Parses `auth` and collects all violations.
struct Reader<'a> {
    config: &'a Map<String, Value>,
    kind: String,
    violations: &'a mut Vec<Violation>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<Auth> {
        let kind = match self.config.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            _ => String::new(),
        };
        self.kind = haft_core::tool::input::camel_case(&kind);
        match self.kind.to_ascii_lowercase().as_str() {
            "none" => {
                self.check_fields(&[]);
                Some(Auth::None)
            }
            "bearer" => {
                self.check_fields(&["token"]);
                let token = self.text("token")?;
                let value = Text::from_parts(
                    [haft_core::text::TextPart::Plain("Bearer ".to_owned())]
                        .into_iter()
                        .chain(token.parts().iter().cloned())
                        .collect(),
                );
                Some(Auth::Header { name: AUTHORIZATION, value })
            }
            "basic" => {
                self.check_fields(&["username", "password"]);
                let (username, password) = (self.text("username"), self.optional_text("password"));
                if let Some(name) = username.as_ref().and_then(Text::plain)
                    && name.contains(':')
                {
                    self.wrong("username", Message::new(&NOT_FOR_BASIC));
                }
                Some(Auth::Basic { username: username?, password: password.unwrap_or_default() })
            }
            "apikey" => {
                self.check_fields(&["in", "name", "value"]);
                let (name, value) = (self.plain("name"), self.text("value"));
                match self.config.get("in").map_or(Some("header"), Value::as_str) {
                    Some("header") => {
                        let name = name?;
                        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
                            self.wrong("name", Message::new(&headers::BAD_NAME));
                            return None;
                        };
                        if headers::NOT_CONFIGURABLE.contains(&name.as_str()) {
                            self.wrong("name", Message::new(&headers::NOT_YOURS));
                            return None;
                        }
                        Some(Auth::Header { name, value: value? })
                    }
                    Some("query") => Some(Auth::Query { name: name?, value: value? }),
                    Some(_) | None => {
                        self.wrong("in", Message::new(&BAD_PLACE));
                        None
                    }
                }
            }
            "oauth2clientcredentials" => {
                self.check_fields(&["tokenUrl", "clientId", "clientSecret", "scope"]);
                let url = self.plain("tokenUrl");
                let is_fixed = |url: &str| matches!(Text::parse(url), Ok(text) if text.plain().is_some());
                if url.as_deref().is_some_and(|url| !is_fixed(url)) {
                    self.wrong("tokenUrl", Message::new(&crate::oauth::BAD_TOKEN_URL));
                    return None;
                }
                let (id, secret) = (self.text("clientId"), self.text("clientSecret"));
                let scope = match self.config.get("scope") {
                    Some(Value::String(scope)) => Some(scope.clone()),
                    // Several scopes may be given as a list.
                    Some(Value::Array(scopes)) => {
                        Some(scopes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
                    }
                    Some(_) => {
                        self.wrong("scope", Message::new(&NOT_A_TEXT));
                        None
                    }
                    None => None,
                };
                let url = url?;
                match ClientCredentials::new(&url, id?, secret?, scope) {
                    Ok(oauth) => Some(Auth::ClientCredentials(Box::new(oauth))),
                    Err(message) => {
                        self.wrong("tokenUrl", message);
                        None
                    }
                }
            }
            "" => {
                self.wrong("type", Message::new(&NEEDED).with("kind", "auth"));
                None
            }
            _ => {
                self.wrong("type", Message::new(&UNKNOWN_TYPE).with("kind", kind));
                None
            }
        }
    }

    fn wrong(&mut self, field: &str, message: Message) {
        self.violations.push(Violation::new(format!("auth.{field}"), message));
    }

    /// Reports fields that this type of auth does not have.
    fn check_fields(&mut self, fields: &[&str]) {
        let unknown: Vec<String> = self
            .config
            .keys()
            .filter(|name| *name != "type" && !fields.contains(&name.as_str()))
            .cloned()
            .collect();
        for name in unknown {
            let list = if fields.is_empty() { "type".to_owned() } else { fields.join(", ") };
            let message = Message::new(&UNKNOWN_FIELD).with("kind", &self.kind).with("fields", list);
            self.wrong(&name, message);
        }
    }

    fn optional_text(&mut self, field: &str) -> Option<Text> {
        self.config.contains_key(field).then(|| self.text(field)).flatten()
    }

    /// Reads a text that may contain secrets, but no variables.
    fn text(&mut self, field: &str) -> Option<Text> {
        let written = self.plain(field)?;
        match Text::parse(&written) {
            Ok(text) if text.variables().next().is_none() => return Some(text),
            Ok(_) => self.wrong(field, Message::new(&VARIABLE)),
            Err(message) => self.wrong(field, message),
        }
        None
    }

    fn plain(&mut self, field: &str) -> Option<String> {
        match self.config.get(field) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::String(_)) | None => {
                self.wrong(field, Message::new(&NEEDED).with("kind", &self.kind));
                None
            }
            Some(_) => {
                self.wrong(field, Message::new(&NOT_A_TEXT));
                None
            }
        }
    }
}
