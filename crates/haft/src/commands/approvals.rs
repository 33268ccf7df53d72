//! `haft approvals [show|approve|deny|link]`

use std::process::ExitCode;

use haft_core::{Locale, Message, json};
use serde_json::{Map, Value};

use super::{results, text};
use crate::cli::{ApprovalsArgs, ApprovalsCommand};
use crate::cli_error::OrFail as _;
use crate::client::ApiClient;
use crate::config::Config;
use crate::{messages, output};

pub(crate) async fn run(args: ApprovalsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => {
            super::list(&client, "/api/approvals?limit=200", json, &super::empty_lists::NO_APPROVALS, row)
                .await
        }
        Some(ApprovalsCommand::Show { id }) => super::show_record(&client, &path_of(&id), json).await,
        Some(ApprovalsCommand::Approve { id, args, note }) => {
            let arguments = args.map(|text| json::parse(text.as_bytes())).transpose();
            let arguments = arguments.or_fail(|| Message::new(&messages::NOT_JSON).with("what", "--args"))?;
            decide(&client, &id, "approve", arguments, note, (json, config.locale)).await
        }
        Some(ApprovalsCommand::Link { id }) => {
            let response = client.post(&format!("{}/link", path_of(&id)), &Value::Object(Map::new())).await?;
            if let Some(code) = super::report_failure(&response, json) {
                return Ok(code);
            }
            output::print_line(if json {
                response.data.to_string()
            } else {
                text(&response.data, "url").to_owned()
            });
            Ok(ExitCode::SUCCESS)
        }
        Some(ApprovalsCommand::Deny { id, note }) => {
            decide(&client, &id, "deny", None, note, (json, config.locale)).await
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/api/approvals/{}", super::path_segment(id))
}

fn row(approval: &Value) -> [String; 5] {
    let because = match (text(approval, "because"), text(approval, "notice")) {
        ("", notice) => notice.to_owned(),
        (rule, "") => format!("because {rule}"),
        (rule, notice) => format!("because {rule}; {notice}"),
    };
    [
        text(approval, "toolName").to_owned(),
        output::first_line(&approval["arguments"].to_string(), 80),
        because,
        format!("until {}", super::format_time(approval, "expiresAt")),
        text(approval, "id").to_owned(),
    ]
}

async fn decide(
    client: &ApiClient,
    id: &str,
    decision: &str,
    arguments: Option<Value>,
    note: Option<String>,
    (json, locale): (bool, Locale),
) -> anyhow::Result<ExitCode> {
    let given = [("arguments", arguments), ("note", note.map(Value::from))];
    let mut body = Map::from_iter([("decision".to_owned(), decision.into())]);
    body.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    let response = client.post(&path_of(id), &Value::Object(body)).await?;
    Ok(super::report_change(&response, json, locale, |task| match decision {
        "approve" => super::message_with_tool(&results::CALL_APPROVED)(task).with("id", id),
        _ => super::message_with_tool(&results::CALL_DENIED)(task),
    }))
}
