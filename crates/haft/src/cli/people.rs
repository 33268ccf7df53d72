//! Arguments of `haft login`, `logout`, `spaces`, `tokens`, `users` and `admin`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const LOGIN_HELP: &str = "\
Examples:
  haft login                          log in to http://127.0.0.1:7420, with prompts for the credentials
  haft login https://haft.example.com --name ada
  haft login --link 'http://127.0.0.1:7420/…'     log in with the link that the first start prints
  haft login https://haft.example.com < token     read the token from standard input

  The login is stored in $XDG_CONFIG_HOME/haft/login.toml, which only you can read.
  HAFT_URL and HAFT_TOKEN take precedence over it.";

pub(super) const SPACES_HELP: &str = "\
Examples:
  haft spaces
  haft spaces create research
  haft spaces members research
  haft spaces add research ada editor         viewer < caller < editor < admin
  haft spaces remove research ada
  haft spaces invitations                     your open invitations
  haft spaces accept research

A token belongs to one space: haft tokens create NAME --scope call --space research";

pub(super) const TOKENS_HELP: &str = "\
Examples:
  haft tokens
  haft tokens create ci --scope call
  haft tokens create deploy --scope admin --space research --expires 2027-01-01T00:00:00Z
  haft tokens rm ID

A new token is shown only once: it is the only text on standard output.";

pub(super) const USERS_HELP: &str = "\
Examples:
  haft users
  haft users add ada                  prompts for a password; if it is empty, ada can only use tokens
  haft users add ada --admin < password";

#[derive(Args)]
pub(crate) struct LoginArgs {
    /// The server [default: http://127.0.0.1:7420]
    #[arg(env = "HAFT_URL")]
    pub(crate) url: Option<String>,
    /// Log in with a token, which is stored
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["link", "name"])]
    pub(crate) token: Option<String>,
    /// Log in with the one-time link that the first start prints
    #[arg(long, value_name = "LINK", conflicts_with = "name")]
    pub(crate) link: Option<String>,
    /// Log in with a name and a password; the password is prompted for or read from standard input
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The space to work in, by name or id [default: your personal space]
    #[arg(long, value_name = "SPACE", conflicts_with = "token")]
    pub(crate) space: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct LogoutArgs {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct SpacesArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<SpacesCommand>,
}

#[derive(Subcommand)]
pub(crate) enum SpacesCommand {
    /// Create a space; you become its admin
    Create { name: String },
    /// List the members of a space
    Members {
        /// The space's name or id
        space: String,
    },
    /// List your open invitations
    Invitations,
    /// Accept an invitation
    Accept {
        /// The space's name or id
        space: String,
    },
    /// Decline an invitation
    Decline {
        /// The space's name or id
        space: String,
    },
    /// Invite a user, or give a member another role
    Add {
        /// The space's name or id
        space: String,
        /// The user's name or id
        user: String,
        /// The role in the space
        #[arg(value_parser = ["viewer", "caller", "editor", "admin"])]
        role: String,
    },
    /// Remove a member from a space
    Remove {
        /// The space's name or id
        space: String,
        /// The user's name or id
        user: String,
    },
}

#[derive(Args)]
pub(crate) struct TokensArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<TokensCommand>,
}

#[derive(Subcommand)]
pub(crate) enum TokensCommand {
    /// Create a token and print it
    Create {
        /// The name of the token
        name: String,
        /// The rights of the token; never more than your own
        #[arg(long, value_parser = ["read", "call", "admin"])]
        scope: String,
        /// The space of the token, by name or id [default: the space you work in]
        #[arg(long, value_name = "SPACE")]
        space: Option<String>,
        /// Expiry time, such as 2027-01-01T00:00:00Z [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Revoke a token
    Rm {
        /// The token's id; haft tokens lists the ids
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct UsersArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<UsersCommand>,
}

#[derive(Subcommand)]
pub(crate) enum UsersCommand {
    /// Add a user; the password is prompted for or read from standard input
    Add {
        name: String,
        /// Make the user an admin of the server, who can add users and see all tokens
        #[arg(long)]
        admin: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Print a one-time link that signs in the admin of this machine's server, if the credentials are lost
    Reset,
}
