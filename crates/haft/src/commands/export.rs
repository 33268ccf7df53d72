//! `haft export [DIR]`: writes definitions to files, for Git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use haft_core::{Locale, Message};
use serde_json::{Map, Value, json};

use super::text;
use crate::cli::ExportArgs;
use crate::cli_error::{OrFail as _, failure};
use crate::client::ApiClient;
use crate::config::Config;
use crate::definitions::{RESOURCE_TYPES, SECRETS, file_name, files_in, tidy};
use crate::{messages, output};

/// The file with the names of secrets.
const SECRETS_FILE: &str = "secrets.json";

pub(crate) async fn run(args: ExportArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let client = ApiClient::for_server(&args.server, &config)?;
    let response = client.get("/api/tools/export?format=json").await?;
    if let Some(code) = super::report_failure(&response, args.server.json) {
        return Ok(code);
    }
    for note in response.data["notes"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        output::print_status(note);
    }
    let lists = RESOURCE_TYPES.map(|resource| (resource.list, definitions(&response.data[resource.list])));
    let secrets = &response.data[SECRETS];
    let Some(directory) = &args.dir else {
        let mut document: Map<String, Value> =
            lists.into_iter().map(|(name, list)| (name.to_owned(), Value::Array(list))).collect();
        document.insert(SECRETS.to_owned(), secrets.clone());
        output::print_line(serde_json::to_string_pretty(&document)?);
        return Ok(ExitCode::SUCCESS);
    };
    let mut changes = Vec::new();
    for (folder, definitions) in lists {
        write(&directory.join(folder), &definitions, args.prune, &mut changes)?;
    }
    let path = directory.join(SECRETS_FILE);
    if path.exists() || secrets.as_array().is_some_and(|names| !names.is_empty()) {
        std::fs::create_dir_all(directory)
            .or_fail(|| Message::new(&messages::CANNOT_MAKE).with("path", directory.display()))?;
        let content = serde_json::to_string_pretty(&json!({SECRETS: secrets}))? + "\n";
        changes.push(write_file(path, &content)?);
    }
    report(&changes, args.server.json, config.locale);
    if !args.server.json && secrets.as_array().is_some_and(|names| !names.is_empty()) {
        output::print_status(&client.render(&messages::SECRETS_NOT_EXPORTED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the definitions of a list, formatted and sorted by name.
fn definitions(list: &Value) -> Vec<Value> {
    let mut definitions: Vec<Value> = list.as_array().into_iter().flatten().map(tidy).collect();
    definitions.sort_by(|one, other| display_name(one).cmp(display_name(other)));
    definitions
}

/// Returns the name of a definition, or the metric of an alert without a name.
fn display_name(definition: &Value) -> &str {
    definition["name"].as_str().unwrap_or_else(|| text(definition, "metric"))
}

/// The change of one file.
struct Change {
    path: PathBuf,
    change: &'static str,
}

/// Writes definitions to a folder. Does not touch unchanged files.
fn write(folder: &Path, definitions: &[Value], prune: bool, changes: &mut Vec<Change>) -> anyhow::Result<()> {
    let mut expected = BTreeMap::new();
    for definition in definitions {
        let mut path = folder.join(file_name(display_name(definition)));
        let mut number = 1;
        // Alerts may share a name.
        while expected.contains_key(&path) {
            number += 1;
            path = folder.join(file_name(&format!("{} {number}", display_name(definition))));
        }
        expected.insert(path, serde_json::to_string_pretty(definition)? + "\n");
    }
    if expected.is_empty() && !folder.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .or_fail(|| Message::new(&messages::CANNOT_MAKE).with("path", folder.display()))?;
    for path in files_in(folder, &["json"])? {
        if expected.contains_key(&path) {
            continue;
        }
        if prune {
            std::fs::remove_file(&path)
                .or_fail(|| Message::new(&messages::CANNOT_DELETE).with("path", path.display()))?;
        }
        changes.push(Change { path, change: if prune { "deleted" } else { "gone" } });
    }
    for (path, content) in expected {
        changes.push(write_file(path, &content)?);
    }
    Ok(())
}

/// Writes a file unless it has this content already.
fn write_file(path: PathBuf, content: &str) -> anyhow::Result<Change> {
    let change = match std::fs::read(&path) {
        Ok(before) if before == content.as_bytes() => "unchanged",
        Ok(_) => "updated",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "created",
        Err(error) => {
            return Err(failure(
                Message::new(&messages::CANNOT_READ_BECAUSE)
                    .with("path", path.display())
                    .with("reason", error),
            ));
        }
    };
    if change != "unchanged" {
        std::fs::write(&path, content)
            .or_fail(|| Message::new(&messages::CANNOT_WRITE).with("path", path.display()))?;
    }
    Ok(Change { path, change })
}

fn report(changes: &[Change], json: bool, locale: Locale) {
    if json {
        let file = |change: &Change| json!({"file": change.path.to_string_lossy(), "change": change.change});
        output::print_line(changes.iter().map(file).collect::<Value>());
        return;
    }
    let row = |change: &Change| [change.path.display().to_string(), change.change.to_owned()];
    output::print_table(changes.iter().filter(|change| change.change != "unchanged").map(row).collect());
    let count = |expected: &str| changes.iter().filter(|change| change.change == expected).count();
    let (created, updated, unchanged) = (count("created"), count("updated"), count("unchanged"));
    let message = Message::new(&messages::FILES_WRITTEN).with("created", created).with("updated", updated);
    output::print_status(&message.with("unchanged", unchanged).render(locale));
    if count("gone") > 0 {
        output::print_status(&Message::new(&messages::FILES_GONE).render(locale));
    }
}
