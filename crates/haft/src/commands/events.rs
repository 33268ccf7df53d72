//! `haft events`: follows what happens in the space.

use std::process::ExitCode;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::text;
use crate::cli::EventsArgs;
use crate::config::Config;
use crate::door::{Door, Event};
use crate::exit;
use crate::show;
use crate::show::{QUIET, STRONG};

/// The pause before a broken stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// Attempts in a row that may bring no event.
const ATTEMPTS: u32 = 10;

/// Event types that only tell the client how it is connected.
const OF_THE_STREAM: [&str; 1] = ["ready"];

pub(crate) async fn run(args: EventsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    tokio::select! {
        ended = follow(&door, &args) => ended,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn follow(door: &Door, args: &EventsArgs) -> anyhow::Result<ExitCode> {
    let given = [("types", &args.types), ("tool", &args.tool)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let query: Vec<String> = given.map(|(name, value)| format!("{name}={}", super::encoded(value))).collect();
    let path = format!("/api/events?{}", query.join("&"));
    let (mut last, mut shown, mut silent) = (None::<String>, 0, 0);
    loop {
        let opened = door.events(Method::GET, &path, Vec::new(), last.as_deref()).await;
        let mut events = match opened {
            Ok(Ok(events)) => events,
            Ok(Err(refused)) => {
                return Ok(super::failed(&refused, args.server.json).unwrap_or_else(|| exit::FAILURE.into()));
            }
            // The first attempt says what is wrong; later ones wait for a server that restarts.
            Err(error) if last.is_none() || silent >= ATTEMPTS => return Err(error),
            Err(_) => {
                silent += 1;
                sleep(PAUSE).await;
                continue;
            }
        };
        while let Some(event) = events.next().await {
            silent = 0;
            last = event.id.clone().or(last);
            if !OF_THE_STREAM.contains(&event.name.as_str()) {
                show_event(&event, args.server.json);
                shown += 1;
            }
            if args.count.is_some_and(|count| shown >= count) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        sleep(PAUSE).await;
    }
}

fn show_event(event: &Event, json: bool) {
    if json {
        show::line_out(json!({"id": event.id, "type": event.name, "data": event.data}));
        return;
    }
    let data = &event.data;
    let name =
        ["toolName", "tool", "thingName", "name", "title"].into_iter().find_map(|field| data[field].as_str());
    let outcome = [text(data, "status"), text(&data["error"], "message"), text(data, "userName")];
    let outcome = outcome.into_iter().filter(|part| !part.is_empty()).collect::<Vec<&str>>().join(" ");
    let detail = if name.is_none() && outcome.is_empty() { Value::to_string(data) } else { outcome };
    show::line_out(format_args!(
        "{QUIET}{}{QUIET:#}  {STRONG}{}{STRONG:#}  {}  {}",
        super::moment(data, "at"),
        show::plain(&event.name),
        show::plain(name.unwrap_or_default()),
        show::line(&detail, 120),
    ));
}
