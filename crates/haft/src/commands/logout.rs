//! `haft logout`

use std::process::ExitCode;

use haft_core::{ErrorKind, Locale, Message};
use serde_json::json;
use tokio::time::{Duration, timeout};

use super::results;
use crate::cli::LogoutArgs;
use crate::client::ApiClient;
use crate::config::Config;
use crate::login::{self, Login};
use crate::output;

/// Timeout of the request that revokes the token, so that an unreachable server does not prevent a logout.
const REVOKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The state of a login's token after the logout.
pub(super) enum TokenState {
    Revoked,
    /// The token was given to `haft login`, so it is not revoked and may be used elsewhere.
    NotIssuedByLogin,
    /// The token could not be revoked.
    StillValid,
}

pub(crate) async fn run(args: LogoutArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let path = login::path(&config)?;
    // An unreadable login is removed, too.
    let stored = Login::stored(&config).ok().flatten();
    let Some(login) = stored else {
        let removed = login::remove(path)?;
        let template = if removed { &results::LOGGED_OUT } else { &results::NOT_LOGGED_IN };
        return Ok(report((args.json, config.locale), None, removed, &Message::new(template)));
    };
    let token = revoke_token(&login, &config).await;
    login::remove(path)?;
    let url = &login.url;
    let (revoked, message) = match token {
        TokenState::Revoked => (true, Message::new(&results::LOGGED_OUT_OF)),
        TokenState::NotIssuedByLogin => (false, Message::new(&results::TOKEN_STAYS)),
        TokenState::StillValid => {
            let id = login.token_id.as_deref().unwrap_or_default();
            (false, Message::new(&results::TOKEN_NOT_ENDED).with("id", id))
        }
    };
    Ok(report((args.json, config.locale), Some(url.as_str()), revoked, &message.with("url", url)))
}

/// Revokes the token that `haft login` created.
pub(super) async fn revoke_token(login: &Login, config: &Config) -> TokenState {
    let Some(id) = &login.token_id else { return TokenState::NotIssuedByLogin };
    let Ok(client) = ApiClient::with_token(&login.url, login.token.clone(), config) else {
        return TokenState::StillValid;
    };
    let path = format!("/api/tokens/{}", super::path_segment(id));
    match timeout(REVOKE_TIMEOUT, client.delete(&path)).await {
        // `NotFound` and `Unauthorized` mean that the token is already invalid.
        Ok(Ok(response)) if response.error.as_ref().is_none_or(|failure| is_gone(failure.kind)) => {
            TokenState::Revoked
        }
        Ok(Ok(_) | Err(_)) | Err(_) => TokenState::StillValid,
    }
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Unauthorized)
}

fn report((json, locale): (bool, Locale), url: Option<&str>, revoked: bool, message: &Message) -> ExitCode {
    if json {
        output::print_line(json!({"url": url, "tokenEnded": revoked}));
    } else {
        output::print_status(&message.render(locale));
    }
    ExitCode::SUCCESS
}
