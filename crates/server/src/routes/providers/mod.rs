//! Model providers: `POST/GET /api/providers`, `GET/PUT/DELETE /api/providers/{id}`, `POST …/{id}/test`.
//!
//! A key that is written out becomes a secret of the space; the provider holds its name, and only that goes out.
//! Those that are not stored are shown beside the others, and changed nowhere here.

pub(crate) mod input;
mod probe;
mod shown;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::id::ProviderId;
use haft_core::provider::Provider;
use haft_core::secret::SCHEME;
use haft_core::{CallError, ErrorKind, Message, SpaceId, Template};
use haft_engine::now;
use haft_store::{Page, SecretOwnerId};
use secrecy::SecretString;
use serde_json::Value;
use uuid::Uuid;

use self::input::Input;
use super::saving::{Saving, check_version, taken};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::models::Source;
use crate::query::{ListOf, Named, Parameters, if_match};
use crate::visitors::Visitor;

haft_core::templates! {
    NO_SUCH_PROVIDER = "providers.notFound",
        "there is no provider {name}",
        "没有模型服务 {name}";
    OF_ENVIRONMENT = "providers.ofEnvironment",
        "{name} comes from the environment variable {variable} and cannot be changed here. To replace it, add a \
         provider with the same name to the space.",
        "{name} 来自环境变量 {variable}，不能在此修改；在空间中添加同名的模型服务即可取代它";
    FOUND = "providers.found",
        "{name} was found on this machine and cannot be changed here. To replace it, add a provider with the same \
         name to the space.",
        "{name} 是在本机上发现的，不能在此修改；在空间中添加同名的模型服务即可取代它";
}

/// More providers than any space has.
const PROVIDERS: u32 = 1000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/providers", create)
            .needs(Needs::SpaceAdmin)
            .says("Create a provider; a literal key is stored as a secret")
            .dry_run()
            .takes("ProviderInput")
            .answers(201, "Provider"),
        Route::get("/providers", list)
            .needs(Needs::Read)
            .says("List providers by name; the last page ends with those from the environment and those found on the machine")
            .pages()
            .answers(200, "ProviderPage"),
        Route::get("/providers/{id}", read)
            .needs(Needs::Read)
            .says("Get a provider by id or name")
            .answers(200, "Provider"),
        Route::put("/providers/{id}", replace)
            .needs(Needs::SpaceAdmin)
            .says("Replace a provider; a key that is sent masked is not changed")
            .dry_run()
            .takes("ProviderInput")
            .answers(200, "Provider"),
        Route::delete("/providers/{id}", remove)
            .needs(Needs::SpaceAdmin)
            .says("Delete a provider; its key remains as a secret")
            .answers(200, "Provider"),
        Route::post("/providers/{id}/test", probe::test)
            .needs(Needs::SpaceAdmin)
            .says("Test a provider: list its models, or send a question to one of them, to check address and key")
            .takes("ProviderTrial")
            .answers(200, "ProviderTest"),
    ]
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, input::TEMPLATES, probe::TEMPLATES].into_iter().flatten().copied()
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let (providers, next) = state.store.list_providers(visitor.space, &page.checked()?).await?;
    let mut items: Vec<Value> = providers.iter().map(shown::stored).collect();
    if next.is_none() {
        let others = state.models.besides(visitor.space).await?;
        items.extend(others.iter().map(|other| shown::besides(other)));
    }
    Ok(envelope::page(&items, next))
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let space = visitor.space;
    let Input { spec, key } = input::read(&state, &visitor, body, None).await?;
    check_free(&state, space, &spec.name, None).await?;
    if saving.dry_run {
        let now = now();
        let id = ProviderId::from(Uuid::now_v7());
        let provider = Provider { id, space_id: space, spec, version: 1, created_at: now, updated_at: now };
        return Ok(answer(StatusCode::OK, &provider));
    }
    keep(&state, &visitor, key.as_ref()).await?;
    let made = state.store_for(&visitor).create_provider(space, spec).await;
    let provider = or_undo(&state, &visitor, made, key.as_ref()).await?;
    state.models.forget(space);
    Ok(tagged(answer(StatusCode::CREATED, &provider), provider.version))
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    if let Some(provider) = state.store.get_provider(visitor.space, &id).await? {
        return Ok(tagged(answer(StatusCode::OK, &provider), provider.version));
    }
    let found = state.models.named(visitor.space, &id).await?;
    let other = found.filter(|found| found.source != Source::Stored).ok_or_else(|| no_such_provider(&id))?;
    Ok(envelope::success(StatusCode::OK, shown::besides(&other)))
}

