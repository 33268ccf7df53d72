//! Arguments of `haft export`, `haft apply` and `haft diff`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

pub(super) const EXPORT_HELP: &str = "\
Examples:
  haft export > everything.json       one document
  haft export haft/                   haft/tools/NAME.json, and the same for agents, providers and alerts
  haft export haft/ --prune           and delete files of what is gone

Files stay the same while nothing changes. They hold no ids and dates, which belong to one server; of secrets only
the names (secrets.json), and of the webhooks of alerts only the host, since both are credentials. Not exported:
spaces (a space has no settings but its name), members, users and tokens (people and their credentials), and what was
recorded or stored by use: calls, tasks, conversations, files.";

pub(super) const APPLY_HELP: &str = "\
Examples:
  haft apply -f weather.json          one definition, or a list of them
  haft apply -f haft/ --dry-run       what would change
  haft apply -f haft/ --prune         and delete what the files no longer have
  haft diff -f haft/                  the same as --dry-run --exit-code
  haft export --token $A | haft apply -f - --token $B

A file is JSON or YAML: one definition, a list, or {\"tools\": […], \"agents\": […], \"providers\": […], \"alerts\": […]}.
Of a directory, its own files and those in tools/, agents/, providers/ and alerts/ are read.
All of it is stored, or nothing. A pinned version is found by the digest of its content.";

pub(super) const DIFF_HELP: &str = "\
Examples:
  haft diff -f haft/                  ends with 9 when the server differs from the files, with 0 when not
  haft diff -f haft/ --prune          things that the files no longer have are differences, too";

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// Directory to write to; without one, all goes to standard output
    pub(crate) dir: Option<PathBuf>,
    /// Delete files of definitions that are gone
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
    /// End with exit code 9 when anything differs
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Delete what is on the server and not in the files, of each noun that the files have
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
    /// Count what is on the server and not in the files as a difference
    #[arg(long)]
    pub(crate) prune: bool,
    /// Show unchanged things, too
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}
