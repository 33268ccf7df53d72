//! `haft audit list|verify`: lists changes with their author; verifies the hash chains of changes and calls.

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::text;
use crate::cli::{AuditArgs, AuditCommand, ServerArgs};
use crate::cli_error::failure;
use crate::client::{ApiClient, LocalData};
use crate::config::Config;
use crate::{exit, messages, output};

/// The hash chains, by their field in the response, which is also their name in the output.
const CHAINS: [&str; 2] = ["changes", "calls"];

pub(crate) async fn run(args: AuditArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let AuditArgs { server: server_args, command } = args;
    let client = connect(&server_args, config).await?;
    match command {
        AuditCommand::List { what, user, since, server } => {
            let mut path = format!("/api/changes?limit=200&of={}", if server { "server" } else { "space" });
            for (name, value) in [("what", what), ("user", user), ("from", since)] {
                if let Some(value) = value {
                    path.push_str(&format!("&{name}={}", super::path_segment(&value)));
                }
            }
            super::list(&client, &path, server_args.json, &super::empty_lists::NO_CHANGES, row).await
        }
        AuditCommand::Verify => verify(&client, server_args.json).await,
    }
}

/// Returns a client of the named server, or else of the data of this installation. Fails if there is no data,
/// since an in-memory store has no records.
async fn connect(args: &ServerArgs, config: Config) -> anyhow::Result<ApiClient> {
    match ApiClient::for_named_server(args, &config)? {
        Some(client) => Ok(client),
        None if config.storage.exists() => ApiClient::in_process(config, LocalData::Persisted).await,
        None => Err(failure(Message::new(&messages::NOTHING_ON_RECORD))),
    }
}

async fn verify(client: &ApiClient, json: bool) -> anyhow::Result<ExitCode> {
    let response = client.get("/api/audit/verify").await?;
    if let Some(code) = super::report_failure(&response, json) {
        return Ok(code);
    }
    if json {
        output::print_line(&response.data);
    } else {
        output::print_table(CHAINS.iter().map(|name| chain_row(name, &response.data[*name])).collect());
    }
    // A chain without an explicit `"fault": null` does not count as intact.
    let is_intact = |name: &&str| response.data[*name].get("fault").is_some_and(Value::is_null);
    if CHAINS.iter().all(is_intact) {
        return Ok(ExitCode::SUCCESS);
    }
    anstream::eprintln!("{}{}{:#}", output::BAD, client.render(&messages::TAMPERED), output::BAD);
    Ok(exit::FAILURE.into())
}

/// Returns the row of a chain: its name, its state, and its last valid hash.
fn chain_row(name: &str, chain: &Value) -> [String; 3] {
    let mut state = format!("{} as written", chain["checked"]);
    if chain["unchecked"].as_u64().is_some_and(|older| older > 0) {
        state.push_str(&format!(", {} older than the chain", chain["unchecked"]));
    }
    if let Some(fault) = chain.get("fault").filter(|fault| !fault.is_null()) {
        let happened = match text(fault, "fault") {
            "changed" => "was changed",
            "missing" => "is missing",
            "added" => "was added",
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
    let author = match (text(change, "userName"), text(change, "userId")) {
        ("", "") => "the server itself",
        ("", id) => id,
        (name, _) => name,
    };
    let changed = change["details"]["changed"].as_array().into_iter().flatten();
    let changed: Vec<&str> = changed.filter_map(Value::as_str).collect();
    [
        super::format_time(change, "at"),
        text(change, "type").to_owned(),
        text(change, "thingName").to_owned(),
        format!("by {author}"),
        changed.join(", "),
    ]
}