async fn replace(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let space = visitor.space;
    let before = find(&state, space, &id).await?;
    let Input { spec, key } = input::read(&state, &visitor, body, Some(&before)).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    check_version(&before.spec.name, before.version, expected)?;
    let is_same = spec == before.spec;
    if saving.dry_run && !is_same {
        check_free(&state, space, &spec.name, Some(before.id)).await?;
        let provider = Provider { spec, version: before.version + 1, updated_at: now(), ..before };
        return Ok(answer(StatusCode::OK, &provider));
    }
    if saving.dry_run {
        return Ok(answer(StatusCode::OK, &before));
    }
    if is_same {
        keep(&state, &visitor, key.as_ref()).await?;
        return Ok(tagged(answer(StatusCode::OK, &before), before.version));
    }
    let has_name = spec.api_key == before.spec.api_key;
    let provider = if has_name {
        // The key takes the place of another, which must stay when the provider is refused.
        let provider = state.store_for(&visitor).put_provider(space, before.id, spec, expected).await?;
        keep(&state, &visitor, key.as_ref()).await?;
        provider
    } else {
        check_free(&state, space, &spec.name, Some(before.id)).await?;
        keep(&state, &visitor, key.as_ref()).await?;
        let kept = state.store_for(&visitor).put_provider(space, before.id, spec, expected).await;
        or_undo(&state, &visitor, kept, key.as_ref()).await?
    };
    state.models.forget(space);
    Ok(tagged(answer(StatusCode::OK, &provider), provider.version))
}

/// Answers what was there.
async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let provider = find(&state, visitor.space, &id).await?;
    let expected = if_match(&headers)?;
    state.store_for(&visitor).delete_provider(visitor.space, provider.id, expected).await?;
    state.models.forget(visitor.space);
    Ok(answer(StatusCode::OK, &provider))
}

/// Keeps a key that was written out.
async fn keep(
    state: &AppState,
    visitor: &Visitor,
    key: Option<&(String, SecretString)>,
) -> Result<(), CallError> {
    let Some((name, value)) = key else { return Ok(()) };
    let by = Some(visitor.user.id);
    state.store_for(visitor).put_secret(visitor.space, SecretOwnerId::Space, name, value, by).await?;
    state.secrets.forget(visitor.space);
    Ok(())
}

/// A provider that was kept; or why not, and then the key that was new for it is gone again.
async fn or_undo(
    state: &AppState,
    visitor: &Visitor,
    kept: Result<Provider, CallError>,
    key: Option<&(String, SecretString)>,
) -> Result<Provider, CallError> {
    if let (Err(_), Some((name, _))) = (&kept, key) {
        let space = visitor.space;
        let reference = format!("{SCHEME}{name}");
        // Somebody may have made the same at the same time, and refers to it.
        let (providers, _) = state.store.list_providers(space, &Page::first(PROVIDERS)).await?;
        if providers.iter().all(|provider| provider.spec.api_key.as_ref() != Some(&reference)) {
            state.store_for(visitor).delete_secret(space, SecretOwnerId::Space, name).await?;
            state.secrets.forget(space);
        }
    }
    kept
}

/// The provider of that id or name, which may be changed.
async fn find(state: &AppState, space: SpaceId, name: &str) -> Result<Provider, CallError> {
    if let Some(found) = state.store.get_provider(space, name).await? {
        return Ok(found);
    }
    let other = state.models.named(space, name).await?.ok_or_else(|| no_such_provider(name))?;
    let message = match other.source {
        Source::Environment => {
            Message::new(&OF_ENVIRONMENT).with("variable", other.variable.unwrap_or_default())
        }
        Source::Found => Message::new(&FOUND),
        // It went while we looked.
        Source::Stored => return Err(no_such_provider(name)),
    };
    Err(CallError::new(ErrorKind::Conflict, message.with("name", name)))
}

fn no_such_provider(name: &str) -> CallError {
    let message = Message::new(&NO_SUCH_PROVIDER).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("what", "provider")
}

fn answer(status: StatusCode, provider: &Provider) -> Response {
    envelope::success(status, shown::stored(provider))
}

/// Says when another provider has the name.
async fn check_free(
    state: &AppState,
    space: SpaceId,
    name: &str,
    own: Option<ProviderId>,
) -> Result<(), CallError> {
    match state.store.get_provider(space, name).await? {
        Some(holder) if Some(holder.id) != own => Err(taken(name)),
        Some(_) | None => Ok(()),
    }
}
