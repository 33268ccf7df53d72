//! `haft secrets [set|rm|rotate-key]`: stores values, and never prints them.

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{results, text};
use crate::cli::{SecretsArgs, SecretsCommand};
use crate::cli_error::CliError;
use crate::client::ApiClient;
use crate::config::Config;
use crate::{maintenance, messages, user_input};

pub(crate) async fn run(args: SecretsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let json = args.server.json;
    let owner = if args.me { "?owner=me" } else { "" };
    let path_of = |name: &str| format!("/api/secrets/{}{owner}", super::path_segment(name));
    match args.command {
        None => {
            let client = ApiClient::for_server(&args.server, &config)?;
            super::list(&client, &format!("/api/secrets{owner}"), json, &super::empty_lists::NO_SECRETS, row)
                .await
        }
        Some(SecretsCommand::Set { name }) => {
            let client = ApiClient::for_server(&args.server, &config)?;
            let value = user_input::read_hidden_text(&format!("Value of {name}: "))?;
            if value.expose_secret().is_empty() {
                let message = Message::new(&messages::EMPTY_VALUE).with("name", &name);
                return Err(CliError::new(ErrorKind::Validation, message).into());
            }
            let response = client.put(&path_of(&name), &json!({"value": value.expose_secret()})).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::SECRET_SET),
            ))
        }
        Some(SecretsCommand::Rm { name }) => {
            let response = ApiClient::for_server(&args.server, &config)?.delete(&path_of(&name)).await?;
            Ok(super::report_change(&response, json, config.locale, |_| {
                Message::new(&results::SECRET_DELETED).with("name", name)
            }))
        }
        Some(SecretsCommand::RotateKey) => maintenance::rotate_key(&config).await,
    }
}

fn row(secret: &Value) -> [String; 3] {
    let whose = if text(secret, "owner") == "me" { "yours" } else { "of the space" };
    [
        text(secret, "name").to_owned(),
        whose.to_owned(),
        format!("set {}", super::format_time(secret, "updatedAt")),
    ]
}
