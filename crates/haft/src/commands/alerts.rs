//! `haft alerts [show|rm]`

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::{empty, results, text};
use crate::cli::{AlertsArgs, AlertsCommand};
use crate::config::Config;
use crate::door::Door;

pub(crate) async fn run(args: AlertsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/alerts?limit=200", json, &empty::NO_ALERTS, row).await,
        Some(AlertsCommand::Show { id }) => super::show_record(&door, &path_of(&id), json).await,
        Some(AlertsCommand::Rm { id }) => {
            let answer = door.delete(&path_of(&id)).await?;
            Ok(super::done(&answer, json, config.locale, |alert| {
                Message::new(&results::ALERT_DELETED).with("name", title(alert))
            }))
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/api/alerts/{}", super::encoded(id))
}

fn title(alert: &Value) -> &str {
    alert["name"].as_str().unwrap_or_else(|| text(alert, "metric"))
}

fn row(alert: &Value) -> [String; 5] {
    let of = match text(alert, "toolName") {
        "" => String::new(),
        tool => format!(" of {tool}"),
    };
    [
        title(alert).to_owned(),
        text(alert, "state").to_owned(),
        format!("{}{of} above {} for {} s", text(alert, "metric"), alert["above"], alert["forSeconds"]),
        super::moment(alert, "since"),
        text(alert, "id").to_owned(),
    ]
}
