//! `haft calls [show]`: the call log.

use std::process::ExitCode;

use serde_json::Value;

use super::{empty_lists, text};
use crate::cli::{CallsArgs, CallsCommand};
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;

/// Calls per page.
const PAGE: usize = 200;

pub(crate) async fn run(args: CallsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match &args.command {
        None => list(&client, &args).await,
        Some(CallsCommand::Show { id }) => {
            super::show_record(&client, &format!("/api/tool-calls/{}", super::path_segment(id)), json).await
        }
    }
}

async fn list(client: &ApiClient, args: &CallsArgs) -> anyhow::Result<ExitCode> {
    let CallsArgs { server, tool, agent, status, since, text, limit, command: _ } = args;
    let mut path = format!("/api/tool-calls?limit={}", PAGE.min((*limit).max(1)));
    for (name, value) in
        [("tool", tool), ("agent", agent), ("status", status), ("from", since), ("text", text)]
    {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", super::path_segment(value)));
        }
    }
    let calls = match super::fetch_items_up_to(client, &path, *limit, server.json).await? {
        Ok(calls) => calls,
        Err(code) => return Ok(code),
    };
    super::show_list(client, calls, server.json, &empty_lists::NO_CALLS, row);
    Ok(ExitCode::SUCCESS)
}

fn row(call: &Value) -> [String; 6] {
    let status = match text(&call["error"], "kind") {
        "" => text(call, "status").to_owned(),
        kind => format!("{} ({kind})", text(call, "status")),
    };
    [
        text(call, "toolName").to_owned(),
        status,
        super::format_time(call, "startedAt"),
        super::format_duration(&call["duration"]),
        text(call, "id").to_owned(),
        output::first_line(text(&call["error"], "message"), 80),
    ]
}
