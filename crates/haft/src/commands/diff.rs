//! How a change looks: one line for each thing that was compared, and under it where it differs.

use serde_json::Value;

use super::text;
use crate::show;
use crate::show::{QUIET, STRONG};

/// How wide the names of some things are.
pub(super) fn width(things: &[Value]) -> usize {
    things.iter().map(|thing| text(thing, "name").chars().count()).max().unwrap_or(0)
}

/// Shows what happened to one thing, and what else is to be said of it.
pub(super) fn show(thing: &Value, width: usize, more: &str) {
    show::line_out(format_args!(
        "{STRONG}{:width$}{STRONG:#}  {QUIET}{:9}{QUIET:#}  {}",
        show::plain(text(thing, "name")),
        show::plain(text(thing, "change")),
        show::plain(more),
    ));
    for change in thing["changes"].as_array().into_iter().flatten() {
        let (before, after) = (change["before"].to_string(), change["after"].to_string());
        show::line_out(format_args!(
            "{:width$}  {}: {QUIET}{}{QUIET:#} → {}",
            "",
            show::plain(text(change, "path")),
            show::plain(&before),
            show::plain(&after),
        ));
    }
}
