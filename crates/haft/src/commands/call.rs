//! `haft call NAME key=value …`

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::{Context, bail};
use haft_core::json;
use serde_json::{Map, Value};

use crate::cli::CallArgs;
use crate::config::Config;
use crate::door::Door;
use crate::show::QUIET;
use crate::{exit, show};

pub(crate) async fn run(args: CallArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let arguments = match arguments(&args) {
        Ok(arguments) => arguments,
        Err(error) => {
            anstream::eprintln!("{}error:{:#} {error:#}", show::BAD, show::BAD);
            return Ok(exit::code(haft_core::ErrorKind::Validation).into());
        }
    };
    let body = serde_json::json!({"arguments": arguments, "options": options(&args)});
    let door = Door::open(&args.server, config.locale)?;
    let answer = door.post(&format!("/api/tools/{}/execute", super::encoded(&args.name)), &body).await?;
    if args.server.json {
        let error = answer.error.as_ref().map(|failure| {
            serde_json::json!({"success": false,
                "error": {"kind": failure.kind, "message": answer.message, "details": failure.details}})
        });
        // Whoever was refused before the tool was looked for has no result to show.
        show::line_out(if answer.data.is_null() { error.unwrap_or_default() } else { answer.data.clone() });
    }
    if let Some(failure) = &answer.error {
        if !args.server.json {
            show::failure(&answer, failure);
        }
        return Ok(exit::code(failure.kind).into());
    }
    if !args.server.json {
        show::line_out(show::json(&answer.data["data"]));
        let cached = if answer.data["cached"] == true { ", cached" } else { "" };
        let (time, attempts) = (&answer.data["executionTime"], &answer.data["attempts"]);
        anstream::eprintln!("{QUIET}{time} ms, attempts: {attempts}{cached}{QUIET:#}");
    }
    Ok(ExitCode::SUCCESS)
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
        return json::parse(text.as_bytes()).context("--args is not JSON");
    }
    if args.pairs == ["-"] {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("cannot read standard input")?;
        return json::parse(&text).context("standard input is not JSON");
    }
    let mut fields = Map::new();
    for pair in &args.pairs {
        let Some((name, value)) = pair.split_once('=') else {
            bail!("{pair:?} is not an argument; write key=value, key:=json, or - alone for standard input");
        };
        let (name, value) = match name.strip_suffix(':') {
            None => (name, Value::from(value)),
            Some(name) => {
                let value = json::parse(value.as_bytes())
                    .with_context(|| format!("the value of {name} is not JSON"))?;
                (name, value)
            }
        };
        if fields.insert(name.to_owned(), value).is_some() {
            bail!("{name} is given twice");
        }
    }
    Ok(Value::Object(fields))
}
