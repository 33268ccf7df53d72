//! What `haft audit` takes.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft audit list                     who changed what in the space, the newest first
  haft audit list --what tool --user ada --since 2026-08-01T00:00:00Z
  haft audit list --server            users, and spaces that were deleted; for those who run the server
  haft audit verify                   whether all changes and all calls on record are as they were written

verify ends with 1 when something on record was changed, taken out or put in, and says where.
Note the heads that it prints elsewhere: they show whether somebody wrote a whole new record.
Without a login it looks at the data of this machine itself, whose server has to be stopped.";

#[derive(Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// List who changed what, the newest first
    List {
        /// Only changes of such things: tool, agent, provider, secret, space, member, token …
        #[arg(long, value_name = "WHAT")]
        what: Option<String>,
        /// Only what this user did, by name or id; me for yourself
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Only what was done then or later, such as 2026-08-01T00:00:00Z
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// What belongs to no space instead: users, and spaces that were deleted
        #[arg(long)]
        server: bool,
    },
    /// Say whether what is on record is as it was written
    Verify,
}
