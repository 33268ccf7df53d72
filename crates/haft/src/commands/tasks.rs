//! `haft tasks [show|watch|cancel|retry|resolve]`

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use haft_core::{ErrorKind, Message, json};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{results, text};
use crate::cli::{TasksArgs, TasksCommand};
use crate::config::Config;
use crate::door::Door;
use crate::refusal::OrFail as _;
use crate::show::{BAD, QUIET};
use crate::{exit, messages, show};

/// So often a task is looked at while somebody follows it.
const LOOK: Duration = Duration::from_millis(300);

/// The length of a bar, in characters.
const BAR: usize = 24;

pub(crate) async fn run(args: TasksArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match &args.command {
        None => super::list(&door, &list_path(&args), json, &super::empty::NO_TASKS, row).await,
        Some(TasksCommand::Show { id }) => super::show_record(&door, &path_of(id), json).await,
        Some(TasksCommand::Watch { id }) => watch(&door, id, json).await,
        Some(TasksCommand::Cancel { id }) => {
            let answer = door.post(&format!("{}/cancel", path_of(id)), &json!({})).await?;
            Ok(super::done(&answer, json, config.locale, |task| match text(task, "status") {
                "cancelled" => super::of_tool(&results::TASK_CANCELLED)(task),
                _ => super::of_tool(&results::TASK_STOPPING)(task),
            }))
        }
        Some(TasksCommand::Retry { id }) => {
            let answer = door.post(&format!("{}/retry", path_of(id)), &json!({})).await?;
            Ok(super::done(&answer, json, config.locale, super::of_tool(&results::TASK_RETRIED)))
        }
        Some(TasksCommand::Resolve { id, status, data }) => {
            let data = data.as_ref().map(|text| json::parse(text.as_bytes())).transpose();
            let data = data.or_fail(|| Message::new(&messages::NOT_JSON).with("what", "--data"))?;
            let body = json!({"status": status, "data": data});
            let answer = door.post(&format!("{}/resolve", path_of(id)), &body).await?;
            Ok(super::done(&answer, json, config.locale, |task| {
                super::of_tool(&results::TASK_RESOLVED)(task).with("status", text(task, "status"))
            }))
        }
    }
}

fn path_of(id: &str) -> String {
    format!("/api/tasks/{}", super::encoded(id))
}

fn list_path(args: &TasksArgs) -> String {
    let mut path = "/api/tasks?limit=200".to_owned();
    let status = args.status.as_ref().map(|status| ("status", status));
    for (name, value) in [status, args.tool.as_ref().map(|tool| ("tool", tool))].into_iter().flatten() {
        path = format!("{path}&{name}={}", super::encoded(value));
    }
    if args.dead { format!("{path}&deadLetter=true") } else { path }
}

fn row(task: &Value) -> [String; 5] {
    let waits = match text(task, "waitingFor") {
        "" => String::new(),
        what => format!(" for {what}"),
    };
    let said = text(&task["result"]["error"], "message");
    [
        text(task, "toolName").to_owned(),
        format!("{}{waits}", text(task, "status")),
        super::moment(task, "createdAt"),
        text(task, "id").to_owned(),
        show::line(said, 80),
    ]
}

/// Follows a task until it has ended, and gives the code that a call would end with.
pub(super) async fn watch(door: &Door, id: &str, json: bool) -> anyhow::Result<ExitCode> {
    let is_seen = !json && std::io::stderr().is_terminal();
    let mut last = String::new();
    loop {
        let answer = door.get(&path_of(id)).await?;
        if let Some(code) = super::failed(&answer, json) {
            return Ok(code);
        }
        let task = &answer.data;
        if task["result"].is_null() {
            let line = progress(task);
            if is_seen && line != last {
                // On one line, over what stood there.
                let _ = write!(anstream::stderr(), "\r\x1b[2K{QUIET}{line}{QUIET:#}");
            }
            last = line;
            sleep(LOOK).await;
            continue;
        }
        if is_seen && !last.is_empty() {
            let _ = write!(anstream::stderr(), "\r\x1b[2K");
        }
        return Ok(ended(task, json));
    }
}

fn progress(task: &Value) -> String {
    let status = match (text(task, "status"), text(task, "waitingFor")) {
        (status, "") => status.to_owned(),
        (status, what) => format!("{status} for {what}"),
    };
    let message = show::line(text(&task["progress"], "message"), 60);
    let Some(fraction) = task["progress"]["fraction"].as_f64() else {
        return format!("{} {status} {message}", text(task, "toolName"));
    };
    let done = (fraction.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let bar = format!("{}{}", "█".repeat(done), "░".repeat(BAR - done));
    format!("{} {bar} {:.0} % {message}", text(task, "toolName"), fraction * 100.0)
}

fn ended(task: &Value, json: bool) -> ExitCode {
    let result = &task["result"];
    let error = &result["error"];
    let kind = serde_json::from_value::<ErrorKind>(error["kind"].clone()).ok();
    if json {
        show::line_out(result);
    } else if let Some(kind) = kind {
        anstream::eprintln!("{BAD}{kind}:{BAD:#} {}", show::plain(text(error, "message")));
    } else {
        show::line_out(show::json(&result["data"]));
    }
    kind.map_or(ExitCode::SUCCESS, |kind| exit::code(kind).into())
}
