//! `haft import openapi|curl|postman|har …`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use haft_core::{Locale, Message};
use serde_json::{Map, Value};

use super::{diff, results};
use crate::cli::{ImportArgs, ImportCommand};
use crate::cli_error::{OrFail as _, failure};
use crate::client::{ApiClient, LocalData};
use crate::config::Config;
use crate::definitions;
use crate::output::{QUIET, STRONG};
use crate::{exit, messages, output};

/// Maximum number of tools for which a dry run prints definitions and requests. `--json` always has them.
const MAX_PREVIEWS: usize = 3;

pub(crate) async fn run(args: ImportArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let locale = config.locale;
    let (route, mut body) = match args.command {
        ImportCommand::Openapi { source, base_url } => {
            let mut body = Map::new();
            if source.starts_with("http://") || source.starts_with("https://") {
                body.insert("url".to_owned(), source.into());
            } else {
                body.insert("spec".to_owned(), read_source(&source)?.into());
            }
            body.insert("baseUrl".to_owned(), base_url.into());
            ("openapi", body)
        }
        ImportCommand::Curl { command } => {
            let command = if command == "-" { read_source("-")? } else { command };
            ("curl", Map::from_iter([("command".to_owned(), command.into())]))
        }
        ImportCommand::Postman { file, base_url } => {
            let fields = [
                ("document".to_owned(), read_source(&file)?.into()),
                ("baseUrl".to_owned(), base_url.into()),
            ];
            ("postman", Map::from_iter(fields))
        }
        ImportCommand::Har { file } => {
            ("har", Map::from_iter([("document".to_owned(), read_source(&file)?.into())]))
        }
    };
    body.insert("name".to_owned(), args.name.into());
    body.insert("only".to_owned(), args.only.into());
    body.insert("dryRun".to_owned(), args.dry_run.into());
    body.retain(|_, value| !value.is_null());
    let client = match ApiClient::for_named_server(&args.server, &config)? {
        Some(client) => client,
        None if args.dry_run => ApiClient::in_process(config, LocalData::Empty).await?,
        None => return Err(failure(Message::new(&messages::NOWHERE_TO_IMPORT))),
    };
    let response = client.post_large(&format!("/api/tools/import/{route}"), &Value::Object(body)).await?;
    if let Some(code) = super::report_failure(&response, args.server.json) {
        return Ok(code);
    }
    if args.server.json {
        output::print_line(&response.data);
    } else {
        report(&response.data, (args.dry_run, args.all), locale);
    }
    Ok(if args.exit_code && differs(&response.data) { exit::DIFFERS.into() } else { ExitCode::SUCCESS })
}

/// Prints the preview of one tool in a dry run: its definition and the request of a call.
fn show_preview(tool: &Value) {
    if let Value::Object(definition) = &tool["definition"] {
        let json = serde_json::to_string_pretty(&definitions::tidy(&Value::Object(definition.clone())));
        for line in json.unwrap_or_default().lines() {
            output::print_line(format_args!("  {}", output::sanitized(line)));
        }
    }
    for line in super::text(tool, "request").lines() {
        output::print_line(format_args!("  {QUIET}{}{QUIET:#}", output::sanitized(line)));
    }
}

/// Reads a file or, for `-`, standard input.
fn read_source(source: &str) -> anyhow::Result<String> {
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

/// Returns true if the document differs from the tools of an earlier import. Removed operations count, too.
fn differs(data: &Value) -> bool {
    let list = |name: &str| data[name].as_array().map(Vec::as_slice).unwrap_or_default();
    list("tools").iter().any(is_changed) || !list("removed").is_empty()
}

fn report(data: &Value, (dry_run, all): (bool, bool), locale: Locale) {
    let tools = data["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let listed: Vec<&Value> = tools.iter().filter(|tool| all || is_changed(tool)).collect();
    let width = diff::width(&listed);
    let render = |template| Message::new(template).render(locale);
    for tool in &listed {
        diff::show(
            tool,
            width,
            &format!("{} {}", super::text(tool, "method"), super::text(tool, "path")),
            dry_run,
        );
        if listed.len() <= MAX_PREVIEWS {
            show_preview(tool);
        }
    }
    for name in data["removed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let (gone, stays) = (render(&results::GONE), render(&results::STAYS));
        output::print_line(format_args!(
            "{STRONG}{name:width$}{STRONG:#}  {QUIET}{gone:9}{QUIET:#}  {stays}"
        ));
    }
    for skipped in data["skipped"].as_array().into_iter().flatten() {
        let (operation, reason) = (super::text(skipped, "operation"), super::text(skipped, "reason"));
        output::print_line(format_args!(
            "{QUIET}{}{QUIET:#}  {}: {}",
            render(&results::LEFT_OUT),
            output::sanitized(operation),
            output::sanitized(reason)
        ));
    }
    for note in data["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        anstream::eprintln!("{QUIET}{}{QUIET:#} {}", render(&results::NOTE), output::sanitized(note));
    }
    let secrets: Vec<&str> =
        data["secrets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !secrets.is_empty() {
        output::print_status(
            &Message::new(&results::SECRETS).with("names", secrets.join(", ")).render(locale),
        );
    }
    output::print_status(&diff::counts(tools.iter(), dry_run, locale));
}
