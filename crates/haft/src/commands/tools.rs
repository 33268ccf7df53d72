//! `haft tools [create|show|rm|versions|rollback]`

use std::process::ExitCode;

use serde_json::Value;

use super::{empty_lists, request_bodies, results, text};
use crate::cli::{ToolsArgs, ToolsCommand};
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;
use crate::output::{QUIET, STRONG};

pub(crate) async fn run(args: ToolsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let json = args.server.json;
    let server = |config: &Config| ApiClient::for_server(&args.server, config);
    match &args.command {
        None => list(&ApiClient::open(&args.server, config).await?, json).await,
        Some(ToolsCommand::Show { name }) => {
            show_one(&ApiClient::open(&args.server, config).await?, name, json).await
        }
        Some(ToolsCommand::Create { name, file, address, method, about }) => {
            let body = match file {
                Some(file) => request_bodies::definition(file, name.as_deref(), config.locale)?,
                None => request_bodies::fields([
                    ("name", name.clone().map(Value::from)),
                    ("description", about.clone().map(Value::from)),
                    ("url", address.clone().map(Value::from)),
                    ("method", method.clone().map(Value::from)),
                ]),
            };
            let response = server(&config)?.post("/api/tools", &body).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::TOOL_CREATED),
            ))
        }
        Some(ToolsCommand::Rm { name, force }) => {
            let force = if *force { "?force=true" } else { "" };
            let response = server(&config)?.delete(&format!("{}{force}", path_of(name))).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::TOOL_DELETED),
            ))
        }
        Some(ToolsCommand::Versions { name }) => versions(&server(&config)?, name, json).await,
        Some(ToolsCommand::Rollback { name, version }) => {
            let body = serde_json::json!({"version": version});
            let response = server(&config)?.post(&format!("{}/rollback", path_of(name)), &body).await?;
            Ok(super::report_change(&response, json, config.locale, |tool| {
                let message = super::message_with_name(&results::TOOL_ROLLED_BACK)(tool);
                message.with("version", version).with("current", &tool["version"])
            }))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/tools/{}", super::path_segment(name))
}

async fn versions(client: &ApiClient, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let row = |version: &Value| {
        let state = text(version, "state").to_owned();
        let by = text(version, "createdBy").to_owned();
        let note = text(version, "note").to_owned();
        [version["version"].to_string(), state, super::format_time(version, "createdAt"), by, note]
    };
    super::list(client, &format!("{}/versions", path_of(name)), json, &super::empty_lists::NO_VERSIONS, row)
        .await
}

async fn list(client: &ApiClient, json: bool) -> anyhow::Result<ExitCode> {
    let tools = match super::fetch_items(client, "/api/tools?limit=200", json).await? {
        Ok(tools) => tools,
        Err(code) => return Ok(code),
    };
    if json {
        output::print_line(Value::Array(tools));
        return Ok(ExitCode::SUCCESS);
    }
    if tools.is_empty() {
        output::print_status(&client.render(&empty_lists::NO_TOOLS));
    }
    let width = tools.iter().map(|tool| text(tool, "name").len()).max().unwrap_or(0);
    for tool in &tools {
        let off = if tool["isActive"] == false { " (off)" } else { "" };
        let about = output::first_line(text(tool, "description"), 90);
        output::print_line(format_args!(
            "{STRONG}{:width$}{STRONG:#}  {QUIET}{:8}{QUIET:#}  {about}{off}",
            text(tool, "name"),
            text(tool, "type")
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn show_one(client: &ApiClient, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let response = client.get(&path_of(name)).await?;
    if let Some(code) = super::report_failure(&response, json) {
        return Ok(code);
    }
    let tool = &response.data;
    if json {
        output::print_line(tool);
        return Ok(ExitCode::SUCCESS);
    }
    output::print_line(format_args!(
        "{STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}",
        text(tool, "name"),
        text(tool, "type")
    ));
    output::print_line(output::sanitized(text(tool, "description")) + "\n");
    output::print_line(format_args!("{STRONG}Arguments{STRONG:#}"));
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (argument, property) in schema["properties"].as_object().into_iter().flatten() {
        let need = if required.contains(&argument.as_str()) { "required" } else { "optional" };
        let kind = property["type"].as_str().map_or_else(|| property["type"].to_string(), str::to_owned);
        output::print_line(format_args!(
            "  {argument}  {QUIET}{kind}, {need}{QUIET:#}  {}",
            output::sanitized(text(property, "description"))
        ));
    }
    let sample: Vec<String> = required.iter().map(|argument| format!("{argument}=…")).collect();
    output::print_line(format_args!(
        "\n{QUIET}haft call {} {}{QUIET:#}",
        text(tool, "name"),
        sample.join(" ")
    ));
    Ok(ExitCode::SUCCESS)
}
