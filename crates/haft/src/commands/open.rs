//! `haft open [PAGE]`: opens the web console of the server in a browser.

use std::io::IsTerminal as _;
use std::process::{Command, ExitCode, Stdio};

use crate::cli::OpenArgs;
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;

/// Programs that open a URL. The first one that is installed is used.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(crate) fn run(args: OpenArgs, config: Config) -> anyhow::Result<ExitCode> {
    let base = ApiClient::server_url(&args.server, &config)?;
    let page = args.page.as_deref().unwrap_or_default().trim_matches('/');
    let segments: Vec<String> = page.split('/').map(super::path_segment).collect();
    let address = format!("{}/{}", base.as_str().trim_end_matches('/'), segments.join("/"));
    if args.server.json {
        output::print_line(serde_json::json!({"url": address}));
    } else {
        output::print_line(output::sanitized(&address));
    }
    if !args.print && !args.server.json && std::io::stdout().is_terminal() {
        open(&address);
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a URL in a browser. Without a suitable program nothing happens: the URL is printed anyway.
fn open(address: &str) {
    for opener in OPENERS {
        let mut command = Command::new(opener);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.spawn().is_ok() {
            return;
        }
    }
}
