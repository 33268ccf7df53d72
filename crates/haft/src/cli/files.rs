//! Arguments of `haft export`, `haft apply` and `haft diff`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

pub(super) const EXPORT_HELP: &str = "\
Examples:
  haft export > everything.json       one document
  haft export haft/                   one file per definition: haft/tools/NAME.json, haft/agents/NAME.json, …
  haft export haft/ --prune           also delete files whose definition no longer exists

  Files only change when a definition changes. They contain no ids and dates, which belong to one server. Secrets are
  exported by name only (secrets.json), and webhooks of alerts by host only, since both are credentials. Not exported:
  spaces (a space has no settings but its name), members, users and tokens (people and their credentials), and data
  from use: calls, tasks, conversations, files.";

pub(super) const APPLY_HELP: &str = "\
Examples:
  haft apply -f weather.json          one definition, or a list of them
  haft apply -f haft/ --dry-run       show the changes without applying them
  haft apply -f haft/ --prune         also delete definitions that the files do not contain
  haft diff -f haft/                  short for --dry-run --exit-code
  haft export --token $A | haft apply -f - --token $B

A file is JSON or YAML: one definition, a list, or {\"tools\": […], \"agents\": […], \"providers\": […], \"alerts\": […]}.
From a directory, its own files and those in tools/, agents/, providers/ and alerts/ are read.
Either all definitions are stored or none. A pinned version is found by the digest of its content.";

pub(super) const DIFF_HELP: &str = "\
Examples:
  haft diff -f haft/                  exits with 9 if the server differs from the files, otherwise with 0
  haft diff -f haft/ --prune          definitions that the files do not contain count as differences";

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Directory to write to [default: one document on standard output]
    pub(crate) dir: Option<PathBuf>,
    /// Delete files whose definition no longer exists
    #[arg(long, requires = "dir")]
    pub(crate) prune: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Args)]
pub(crate) struct ApplyArgs {
    /// A file, a directory, or - for standard input; may be given several times
    #[arg(long = "file", short = 'f', value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Show the changes without applying them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with 9 if anything differs
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Delete definitions that the files do not contain, of the types that the files contain
    #[arg(long)]
    pub(crate) prune: bool,
    /// Show unchanged things, too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Args)]
pub(crate) struct DiffArgs {
    /// A file, a directory, or - for standard input; may be given several times
    #[arg(long = "file", short = 'f', value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// Count definitions that the files do not contain as differences
    #[arg(long)]
    pub(crate) prune: bool,
    /// Show unchanged things, too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
