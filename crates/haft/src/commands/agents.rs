//! `haft agents [create|show|rm]`

use std::process::ExitCode;

use serde_json::Value;

use super::{create, results, text};
use crate::cli::{AgentsArgs, AgentsCommand};
use crate::config::Config;
use crate::door::Door;
use crate::show;
use crate::show::{QUIET, STRONG};

pub(crate) async fn run(args: AgentsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/agents?limit=200", json, &super::empty::NO_AGENTS, row).await,
        Some(AgentsCommand::Create { name, file, prompt, tool, model, about }) => {
            let body = match &file {
                Some(file) => create::definition(file, name.as_deref(), config.locale)?,
                None => create::fields([
                    ("name", name.map(Value::from)),
                    ("description", about.map(Value::from)),
                    ("systemPrompt", prompt.map(Value::from)),
                    ("toolIds", (!tool.is_empty()).then(|| Value::from(tool))),
                    ("config", model.map(|model| create::model(&model))),
                ]),
            };
            let answer = door.post("/api/agents", &body).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::AGENT_CREATED)))
        }
        Some(AgentsCommand::Show { name }) => show_one(&door, &name, json).await,
        Some(AgentsCommand::Rm { name }) => {
            let answer = door.delete(&path_of(&name)).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::AGENT_DELETED)))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/agents/{}", super::encoded(name))
}

fn row(agent: &Value) -> [String; 4] {
    let tools = match agent["toolIds"].as_array().map_or(0, Vec::len) {
        1 => "1 tool".to_owned(),
        several => format!("{several} tools"),
    };
    let off = if agent["isActive"] == false { " (off)" } else { "" };
    let about = format!("{}{off}", show::line(text(agent, "description"), 80));
    [text(agent, "name").to_owned(), model(agent), tools, about]
}

fn model(agent: &Value) -> String {
    let config = &agent["config"];
    let parts = [text(config, "provider"), text(config, "model")];
    let named: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if named.is_empty() { "default model".to_owned() } else { named.join("/") }
}

async fn show_one(door: &Door, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let answer = door.get(&path_of(name)).await?;
    if let Some(code) = super::failed(&answer, json) {
        return Ok(code);
    }
    let agent = &answer.data;
    if json {
        show::line_out(agent);
        return Ok(ExitCode::SUCCESS);
    }
    let bound = door.get(&format!("{}/tools", path_of(text(agent, "id")))).await?;
    if let Some(code) = super::failed(&bound, json) {
        return Ok(code);
    }
    let off = if agent["isActive"] == false { " (off)" } else { "" };
    show::line_out(format_args!(
        "{STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}{off}",
        show::plain(text(agent, "name")),
        show::plain(&model(agent))
    ));
    show::line_out(show::plain(text(agent, "description")));
    show::line_out(format_args!("\n{STRONG}Tools{STRONG:#}"));
    for tool in bound.data.as_array().into_iter().flatten() {
        let off = if tool["enabled"] == false || tool["active"] == false { " (off)" } else { "" };
        let known = tool["name"].as_str().unwrap_or_else(|| text(tool, "toolId"));
        show::line_out(format_args!(
            "  {}{off}  {QUIET}{}{QUIET:#}",
            show::plain(known),
            show::line(text(tool, "description"), 80)
        ));
    }
    show::line_out(format_args!("\n{STRONG}System prompt{STRONG:#}"));
    show::line_out(show::plain(text(agent, "systemPrompt")));
    Ok(ExitCode::SUCCESS)
}
