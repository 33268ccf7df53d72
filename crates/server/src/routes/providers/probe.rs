//! `POST /api/providers/{id}/test`: asks a provider for its models, as a tool would, and tells what came of it.

use std::time::Duration;

use axum::extract::State;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use haft_core::mask::Mask;
use haft_core::provider::{Provider, ProviderKind, ProviderSpec};
use haft_core::text::Part;
use haft_core::{CallError, Locale, Message, Text};
use haft_egress::{Answer, Hosts, Limits, Policy, Request, ToolPolicy};
use haft_engine::SecretSource;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::find;
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::Named;
use crate::request::Asked;
use crate::visitors::Visitor;

haft_core::templates! {
    WORKS = "providers.works",
        "{host} answers, and has {count} models",
        "{host} 可用，共有 {count} 个模型";
    SCRIPTED = "providers.scripted",
        "it reads its answers from a list, and nobody has to be asked",
        "它从列表中读取答案，无需询问任何服务";
    REFUSED = "providers.refused",
        "{host} answered {status}",
        "{host} 返回 {status}";
    KEY_REFUSED = "providers.keyRefused",
        "{host} answered {status}: the key is not good, or there is none",
        "{host} 返回 {status}：密钥无效或缺失";
    NO_LIST = "providers.noList",
        "{host} answered {status}, but not with a list of models; look at baseUrl",
        "{host} 返回 {status}，但不是模型列表；请检查 baseUrl";
    NO_KEY = "providers.noKey",
        "{secret} has no value yet",
        "{secret} 尚无值";
    UNSENDABLE_KEY = "providers.unsendableKey",
        "{secret} holds a character that cannot be sent in a header",
        "{secret} 含有无法在请求头中发送的字符";
    UNREADABLE_URL = "providers.unreadableUrl",
        "{url} is not an address",
        "{url} 不是有效的地址";
}

/// A list of models may be so large, and take so long.
const LARGEST: usize = 4 << 20;
const LONGEST: Duration = Duration::from_secs(15);

/// So many models are told.
const MOST_MODELS: usize = 100;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const GOOGLE_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// What came of it.
#[derive(Serialize)]
struct Outcome {
    ok: bool,
    /// None when nobody answered.
    status: Option<u16>,
    message: String,
    models: Vec<String>,
}

pub(super) async fn test(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Named(id): Named,
) -> Result<Response, Failure> {
    let provider = find(&state, visitor.space, &id).await?;
    let outcome = ask(&state, &visitor, &provider, asked.locale).await?;
    Ok(envelope::success(StatusCode::OK, outcome))
}

async fn ask(
    state: &AppState,
    visitor: &Visitor,
    provider: &Provider,
    locale: Locale,
) -> Result<Outcome, CallError> {
    let spec = &provider.spec;
    let Some(dialect) = Dialect::of(spec.kind) else {
        let models = spec.models.iter().take(MOST_MODELS).cloned().collect();
        let message = Message::new(&SCRIPTED).render(locale);
        return Ok(Outcome { ok: true, status: None, message, models });
    };
    let failed = |message: Message| Outcome {
        ok: false,
        status: None,
        message: message.render(locale),
        models: Vec::new(),
    };
    let key = key_of(state, visitor, spec).await?;
    if let (Some(reference), None) = (&spec.api_key, &key) {
        return Ok(failed(Message::new(&NO_KEY).with("secret", reference)));
    }
    let (url, request) = match dialect.request(spec, key.as_ref()) {
        Ok(request) => request,
        Err(message) => return Ok(failed(message)),
    };
    let policy = ToolPolicy::new(&url, Hosts::default());
    let limits = Limits { deadline: Some(Instant::now() + LONGEST), bytes: LARGEST };
    let answered = state.egress.send(Policy::Tool(visitor.space, &policy), request, limits).await;
    let mut outcome = match answered {
        Ok(answer) => dialect.read(&answer, locale),
        Err(error) => failed(error.message().clone()),
    };
    if let Some(key) = key {
        let mask = Mask::new([key.expose_secret()]);
        for text in outcome.models.iter_mut().chain([&mut outcome.message]) {
            *text = mask.text(text).into_owned();
        }
    }
    Ok(outcome)
}

