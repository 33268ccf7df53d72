//! `haft logout`

use std::process::ExitCode;

use haft_core::{ErrorKind, Locale, Message};
use serde_json::json;
use tokio::time::{Duration, timeout};

use super::results;
use crate::cli::LogoutArgs;
use crate::config::Config;
use crate::door::Door;
use crate::login::{self, Login};
use crate::show;

/// A server that is away must not keep anybody logged in.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of the token of a login.
pub(super) enum Fate {
    Ended,
    /// It was not made by a login, and may be used elsewhere.
    NotOurs,
    /// The server could not be told.
    Alive,
}

pub(crate) async fn run(args: LogoutArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let path = login::path(&config)?;
    // A login that cannot be read is removed all the same.
    let stored = Login::stored(&config).ok().flatten();
    let Some(login) = stored else {
        let removed = login::remove(path)?;
        let template = if removed { &results::LOGGED_OUT } else { &results::NOT_LOGGED_IN };
        return Ok(told((args.json, config.locale), None, removed, &Message::new(template)));
    };
    let fate = end_token(&login, &config).await;
    login::remove(path)?;
    let url = &login.url;
    let (ended, message) = match fate {
        Fate::Ended => (true, Message::new(&results::LOGGED_OUT_OF)),
        Fate::NotOurs => (false, Message::new(&results::TOKEN_STAYS)),
        Fate::Alive => {
            let id = login.token_id.as_deref().unwrap_or_default();
            (false, Message::new(&results::TOKEN_NOT_ENDED).with("id", id))
        }
    };
    Ok(told((args.json, config.locale), Some(url.as_str()), ended, &message.with("url", url)))
}

/// Ends the token that a login made.
pub(super) async fn end_token(login: &Login, config: &Config) -> Fate {
    let Some(id) = &login.token_id else { return Fate::NotOurs };
    let Ok(door) = Door::with_token(&login.url, login.token.clone(), config) else { return Fate::Alive };
    let path = format!("/api/tokens/{}", super::encoded(id));
    match timeout(PATIENCE, door.delete(&path)).await {
        // Whoever is not known there any more has no token to end.
        Ok(Ok(answer)) if answer.error.as_ref().is_none_or(|failure| is_gone(failure.kind)) => Fate::Ended,
        Ok(Ok(_) | Err(_)) | Err(_) => Fate::Alive,
    }
}

fn is_gone(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Unauthorized)
}

fn told((json, locale): (bool, Locale), url: Option<&str>, ended: bool, message: &Message) -> ExitCode {
    if json {
        show::line_out(json!({"url": url, "tokenEnded": ended}));
    } else {
        show::said(&message.render(locale));
    }
    ExitCode::SUCCESS
}
