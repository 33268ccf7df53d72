//! Who asks: a bearer token, checked before any route of `/api` is looked at.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_core::{CallError, Caller, ErrorKind, Message, Source};
use secrecy::ExposeSecret;
use subtle::ConstantTimeEq;

use crate::app::AppState;
use crate::error::ApiError;
use crate::request::{Asked, locale};

haft_core::templates! {
    NO_TOKEN = "auth.noToken",
        "this needs a token: send the header Authorization: Bearer TOKEN",
        "需要令牌：请发送请求头 Authorization: Bearer TOKEN";
    BAD_TOKEN = "auth.badToken",
        "the token is not known",
        "令牌无效";
}

/// Lets a request through that carries the token, and notes who it is.
pub(crate) async fn require_token(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let refused = match bearer(request.headers()) {
        None => &NO_TOKEN,
        Some(token) if is_known(&state, token) => {
            let caller = Caller {
                space: state.space,
                user: Some(state.user),
                source: source(request.headers()),
                locale: locale(request.headers()),
            };
            request.extensions_mut().insert(caller);
            return next.run(request).await;
        }
        Some(_) => &BAD_TOKEN,
    };
    let (parts, _) = request.into_parts();
    let error = CallError::new(ErrorKind::Unauthorized, Message::new(refused));
    ApiError::new(error, &Asked::of(&parts)).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Haft's own command line says so, that the log can tell its calls from others.
pub const SOURCE: HeaderName = HeaderName::from_static("haft-source");

fn source(headers: &HeaderMap) -> Source {
    if headers.get(SOURCE).is_some_and(|value| value == "cli") { Source::Cli } else { Source::Api }
}

fn is_known(state: &AppState, token: &str) -> bool {
    token.as_bytes().ct_eq(state.settings.token.expose_secret().as_bytes()).into()
}

/// Proof that the request carries a good token. A handler that takes one needs no other check.
pub(crate) struct Known(pub(crate) Caller);

impl<S: Sync> FromRequestParts<S> for Known {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Caller>().cloned();
        caller.map(Self).ok_or_else(|| {
            let error = CallError::new(ErrorKind::Unauthorized, Message::new(&NO_TOKEN));
            ApiError::new(error, &Asked::of(parts))
        })
    }
}