/// The value of the key that a provider names.
async fn key_of(
    state: &AppState,
    visitor: &Visitor,
    spec: &ProviderSpec,
) -> Result<Option<SecretString>, CallError> {
    let text = spec.api_key.as_deref().and_then(|reference| Text::parse(reference).ok());
    let Some([Part::Secret(secret)]) = text.as_ref().map(Text::parts) else { return Ok(None) };
    state.secrets.reveal(visitor.space, Some(visitor.user.id), secret).await
}

/// How the providers of one kind are asked for their models.
struct Dialect {
    /// Its own address.
    base: &'static str,
    /// A part of the path that an address may have already.
    version: &'static str,
    path: &'static str,
    /// The header of the key, and what stands before the key in it.
    key: Option<(HeaderName, &'static str)>,
    /// Another header that it wants.
    also: Option<(HeaderName, &'static str)>,
    /// The field that holds the list, and the field of each model that is its name.
    list: &'static str,
    name: &'static str,
}

impl Dialect {
    /// None where nobody is asked.
    fn of(kind: ProviderKind) -> Option<Self> {
        Some(match kind {
            ProviderKind::Openai => Self {
                base: "https://api.openai.com/v1",
                version: "",
                path: "/models",
                key: Some((AUTHORIZATION, "Bearer ")),
                also: None,
                list: "data",
                name: "id",
            },
            ProviderKind::Anthropic => Self {
                base: "https://api.anthropic.com",
                version: "/v1",
                path: "/models",
                key: Some((API_KEY, "")),
                also: Some((ANTHROPIC_VERSION, "2023-06-01")),
                list: "data",
                name: "id",
            },
            ProviderKind::Gemini => Self {
                base: "https://generativelanguage.googleapis.com",
                version: "/v1beta",
                path: "/models",
                key: Some((GOOGLE_KEY, "")),
                also: None,
                list: "models",
                name: "name",
            },
            ProviderKind::Ollama => Self {
                base: "http://127.0.0.1:11434",
                version: "/api",
                path: "/tags",
                key: Some((AUTHORIZATION, "Bearer ")),
                also: None,
                list: "models",
                name: "name",
            },
            ProviderKind::Scripted => return None,
        })
    }

    fn request(&self, spec: &ProviderSpec, key: Option<&SecretString>) -> Result<(Url, Request), Message> {
        let base = spec.base_url.as_deref().unwrap_or(self.base);
        let mut url = Url::parse(base).map_err(|_| Message::new(&UNREADABLE_URL).with("url", base))?;
        let start = url.path().trim_end_matches('/');
        let start = start.strip_suffix(self.version).unwrap_or(start);
        let path = format!("{start}{}{}", self.version, self.path);
        url.set_path(&path);
        url.set_query(None);
        url.set_fragment(None);
        let mut request = Request::new(Method::GET, &url).map_err(|error| error.message().clone())?;
        if let (Some((header, before)), Some(key)) = (&self.key, key) {
            let text = format!("{before}{}", key.expose_secret().trim());
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                Message::new(&UNSENDABLE_KEY).with("secret", spec.api_key.as_deref().unwrap_or_default())
            })?;
            value.set_sensitive(true);
            request.headers.insert(header.clone(), value);
        }
        if let Some((header, value)) = self.also.clone() {
            request.headers.insert(header, HeaderValue::from_static(value));
        }
        Ok((url, request))
    }

    fn read(&self, answer: &Answer, locale: Locale) -> Outcome {
        let models = answer.status.is_success().then(|| self.models(&answer.body)).flatten();
        let template = match &models {
            Some(_) => &WORKS,
            None if answer.status.is_success() => &NO_LIST,
            None if matches!(answer.status.as_u16(), 401 | 403) => &KEY_REFUSED,
            None => &REFUSED,
        };
        let message = Message::new(template)
            .with("host", answer.from.host_str())
            .with("status", answer.status)
            .with("count", models.as_ref().map_or(0, Vec::len));
        let ok = models.is_some();
        let mut models = models.unwrap_or_default();
        models.truncate(MOST_MODELS);
        Outcome { ok, status: Some(answer.status.as_u16()), message: message.render(locale), models }
    }

    fn models(&self, body: &[u8]) -> Option<Vec<String>> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let list = body.get(self.list)?.as_array()?;
        let name = |model: &Value| {
            let name = model.get(self.name)?.as_str()?;
            Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
        };
        Some(list.iter().filter_map(name).collect())
    }
}
