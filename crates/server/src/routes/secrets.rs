//! Secrets: `GET /api/secrets`, `PUT/DELETE /api/secrets/{name}`. Values go in and never out.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, Violation};
use haft_store::{SecretInfo, SecretOwnerId};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Who, too_little};
use crate::body::{JsonBody, read};
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};
use crate::visitors::Visitor;

haft_core::templates! {
    EMPTY = "secrets.empty",
        "must not be empty",
        "不能为空";
    NO_SUCH_SECRET = "secrets.notFound",
        "there is no secret {name}",
        "没有密钥 {name}";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/secrets", list)
            .needs(Needs::Read)
            .says("List the names of secrets; values are never returned")
            .parameter("owner", "string", "`space`: secrets of the space; `me`: your own in this space")
            .pages()
            .answers(200, "SecretList"),
        Route::put("/secrets/{name}", put)
            .needs(Needs::Call)
            .says("Store a secret, encrypted; an existing one of the same name is replaced")
            .parameter("owner", "string", "`space` (requires the role editor) or `me`")
            .takes("SecretValue")
            .answers(200, "SecretInfo"),
        Route::delete("/secrets/{name}", remove)
            .needs(Needs::Call)
            .says("Delete a secret; tools that use it fail until it is set again")
            .parameter("owner", "string", "`space` (requires the role editor) or `me`")
            .answers(200, "SecretInfo"),
    ]
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Owner {
    #[default]
    Space,
    Me,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    #[serde(default)]
    owner: Owner,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfOwner {
    #[serde(default)]
    owner: Owner,
    limit: Option<u32>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    value: SecretString,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: String,
    owner: &'static str,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    updated_at: Timestamp,
}

impl From<SecretInfo> for Shown {
    fn from(info: SecretInfo) -> Self {
        let owner = match info.owner {
            SecretOwnerId::Space => "space",
            SecretOwnerId::User(_) => "me",
        };
        Self { name: info.name, owner, updated_at: info.updated_at }
    }
}

impl Owner {
    fn of(self, visitor: &Visitor) -> SecretOwnerId {
        match self {
            Self::Space => SecretOwnerId::Space,
            Self::Me => SecretOwnerId::User(visitor.user.id),
        }
    }

    /// Everyone who may call has secrets of their own; those of the space are for those who edit it.
    fn check(self, visitor: &Visitor) -> Result<(), CallError> {
        if self == Self::Me || visitor.may(Needs::Edit) { Ok(()) } else { Err(too_little(Needs::Edit)) }
    }
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(OfOwner { owner, limit, cursor }): Parameters<OfOwner>,
) -> Result<Response, Failure> {
    let page = ListOf { limit, cursor }.checked()?;
    let (secrets, next) = state.store.list_secrets(visitor.space, owner.of(&visitor), &page).await?;
    let secrets: Vec<Shown> = secrets.into_iter().map(Shown::from).collect();
    Ok(envelope::page(&secrets, next))
}

async fn put(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(name): Named,
    Parameters(Which { owner }): Parameters<Which>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    owner.check(&visitor)?;
    let Value { value } = read(body)?;
    if value.expose_secret().trim().is_empty() {
        return Err(CallError::invalid(vec![Violation::new("value", Message::new(&EMPTY))]).into());
    }
    let (space, of, by) = (visitor.space, owner.of(&visitor), Some(visitor.user.id));
    state.store_for(&visitor).put_secret(space, of, &name, &value, by).await?;
    state.secrets.forget(space);
    let kept = SecretInfo { name, owner: of, updated_at: haft_engine::now() };
    Ok(envelope::success(StatusCode::OK, Shown::from(kept)))
}

async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(name): Named,
    Parameters(Which { owner }): Parameters<Which>,
) -> Result<Response, Failure> {
    owner.check(&visitor)?;
    let (space, of) = (visitor.space, owner.of(&visitor));
    let Some(info) = state.store.get_secret_info(space, of, &name).await? else {
        let message = Message::new(&NO_SUCH_SECRET).with("name", &name);
        return Err(CallError::new(ErrorKind::NotFound, message).detail("what", "secret").into());
    };
    state.store_for(&visitor).delete_secret(space, of, &name).await?;
    state.secrets.forget(space);
    Ok(envelope::success(StatusCode::OK, Shown::from(info)))
}
