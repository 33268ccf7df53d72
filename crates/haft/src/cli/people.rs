//! What the commands about people take: login, logout, spaces, tokens, users, admin.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const LOGIN_HELP: &str = "\
Examples:
  haft login                          asks for all it needs; the server is http://127.0.0.1:7420
  haft login https://haft.example.com --name ada
  haft login --link 'http://127.0.0.1:7420/…'     the link that a first start prints
  haft login https://haft.example.com < token     the token from standard input

The login is kept in $XDG_CONFIG_HOME/haft/login.toml, which only you can read.
HAFT_URL and HAFT_TOKEN win over it.";

pub(super) const SPACES_HELP: &str = "\
Examples:
  haft spaces
  haft spaces create research
  haft spaces members research
  haft spaces add research ada editor         viewer < caller < editor < admin
  haft spaces remove research ada
  haft spaces invitations                     your own; haft spaces accept research

A token belongs to one space: haft tokens create NAME --scope call --space research";

pub(super) const TOKENS_HELP: &str = "\
Examples:
  haft tokens
  haft tokens create ci --scope call
  haft tokens create deploy --scope admin --space research --expires 2027-01-01T00:00:00Z
  haft tokens rm ID

A new token is printed once, alone on standard output, and never again.";

pub(super) const USERS_HELP: &str = "\
Examples:
  haft users
  haft users add ada                  asks for a password; none: ada comes in by tokens alone
  haft users add ada --admin < password";

#[derive(Args)]
pub(crate) struct LoginArgs {
    /// The server [default: http://127.0.0.1:7420]
    #[arg(env = "HAFT_URL")]
    pub(crate) url: Option<String>,
    /// Log in with a token, which is then kept
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["link", "name"])]
    pub(crate) token: Option<String>,
    /// Log in with the one-time link of a first start
    #[arg(long, value_name = "LINK", conflicts_with = "name")]
    pub(crate) link: Option<String>,
    /// Log in with a name and its password, which is asked for or read from standard input
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The space to work in, by name or id; by default your own
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
    /// Make a space; you are its admin
    Create { name: String },
    /// List who is in a space
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
        /// What they may do there
        #[arg(value_parser = ["viewer", "caller", "editor", "admin"])]
        role: String,
    },
    /// Take a user out of a space
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
    /// Make a token and print it
    Create {
        /// What you know it by
        name: String,
        /// What it may do; never more than you
        #[arg(long, value_parser = ["read", "call", "admin"])]
        scope: String,
        /// The space it belongs to, by name or id; by default the one you are in
        #[arg(long, value_name = "SPACE")]
        space: Option<String>,
        /// When it ends, such as 2027-01-01T00:00:00Z; by default never
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// End a token
    Rm {
        /// The token's id, as `haft tokens` shows it
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
    /// Add a user; the password is asked for, or read from standard input
    Add {
        name: String,
        /// May run the server: add users, see all tokens
        #[arg(long)]
        admin: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Give the admin of this machine's server a new way in, when the old one is lost
    Reset,
}
