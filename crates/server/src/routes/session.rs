//! Coming and going: `POST /api/login`, `POST /api/logout`, `GET /api/me`.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use haft_core::space::{Role, Space};
use haft_core::user::{Scope, User};
use haft_core::{CallError, ErrorKind, Message, Violation};
use haft_store::{CredentialHash, Page};
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
        "the name or the password is wrong",
        "用户名或密码错误";
    LINK_USED = "login.linkUsed",
        "this link was used already or is too old; `haft admin reset` makes another",
        "此链接已使用或已过期；可用 `haft admin reset` 重新生成";
    ONE_WAY = "login.oneWay",
        "give name and password, or a token, or a link",
        "请提供用户名和密码，或令牌，或链接";
    NOT_A_TOKEN = "login.notAToken",
        "the token is not known",
        "令牌无法识别";
}

/// A session ends so long after it began.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// More spaces than anyone looks at.
const SPACES: u32 = 1000;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/login", login)
            .needs(Needs::Nothing)
            .says("Begins a console session: by name and password, by a token, or by a one-time link")
            .takes("Login")
            .answers(200, "Me"),
        Route::post("/logout", logout).needs(Needs::Identity).says("Ends the session").answers(200, "Empty"),
        Route::get("/me", me)
            .needs(Needs::Identity)
            .says("Who asks, where, and what they may do")
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
struct Me {
    user: User,
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
    if let Some(pause) = state.guesses.pause(address, account, now) {
        let error = CallError::new(ErrorKind::RateLimit, Message::new(&TOO_MANY_FAILURES));
        return Err(error.retry_after(pause).into());
    }
    // Counted first, so that many at once are no more than one after another.
    state.guesses.failed(address, account, now);
    let (found, template) = match given {
        Login::Password { name, password } => (state.store.verify_password(&name, &password).await?, &WRONG),
        Login::Token { token } => {
            let visitor = state.visitors.of_token(token.expose_secret()).await?;
            // A session may do all that its user may, so a token that may less does not make one.
            let is_whole = |visitor: &std::sync::Arc<Visitor>| visitor.scope == Scope::Admin;
            (visitor.filter(is_whole).map(|visitor| visitor.user.clone()), &NOT_A_TOKEN)
        }
        Login::Link { link } => {
            let hash = CredentialHash::of(link.expose_secret());
            (state.store.take_login_link(&hash).await?, &LINK_USED)
        }
    };
    let Some(user) = found else {
        return Err(CallError::new(ErrorKind::Unauthorized, Message::new(template)).into());
    };
    state.guesses.was_none(address);
    if let Some(account) = account {
        state.guesses.succeeded(account);
    }
    let session = state.store.create_session(user.id, LIFETIME).await?;
    let Some(visitor) = state.visitors.of_session(session.expose_secret(), None).await? else {
        return Err(CallError::text(ErrorKind::Internal, "a new session is not there").into());
    };
    let mut response = answer(&state, &visitor).await?;
    let secure = if state.is_https() { "; Secure" } else { "" };
    let cookie = format!(
        "{SESSION}={}; Path=/; HttpOnly; SameSite=Lax; Max-Age={}{secure}",
        session.expose_secret(),
        LIFETIME.as_secs()
    );
    set_cookie(&mut response, &cookie);
    Ok(response)
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
