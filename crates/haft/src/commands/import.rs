//! `haft import openapi|curl|postman|har …`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Map, Value};

use super::diff;
use crate::cli::{ImportArgs, ImportCommand};
use crate::config::Config;
use crate::door::{Data, Door};
use crate::show;
use crate::show::{QUIET, STRONG};

pub(crate) async fn run(args: ImportArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
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
        None => bail!(
            "there is no server to keep the tools: run haft login URL or set HAFT_TOKEN, or look with --dry-run"
        ),
    };
    let answer = door.post(&format!("/api/tools/import/{route}"), &Value::Object(body)).await?;
    if let Some(code) = super::failed(&answer, args.server.json) {
        return Ok(code);
    }
    if args.server.json {
        show::line_out(&answer.data);
    } else {
        report(&answer.data, args.dry_run);
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of a file, or of standard input.
fn text(source: &str) -> anyhow::Result<String> {
    if source == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(text);
    }
    std::fs::read_to_string(Path::new(source)).with_context(|| format!("cannot read {source}"))
}

fn report(data: &Value, dry_run: bool) {
    let tools = data["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let width = diff::width(tools);
    for tool in tools {
        diff::show(tool, width, &format!("{} {}", super::text(tool, "method"), super::text(tool, "path")));
    }
    for name in data["removed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        show::line_out(format_args!(
            "{STRONG}{name:width$}{STRONG:#}  {QUIET}gone{QUIET:#}       no longer in the document; it stays until you delete it"
        ));
    }
    for skipped in data["skipped"].as_array().into_iter().flatten() {
        let (operation, reason) = (super::text(skipped, "operation"), super::text(skipped, "reason"));
        show::line_out(format_args!(
            "{QUIET}left out{QUIET:#}  {}: {}",
            show::plain(operation),
            show::plain(reason)
        ));
    }
    for note in data["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        anstream::eprintln!("{QUIET}note:{QUIET:#} {}", show::plain(note));
    }
    let secrets: Vec<&str> =
        data["secrets"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !secrets.is_empty() {
        anstream::eprintln!("{QUIET}secrets: {}{QUIET:#}", secrets.join(", "));
    }
    let done = if dry_run { "found, nothing kept" } else { "imported" };
    anstream::eprintln!("{QUIET}{} tools {done}{QUIET:#}", tools.len());
}
