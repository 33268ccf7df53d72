//! Arguments of `haft secrets`. Values are never arguments, since the shell stores those in its history.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft secrets                        list names; values are never shown
  haft secrets set weather_key        prompts for the value without showing it
  haft secrets set tls_key < key.pem  read the value from standard input, without the last line break
  haft secrets set github --me        your personal secret, secret://me/github in tools
  haft secrets rm weather_key
  haft secrets rotate-key             encrypt all secrets with a new key; stop the server first";

#[derive(Args)]
pub(crate) struct SecretsArgs {
    /// Your personal secrets instead of those of the space
    #[arg(long, global = true)]
    pub(crate) me: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<SecretsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// Set a secret; the value is prompted for or read from standard input
    Set {
        /// The secret's name; tools refer to it as secret://NAME
        name: String,
    },
    /// Delete a secret
    Rm {
        /// The secret's name
        name: String,
    },
    /// Encrypt all secrets of this machine's server with a new key
    RotateKey,
}
