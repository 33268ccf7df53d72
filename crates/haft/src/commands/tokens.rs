//! `haft tokens [create|rm]`

use std::process::ExitCode;

use haft_core::Locale;
use serde_json::{Map, Value};

use super::{results, spaces, text};
use crate::cli::{TokensArgs, TokensCommand};
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;

pub(crate) async fn run(args: TokensArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&client, "/api/tokens", json, &super::empty_lists::NO_TOKENS, row).await,
        Some(TokensCommand::Create { name, scope, space, expires }) => {
            let mut body =
                Map::from_iter([("name".to_owned(), name.into()), ("scope".to_owned(), scope.into())]);
            if let Some(space) = space {
                match spaces::id_of(&client, &space, json).await? {
                    Ok(id) => body.insert("spaceId".to_owned(), id.into()),
                    Err(code) => return Ok(code),
                };
            }
            if let Some(expires) = expires {
                body.insert("expiresAt".to_owned(), expires.into());
            }
            create(&client, &Value::Object(body), json, config.locale).await
        }
        Some(TokensCommand::Rm { id }) => {
            let response = client.delete(&format!("/api/tokens/{}", super::path_segment(&id))).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::TOKEN_ENDED),
            ))
        }
    }
}

/// Creates a token and prints it: the only command that prints a secret.
async fn create(client: &ApiClient, body: &Value, json: bool, locale: Locale) -> anyhow::Result<ExitCode> {
    let response = client.post("/api/tokens", body).await?;
    let code = super::report_change(&response, json, locale, |token| {
        super::message_with_name(&results::TOKEN_CREATED)(token).with("id", text(token, "id"))
    });
    if response.error.is_none() && !json {
        output::print_line(output::sanitized(text(&response.data, "token")));
    }
    Ok(code)
}

fn row(token: &Value) -> [String; 6] {
    let used = match super::format_time(token, "lastUsedAt") {
        none if none.is_empty() => "never used".to_owned(),
        used => format!("used {used}"),
    };
    let expires = match super::format_time(token, "expiresAt") {
        none if none.is_empty() => "never expires".to_owned(),
        expires => format!("expires {expires}"),
    };
    let prefix = format!("{}…", text(token, "prefix"));
    [
        text(token, "name").to_owned(),
        text(token, "scope").to_owned(),
        prefix,
        used,
        expires,
        text(token, "id").to_owned(),
    ]
}
