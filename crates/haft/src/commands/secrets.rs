//! `haft secrets [set|rm|rotate-key]`: values go in and never come out.

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::{results, text};
use crate::cli::{SecretsArgs, SecretsCommand};
use crate::config::Config;
use crate::door::Door;
use crate::refusal::Refused;
use crate::{ask, local, messages};

pub(crate) async fn run(args: SecretsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let json = args.server.json;
    let owner = if args.me { "?owner=me" } else { "" };
    let path_of = |name: &str| format!("/api/secrets/{}{owner}", super::encoded(name));
    match args.command {
        None => {
            let door = Door::to_server(&args.server, &config)?;
            super::list(&door, &format!("/api/secrets{owner}"), json, &super::empty::NO_SECRETS, row).await
        }
        Some(SecretsCommand::Set { name }) => {
            let door = Door::to_server(&args.server, &config)?;
            let value = ask::hidden_text(&format!("Value of {name}: "))?;
            if value.expose_secret().is_empty() {
                let message = Message::new(&messages::EMPTY_VALUE).with("name", &name);
                return Err(Refused::new(ErrorKind::Validation, message).into());
            }
            let answer = door.put(&path_of(&name), &json!({"value": value.expose_secret()})).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::SECRET_SET)))
        }
        Some(SecretsCommand::Rm { name }) => {
            let answer = Door::to_server(&args.server, &config)?.delete(&path_of(&name)).await?;
            Ok(super::done(&answer, json, config.locale, |_| {
                Message::new(&results::SECRET_DELETED).with("name", name)
            }))
        }
        Some(SecretsCommand::RotateKey) => local::rotate_key(&config).await,
    }
}

fn row(secret: &Value) -> [String; 3] {
    let whose = if text(secret, "owner") == "me" { "yours" } else { "of the space" };
    [text(secret, "name").to_owned(), whose.to_owned(), format!("set {}", super::moment(secret, "updatedAt"))]
}
