//! Who may come through a route: a token or a session, its role and scope, and where a browser comes from.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, header};
use haft_core::artifact::SIGNATURE;
use haft_core::{CallError, Caller, ErrorKind, ErrorReason, Message, Source, SpaceId};
use haft_store::CredentialHash;

use crate::api::Needs;
use crate::app::{App, AppState};
use crate::connection::Connection;
use crate::door::Entered;
use crate::error::Failure;
use crate::visitors::{Visitor, not_in_space};

haft_core::templates! {
    NO_TOKEN = "auth.noToken",
        "A token is required. Send the header Authorization: Bearer TOKEN",
        "需要令牌：请发送请求头 Authorization: Bearer TOKEN";
    BAD_TOKEN = "auth.badToken",
        "The token is invalid.",
        "令牌无效";
    BAD_SESSION = "auth.badSession",
        "The session has ended. Sign in again.",
        "会话已结束；请重新登录";
    TOO_LITTLE = "auth.tooLittle",
        "The role or the scope of the token is not sufficient. Required: {needs}",
        "令牌或角色的权限不足：需要 {needs}";
    FOREIGN_ORIGIN = "auth.foreignOrigin",
        "The request comes from another site, which is not allowed to act for you.",
        "请求来自其他站点，不能代表您操作";
    TOO_MANY_FAILURES = "auth.tooManyFailures",
        "Too many failed attempts. Wait before you try again.",
        "失败次数过多；请稍后再试";
}

/// The cookie of a console session.
pub(crate) const SESSION: &str = "haft_session";

/// The space that a session works in; its personal one when absent.
pub(crate) const SPACE: HeaderName = HeaderName::from_static("haft-space");

/// Haft's own command line says so, that the log can tell its calls from others.
pub const SOURCE: HeaderName = HeaderName::from_static("haft-source");

/// The caller of a request without a query: by a cached token, or none if the route needs none. Returns `None` if
/// the credential has to be looked up, or its address is locked out.
pub(crate) fn known_at_once(
    app: &App,
    needs: Needs,
    request: &Request,
) -> Option<Result<Option<Arc<Visitor>>, CallError>> {
    match needs {
        Needs::Nothing => return Some(Ok(None)),
        // A link may stand for who may too little.
        Needs::ReadOrLink | Needs::EditOrLink => return None,
        Needs::Identity
        | Needs::Read
        | Needs::Call
        | Needs::Edit
        | Needs::SpaceAdmin
        | Needs::OperatorRead
        | Needs::Operator => {}
    }
    let token = bearer(request.headers())?;
    let address = app.address_of(request.headers(), request.extensions());
    if app.login_throttle.is_locked_out(address, Instant::now()) {
        return None;
    }
    match app.visitors.known_token(token) {
        Ok(visitor) => visitor.map(|visitor| {
            app.login_throttle.token_succeeded(address, visitor.hash());
            allowed(visitor, needs).map(Some)
        }),
        Err(error) => Some(Err(error)),
    }
}

