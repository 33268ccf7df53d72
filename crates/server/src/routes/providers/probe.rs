//! `POST /api/providers/{id}/test`: asks a provider for its models, or one of them a question, and tells what came
//! of it.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::StreamExt;
use haft_agent::SpaceUser;
use haft_core::{CallError, Locale, Message};
use haft_egress::Limits;
use haft_llm::{ModelRequest, ModelTurn, Wire};
use serde::{Deserialize, Serialize};

use super::no_such_provider;
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{MaybeJsonBody, read};
use crate::envelope;
use crate::error::Failure;
use crate::models::{Provided, Ready, list};
use crate::query::Named;
use crate::request::Asked;

haft_core::templates! {
    WORKS = "providers.works",
        "{host} is reachable and has {count} models",
        "{host} 可用，共有 {count} 个模型";
    ANSWERED = "providers.answered",
        "{model} answered within {ms} ms",
        "{model} 在 {ms} 毫秒内作出了应答";
    SCRIPTED = "providers.scripted",
        "It reads its responses from a list and calls no service.",
        "它从列表中读取答案，无需询问任何服务";
    REFUSED = "providers.refused",
        "{host} answered {status}",
        "{host} 返回 {status}";
    KEY_REFUSED = "providers.keyRefused",
        "{host} answered {status}: the key is invalid or missing.",
        "{host} 返回 {status}：密钥无效或缺失";
    NO_LIST = "providers.noList",
        "{host} answered {status}, but not with a list of models. Check baseUrl.",
        "{host} 返回 {status}，但不是模型列表；请检查 baseUrl";
}

/// What is asked, and how much may be answered: enough to see that somebody does.
const QUESTION: &str = "Say OK.";
const MOST_TOKENS: u32 = 16;

/// A model that has to be loaded first takes its time.
const LONGEST: Duration = Duration::from_secs(60);
const LARGEST: usize = 1 << 20;

/// So many models are told.
const MOST_MODELS: usize = 100;

/// What shall be tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// The model that is asked a question.
    model: Option<String>,
}

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
    MaybeJsonBody(body): MaybeJsonBody,
) -> Result<Response, Failure> {
    let Trial { model } = read(body)?;
    let found = state.models.named(visitor.space, &id).await?;
    let provided = found.ok_or_else(|| no_such_provider(&id))?;
    let asker = SpaceUser { space: visitor.space, user: Some(visitor.user.id) };
    let outcome = match state.models.ready(&provided, asker).await {
        Ok(ready) => match &model {
            Some(model) => question(&ready, model, asked.locale).await,
            None => models(&provided, &ready, asked.locale).await,
        },
        Err(error) => failed(&error, asked.locale),
    };
    Ok(envelope::success(StatusCode::OK, outcome))
}

async fn models(provided: &Provided, ready: &Ready, locale: Locale) -> Outcome {
    match ready {
        Ready::Script(_) => {
            let models = provided.models.iter().take(MOST_MODELS).cloned().collect();
            Outcome { ok: true, status: None, message: Message::new(&SCRIPTED).render(locale), models }
        }
        Ready::Wire(wire) => match list(wire).await {
            Ok(mut models) => {
                let message = at(wire, &WORKS).with("count", models.len()).render(locale);
                models.truncate(MOST_MODELS);
                Outcome { ok: true, status: Some(200), message, models }
            }
            Err(error) => unlisted(wire, &error, locale),
        },
    }
}

/// Why there is no list. Whoever answered is named by where it is: most often it is the address that is wrong.
fn unlisted(wire: &Wire, error: &CallError, locale: Locale) -> Outcome {
    let outcome = failed(error, locale);
    let Some(status) = outcome.status else { return outcome };
    let template = match status {
        200..=299 => &NO_LIST,
        401 | 403 => &KEY_REFUSED,
        100..=199 | 300..=400 | 402 | 404.. | ..100 => &REFUSED,
    };
    Outcome { message: at(wire, template).with("status", status).render(locale), ..outcome }
}

async fn question(ready: &Ready, model: &str, locale: Locale) -> Outcome {
    let begun = Instant::now();
    match answer(ready, model).await {
        Ok(()) => {
            let message =
                Message::new(&ANSWERED).with("model", model).with("ms", begun.elapsed().as_millis());
            let status = match ready {
                Ready::Wire(_) => Some(200),
                Ready::Script(_) => None,
            };
            Outcome { ok: true, status, message: message.render(locale), models: Vec::new() }
        }
        Err(error) => failed(&error, locale),
    }
}

async fn answer(ready: &Ready, model: &str) -> Result<(), CallError> {
    let limits = Limits { deadline: Some(tokio::time::Instant::now() + LONGEST), bytes: LARGEST };
    let request = ModelRequest {
        max_tokens: Some(MOST_TOKENS),
        ..ModelRequest::new(model, vec![ModelTurn::user(QUESTION)])
    };
    let mut deltas = ready.model().ask(&request, limits).await?.deltas;
    while let Some(delta) = deltas.next().await {
        delta?;
    }
    Ok(())
}

fn failed(error: &CallError, locale: Locale) -> Outcome {
    let status = error.details(locale).get("status").and_then(serde_json::Value::as_u64);
    Outcome {
        ok: false,
        status: status.and_then(|status| u16::try_from(status).ok()),
        message: error.message().render(locale),
        models: Vec::new(),
    }
}

fn at(wire: &Wire, template: &'static haft_core::Template) -> Message {
    Message::new(template).with("host", wire.base.host_str().unwrap_or_default())
}
