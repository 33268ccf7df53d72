//! `haft apply -f FILE|DIR|-`: makes tools and agents what files say.

use std::process::ExitCode;

use anyhow::bail;
use serde_json::Value;

use super::{diff, text};
use crate::cli::ApplyArgs;
use crate::config::Config;
use crate::definitions::Definitions;
use crate::door::{Answer, Door};
use crate::show;
use crate::show::QUIET;

pub(crate) async fn run(args: ApplyArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let definitions = Definitions::read(&args.files, config.locale)?;
    if args.prune && !definitions.speak_of_tools() {
        bail!("--prune would delete every tool, since no file holds one; give the files of the tools too");
    }
    let door = Door::to_server(&args.server, &config)?;
    let mut body = definitions.to_fields();
    body.insert("dryRun".to_owned(), args.dry_run.into());
    body.insert("prune".to_owned(), args.prune.into());
    let mut answer = door.post("/api/tools/import", &Value::Object(body)).await?;
    let places = name_places(&mut answer, &definitions);
    if let Some(code) = super::failed(&answer, args.server.json) {
        if !args.server.json {
            for place in places {
                anstream::eprintln!("  {QUIET}{}{QUIET:#}", show::plain(&place));
            }
        }
        return Ok(code);
    }
    if args.server.json {
        show::line_out(&answer.data);
    } else {
        report(&answer.data, args.dry_run);
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds to each error the file that it is about, and gives the same in words.
fn name_places(answer: &mut Answer, definitions: &Definitions) -> Vec<String> {
    let details = answer.error.as_mut().map(|failure| &mut failure.details);
    let errors = details.and_then(|details| details.get_mut("errors")).and_then(Value::as_array_mut);
    let mut places = Vec::new();
    for error in errors.into_iter().flatten() {
        let path = text(error, "path").to_owned();
        if let Some(place) = definitions.place_of(&path) {
            error["file"] = place.into();
            places.push(format!("{path} is in {place}"));
        }
    }
    places
}

fn report(data: &Value, dry_run: bool) {
    let mut all = Vec::new();
    for (list, noun) in [("tools", "tool"), ("agents", "agent")] {
        let things = data[list].as_array().map(Vec::as_slice).unwrap_or_default();
        all.extend(things.iter().map(|thing| (noun, thing)));
    }
    let width = all.iter().map(|(_, thing)| text(thing, "name").chars().count()).max().unwrap_or(0);
    for (noun, thing) in &all {
        diff::show(thing, width, noun);
    }
    let count = |change: &str| all.iter().filter(|(_, thing)| text(thing, "change") == change).count();
    let counted =
        ["created", "updated", "unchanged", "removed"].map(|change| format!("{} {change}", count(change)));
    let kept = if dry_run { "; nothing kept" } else { "" };
    show::said(&format!("{}{kept}", counted.join(", ")));
}
