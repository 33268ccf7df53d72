//! Arguments of `haft call`.

use std::path::PathBuf;

use clap::Args;
use haft_core::{ErrorKind, Message, duration};

use super::ServerArgs;
use crate::cli_error::CliError;
use crate::messages;

pub(super) const HELP: &str = "\
Arguments:
  city=Tokyo            text; converted if the schema requires a number or boolean
  days:=3               JSON: numbers, lists, objects
  --args '{\"days\": 3}'  all arguments as one JSON object
  -                     all arguments as one JSON object from standard input

Secrets:
  secret://weather_key in a definition is read from HAFT_SECRET_WEATHER_KEY

Exit codes:
  0  success                        5  the upstream failed or limits requests
  1  the tool or haft failed        6  timeout
  2  invalid arguments              7  the server is busy or unreachable; try again later
  3  tool not found                 8  the result is unknown
  4  not allowed                    9  haft diff found a difference
                                 130  cancelled";

#[derive(Args)]
pub(crate) struct CallArgs {
    /// The tool's name or id; optional with a --file that contains one tool
    #[arg(required_unless_present = "file")]
    pub(crate) name: Option<String>,
    /// Arguments: key=value, key:=json, or - for JSON from standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) pairs: Vec<String>,
    /// Read the tool from a JSON file with one definition or a list, and run it in this process
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "pairs")]
    pub(crate) args: Option<String>,
    /// Check the arguments and the policy, and show the request without sending it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not convert arguments: "3" is not accepted as 3
    #[arg(long)]
    pub(crate) strict: bool,
    /// Timeout of one attempt: a duration such as 30s, or milliseconds
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) timeout: Option<u64>,
    /// Maximum number of retries after the first attempt
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

fn milliseconds(text: &str) -> Result<u64, CliError> {
    let duration = || duration::milliseconds(text).map(|milliseconds| milliseconds as u64);
    let number = text.parse().ok().or_else(duration);
    number.ok_or_else(|| CliError::new(ErrorKind::Validation, Message::new(&messages::NOT_A_TIME)))
}
