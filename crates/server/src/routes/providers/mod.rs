//! Model providers: `POST/GET /api/providers`, `GET/PUT/DELETE /api/providers/{id}`, `POST …/{id}/test`.
//!
//! A key that is written out becomes a secret of the space; the provider holds its name, and only that goes out.

mod input;
mod probe;

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
use serde_json::json;
use uuid::Uuid;

use self::input::Input;
use super::saving::{Saving, check_version, taken};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::JsonBody;
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters, if_match};
use crate::visitors::Visitor;

haft_core::templates! {
    NO_SUCH_PROVIDER = "providers.notFound",
        "there is no provider {name}",
        "没有模型服务 {name}";
}

/// More providers than any space has.
const PROVIDERS: u32 = 1000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/providers", create)
            .needs(Needs::SpaceAdmin)
            .says("Makes a provider; a key that is written out becomes a secret")
            .dry_run()
            .takes("ProviderInput")
            .answers(201, "Provider"),
        Route::get("/providers", list)
            .needs(Needs::Read)
            .says("Providers by name, a page at a time")
            .pages()
            .answers(200, "ProviderPage"),
        Route::get("/providers/{id}", read)
            .needs(Needs::Read)
            .says("One provider, by id or name")
            .answers(200, "Provider"),
        Route::put("/providers/{id}", replace)
            .needs(Needs::SpaceAdmin)
            .says("Replaces a provider; a key as it was shown stays")
            .dry_run()
            .takes("ProviderInput")
            .answers(200, "Provider"),
        Route::delete("/providers/{id}", remove)
            .needs(Needs::SpaceAdmin)
            .says("Deletes a provider; its key stays among the secrets")
            .answers(200, "Provider"),
        Route::post("/providers/{id}/test", probe::test)
            .needs(Needs::SpaceAdmin)
            .says("Asks a provider for its models, to see whether its address and key are good")
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
    Ok(envelope::page(&providers, next))
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let space = visitor.space;
    // A new provider has no id, version or dates yet to be equal to; its space is known.
    let Input { spec, key } = input::read(&state, space, body, None, &json!({"spaceId": space})).await?;
    check_free(&state, space, &spec.name, None).await?;
    if saving.dry_run {
        let now = now();
        let id = ProviderId::from(Uuid::now_v7());
        let provider = Provider { id, space_id: space, spec, version: 1, created_at: now, updated_at: now };
        return Ok(envelope::success(StatusCode::OK, &provider));
    }
    keep(&state, &visitor, key.as_ref()).await?;
    let made = state.store_for(&visitor).create_provider(space, spec).await;
    let provider = or_undo(&state, &visitor, made, key.as_ref()).await?;
    Ok(tagged(envelope::success(StatusCode::CREATED, &provider), provider.version))
}

async fn read(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let provider = find(&state, visitor.space, &id).await?;
    Ok(tagged(envelope::success(StatusCode::OK, &provider), provider.version))
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
    let kept = serde_json::to_value(&before).unwrap_or_default();
    let Input { spec, key } = input::read(&state, space, body, Some(&before), &kept).await?;
    let expected = if_match(&headers)?.unwrap_or(before.version);
    check_version(&before.spec.name, before.version, expected)?;
    let is_same = spec == before.spec;
    if saving.dry_run && !is_same {
        check_free(&state, space, &spec.name, Some(before.id)).await?;
        let provider = Provider { spec, version: before.version + 1, updated_at: now(), ..before };
        return Ok(envelope::success(StatusCode::OK, &provider));
    }
    if saving.dry_run {
        return Ok(envelope::success(StatusCode::OK, &before));
    }
    if is_same {
        keep(&state, &visitor, key.as_ref()).await?;
        return Ok(tagged(envelope::success(StatusCode::OK, &before), before.version));
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
    Ok(tagged(envelope::success(StatusCode::OK, &provider), provider.version))
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
    Ok(envelope::success(StatusCode::OK, &provider))
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

/// The provider of that id or name.
async fn find(state: &AppState, space: SpaceId, name: &str) -> Result<Provider, CallError> {
    let found = state.store.get_provider(space, name).await?;
    found.ok_or_else(|| {
        let message = Message::new(&NO_SUCH_PROVIDER).with("name", name);
        CallError::new(ErrorKind::NotFound, message).detail("what", "provider")
    })
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
