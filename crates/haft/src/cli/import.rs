//! Arguments of `haft import`.

use clap::{Args, Subcommand};

use super::ServerArgs;

pub(super) const HELP: &str = "\
Examples:
  haft import openapi petstore.yaml --name petstore --dry-run
  haft import openapi petstore.yaml --name petstore --dry-run --exit-code    exits with 9 if anything differs
  haft import openapi https://api.example.com/openapi.json --only getUser --only 'POST /users'
  haft import curl 'curl https://api.example.com/users/42 -H \"Authorization: Bearer …\"'
  pbpaste | haft import curl -
  haft import postman collection.json";

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// Prefix of the name of each tool
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only this operation: a tool's name, an operationId, or METHOD /path; may be given several times
    #[arg(long, global = true, value_name = "OPERATION")]
    pub(crate) only: Vec<String>,
    /// Show the tools without storing them
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Exit with 9 if anything differs
    #[arg(long, global = true)]
    pub(crate) exit_code: bool,
    /// Also show unchanged tools
    #[arg(long, global = true)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(subcommand)]
    pub(crate) command: ImportCommand,
}

#[derive(Subcommand)]
pub(crate) enum ImportCommand {
    /// An OpenAPI 3 or Swagger 2 document, in JSON or YAML
    Openapi {
        /// A file, a URL, or - for standard input
        source: String,
        /// Base URL of the API; overrides that of the document
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// A cURL command, as copied from a browser or an API's documentation
    Curl {
        /// The whole command in quotes, or - for standard input
        command: String,
    },
    /// A Postman collection
    Postman {
        /// A file, or - for standard input
        file: String,
        /// Base URL of the API, if the collection takes it from an environment
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
    },
    /// A HAR file, as recorded by a browser
    Har {
        /// A file, or - for standard input
        file: String,
    },
}
