//! `haft users [add]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::{results, text};
use crate::cli::{UsersArgs, UsersCommand};
use crate::cli_error::CliError;
use crate::client::ApiClient;
use crate::config::Config;
use crate::messages;
use crate::user_input;

pub(crate) async fn run(args: UsersArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&client, "/api/users", json, &super::empty_lists::NO_USERS, row).await,
        Some(UsersCommand::Add { name, admin }) => {
            let mut body = Map::from_iter([("isAdmin".to_owned(), Value::Bool(admin))]);
            let password = new_password(&name)?;
            if !password.expose_secret().is_empty() {
                body.insert("password".to_owned(), password.expose_secret().into());
            }
            body.insert("name".to_owned(), name.into());
            let response = client.post("/api/users", &Value::Object(body)).await?;
            Ok(super::report_change(&response, json, config.locale, |user| {
                super::message_with_name(&results::USER_ADDED)(user).with("id", text(user, "id"))
            }))
        }
    }
}

/// Prompts for a password, twice at a terminal, since it is not echoed. Empty means no password.
fn new_password(name: &str) -> anyhow::Result<SecretString> {
    let password = user_input::read_hidden_line(&format!("Password of {name}, empty for none: "))?;
    if user_input::is_terminal() && !password.expose_secret().is_empty() {
        let again = user_input::read_hidden_line("Repeat the password: ")?;
        if again.expose_secret() != password.expose_secret() {
            return Err(CliError::new(ErrorKind::Validation, Message::new(&messages::NOT_THE_SAME)).into());
        }
    }
    Ok(password)
}

fn row(user: &Value) -> [String; 5] {
    let admin = if user["isAdmin"] == true { "admin" } else { "user" };
    let active = if user["isActive"] == false { "off" } else { "" };
    let since = format!("since {}", super::format_time(user, "createdAt"));
    [text(user, "name").to_owned(), admin.to_owned(), active.to_owned(), since, text(user, "id").to_owned()]
}
