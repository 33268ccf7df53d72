//! `haft users [add]`

use std::process::ExitCode;

use haft_core::{ErrorKind, Message};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::{results, text};
use crate::ask;
use crate::cli::{UsersArgs, UsersCommand};
use crate::config::Config;
use crate::door::Door;
use crate::messages;
use crate::refusal::Refused;

pub(crate) async fn run(args: UsersArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/users", json, &super::empty::NO_USERS, row).await,
        Some(UsersCommand::Add { name, admin }) => {
            let mut body = Map::from_iter([("isAdmin".to_owned(), Value::Bool(admin))]);
            let password = new_password(&name)?;
            if !password.expose_secret().is_empty() {
                body.insert("password".to_owned(), password.expose_secret().into());
            }
            body.insert("name".to_owned(), name.into());
            let answer = door.post("/api/users", &Value::Object(body)).await?;
            Ok(super::done(&answer, json, config.locale, |user| {
                super::named(&results::USER_ADDED)(user).with("id", text(user, "id"))
            }))
        }
    }
}

/// Typed twice by a person, since it cannot be seen; empty for none.
fn new_password(name: &str) -> anyhow::Result<SecretString> {
    let password = ask::hidden(&format!("Password of {name}, empty for none: "))?;
    if ask::can_ask() && !password.expose_secret().is_empty() {
        let again = ask::hidden("The same again: ")?;
        if again.expose_secret() != password.expose_secret() {
            return Err(Refused::new(ErrorKind::Validation, Message::new(&messages::NOT_THE_SAME)).into());
        }
    }
    Ok(password)
}

fn row(user: &Value) -> [String; 5] {
    let admin = if user["isAdmin"] == true { "admin" } else { "user" };
    let active = if user["isActive"] == false { "off" } else { "" };
    let since = format!("since {}", super::moment(user, "createdAt"));
    [text(user, "name").to_owned(), admin.to_owned(), active.to_owned(), since, text(user, "id").to_owned()]
}
