//! `haft alerts [show|rm]`

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::{empty_lists, results, text};
use crate::cli::{AlertsArgs, AlertsCommand};
use crate::client::ApiClient;
use crate::config::Config;

pub(crate) async fn run(args: AlertsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&client, "/api/alerts?limit=200", json, &empty_lists::NO_ALERTS, row).await,
        Some(AlertsCommand::Show { id }) => super::show_record(&client, &path_of(&id), json).await,
        Some(AlertsCommand::Rm { id }) => {
            let response = client.delete(&path_of(&id)).await?;
            Ok(super::report_change(&response, json, config.locale, |alert| {
                Message::new(&results::ALERT_DELETED).with("name", display_name(alert))
            }))
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/api/alerts/{}", super::path_segment(id))
}

fn display_name(alert: &Value) -> &str {
    alert["name"].as_str().unwrap_or_else(|| text(alert, "metric"))
}

fn row(alert: &Value) -> [String; 5] {
    let of = match text(alert, "toolName") {
        "" => String::new(),
        tool => format!(" of {tool}"),
    };
    [
        display_name(alert).to_owned(),
        text(alert, "state").to_owned(),
        format!("{}{of} above {} for {} s", text(alert, "metric"), alert["above"], alert["forSeconds"]),
        super::format_time(alert, "since"),
        text(alert, "id").to_owned(),
    ]
}
