//! `haft apply -f FILE|DIR|-` and `haft diff -f …`: applies definitions to a space, or shows the differences.

use std::process::ExitCode;

use haft_core::{Locale, Message};
use serde_json::Value;

use super::{diff, text};
use crate::cli::{ApplyArgs, DiffArgs};
use crate::cli_error::failure;
use crate::client::{ApiClient, ApiResponse};
use crate::config::Config;
use crate::definitions::{Definitions, RESOURCE_TYPES};
use crate::output::QUIET;
use crate::{exit, messages, output};

/// Runs `haft diff`: a dry run of `haft apply` whose exit code is [`exit::DIFFERS`] if anything differs.
pub(crate) async fn diff(args: DiffArgs, config: Config) -> anyhow::Result<ExitCode> {
    let DiffArgs { files, prune, all, server } = args;
    run(ApplyArgs { files, dry_run: true, exit_code: true, prune, all, server }, config).await
}

pub(crate) async fn run(args: ApplyArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let definitions = Definitions::read(&args.files, config.locale)?;
    if args.prune && !definitions.has_tools() {
        return Err(failure(Message::new(&messages::PRUNES_ALL)));
    }
    let client = ApiClient::for_server(&args.server, &config)?;
    let mut body = definitions.to_fields();
    body.insert("dryRun".to_owned(), args.dry_run.into());
    body.insert("prune".to_owned(), args.prune.into());
    let mut response = client.post_large("/api/tools/import", &Value::Object(body)).await?;
    let locations = name_files(&mut response, &definitions, config.locale);
    if let Some(code) = super::report_failure(&response, args.server.json) {
        if !args.server.json {
            for location in locations {
                anstream::eprintln!("  {QUIET}{}{QUIET:#}", output::sanitized(&location));
            }
        }
        return Ok(code);
    }
    if args.server.json {
        output::print_line(&response.data);
    } else {
        report(&response.data, &args, config.locale);
        if let Some(count) = definitions.secret_count_if_only_secrets() {
            let message = Message::new(&messages::ONLY_SECRETS).with("sources", args.files.join(", "));
            output::print_status(&message.with("count", count).render(config.locale));
        }
    }
    let differs = entries(&response.data).iter().any(|(_, entry)| text(entry, "change") != "unchanged");
    Ok(if args.exit_code && differs { exit::DIFFERS.into() } else { ExitCode::SUCCESS })
}

/// Adds the file to each validation error of the response. Returns the locations as messages.
fn name_files(response: &mut ApiResponse, definitions: &Definitions, locale: Locale) -> Vec<String> {
    let details = response.error.as_mut().map(|failure| &mut failure.details);
    let errors = details.and_then(|details| details.get_mut("errors")).and_then(Value::as_array_mut);
    let mut locations = Vec::new();
    for error in errors.into_iter().flatten() {
        let path = text(error, "path").to_owned();
        if let Some(location) = definitions.location_of(&path) {
            error["file"] = location.into();
            let message = Message::new(&messages::IS_IN).with("path", path).with("place", location);
            locations.push(message.render(locale));
        }
    }
    locations
}

/// Returns all entries of a report, each with the name of its type.
fn entries(data: &Value) -> Vec<(&'static str, &Value)> {
    let of = |resource: &'static crate::definitions::ResourceType| {
        data[resource.list].as_array().into_iter().flatten().map(|entry| (resource.word, entry))
    };
    RESOURCE_TYPES.iter().flat_map(of).collect()
}

fn report(data: &Value, args: &ApplyArgs, locale: Locale) {
    let all = entries(data);
    let is_listed = |entry: &Value| args.all || text(entry, "change") != "unchanged";
    let listed: Vec<&(&str, &Value)> = all.iter().filter(|(_, entry)| is_listed(entry)).collect();
    let width = listed.iter().map(|(_, entry)| text(entry, "name").chars().count()).max().unwrap_or(0);
    for (resource, entry) in listed {
        diff::show(entry, width, resource, args.dry_run);
    }
    let missing =
        [("missingSecrets", &messages::MISSING_SECRET), ("missingWebhooks", &messages::MISSING_WEBHOOK)];
    for (list, template) in missing {
        for name in data[list].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let message = Message::new(template).with("name", output::sanitized(name));
            anstream::eprintln!("{}", message.render(locale));
        }
    }
    output::print_status(&diff::counts(all.iter().map(|(_, entry)| *entry), args.dry_run, locale));
}
