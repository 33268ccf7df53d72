//! `haft apply -f FILE|DIR|-` and `haft diff -f …`: makes a space what files say, or shows what would change.

use std::process::ExitCode;

use haft_core::{Locale, Message};
use serde_json::Value;

use super::{diff, text};
use crate::cli::{ApplyArgs, DiffArgs};
use crate::config::Config;
use crate::definitions::{Definitions, NOUNS};
use crate::door::{Answer, Door};
use crate::refusal::failure;
use crate::show::QUIET;
use crate::{exit, messages, show};

/// `haft diff` is a dry run that tells by its exit code whether anything differs.
pub(crate) async fn diff(args: DiffArgs, config: Config) -> anyhow::Result<ExitCode> {
    let DiffArgs { files, prune, all, server } = args;
    run(ApplyArgs { files, dry_run: true, exit_code: true, prune, all, server }, config).await
}

pub(crate) async fn run(args: ApplyArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let definitions = Definitions::read(&args.files, config.locale)?;
    if args.prune && !definitions.speak_of_tools() {
        return Err(failure(Message::new(&messages::PRUNES_ALL)));
    }
    let door = Door::to_server(&args.server, &config)?;
    let mut body = definitions.to_fields();
    body.insert("dryRun".to_owned(), args.dry_run.into());
    body.insert("prune".to_owned(), args.prune.into());
    let mut answer = door.post_large("/api/tools/import", &Value::Object(body)).await?;
    let places = name_places(&mut answer, &definitions, config.locale);
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
        report(&answer.data, &args, config.locale);
        if let Some(count) = definitions.only_secrets() {
            let message = Message::new(&messages::ONLY_SECRETS).with("sources", args.files.join(", "));
            show::said(&message.with("count", count).render(config.locale));
        }
    }
    let differs = things(&answer.data).iter().any(|(_, thing)| text(thing, "change") != "unchanged");
    Ok(if args.exit_code && differs { exit::DIFFERS.into() } else { ExitCode::SUCCESS })
}

/// Adds to each error the file that it is about, and gives the same in words.
fn name_places(answer: &mut Answer, definitions: &Definitions, locale: Locale) -> Vec<String> {
    let details = answer.error.as_mut().map(|failure| &mut failure.details);
    let errors = details.and_then(|details| details.get_mut("errors")).and_then(Value::as_array_mut);
    let mut places = Vec::new();
    for error in errors.into_iter().flatten() {
        let path = text(error, "path").to_owned();
        if let Some(place) = definitions.place_of(&path) {
            error["file"] = place.into();
            let message = Message::new(&messages::IS_IN).with("path", path).with("place", place);
            places.push(message.render(locale));
        }
    }
    places
}

/// All things of a report, each with the word for it.
fn things(data: &Value) -> Vec<(&'static str, &Value)> {
    let of = |noun: &'static crate::definitions::Noun| {
        data[noun.list].as_array().into_iter().flatten().map(|thing| (noun.word, thing))
    };
    NOUNS.iter().flat_map(of).collect()
}

fn report(data: &Value, args: &ApplyArgs, locale: Locale) {
    let all = things(data);
    let is_shown = |thing: &Value| args.all || text(thing, "change") != "unchanged";
    let shown: Vec<&(&str, &Value)> = all.iter().filter(|(_, thing)| is_shown(thing)).collect();
    let width = shown.iter().map(|(_, thing)| text(thing, "name").chars().count()).max().unwrap_or(0);
    for (noun, thing) in shown {
        diff::show(thing, width, noun, args.dry_run);
    }
    let missing =
        [("missingSecrets", &messages::MISSING_SECRET), ("missingWebhooks", &messages::MISSING_WEBHOOK)];
    for (list, template) in missing {
        for name in data[list].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let message = Message::new(template).with("name", show::plain(name));
            anstream::eprintln!("{}", message.render(locale));
        }
    }
    show::said(&diff::counts(all.iter().map(|(_, thing)| *thing), args.dry_run, locale));
}
