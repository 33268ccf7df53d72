//! What `haft call` takes.

use std::path::PathBuf;

use clap::Args;
use haft_core::{ErrorKind, Message, duration};

use super::ServerArgs;
use crate::messages;
use crate::refusal::Refused;

pub(super) const HELP: &str = "\
Arguments:
  city=Tokyo            a text; becomes a number or boolean where only that fits
  days:=3               JSON as it stands: numbers, lists, objects
  --args '{\"days\": 3}'  all arguments as one JSON object
  -                     the same from standard input

Secrets:
  secret://weather_key in a definition is read from HAFT_SECRET_WEATHER_KEY

Exit codes:
  0  it worked                      5  the upstream failed or is limited
  1  the tool or haft failed        6  it took too long
  2  the arguments are not right    7  the server is busy or away; try again later
  3  there is no such tool          8  the outcome is not known
  4  it is not allowed              9  haft diff found a difference
                                 130  it was cancelled";

#[derive(Args)]
pub(crate) struct CallArgs {
    /// The tool's name or id; not needed with a --file that holds one tool
    #[arg(required_unless_present = "file")]
    pub(crate) name: Option<String>,
    /// Arguments: key=value, key:=json, or - for JSON from standard input
    #[arg(value_name = "ARGUMENT")]
    pub(crate) pairs: Vec<String>,
    /// Take the tool from a file with its definition, or a list of them, in JSON; it runs in this process
    #[arg(long, short, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "pairs")]
    pub(crate) args: Option<String>,
    /// Check everything and show what would be done, but call nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take arguments only as they are: "3" is not 3
    #[arg(long)]
    pub(crate) strict: bool,
    /// Time for one attempt: a duration such as 30s, or milliseconds
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    pub(crate) timeout: Option<u64>,
    /// Further attempts after the first
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

fn milliseconds(text: &str) -> Result<u64, Refused> {
    let duration = || duration::milliseconds(text).map(|milliseconds| milliseconds as u64);
    let number = text.parse().ok().or_else(duration);
    number.ok_or_else(|| Refused::new(ErrorKind::Validation, Message::new(&messages::NOT_A_TIME)))
}
