//! `haft tasks [show|watch|cancel|retry|resolve]`

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use haft_core::{ErrorKind, Message, json};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{results, text};
use crate::cli::{TasksArgs, TasksCommand};
use crate::cli_error::OrFail as _;
use crate::client::ApiClient;
use crate::config::Config;
use crate::output::{BAD, QUIET};
use crate::{exit, messages, output};

/// The interval at which a followed task is read.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// The length of a progress bar, in characters.
const BAR_WIDTH: usize = 24;

pub(crate) async fn run(args: TasksArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match &args.command {
        None => super::list(&client, &list_path(&args), json, &super::empty_lists::NO_TASKS, row).await,
        Some(TasksCommand::Show { id }) => super::show_record(&client, &path_of(id), json).await,
        Some(TasksCommand::Watch { id }) => watch(&client, id, json).await,
        Some(TasksCommand::Cancel { id }) => {
            let response = client.post(&format!("{}/cancel", path_of(id)), &json!({})).await?;
            Ok(super::report_change(&response, json, config.locale, |task| match text(task, "status") {
                "cancelled" => super::message_with_tool(&results::TASK_CANCELLED)(task),
                _ => super::message_with_tool(&results::TASK_STOPPING)(task),
            }))
        }
        Some(TasksCommand::Retry { id }) => {
            let response = client.post(&format!("{}/retry", path_of(id)), &json!({})).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_tool(&results::TASK_RETRIED),
            ))
        }
        Some(TasksCommand::Resolve { id, status, data }) => {
            let data = data.as_ref().map(|text| json::parse(text.as_bytes())).transpose();
            let data = data.or_fail(|| Message::new(&messages::NOT_JSON).with("what", "--data"))?;
            let body = json!({"status": status, "data": data});
            let response = client.post(&format!("{}/resolve", path_of(id)), &body).await?;
            Ok(super::report_change(&response, json, config.locale, |task| {
                super::message_with_tool(&results::TASK_RESOLVED)(task).with("status", text(task, "status"))
            }))
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/api/tasks/{}", super::path_segment(id))
}

fn list_path(args: &TasksArgs) -> String {
    let mut path = "/api/tasks?limit=200".to_owned();
    let status = args.status.as_ref().map(|status| ("status", status));
    for (name, value) in [status, args.tool.as_ref().map(|tool| ("tool", tool))].into_iter().flatten() {
        path = format!("{path}&{name}={}", super::path_segment(value));
    }
    if args.dead { format!("{path}&deadLetter=true") } else { path }
}

fn row(task: &Value) -> [String; 5] {
    let waits = match text(task, "waitingFor") {
        "" => String::new(),
        what => format!(" for {what}"),
    };
    let error_message = text(&task["result"]["error"], "message");
    [
        text(task, "toolName").to_owned(),
        format!("{}{waits}", text(task, "status")),
        super::format_time(task, "createdAt"),
        text(task, "id").to_owned(),
        output::first_line(error_message, 80),
    ]
}

/// Follows a task until it ends. Returns the same exit code as a call.
pub(super) async fn watch(client: &ApiClient, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let is_visible = !json && std::io::stderr().is_terminal();
    let mut last = String::new();
    loop {
        let response = client.get(&path_of(id)).await?;
        if let Some(code) = super::report_failure(&response, json) {
            return Ok(code);
        }
        let task = &response.data;
        if task["result"].is_null() {
            let line = progress(task);
            if is_visible && line != last {
                // Overwrites the current line.
                let _ = write!(anstream::stderr(), "\r\x1b[2K{QUIET}{line}{QUIET:#}");
            }
            last = line;
            sleep(POLL_INTERVAL).await;
            continue;
        }
        if is_visible && !last.is_empty() {
            let _ = write!(anstream::stderr(), "\r\x1b[2K");
        }
        return Ok(print_result(task, json));
    }
}

fn progress(task: &Value) -> String {
    let status = match (text(task, "status"), text(task, "waitingFor")) {
        (status, "") => status.to_owned(),
        (status, what) => format!("{status} for {what}"),
    };
    let message = output::first_line(text(&task["progress"], "message"), 60);
    let Some(fraction) = task["progress"]["fraction"].as_f64() else {
        return format!("{} {status} {message}", text(task, "toolName"));
    };
    let done = (fraction.clamp(0.0, 1.0) * BAR_WIDTH as f64).round() as usize;
    let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR_WIDTH - done));
    format!("{} {bar} {:.0} % {message}", text(task, "toolName"), fraction * 100.0)
}

fn print_result(task: &Value, json: bool) -> ExitCode {
    let result = &task["result"];
    let error = &result["error"];
    let kind = serde_json::from_value::<ErrorKind>(error["kind"].clone()).ok();
    if json {
        output::print_line(result);
    } else if let Some(kind) = kind {
        anstream::eprintln!("{BAD}{kind}:{BAD:#} {}", output::sanitized(text(error, "message")));
    } else {
        output::print_line(output::format_json(&result["data"]));
    }
    kind.map_or(ExitCode::SUCCESS, |kind| exit::of_kind(kind).into())
}
