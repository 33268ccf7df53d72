//! `haft audit list|verify`: who changed what, and whether the record of it can be believed.

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::text;
use crate::cli::{AuditArgs, AuditCommand, ServerArgs};
use crate::config::Config;
use crate::door::{Data, Door};
use crate::refusal::failure;
use crate::{exit, messages, show};

/// What is on record, as the answer and people call it.
const RECORDS: [&str; 2] = ["changes", "calls"];

pub(crate) async fn run(args: AuditArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let AuditArgs { server: asked, command } = args;
    let door = open(&asked, config).await?;
    match command {
        AuditCommand::List { what, user, since, server } => {
            let mut path = format!("/api/changes?limit=200&of={}", if server { "server" } else { "space" });
            for (name, value) in [("what", what), ("user", user), ("from", since)] {
                if let Some(value) = value {
                    path.push_str(&format!("&{name}={}", super::encoded(&value)));
                }
            }
            super::list(&door, &path, asked.json, &super::empty::NO_CHANGES, row).await
        }
        AuditCommand::Verify => verify(&door, asked.json).await,
    }
}

/// A server, or what is kept here. A store that is made for the moment has nothing to tell.
async fn open(args: &ServerArgs, config: Config) -> anyhow::Result<Door> {
    match Door::named(args, &config)? {
        Some(door) => Ok(door),
        None if config.storage.exists() => Door::here(config, Data::Kept).await,
        None => Err(failure(Message::new(&messages::NOTHING_ON_RECORD))),
    }
}

async fn verify(door: &Door, json: bool) -> anyhow::Result<ExitCode> {
    let answer = door.get("/api/audit/verify").await?;
    if let Some(code) = super::failed(&answer, json) {
        return Ok(code);
    }
    if json {
        show::line_out(&answer.data);
    } else {
        show::table(RECORDS.iter().map(|name| found(name, &answer.data[*name])).collect());
    }
    // What is not said to be whole is not.
    let is_whole = |name: &&str| answer.data[*name].get("fault").is_some_and(Value::is_null);
    if RECORDS.iter().all(is_whole) {
        return Ok(ExitCode::SUCCESS);
    }
    anstream::eprintln!("{}{}{:#}", show::BAD, door.words(&messages::TAMPERED), show::BAD);
    Ok(exit::FAILURE.into())
}

/// One row: what it is, how far it is good, and the last good link.
fn found(name: &str, chain: &Value) -> [String; 3] {
    let mut state = format!("{} as written", chain["checked"]);
    if chain["unchecked"].as_u64().is_some_and(|older| older > 0) {
        state.push_str(&format!(", {} older than the chain", chain["unchecked"]));
    }
    if let Some(fault) = chain.get("fault").filter(|fault| !fault.is_null()) {
        let happened = match text(fault, "fault") {
            "changed" => "was changed",
            "missing" => "is missing",
            "added" => "was put in",
            other => other,
        };
        state.push_str(&format!("; number {} {happened}", fault["place"]));
        if let Some(id) = fault["id"].as_str() {
            state.push_str(&format!(" ({id})"));
        }
    }
    [name.to_owned(), state, format!("head {}", text(chain, "head"))]
}

fn row(change: &Value) -> [String; 5] {
    let who = match (text(change, "userName"), text(change, "userId")) {
        ("", "") => "the server itself",
        ("", id) => id,
        (name, _) => name,
    };
    let changed = change["details"]["changed"].as_array().into_iter().flatten();
    let changed: Vec<&str> = changed.filter_map(Value::as_str).collect();
    [
        super::moment(change, "at"),
        text(change, "type").to_owned(),
        text(change, "thingName").to_owned(),
        format!("by {who}"),
        changed.join(", "),
    ]
}
