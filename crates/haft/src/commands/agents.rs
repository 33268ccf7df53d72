//! `haft agents [create|show|rm]`

use std::process::ExitCode;

use serde_json::Value;

use super::{request_bodies, results, text};
use crate::cli::{AgentsArgs, AgentsCommand};
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;
use crate::output::{QUIET, STRONG};

pub(crate) async fn run(args: AgentsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => {
            super::list(&client, "/api/agents?limit=200", json, &super::empty_lists::NO_AGENTS, row).await
        }
        Some(AgentsCommand::Create { name, file, prompt, tool, model, about }) => {
            let body = match &file {
                Some(file) => request_bodies::definition(file, name.as_deref(), config.locale)?,
                None => request_bodies::fields([
                    ("name", name.map(Value::from)),
                    ("description", about.map(Value::from)),
                    ("systemPrompt", prompt.map(Value::from)),
                    ("toolIds", (!tool.is_empty()).then(|| Value::from(tool))),
                    ("config", model.map(|model| request_bodies::model(&model))),
                ]),
            };
            let response = client.post("/api/agents", &body).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::AGENT_CREATED),
            ))
        }
        Some(AgentsCommand::Show { name }) => show_one(&client, &name, json).await,
        Some(AgentsCommand::Rm { name }) => {
            let response = client.delete(&path_of(&name)).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::AGENT_DELETED),
            ))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/agents/{}", super::path_segment(name))
}

fn row(agent: &Value) -> [String; 4] {
    let tools = match agent["toolIds"].as_array().map_or(0, Vec::len) {
        1 => "1 tool".to_owned(),
        several => format!("{several} tools"),
    };
    let off = if agent["isActive"] == false { " (off)" } else { "" };
    let about = format!("{}{off}", output::first_line(text(agent, "description"), 80));
    [text(agent, "name").to_owned(), model(agent), tools, about]
}

fn model(agent: &Value) -> String {
    let config = &agent["config"];
    let parts = [text(config, "provider"), text(config, "model")];
    let named: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if named.is_empty() { "default model".to_owned() } else { named.join("/") }
}

async fn show_one(client: &ApiClient, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let response = client.get(&path_of(name)).await?;
    if let Some(code) = super::report_failure(&response, json) {
        return Ok(code);
    }
    let agent = &response.data;
    if json {
        output::print_line(agent);
        return Ok(ExitCode::SUCCESS);
    }
    let bound = client.get(&format!("{}/tools", path_of(text(agent, "id")))).await?;
    if let Some(code) = super::report_failure(&bound, json) {
        return Ok(code);
    }
    let off = if agent["isActive"] == false { " (off)" } else { "" };
    output::print_line(format_args!(
        "{STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}{off}",
        output::sanitized(text(agent, "name")),
        output::sanitized(&model(agent))
    ));
    output::print_line(output::sanitized(text(agent, "description")));
    output::print_line(format_args!("\n{STRONG}Tools{STRONG:#}"));
    for tool in bound.data.as_array().into_iter().flatten() {
        let off = if tool["enabled"] == false || tool["active"] == false { " (off)" } else { "" };
        let known = tool["name"].as_str().unwrap_or_else(|| text(tool, "toolId"));
        output::print_line(format_args!(
            "  {}{off}  {QUIET}{}{QUIET:#}",
            output::sanitized(known),
            output::first_line(text(tool, "description"), 80)
        ));
    }
    output::print_line(format_args!("\n{STRONG}System prompt{STRONG:#}"));
    output::print_line(output::sanitized(text(agent, "systemPrompt")));
    Ok(ExitCode::SUCCESS)
}
