//! What `haft export` and `haft apply` take.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

pub(super) const EXPORT_HELP: &str = "\
Examples:
  haft export > everything.json       one document
  haft export haft/                   haft/tools/NAME.json and haft/agents/NAME.json
  haft export haft/ --prune           and no file of what is gone

Files hold no ids, dates or secrets, and stay the same while nothing changes.";

pub(super) const APPLY_HELP: &str = "\
Examples:
  haft apply -f weather.json          a tool or an agent, or a list of them
  haft apply -f haft/ --dry-run       what would change
  haft apply -f haft/ --prune         and delete what the files no longer have
  haft export --token $A | haft apply -f - --token $B

A file is JSON or YAML: one definition, a list, or {\"tools\": […], \"agents\": […]}.
Of a directory, its own files and those in tools/ and agents/ are read.
All of it is stored, or nothing.";

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Directory to write to; without one, all goes to standard output
    pub(crate) dir: Option<PathBuf>,
    /// Delete files of tools and agents that are gone
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
    /// Show what would change, and keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delete what is on the server and not in the files
    #[arg(long)]
    pub(crate) prune: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
