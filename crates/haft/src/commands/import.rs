//! `haft import openapi|curl|postman|har …`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use haft_core::{Locale, Message};
use serde_json::{Map, Value};

use super::{diff, results};
use crate::cli::{ImportArgs, ImportCommand};
use crate::config::Config;
use crate::definitions;
use crate::door::{Data, Door};
use crate::refusal::{OrFail as _, failure};
use crate::show::{QUIET, STRONG};
use crate::{exit, messages, show};

/// A dry run of so many tools shows their definitions and requests; of more, `--json` has them.
const MOST_SHOWN: usize = 3;

pub(crate) async fn run(args: ImportArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let locale = config.locale;
    let (route, mut body) = match args.command {
        ImportCommand::Openapi { source, base_url } => {
            let mut body = Map::new();
            if source.starts_with("http://") || source.starts_with("https://") {
                body.insert("url".to_owned(), source.into());
            } else {
                body.insert("spec".to_owned(), text(&source)?.into());
            }
            body.insert("baseUrl".to_owned(), base_url.into());
            ("openapi", body)
        }
        ImportCommand::Curl { command } => {
            let command = if command == "-" { text("-")? } else { command };
            ("curl", Map::from_iter([("command".to_owned(), command.into())]))
        }
        ImportCommand::Postman { file, base_url } => {
            let fields =
                [("document".to_owned(), text(&file)?.into()), ("baseUrl".to_owned(), base_url.into())];
            ("postman", Map::from_iter(fields))
        }
        ImportCommand::Har { file } => {
            ("har", Map::from_iter([("document".to_owned(), text(&file)?.into())]))
        }
    };
    body.insert("name".to_owned(), args.name.into());
    body.insert("only".to_owned(), args.only.into());
    body.insert("dryRun".to_owned(), args.dry_run.into());
    body.retain(|_, value| !value.is_null());
    let door = match Door::named(&args.server, &config)? {
        Some(door) => door,
        None if args.dry_run => Door::here(config, Data::None).await?,
        None => return Err(failure(Message::new(&messages::NOWHERE_TO_IMPORT))),
    };
    let answer = door.post_large(&format!("/api/tools/import/{route}"), &Value::Object(body)).await?;
    if let Some(code) = super::failed(&answer, args.server.json) {
        return Ok(code);
    }
    if args.server.json {
        show::line_out(&answer.data);
    } else {
        report(&answer.data, (args.dry_run, args.all), locale);
    }
    Ok(if args.exit_code && differs(&answer.data) { exit::DIFFERS.into() } else { ExitCode::SUCCESS })
}

/// Shows what a dry run says of one tool: its definition, and the request of a call.
fn show_preview(tool: &Value) {
    if let Value::Object(definition) = &tool["definition"] {
        let shown = serde_json::to_string_pretty(&definitions::tidy(&Value::Object(definition.clone())));
        for line in shown.unwrap_or_default().lines() {
            show::line_out(format_args!("  {}", show::plain(line)));
        }
    }
    for line in super::text(tool, "request").lines() {
        show::line_out(format_args!("  {QUIET}{}{QUIET:#}", show::plain(line)));
    }
}

/// The text of a file, or of standard input.
fn text(source: &str) -> anyhow::Result<String> {
    if source == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).or_fail(|| Message::new(&messages::NO_STDIN))?;
        return Ok(text);
    }
    std::fs::read_to_string(Path::new(source))
        .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", source))
}

fn is_changed(tool: &Value) -> bool {
    super::text(tool, "change") != "unchanged"
}

/// Returns true if the document differs from the tools of an earlier import, also by operations that it lost.
fn differs(data: &Value) -> bool {
    let list = |name: &str| data[name].as_array().map(Vec::as_slice).unwrap_or_default();
    list("tools").iter().any(is_changed) || !list("removed").is_empty()
}

fn report(data: &Value, (dry_run, all): (bool, bool), locale: Locale) {
    let tools = data["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<&Value> = tools.iter().filter(|tool| all || is_changed(tool)).collect();
    let width = diff::width(&shown);
    let words = |template| Message::new(template).render(locale);
    for tool in &shown {
        diff::show(
            tool,
            width,
            &format!("{} {}", super::text(tool, "method"), super::text(tool, "path")),
            dry_run,
        );
        if shown.len() <= MOST_SHOWN {
            show_preview(tool);
        }
    }
    for name in data["removed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let (gone, stays) = (words(&results::GONE), words(&results::STAYS));
        show::line_out(format_args!("{STRONG}{name:width$}{STRONG:#}  {QUIET}{gone:9}{QUIET:#}  {stays}"));
    }
    for skipped in data["skipped"].as_array().into_iter().flatten() {
        let (operation, reason) = (super::text(skipped, "operation"), super::text(skipped, "reason"));
        show::line_out(format_args!(
            "{QUIET}{}{QUIET:#}  {}: {}",
            words(&results::LEFT_OUT),
            show::plain(operation),
            show::plain(reason)
        ));
    }
    for note in data["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        anstream::eprintln!("{QUIET}{}{QUIET:#} {}", words(&results::NOTE), show::plain(note));
    }
    let secrets: Vec<&str> =
        data["secrets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !secrets.is_empty() {
        show::said(&Message::new(&results::SECRETS).with("names", secrets.join(", ")).render(locale));
    }
    show::said(&diff::counts(tools.iter(), dry_run, locale));
}
