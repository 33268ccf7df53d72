//! `haft open [PAGE]`: the web console of the server, in a browser.

use std::io::IsTerminal as _;
use std::process::{Command, ExitCode, Stdio};

use crate::cli::OpenArgs;
use crate::config::Config;
use crate::door::Door;
use crate::show;

/// Programs that open an address, the first that is there.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(crate) fn run(args: OpenArgs, config: Config) -> anyhow::Result<ExitCode> {
    let base = Door::url_of(&args.server, &config)?;
    let page = args.page.as_deref().unwrap_or_default().trim_matches('/');
    let segments: Vec<String> = page.split('/').map(super::encoded).collect();
    let address = format!("{}/{}", base.as_str().trim_end_matches('/'), segments.join("/"));
    if args.server.json {
        show::line_out(serde_json::json!({"url": address}));
    } else {
        show::line_out(show::plain(&address));
    }
    if !args.print && !args.server.json && std::io::stdout().is_terminal() {
        open(&address);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens an address where a program for it is installed; it was printed in any case.
fn open(address: &str) {
    for opener in OPENERS {
        let mut command = Command::new(opener);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return;
        }
    }
}