/// Who comes, if it has what the route needs; nobody, where a link may stand for it.
pub(crate) async fn let_in(
    app: &App,
    needs: Needs,
    parts: &Parts,
) -> Result<Option<Arc<Visitor>>, CallError> {
    match identify(app, parts).await {
        // Who may less by itself may still hold a link.
        Ok(visitor) if !visitor.may(needs) && is_link(needs, parts) => Ok(None),
        Ok(visitor) => allowed(visitor, needs).map(Some),
        // The route itself looks at the link, and at nothing else of who is not known.
        Err(error) if is_without_rights(&error) && is_link(needs, parts) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a request came without a valid token or session, or with a session in a space that its user is not in.
fn is_without_rights(error: &CallError) -> bool {
    error.kind() == ErrorKind::Unauthorized || error.reason() == Some(ErrorReason::NotInSpace)
}

fn allowed(visitor: Arc<Visitor>, needs: Needs) -> Result<Arc<Visitor>, CallError> {
    if visitor.may(needs) { Ok(visitor) } else { Err(too_little(needs)) }
}

/// Whether a request comes with a signature, to a route that takes one.
fn is_link(needs: Needs, parts: &Parts) -> bool {
    let query = parts.uri.query().unwrap_or_default();
    matches!(needs, Needs::ReadOrLink | Needs::EditOrLink)
        && url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == SIGNATURE)
}

/// The answer to who is known but may not.
pub(crate) fn too_little(needs: Needs) -> CallError {
    CallError::new(ErrorKind::Permission, Message::new(&TOO_LITTLE).with("needs", needs.word()))
}

/// The answer to a browser that shows another site.
pub(crate) fn foreign_origin() -> CallError {
    CallError::new(ErrorKind::Permission, Message::new(&FOREIGN_ORIGIN))
}

async fn identify(state: &App, parts: &Parts) -> Result<Arc<Visitor>, CallError> {
    let unauthorized = |template| CallError::new(ErrorKind::Unauthorized, Message::new(template));
    if let Some(token) = bearer(&parts.headers) {
        let address = state.address_of(&parts.headers, &parts.extensions);
        let (hash, now) = (CredentialHash::of(token), Instant::now());
        if let Some(pause) = state.login_throttle.pause_of_token(address, &hash, now) {
            // The token is not checked: a right guess gets the same response as a wrong one.
            let error = CallError::new(ErrorKind::RateLimit, Message::new(&TOO_MANY_FAILURES));
            return Err(error.retry_after(pause));
        }
        let visitor = state.visitors.of_token(token).await?;
        let Some(visitor) = visitor else {
            state.login_throttle.token_failed(address, hash, now);
            return Err(unauthorized(&BAD_TOKEN));
        };
        state.login_throttle.token_succeeded(address, hash);
        return Ok(visitor);
    }
    let Some(session) = session(&parts.headers) else { return Err(unauthorized(&NO_TOKEN)) };
    if !is_safe(&parts.method) && !state.is_own_origin(&parts.headers) {
        return Err(foreign_origin());
    }
    let read = |value: &HeaderValue| value.to_str().ok().and_then(|text| text.parse::<SpaceId>().ok());
    let named = parts.headers.get(SPACE);
    let space = named.and_then(read);
    let visitor = state.visitors.of_session(&session, space).await?;
    let visitor = visitor.ok_or_else(|| unauthorized(&BAD_SESSION))?;
    if named.is_some() && space.is_none() { Err(not_in_space()) } else { Ok(visitor) }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The value of the session's cookie.
pub(crate) fn session(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == SESSION).map(|(_, value)| value.to_owned())
}

fn source(headers: &HeaderMap) -> Source {
    if headers.get(SOURCE).is_some_and(|value| value == "cli") { Source::Cli } else { Source::Api }
}

/// Proof that the request may come through its route, and whom it acts for.
pub(crate) struct Known(pub(crate) Caller);

/// The same, with all that is known of who asks.
pub(crate) struct Who(pub(crate) Arc<Visitor>);

/// The same where a link may stand for it: nobody, when that is all there is.
pub(crate) struct MaybeWho(pub(crate) Option<Arc<Visitor>>);

impl<S: Sync> FromRequestParts<S> for MaybeWho {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(visitor(parts).cloned()))
    }
}

impl<S: Sync> FromRequestParts<S> for Known {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Some(Entered { asked, visitor: Some(visitor) }) = parts.extensions.get() else {
            return Err(not_known());
        };
        Ok(Self(Caller {
            space: visitor.space,
            user: Some(visitor.user.id),
            source: source(&parts.headers),
            locale: asked.locale,
            request: Some(asked.id.clone()),
        }))
    }
}

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        visitor(parts).cloned().map(Self).ok_or_else(not_known)
    }
}

fn visitor(parts: &Parts) -> Option<&Arc<Visitor>> {
    parts.extensions.get::<Entered>()?.visitor.as_ref()
}

fn not_known() -> Failure {
    CallError::new(ErrorKind::Unauthorized, Message::new(&NO_TOKEN)).into()
}

/// Where a request comes from, past the proxies that the operator trusts.
pub(crate) struct Peer(pub(crate) IpAddr);

impl FromRequestParts<AppState> for Peer {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Self::Rejection> {
        Ok(Self(state.address_of(&parts.headers, &parts.extensions)))
    }
}

/// The other end of the connection itself.
pub(crate) fn connected(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<Connection>().map(|connection| connection.address.ip())
}
