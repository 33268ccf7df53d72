//! Arguments of `haft audit`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft audit list                     changes in the space with their author, newest first
  haft audit list --what tool --user ada --since 2026-08-01T00:00:00Z
  haft audit list --server            changes of users and deleted spaces; for admins of the server
  haft audit verify                   check that no recorded change or call was altered

verify exits with 1 if an entry was changed, removed or added, and prints its position.
Store the printed heads outside this server: they reveal a record that was rewritten as a whole.
Without a login, verify reads the data directory of this machine. Stop its server first.";

#[derive(Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// List changes with their author, newest first
    List {
        /// Only changes to this type of resource: tool, agent, provider, secret, space, member, token …
        #[arg(long, value_name = "WHAT")]
        what: Option<String>,
        /// Only changes by this user, by name or id; me for yourself
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Only changes at this time or later, such as 2026-08-01T00:00:00Z
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Changes outside all spaces instead: users and deleted spaces
        #[arg(long)]
        server: bool,
    },
    /// Check that no recorded change or call was altered
    Verify,
}
