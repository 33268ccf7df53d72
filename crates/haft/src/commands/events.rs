//! `haft events`: prints new events of the space.

use std::process::ExitCode;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::text;
use crate::cli::EventsArgs;
use crate::client::{ApiClient, Event};
use crate::config::Config;
use crate::exit;
use crate::output;
use crate::output::{QUIET, STRONG};

/// The pause before a disconnected stream is opened again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Maximum number of failed attempts in a row to open the stream.
const MAX_FAILED_ATTEMPTS: u32 = 10;

/// Event types about the connection itself, which are not printed.
const STREAM_EVENTS: [&str; 1] = ["ready"];

pub(crate) async fn run(args: EventsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    tokio::select! {
        ended = follow(&client, &args) => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn follow(client: &ApiClient, args: &EventsArgs) -> anyhow::Result<ExitCode> {
    let given = [("types", &args.types), ("tool", &args.tool)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", super::path_segment(value))).collect();
    let path = format!("/api/events?{}", query.join("&"));
    let (mut last, mut shown, mut failed_attempts) = (None::<String>, 0, 0);
    loop {
        let opened = client.events(Method::GET, &path, Vec::new(), last.as_deref()).await;
        let mut events = match opened {
            Ok(Ok(events)) => events,
            Ok(Err(refused)) => {
                return Ok(
                    super::report_failure(&refused, args.server.json).unwrap_or_else(|| exit::FAILURE.into())
                );
            }
            // Errors before the first event end the command; later ones are retried: the server may restart.
            Err(error) if last.is_none() || failed_attempts >= MAX_FAILED_ATTEMPTS => return Err(error),
            Err(_) => {
                failed_attempts += 1;
                sleep(RETRY_PAUSE).await;
                continue;
            }
        };
        while let Some(event) = events.next().await {
            failed_attempts = 0;
            last = event.id.clone().or(last);
            if !STREAM_EVENTS.contains(&event.name.as_str()) {
                show_event(&event, args.server.json);
                shown += 1;
            }
            if args.count.is_some_and(|count| shown >= count) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        sleep(RETRY_PAUSE).await;
    }
}

fn show_event(event: &Event, json: bool) {
    if json {
        output::print_line(json!({"id": event.id, "type": event.name, "data": event.data}));
        return;
    }
    let data = &event.data;
    let name =
        ["toolName", "tool", "thingName", "name", "title"].into_iter().find_map(|field| data[field].as_str());
    let outcome = [text(data, "status"), text(&data["error"], "message"), text(data, "userName")];
    let outcome = outcome.into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(" ");
    let detail = if name.is_none() && outcome.is_empty() { Value::to_string(data) } else { outcome };
    output::print_line(format_args!(
        "{QUIET}{}{QUIET:#}  {STRONG}{}{STRONG:#}  {}  {}",
        super::format_time(data, "at"),
        output::sanitized(&event.name),
        output::sanitized(name.unwrap_or_default()),
        output::first_line(&detail, 120),
    ));
}
