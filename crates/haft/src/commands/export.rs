//! `haft export [DIR]`: tools and agents as files, for Git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use super::text;
use crate::cli::ExportArgs;
use crate::config::Config;
use crate::definitions::{file_name, in_directory, tidy};
use crate::door::Door;
use crate::show;

/// One folder for each list.
const LISTS: [&str; 2] = ["tools", "agents"];

pub(crate) async fn run(args: ExportArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let door = Door::to_server(&args.server, &config)?;
    let answer = door.get("/api/tools/export?format=json").await?;
    if let Some(code) = super::failed(&answer, args.server.json) {
        return Ok(code);
    }
    let [tools, agents] = LISTS.map(|name| definitions(&answer.data[name]));
    let Some(directory) = &args.dir else {
        show::line_out(serde_json::to_string_pretty(&json!({"tools": tools, "agents": agents}))?);
        return Ok(ExitCode::SUCCESS);
    };
    let mut changes = Vec::new();
    for (folder, definitions) in LISTS.into_iter().zip([tools, agents]) {
        write(&directory.join(folder), &definitions, args.prune, &mut changes)?;
    }
    report(&changes, args.server.json);
    Ok(ExitCode::SUCCESS)
}

/// By name, and each in its own order.
fn definitions(list: &Value) -> Vec<Value> {
    let mut definitions: Vec<Value> = list.as_array().into_iter().flatten().map(tidy).collect();
    definitions.sort_by(|one, other| text(one, "name").cmp(text(other, "name")));
    definitions
}

/// What happened to one file.
struct Change {
    path: PathBuf,
    change: &'static str,
}

/// Makes a folder hold these definitions. What is the same is not touched.
fn write(folder: &Path, definitions: &[Value], prune: bool, changes: &mut Vec<Change>) -> anyhow::Result<()> {
    let mut wanted = BTreeMap::new();
    for definition in definitions {
        let path = folder.join(file_name(text(definition, "name")));
        wanted.insert(path, serde_json::to_string_pretty(definition)? + "\n");
    }
    if wanted.is_empty() && !folder.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for path in in_directory(folder, &["json"])? {
        if wanted.contains_key(&path) {
            continue;
        }
        if prune {
            std::fs::remove_file(&path).with_context(|| format!("cannot delete {}", path.display()))?;
        }
        changes.push(Change { path, change: if prune { "deleted" } else { "gone" } });
    }
    for (path, content) in wanted {
        let change = match std::fs::read(&path) {
            Ok(before) if before == content.as_bytes() => "unchanged",
            Ok(_) => "updated",
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "created",
            Err(error) => bail!("cannot read {}: {error}", path.display()),
        };
        if change != "unchanged" {
            std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        changes.push(Change { path, change });
    }
    Ok(())
}

fn report(changes: &[Change], json: bool) {
    if json {
        let file = |change: &Change| json!({"file": change.path.to_string_lossy(), "change": change.change});
        show::line_out(changes.iter().map(file).collect::<Value>());
        return;
    }
    let row = |change: &Change| [change.path.display().to_string(), change.change.to_owned()];
    show::table(changes.iter().filter(|change| change.change != "unchanged").map(row).collect());
    let count = |wanted: &str| changes.iter().filter(|change| change.change == wanted).count();
    let (created, updated, unchanged) = (count("created"), count("updated"), count("unchanged"));
    show::said(&format!("{created} files created, {updated} updated, {unchanged} unchanged"));
    if count("gone") > 0 {
        show::said("files marked gone belong to nothing any more; --prune deletes them");
    }
}
