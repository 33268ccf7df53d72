//! Coming and going: `POST /api/login`, `POST /api/logout`, `GET /api/me`.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use haft_core::space::{Role, Space};
use haft_core::user::{Scope, User};
use haft_core::{CallError, ErrorKind, Message, Violation};
use haft_store::{CredentialHash, Page};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Peer, SESSION, TOO_MANY_FAILURES, Who};
use crate::body::{JsonBody, read};
use crate::envelope;
use crate::error::Failure;
use crate::visitors::{Via, Visitor};

haft_core::templates! {
    WRONG = "login.wrong",
        "The name or the password is wrong.",
        "用户名或密码错误";
    LINK_USED = "login.linkUsed",
        "This link was already used or has expired. Create a new one with `haft admin reset`.",
        "此链接已使用或已过期；可用 `haft admin reset` 重新生成";
    ONE_WAY = "login.oneWay",
        "Send a name and password, a token, or a link.",
        "请提供用户名和密码，或令牌，或链接";
    NOT_A_TOKEN = "login.notAToken",
        "The token is invalid.",
        "令牌无法识别";
    NOT_ADMIN_TOKEN = "login.notAdminToken",
        "A token of scope {scope} cannot start a session, because a session has all rights of its user. Use a token of scope admin, or a name and password.",
        "权限范围为 {scope} 的令牌不能用于登录，因为会话拥有用户的全部权限；请使用 admin 令牌，或用户名和密码";
}

/// The lifetime of a session. One that was made from a token ends with that at the latest.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// More spaces than anyone looks at.
const SPACES: u32 = 1000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/login", login)
            .needs(Needs::Nothing)
            .says("Start a console session with name and password, a token, or a one-time link")
            .takes("Login")
            .answers(200, "Me"),
        Route::post("/logout", logout).needs(Needs::Identity).says("End the session").answers(200, "Empty"),
        Route::get("/me", me)
            .needs(Needs::Identity)
            .says("Get the current user, space and permissions")
            .answers(200, "Me"),
    ]
}

/// Exactly one of the three ways to come in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    name: Option<String>,
    password: Option<SecretString>,
    token: Option<SecretString>,
    link: Option<SecretString>,
}

enum Login {
    Password { name: String, password: SecretString },
    Token { token: SecretString },
    Link { link: SecretString },
}

impl Given {
    fn login(self) -> Result<Login, CallError> {
        match (self.name, self.password, self.token, self.link) {
            (Some(name), Some(password), None, None) => Ok(Login::Password { name, password }),
            (None, None, Some(token), None) => Ok(Login::Token { token }),
            (None, None, None, Some(link)) => Ok(Login::Link { link }),
            _ => {
                let violation = Violation::new(haft_core::error::ROOT, Message::new(&ONE_WAY));
                Err(CallError::invalid(vec![violation]))
            }
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Me {
    user: User,
    has_password: bool,
    space: Option<Space>,
    role: Role,
    scope: Scope,
    spaces: Vec<SpaceOfMine>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpaceOfMine {
    id: haft_core::SpaceId,
    name: String,
    is_personal: bool,
    role: Role,
}

async fn login(
    State(state): State<AppState>,
    Peer(address): Peer,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    if !state.is_own_origin(&headers) {
        return Err(crate::auth::foreign_origin().into());
    }
    let given = read::<Given>(body)?.login()?;
    let account = match &given {
        Login::Password { name, .. } => Some(name.clone()),
        Login::Token { .. } | Login::Link { .. } => None,
    };
    let account = account.as_deref();
    let now = Instant::now();
    if let Some(pause) = state.login_throttle.pause(address, account, now) {
        let error = CallError::new(ErrorKind::RateLimit, Message::new(&TOO_MANY_FAILURES));
        return Err(error.retry_after(pause).into());
    }
    // Counted first, so that many at once are no more than one after another.
    state.login_throttle.failed(address, account, now);
    let mut token_id = None;
    let (found, template) = match given {
        Login::Password { name, password } => (state.store.verify_password(&name, &password).await?, &WRONG),
        Login::Token { token } => {
            let visitor = state.visitors.of_token(token.expose_secret()).await?;
            if let Some(visitor) = visitor.as_ref().filter(|visitor| visitor.scope != Scope::Admin) {
                // The token was right: no guess is counted.
                state.login_throttle.take_back(address);
                let message = Message::new(&NOT_ADMIN_TOKEN).with("scope", visitor.scope.as_str());
                return Err(CallError::new(ErrorKind::Permission, message).into());
            }
            if let Some(Via::Token(id)) = visitor.as_ref().map(|visitor| &visitor.via) {
                token_id = Some(*id);
            }
            (visitor.map(|visitor| visitor.user.clone()), &NOT_A_TOKEN)
        }
        Login::Link { link } => {
            let hash = CredentialHash::of(link.expose_secret());
            (state.store.consume_login_link(&hash).await?, &LINK_USED)
        }
    };
    let Some(user) = found else {
        return Err(CallError::new(ErrorKind::Unauthorized, Message::new(template)).into());
    };
    state.login_throttle.take_back(address);
    if let Some(account) = account {
        state.login_throttle.succeeded(account);
    }
    let session = match token_id {
        Some(token) => state.store.create_session_of_token(user.id, token, LIFETIME).await?,
        None => state.store.create_session(user.id, LIFETIME).await?,
    };
    let Some(visitor) = state.visitors.of_session(session.expose_secret(), None).await? else {
        return Err(CallError::text(ErrorKind::Internal, "the new session was not found").into());
    };
    let mut response = answer(&state, &visitor).await?;
    let secure = if state.is_https() { "; Secure" } else { "" };
    let cookie = format!(
        "{SESSION}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{secure}",
        session.expose_secret(),
        seconds_until(visitor.until)
    );
    set_cookie(&mut response, &cookie);
    Ok(response)
}

/// The time that a session has left, in seconds.
fn seconds_until(end: Option<Timestamp>) -> i64 {
    end.map_or(0, |end| end.duration_since(Timestamp::now()).as_secs())
}

async fn logout(State(state): State<AppState>, Who(visitor): Who) -> Result<Response, Failure> {
    if let Via::Session(hash) = &visitor.via {
        state.store.delete_session(hash).await?;
        state.visitors.forget();
    }
    let mut response = envelope::success(StatusCode::OK, serde_json::json!({}));
    set_cookie(&mut response, &format!("{SESSION}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"));
    Ok(response)
}

async fn me(State(state): State<AppState>, Who(visitor): Who) -> Result<Response, Failure> {
    answer(&state, &visitor).await
}

async fn answer(state: &AppState, visitor: &Visitor) -> Result<Response, Failure> {
    let (mut spaces, _) = state.store.list_spaces(visitor.user.id, &Page::first(SPACES)).await?;
    // A token that may less than its user knows of its own space alone.
    spaces.retain(|(space, _)| space.id == visitor.space || visitor.may_act_for_itself());
    let of_mine = |(space, role): (Space, Role)| SpaceOfMine {
        id: space.id,
        name: space.name,
        is_personal: space.is_personal,
        role,
    };
    let me = Me {
        user: visitor.user.clone(),
        has_password: state.store.has_password(visitor.user.id).await?,
        space: state.store.get_space(visitor.space).await?,
        role: visitor.role,
        scope: visitor.scope,
        spaces: spaces.into_iter().map(of_mine).collect(),
    };
    Ok(envelope::success(StatusCode::OK, me))
}

fn set_cookie(response: &mut Response, cookie: &str) {
    if let Ok(mut value) = HeaderValue::from_str(cookie) {
        value.set_sensitive(true);
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}
