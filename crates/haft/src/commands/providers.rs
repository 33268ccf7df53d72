//! `haft providers [show|test|rm]`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{empty, results, text};
use crate::cli::{ProvidersArgs, ProvidersCommand};
use crate::config::Config;
use crate::door::Door;
use crate::{exit, show};

pub(crate) async fn run(args: ProvidersArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&door, "/api/providers?limit=200", json, &empty::NO_PROVIDERS, row).await,
        Some(ProvidersCommand::Show { name }) => super::show_record(&door, &path_of(&name), json).await,
        Some(ProvidersCommand::Test { name }) => test(&door, &name, json).await,
        Some(ProvidersCommand::Rm { name }) => {
            let answer = door.delete(&path_of(&name)).await?;
            Ok(super::done(&answer, json, config.locale, super::named(&results::PROVIDER_DELETED)))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/providers/{}", super::encoded(name))
}

fn row(provider: &Value) -> [String; 4] {
    let models = match provider["models"].as_array().map_or(0, Vec::len) {
        0 => "models as it lists them".to_owned(),
        1 => "1 model".to_owned(),
        several => format!("{several} models"),
    };
    let source = match (text(provider, "source"), text(provider, "variable")) {
        (source, "") => source.to_owned(),
        (_, variable) => variable.to_owned(),
    };
    [text(provider, "name").to_owned(), text(provider, "kind").to_owned(), source, models]
}

async fn test(door: &Door, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let answer = door.post(&format!("{}/test", path_of(name)), &json!({})).await?;
    if let Some(code) = super::failed(&answer, json) {
        return Ok(code);
    }
    if json {
        show::line_out(&answer.data);
    } else {
        show::line_out(show::plain(text(&answer.data, "message")));
        for model in answer.data["models"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            show::line_out(format_args!("  {}", show::plain(model)));
        }
    }
    Ok(if answer.data["ok"] == true { ExitCode::SUCCESS } else { exit::FAILURE.into() })
}
