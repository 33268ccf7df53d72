//! `haft tools [create|show|rm|versions|rollback]`

use std::process::ExitCode;

use serde_json::Value;

use super::{create, empty, results, text};
use crate::cli::{ToolsArgs, ToolsCommand};
use crate::config::Config;
use crate::door::Door;
use crate::show;
use crate::show::{QUIET, STRONG};

pub(crate) async fn run(args: ToolsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let json = args.server.json;
    let server = |config: &Config| Door::to_server(&args.server, config);
    match &args.command {
        None => list(&Door::open(&args.server, config).await?, json).await,
        Some(ToolsCommand::Show { name }) => {
            show_one(&Door::open(&args.server, config).await?, name, json).await
        }
        Some(ToolsCommand::Create { name, file, address, method, about }) => {
            let body = match file {
                Some(file) => create::definition(file, name.as_deref(), config.locale)?,
                None => create::fields([
                    ("name", name.clone().map(Value::from)),
                    ("description", about.clone().map(Value::from)),
                    ("url", address.clone().map(Value::from)),
                    ("method", method.clone().map(Value::from)),
                ]),
            };
            let answer = server(&config)?.post("/api/tools", &body).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::TOOL_CREATED)))
        }
        Some(ToolsCommand::Rm { name, force }) => {
            let force = if *force { "?force=true" } else { "" };
            let answer = server(&config)?.delete(&format!("{}{force}", path_of(name))).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::TOOL_DELETED)))
        }
        Some(ToolsCommand::Versions { name }) => versions(&server(&config)?, name, json).await,
        Some(ToolsCommand::Rollback { name, version }) => {
            let body = serde_json::json!({"version": version});
            let answer = server(&config)?.post(&format!("{}/rollback", path_of(name)), &body).await?;
            Ok(super::done(&answer, json, config.locale, |tool| {
                let message = super::named(&results::TOOL_ROLLED_BACK)(tool);
                message.with("version", version).with("current", &tool["version"])
            }))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/tools/{}", super::encoded(name))
}

async fn versions(door: &Door, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let row = |version: &Value| {
        let state = text(version, "state").to_owned();
        let by = text(version, "createdBy").to_owned();
        let note = text(version, "note").to_owned();
        [version["version"].to_string(), state, super::moment(version, "createdAt"), by, note]
    };
    super::list(door, &format!("{}/versions", path_of(name)), json, &super::empty::NO_VERSIONS, row).await
}

async fn list(door: &Door, json: bool) -> anyhow::Result<ExitCode> {
    let tools = match super::items(door, "/api/tools?limit=200", json).await? {
        Ok(tools) => tools,
        Err(code) => return Ok(code),
    };
    if json {
        show::line_out(Value::Array(tools));
        return Ok(ExitCode::SUCCESS);
    }
    if tools.is_empty() {
        show::said(&door.words(&empty::NO_TOOLS));
    }
    let width = tools.iter().map(|tool| text(tool, "name").len()).max().unwrap_or(0);
    for tool in &tools {
        let off = if tool["isActive"] == false { " (off)" } else { "" };
        let about = show::line(text(tool, "description"), 90);
        show::line_out(format_args!(
            "{STRONG}{:width$}{STRONG:#}  {QUIET}{:8}{QUIET:#}  {about}{off}",
            text(tool, "name"),
            text(tool, "type")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn show_one(door: &Door, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let answer = door.get(&path_of(name)).await?;
    if let Some(code) = super::failed(&answer, json) {
        return Ok(code);
    }
    let tool = &answer.data;
    if json {
        show::line_out(tool);
        return Ok(ExitCode::SUCCESS);
    }
    show::line_out(format_args!(
        "{STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}",
        text(tool, "name"),
        text(tool, "type")
    ));
    show::line_out(show::plain(text(tool, "description")) + "\n");
    show::line_out(format_args!("{STRONG}Arguments{STRONG:#}"));
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (argument, property) in schema["properties"].as_object().into_iter().flatten() {
        let need = if required.contains(&argument.as_str()) { "required" } else { "optional" };
        let kind = property["type"].as_str().map_or_else(|| property["type"].to_string(), str::to_owned);
        show::line_out(format_args!(
            "  {argument}  {QUIET}{kind}, {need}{QUIET:#}  {}",
            show::plain(text(property, "description"))
        ));
    }
    let sample: Vec<String> = required.iter().map(|argument| format!("{argument}=…")).collect();
    show::line_out(format_args!("\n{QUIET}haft call {} {}{QUIET:#}", text(tool, "name"), sample.join(" ")));
    Ok(ExitCode::SUCCESS)
}
