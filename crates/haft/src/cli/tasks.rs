//! Arguments of `haft tasks` and `haft approvals`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const TASKS_HELP: &str = "\
Examples:
  haft tasks                          newest first
  haft tasks --status failed,unknown
  haft tasks --dead                   tasks in the dead-letter list
  haft tasks watch ID                 show the progress until the task ends
  haft tasks cancel ID
  haft tasks retry ID
  haft tasks resolve ID succeeded --data '{\"order\": 7}'";

pub(super) const APPROVALS_HELP: &str = "\
Examples:
  haft approvals                      list calls that wait for a decision
  haft approvals show ID
  haft approvals approve ID
  haft approvals approve ID --args '{\"amount\": 90}' --note 'less will do'
  haft approvals deny ID --note 'not this month'";

#[derive(Args)]
pub(crate) struct TasksArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Only tasks with these statuses, separated by commas: queued, running, waiting, succeeded, failed,
    /// cancelled, unknown
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only tasks of this tool, by name or id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only tasks in the dead-letter list
    #[arg(long)]
    pub(crate) dead: bool,
    #[command(subcommand)]
    pub(crate) command: Option<TasksCommand>,
}

#[derive(Subcommand)]
pub(crate) enum TasksCommand {
    /// Show one task
    Show { id: String },
    /// Follow a task until it ends
    Watch { id: String },
    /// Cancel a task
    Cancel { id: String },
    /// Retry a task
    Retry { id: String },
    /// Set the result of a task whose status is unknown
    Resolve {
        id: String,
        #[arg(value_parser = ["succeeded", "failed"])]
        status: String,
        /// The result of the task, as JSON
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
    /// Show one waiting call with its arguments
    Show { id: String },
    /// Approve a call
    Approve {
        id: String,
        /// Replace the arguments of the call, as JSON
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Deny a call
    Deny {
        id: String,
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Print a link that decides on a call; everyone with the link can use it without signing in
    Link { id: String },
}
