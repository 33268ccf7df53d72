//! What `haft chat` takes.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft chat weather                       a prompt; /help there says what else can be done
  haft chat weather 'Is it dry in Rome?'  one question, and its answer on standard output
  git diff | haft chat reviewer           all of standard input is the question
  haft chat -m 'Hello'                    the default model, without an agent
  haft chat --last                        go on with the last conversation
  haft chat --list

Without --url, a token or a login, the agent works in this very process.
The exit codes are those of haft call; 1 is also a last step that was not enough.";

#[derive(Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The agent's name or id; without one, the default model with no tools of its own
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Ask this, and end with the answer; - reads it from standard input
    #[arg(value_name = "MESSAGE")]
    pub(crate) text: Option<String>,
    /// The same, where no agent is named
    #[arg(long, short, value_name = "MESSAGE", conflicts_with = "text")]
    pub(crate) message: Option<String>,
    /// Go on with this conversation
    #[arg(long, value_name = "ID", conflicts_with = "last")]
    pub(crate) conversation: Option<String>,
    /// Go on with the last conversation
    #[arg(long)]
    pub(crate) last: bool,
    /// List conversations
    #[arg(long, conflicts_with_all = ["text", "message", "conversation", "last", "interactive"])]
    pub(crate) list: bool,
    /// Tools beside those of the agent
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// A picture to send along with the first message
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Take each line of standard input as a message, also where it is no terminal
    #[arg(long, short, conflicts_with_all = ["text", "message", "json"])]
    pub(crate) interactive: bool,
}
