//! What `haft secrets` takes. Values are never arguments: those stand in the shell's history.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft secrets                        their names; values never come out
  haft secrets set weather_key        asks for the value without showing it
  haft secrets set tls_key < key.pem  all of standard input, without the last line break
  haft secrets set github --me        your own, which tools know as secret://me/github
  haft secrets rm weather_key
  haft secrets rotate-key             a new key for all secrets; stop the server first";

#[derive(Args)]
pub(crate) struct SecretsArgs {
    /// Your own secrets instead of those of the space
    #[arg(long, global = true)]
    pub(crate) me: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: Option<SecretsCommand>,
}

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// Set a secret; the value is asked for, or read from standard input
    Set {
        /// What tools know it by: secret://NAME
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
