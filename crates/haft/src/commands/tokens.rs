//! `haft tokens [create|rm]`

use std::process::ExitCode;

use haft_core::Locale;
use serde_json::{Map, Value};

use super::{results, spaces, text};
use crate::cli::{TokensArgs, TokensCommand};
use crate::config::Config;
use crate::door::Door;
use crate::show;

pub(crate) async fn run(args: TokensArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/tokens", json, &super::empty::NO_TOKENS, row).await,
        Some(TokensCommand::Create { name, scope, space, expires }) => {
            let mut body =
                Map::from_iter([("name".to_owned(), name.into()), ("scope".to_owned(), scope.into())]);
            if let Some(space) = space {
                match spaces::id_of(&door, &space, json).await? {
                    Ok(id) => body.insert("spaceId".to_owned(), id.into()),
                    Err(code) => return Ok(code),
                };
            }
            if let Some(expires) = expires {
                body.insert("expiresAt".to_owned(), expires.into());
            }
            create(&door, &Value::Object(body), json, config.locale).await
        }
        Some(TokensCommand::Rm { id }) => {
            let answer = door.delete(&format!("/api/tokens/{}", super::encoded(&id))).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::TOKEN_ENDED)))
        }
    }
}

/// The one command whose answer is a secret: whoever asks for a token wants to see it.
async fn create(door: &Door, body: &Value, json: bool, locale: Locale) -> anyhow::Result<ExitCode> {
    let answer = door.post("/api/tokens", body).await?;
    let code = super::done(&answer, json, locale, |token| {
        super::named(&results::TOKEN_CREATED)(token).with("id", text(token, "id"))
    });
    if answer.error.is_none() && !json {
        show::line_out(show::plain(text(&answer.data, "token")));
    }
    Ok(code)
}

fn row(token: &Value) -> [String; 6] {
    let used = match super::moment(token, "lastUsedAt") {
        none if none.is_empty() => "never used".to_owned(),
        used => format!("used {used}"),
    };
    let ends = match super::moment(token, "expiresAt") {
        none if none.is_empty() => "does not end".to_owned(),
        ends => format!("ends {ends}"),
    };
    let prefix = format!("{}…", text(token, "prefix"));
    [
        text(token, "name").to_owned(),
        text(token, "scope").to_owned(),
        prefix,
        used,
        ends,
        text(token, "id").to_owned(),
    ]
}
