//! What the commands about tasks and approvals take.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const TASKS_HELP: &str = "\
Examples:
  haft tasks                          the newest first
  haft tasks --status failed,unknown
  haft tasks --dead                   those that were given up
  haft tasks watch ID                 until it has ended, with its progress
  haft tasks cancel ID
  haft tasks retry ID
  haft tasks resolve ID succeeded --data '{\"order\": 7}'";

pub(super) const APPROVALS_HELP: &str = "\
Examples:
  haft approvals                      what waits for somebody to decide
  haft approvals show ID
  haft approvals approve ID
  haft approvals approve ID --args '{\"amount\": 90}' --note 'less will do'
  haft approvals deny ID --note 'not this month'";

#[derive(Args)]
pub(crate) struct TasksArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Only those that stand so: queued, running, waiting, succeeded, failed, cancelled, unknown; several with commas
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only those of a tool, by its name or id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only those that were given up
    #[arg(long)]
    pub(crate) dead: bool,
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
}

#[derive(Subcommand)]
pub(crate) enum TasksCommand {
    /// Show one task
    Show { id: String },
    /// Follow a task until it has ended
    Watch { id: String },
    /// End a task
    Cancel { id: String },
    /// Try a task once more
    Retry { id: String },
    /// Say what became of a task of which nobody knows
    Resolve {
        id: String,
        #[arg(value_parser = ["succeeded", "failed"])]
        status: String,
        /// What the tool would have answered, as JSON
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct ApprovalsArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Show one call that waits, with its arguments
    Show { id: String },
    /// Let a call go ahead
    Approve {
        id: String,
        /// Other arguments than those that were asked about, as JSON
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Do not let a call go ahead
    Deny {
        id: String,
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Print a link by which anyone can decide on a call, without signing in
    Link { id: String },
}
