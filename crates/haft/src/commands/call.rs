//! `haft call NAME key=value …` and `haft call --file tool.json key=value …`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use haft_core::{Message, json};
use serde_json::{Map, Value};

use super::{results, tasks};
use crate::cli::CallArgs;
use crate::cli_error::{OrFail as _, failure, render_error};
use crate::client::{ApiClient, ApiResponse, LocalData};
use crate::config::Config;
use crate::definitions::without_server_fields;
use crate::{exit, messages, output};

pub(crate) async fn run(args: CallArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let args = name_as_argument(args);
    let locale = config.locale;
    let arguments = match arguments(&args) {
        Ok(arguments) => arguments,
        Err(error) => {
            anstream::eprintln!("{}error:{:#} {}", output::BAD, output::BAD, render_error(&error, locale));
            return Ok(exit::of_kind(haft_core::ErrorKind::Validation).into());
        }
    };
    let body = serde_json::json!({"arguments": arguments, "options": options(&args)});
    let (client, name) = match &args.file {
        Some(path) => {
            let client = ApiClient::in_process(config, LocalData::Empty).await?;
            match create_tools(&client, path, args.name.as_deref()).await? {
                Ok(name) => (client, name),
                Err(refused) => return Ok(print_failure(&refused, args.server.json)),
            }
        }
        None => (ApiClient::open(&args.server, config).await?, args.name.clone().unwrap_or_default()),
    };
    let response = client.post(&format!("/api/tools/{}/execute", super::path_segment(&name)), &body).await?;
    if response.error.is_some() {
        return Ok(print_failure(&response, args.server.json));
    }
    if let Some(task) = response.data["taskId"].as_str() {
        if !args.server.json {
            output::print_status(&Message::new(&results::CALL_IS_TASK).with("id", task).render(locale));
        }
        return tasks::watch(&client, task, args.server.json).await;
    }
    if args.server.json {
        output::print_line(&response.data);
    } else {
        output::print_line(output::format_json(&response.data["data"]));
        let is_cached = response.data["cached"] == true;
        let template = if is_cached { &results::CALL_TOOK_CACHED } else { &results::CALL_TOOK };
        let message = Message::new(template).with("time", &response.data["executionTime"]);
        output::print_status(&message.with("attempts", &response.data["attempts"]).render(locale));
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a failure and returns the exit code.
fn print_failure(response: &ApiResponse, json: bool) -> ExitCode {
    let Some(failure) = &response.error else { return ExitCode::SUCCESS };
    if json && response.data.is_null() {
        // A request that is refused before the call starts has no result: the error is printed as one.
        output::print_line(serde_json::json!({"success": false,
            "error": {"kind": failure.kind, "message": response.message, "details": failure.details}}));
    } else if json {
        output::print_line(&response.data);
    } else {
        output::print_failure(response, failure);
    }
    exit::of_kind(failure.kind).into()
}

/// Moves `name` to the arguments if it looks like one. With `--file` the name of the tool is optional.
fn name_as_argument(mut args: CallArgs) -> CallArgs {
    let is_argument = |word: &String| word.contains('=') || word == "-";
    if args.file.is_some()
        && args.args.is_none()
        && let Some(word) = args.name.take_if(|word| is_argument(word))
    {
        args.pairs.insert(0, word);
    }
    args
}

/// Creates the tools of a file in this process and returns the name of the one to call.
async fn create_tools(
    client: &ApiClient,
    path: &Path,
    name: Option<&str>,
) -> anyhow::Result<Result<String, ApiResponse>> {
    let displayed_path = path.display();
    let text =
        std::fs::read(path).or_fail(|| Message::new(&messages::CANNOT_READ).with("path", &displayed_path))?;
    let definition =
        json::parse(&text).or_fail(|| Message::new(&messages::NOT_JSON).with("what", &displayed_path))?;
    let definitions = if let Value::Array(definitions) = definition { definitions } else { vec![definition] };
    let mut names = Vec::new();
    for definition in &definitions {
        // Other tools are skipped, so that their mistakes do not matter.
        let own = definition.get("name").and_then(Value::as_str);
        if definitions.len() > 1 && name.is_some() && own != name {
            names.extend(own.map(str::to_owned));
            continue;
        }
        let response = client.post("/api/tools", &without_server_fields(definition)).await?;
        if response.error.is_some() {
            return Ok(Err(response));
        }
        let id = response.data["name"].as_str().unwrap_or_default().to_owned();
        if name.is_none_or(|name| name == id) && (name.is_some() || definitions.len() == 1) {
            return Ok(Ok(id));
        }
        names.push(id);
    }
    match name {
        Some(name) => Err(failure(
            Message::new(&messages::NO_SUCH_TOOL)
                .with("path", displayed_path)
                .with("name", name)
                .with("known", names.join(", ")),
        )),
        None if names.is_empty() => {
            Err(failure(Message::new(&messages::HOLDS_NO_TOOL).with("path", displayed_path)))
        }
        None => Err(failure(
            Message::new(&messages::SEVERAL_TOOLS)
                .with("path", displayed_path)
                .with("known", names.join(", ")),
        )),
    }
}

fn options(args: &CallArgs) -> Map<String, Value> {
    let given = [
        ("timeout", args.timeout.map(Value::from)),
        ("retries", args.retries.map(Value::from)),
        ("strict", args.strict.then_some(Value::Bool(true))),
        ("dryRun", args.dry_run.then_some(Value::Bool(true))),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn arguments(args: &CallArgs) -> anyhow::Result<Value> {
    if let Some(text) = &args.args {
        return json::parse(text.as_bytes())
            .or_fail(|| Message::new(&messages::NOT_JSON).with("what", "--args"));
    }
    if args.pairs == ["-"] {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).or_fail(|| Message::new(&messages::NO_STDIN))?;
        return json::parse(&text).or_fail(|| Message::new(&messages::STDIN_NOT_JSON));
    }
    let mut fields = Map::new();
    for pair in &args.pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(failure(Message::new(&messages::NOT_AN_ARGUMENT).with("pair", format!("{pair:?}"))));
        };
        let (name, value) = match name.strip_suffix(':') {
            None => (name, Value::from(value)),
            Some(name) => {
                let value = json::parse(value.as_bytes())
                    .or_fail(|| Message::new(&messages::VALUE_NOT_JSON).with("name", name))?;
                (name, value)
            }
        };
        if fields.insert(name.to_owned(), value).is_some() {
            return Err(failure(Message::new(&messages::GIVEN_TWICE).with("name", name)));
        }
    }
    Ok(Value::Object(fields))
}
