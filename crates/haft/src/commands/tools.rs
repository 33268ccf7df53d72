//! `haft tools` and `haft tools show NAME`

use std::process::ExitCode;

use serde_json::Value;

use crate::cli::{ToolsArgs, ToolsCommand};
use crate::config::Config;
use crate::door::Door;
use crate::show;
use crate::show::{QUIET, STRONG};

pub(crate) async fn run(args: ToolsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::open(&args.server, config)?;
    match args.command {
        None => list(&door, args.server.json).await,
        Some(ToolsCommand::Show { name }) => show_one(&door, &name, args.server.json).await,
    }
}

async fn list(door: &Door, json: bool) -> anyhow::Result<ExitCode> {
    let mut tools = Vec::new();
    let mut path = "/api/tools?limit=200".to_owned();
    loop {
        let mut answer = door.get(&path).await?;
        if let Some(code) = super::failed(&answer, json) {
            return Ok(code);
        }
        if let Some(Value::Array(items)) = answer.data.get_mut("items").map(Value::take) {
            tools.extend(items);
        }
        match answer.data.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) => path = format!("/api/tools?limit=200&cursor={cursor}"),
            None => break,
        }
    }
    if json {
        show::line_out(Value::Array(tools));
        return Ok(ExitCode::SUCCESS);
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
    let answer = door.get(&format!("/api/tools/{}", super::encoded(name))).await?;
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

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
