//! Tokens: `POST/GET /api/tokens`, `DELETE /api/tokens/{id}`. A value is shown once, when it is made.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::id::TokenId;
use haft_core::user::{Scope, Token};
use haft_core::{CallError, ErrorKind, Message, SpaceId, Violation};
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
use crate::visitors::Via;

haft_core::templates! {
    MORE_THAN_OWN = "tokens.moreThanOwn",
        "cannot exceed the scope of its creator: {scope}",
        "权限不能超过创建者自身：{scope}";
    IN_THE_PAST = "tokens.inThePast",
        "must be in the future",
        "必须是将来的时间";
    NO_SUCH_TOKEN = "tokens.notFound",
        "there is no token {name}",
        "没有令牌 {name}";
    NO_SUCH_SPACE = "tokens.noSuchSpace",
        "there is no space {name}",
        "没有空间 {name}";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/tokens", create)
            .needs(Needs::Identity)
            .says("Create a token for yourself, in this space or another one that you are a member of").checks(Scope::Admin, "A token must have the scope admin. The new token allows no more, and lasts no longer, than the one that made it.")
            .takes("NewToken")
            .answers(201, "CreatedToken"),
        Route::get("/tokens", list)
            .needs(Needs::Identity)
            .says("List your own tokens in this space, without their values").checks(Scope::Read, "For every member of the space.")
            .pages()
            .answers(200, "TokenList"),
        Route::delete("/tokens/{id}", remove)
            .needs(Needs::Identity)
            .says("Revoke a token").checks(Scope::Read, "Every token may delete itself. The user's other tokens need a session or a token of the scope admin; tokens of others need the role admin as well.")
            .answers(200, "Token"),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewToken {
    name: String,
    scope: Option<Scope>,
    expires_at: Option<Timestamp>,
    space_id: Option<SpaceId>,
}

#[derive(Serialize)]
struct Created<'a> {
    #[serde(flatten)]
    of: &'a Token,
    token: &'a str,
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let NewToken { name, scope, expires_at, space_id } = read(body)?;
    if !visitor.may_act_for_itself() {
        return Err(too_little(Needs::SpaceAdmin).into());
    }
    let scope = scope.unwrap_or(visitor.scope);
    let mut violations = Vec::new();
    if scope > visitor.scope {
        let message = Message::new(&MORE_THAN_OWN).with("scope", visitor.scope.as_str());
        violations.push(Violation::new("scope", message));
    }
    if expires_at.is_some_and(|at| at <= Timestamp::now()) {
        violations.push(Violation::new("expiresAt", Message::new(&IN_THE_PAST)));
    }
    // A token ends no later than the one that made it, by itself or by its session. One that a password made may
    // outlive the session.
    let expires_at = match (expires_at, visitor.token_until) {
        (Some(at), Some(latest)) => Some(at.min(latest)),
        (at, latest) => at.or(latest),
    };
    if !violations.is_empty() {
        return Err(CallError::invalid(violations).into());
    }
    let space = space_id.unwrap_or(visitor.space);
    // A token of one space is not a way into the others of its user.
    let may_leave = space == visitor.space || visitor.may_act_for_itself();
    if !may_leave || state.store.role_of(space, visitor.user.id).await?.is_none() {
        let message = Message::new(&NO_SUCH_SPACE).with("name", space);
        return Err(CallError::new(ErrorKind::NotFound, message).detail("what", "space").into());
    }
    let (token, value): (Token, SecretString) =
        state.store_for(&visitor).create_token(space, visitor.user.id, &name, scope, expires_at).await?;
    let created = Created { of: &token, token: value.expose_secret() };
    Ok(envelope::success(StatusCode::CREATED, created))
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let (tokens, next) = state.store.list_tokens(visitor.space, visitor.user.id, &page.checked()?).await?;
    Ok(envelope::page(&tokens, next))
}

async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let not_found = || {
        let message = Message::new(&NO_SUCH_TOKEN).with("name", &id);
        CallError::new(ErrorKind::NotFound, message).detail("what", "token")
    };
    let token = id.parse::<TokenId>().map_err(|_| not_found())?;
    let found = state.store.get_token(visitor.space, token).await?;
    // Any token may end itself; another needs the right to act for the user.
    let is_itself = visitor.via == Via::Token(token);
    let is_allowed = |token: &Token| {
        let is_own = token.user_id == visitor.user.id;
        is_itself || (is_own && visitor.may_act_for_itself()) || visitor.may(Needs::SpaceAdmin)
    };
    let found = found.filter(is_allowed).ok_or_else(not_found)?;
    state.store_for(&visitor).delete_token(visitor.space, token).await?;
    state.visitors.forget();
    Ok(envelope::success(StatusCode::OK, found))
}
