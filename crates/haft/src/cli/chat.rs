//! Arguments of `haft chat`.

use std::path::PathBuf;

use clap::Args;

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft chat weather                       an interactive prompt; /help lists its commands
  haft chat weather 'Is it dry in Rome?'  one message; the response goes to standard output
  git diff | haft chat reviewer           the message is read from standard input
  haft chat -m 'Hello'                    the default model, without an agent
  haft chat --last                        continue the last conversation
  haft chat --list

Without --url, a token or a login, the agent runs in this process.
The exit codes are those of haft call. 1 also means that the agent reached its maximum number of steps.";

#[derive(Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The agent's name or id [default: the default model, without tools]
    #[arg(value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Send this message, print the response and exit; - reads the message from standard input
    #[arg(value_name = "MESSAGE")]
    pub(crate) text: Option<String>,
    /// MESSAGE as an option, for use without an agent
    #[arg(long, short, value_name = "MESSAGE", conflicts_with = "text")]
    pub(crate) message: Option<String>,
    /// Continue this conversation
    #[arg(long, value_name = "ID", conflicts_with = "last")]
    pub(crate) conversation: Option<String>,
    /// Continue the last conversation
    #[arg(long)]
    pub(crate) last: bool,
    /// List conversations
    #[arg(long, conflicts_with_all = ["text", "message", "conversation", "last", "interactive"])]
    pub(crate) list: bool,
    /// Additional tools besides those of the agent
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// An image to send with the first message
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Send each line of standard input as a message, even if it is not a terminal
    #[arg(long, short, conflicts_with_all = ["text", "message", "json"])]
    pub(crate) interactive: bool,
}
