//! `haft call NAME key=value …` and `haft call --file tool.json key=value …`

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use haft_core::{Message, json};
use serde_json::{Map, Value};

use super::{results, tasks};
use crate::cli::CallArgs;
use crate::config::Config;
use crate::definitions::without_server_fields;
use crate::door::{Answer, Data, Door};
use crate::refusal::{OrFail as _, failure, words};
use crate::{exit, messages, show};

pub(crate) async fn run(args: CallArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let args = without_name(args);
    let locale = config.locale;
    let arguments = match arguments(&args) {
        Ok(arguments) => arguments,
        Err(error) => {
            anstream::eprintln!("{}error:{:#} {}", show::BAD, show::BAD, words(&error, locale));
            return Ok(exit::code(haft_core::ErrorKind::Validation).into());
        }
    };
    let body = serde_json::json!({"arguments": arguments, "options": options(&args)});
    let (door, name) = match &args.file {
        Some(path) => {
            let door = Door::here(config, Data::None).await?;
            match define(&door, path, args.name.as_deref()).await? {
                Ok(name) => (door, name),
                Err(refused) => return Ok(told(&refused, args.server.json)),
            }
        }
        None => (Door::open(&args.server, config).await?, args.name.clone().unwrap_or_default()),
    };
    let answer = door.post(&format!("/api/tools/{}/execute", super::encoded(&name)), &body).await?;
    if answer.error.is_some() {
        return Ok(told(&answer, args.server.json));
    }
    if let Some(task) = answer.data["taskId"].as_str() {
        if !args.server.json {
            show::said(&Message::new(&results::CALL_IS_TASK).with("id", task).render(locale));
        }
        return tasks::watch(&door, task, args.server.json).await;
    }
    if args.server.json {
        show::line_out(&answer.data);
    } else {
        show::line_out(show::json(&answer.data["data"]));
        let is_cached = answer.data["cached"] == true;
        let template = if is_cached { &results::CALL_TOOK_CACHED } else { &results::CALL_TOOK };
        let message = Message::new(template).with("time", &answer.data["executionTime"]);
        show::said(&message.with("attempts", &answer.data["attempts"]).render(locale));
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a failure, and gives the code to end with.
fn told(answer: &Answer, json: bool) -> ExitCode {
    let Some(failure) = &answer.error else { return ExitCode::SUCCESS };
    if json && answer.data.is_null() {
        // Whoever was refused before the tool was looked for has no result to show.
        show::line_out(serde_json::json!({"success": false,
            "error": {"kind": failure.kind, "message": answer.message, "details": failure.details}}));
    } else if json {
        show::line_out(&answer.data);
    } else {
        show::failure(answer, failure);
    }
    exit::code(failure.kind).into()
}

/// A file that holds one tool needs no name: what looks like an argument is one.
fn without_name(mut args: CallArgs) -> CallArgs {
    let is_argument = |word: &String| word.contains('=') || word == "-";
    if args.file.is_some()
        && args.args.is_none()
        && let Some(word) = args.name.take_if(|word| is_argument(word))
    {
        args.pairs.insert(0, word);
    }
    args
}

/// Makes the tools of a file callable in this process, and gives the name of the one to call.
async fn define(door: &Door, path: &Path, name: Option<&str>) -> anyhow::Result<Result<String, Answer>> {
    let shown = path.display();
    let text = std::fs::read(path).or_fail(|| Message::new(&messages::CANNOT_READ).with("path", &shown))?;
    let definition = json::parse(&text).or_fail(|| Message::new(&messages::NOT_JSON).with("what", &shown))?;
    let definitions = if let Value::Array(definitions) = definition { definitions } else { vec![definition] };
    let mut names = Vec::new();
    for definition in &definitions {
        // The one that is called is all that has to be right.
        let own = definition.get("name").and_then(Value::as_str);
        if definitions.len() > 1 && name.is_some() && own != name {
            names.extend(own.map(str::to_owned));
            continue;
        }
        let answer = door.post("/api/tools", &without_server_fields(definition)).await?;
        if answer.error.is_some() {
            return Ok(Err(answer));
        }
        let id = answer.data["name"].as_str().unwrap_or_default().to_owned();
        if name.is_none_or(|name| name == id) && (name.is_some() || definitions.len() == 1) {
            return Ok(Ok(id));
        }
        names.push(id);
    }
    match name {
        Some(name) => Err(failure(
            Message::new(&messages::NO_SUCH_TOOL)
                .with("path", shown)
                .with("name", name)
                .with("known", names.join(", ")),
        )),
        None if names.is_empty() => Err(failure(Message::new(&messages::HOLDS_NO_TOOL).with("path", shown))),
        None => Err(failure(
            Message::new(&messages::SEVERAL_TOOLS).with("path", shown).with("known", names.join(", ")),
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
