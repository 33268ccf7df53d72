//! Users: `POST/GET /api/users`, `PATCH /api/users/{id}`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, UserId};
use secrecy::SecretString;
use serde::Deserialize;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{JsonBody, read};
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, Parameters};

haft_core::templates! {
    NO_SUCH_USER = "users.notFound",
        "there is no user {name}",
        "没有用户 {name}";
    NOT_YOURSELF = "users.notYourself",
        "You cannot deactivate yourself or give up your own admin rights. Ask another admin.",
        "不能停用自己或放弃自己的管理员权限；请由其他管理员操作";
    PASSWORD_OUTLIVES = "users.passwordOutlives",
        "A token that expires cannot set its user's password, and neither can a session that was made from one: the password would outlast the token. Log in with the password or a login link from `haft admin reset`, or use a token that does not expire",
        "会过期的令牌以及由它登录的会话不能设置该用户的密码，否则密码会比令牌更持久；请用密码或 `haft admin reset` 生成的登录链接登录，或使用不过期的令牌";
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/users", create)
            .needs(Needs::Operator)
            .says("Create a user with a personal space")
            .takes("UserInput")
            .answers(201, "User"),
        Route::get("/users", list)
            .needs(Needs::Operator)
            .says("List users by name")
            .pages()
            .answers(200, "UserList"),
        Route::patch("/users/{id}", change)
            .needs(Needs::Identity)
            .says("Update a user: your own password, or, for server admins, every field of every user")
            .takes("UserPatch")
            .answers(200, "User"),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewUser {
    name: String,
    password: Option<SecretString>,
    #[serde(default)]
    is_admin: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UserPatch {
    password: Option<SecretString>,
    is_active: Option<bool>,
    is_admin: Option<bool>,
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let NewUser { name, password, is_admin } = read(body)?;
    let (user, _) = state.store_for(&visitor).create_user(&name, password.as_ref(), is_admin).await?;
    Ok(envelope::success(StatusCode::CREATED, user))
}

async fn list(
    State(state): State<AppState>,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let (users, next) = state.store.list_users(&page.checked()?).await?;
    Ok(envelope::page(&users, next))
}

async fn change(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let UserPatch { password, is_active, is_admin } = read(body)?;
    let id = id.parse::<UserId>().map_err(|_| not_found(&id))?;
    let is_own = id == visitor.user.id;
    let only_password = is_active.is_none() && is_admin.is_none();
    let is_for_oneself = is_own && only_password && visitor.may_act_for_itself();
    // What one may not see is not there.
    if !is_for_oneself && !visitor.may(Needs::Operator) {
        return Err(not_found(&id.to_string()).into());
    }
    let Some(user) = state.store.get_user(id).await? else { return Err(not_found(&id.to_string()).into()) };
    if is_own && (is_active == Some(false) || is_admin == Some(false)) {
        return Err(CallError::new(ErrorKind::Conflict, Message::new(&NOT_YOURSELF)).into());
    }
    // A password makes sessions and tokens that do not end with the credential that set it.
    if is_own && password.is_some() && visitor.token_until.is_some() {
        return Err(CallError::new(ErrorKind::Permission, Message::new(&PASSWORD_OUTLIVES)).into());
    }
    if let Some(password) = &password {
        state.store_for(&visitor).set_password(id, password).await?;
    }
    if is_active.is_some() || is_admin.is_some() {
        let (is_active, is_admin) = (is_active.unwrap_or(user.is_active), is_admin.unwrap_or(user.is_admin));
        state.store_for(&visitor).set_user_rights(id, is_active, is_admin).await?;
    }
    state.visitors.forget();
    let user = state.store.get_user(id).await?;
    Ok(envelope::success(StatusCode::OK, user))
}

pub(super) fn not_found(name: &str) -> CallError {
    let message = Message::new(&NO_SUCH_USER).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("what", "user")
}
