//! `haft providers [show|test|rm]`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{empty_lists, results, text};
use crate::cli::{ProvidersArgs, ProvidersCommand};
use crate::client::ApiClient;
use crate::config::Config;
use crate::{exit, output};

pub(crate) async fn run(args: ProvidersArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let json = args.server.json;
    match args.command {
        None => super::list(&client, "/api/providers?limit=200", json, &empty_lists::NO_PROVIDERS, row).await,
        Some(ProvidersCommand::Show { name }) => super::show_record(&client, &path_of(&name), json).await,
        Some(ProvidersCommand::Test { name }) => test(&client, &name, json).await,
        Some(ProvidersCommand::Rm { name }) => {
            let response = client.delete(&path_of(&name)).await?;
            Ok(super::report_change(
                &response,
                json,
                config.locale,
                super::message_with_name(&results::PROVIDER_DELETED),
            ))
        }
    }
}

fn path_of(name: &str) -> String {
    format!("/api/providers/{}", super::path_segment(name))
}

fn row(provider: &Value) -> [String; 4] {
    let models = match provider["models"].as_array().map_or(0, Vec::len) {
        0 => "all models of the provider".to_owned(),
        1 => "1 model".to_owned(),
        several => format!("{several} models"),
    };
    let source = match (text(provider, "source"), text(provider, "variable")) {
        (source, "") => source.to_owned(),
        (_, variable) => variable.to_owned(),
    };
    [text(provider, "name").to_owned(), text(provider, "kind").to_owned(), source, models]
}

async fn test(client: &ApiClient, name: &str, json: bool) -> anyhow::Result<ExitCode> {
    let response = client.post(&format!("{}/test", path_of(name)), &json!({})).await?;
    if let Some(code) = super::report_failure(&response, json) {
        return Ok(code);
    }
    if json {
        output::print_line(&response.data);
    } else {
        output::print_line(output::sanitized(text(&response.data, "message")));
        for model in response.data["models"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            output::print_line(format_args!("  {}", output::sanitized(model)));
        }
    }
    Ok(if response.data["ok"] == true { ExitCode::SUCCESS } else { exit::FAILURE.into() })
}
