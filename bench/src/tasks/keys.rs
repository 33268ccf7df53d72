//! Calls with an `Idempotency-Key`, compared with plain calls and with a bare handler.

use std::path::Path;
use std::time::Duration;

use super::{SETTLING, TaskServer, row};
use crate::connection::request;
use crate::http::start;
use crate::load::{FRESH_KEY, Round, Target};
use crate::table::print;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);

/// One of the compared variants, with its rounds so far.
struct Variant {
    name: &'static str,
    target: Target,
    rounds: Vec<Round>,
}

impl Variant {
    fn new(name: &'static str, target: Target) -> Self {
        Self { name, target: Target { settling: SETTLING, ..target }, rounds: Vec::new() }
    }
}

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let (bare, haft) = (start(&["bare"])?, TaskServer::start(binary)?);
    let keyed = |tool: &str, key: &str| {
        let target = haft.target(tool);
        let (path, head) = (format!("/api/tools/{tool}/execute"), format!("Idempotency-Key: {key}\r\n"));
        let body = r#"{"arguments":{"city":"Tokyo"}}"#;
        Target { request: request("POST", &target.address, &path, &head, body), ..target }
    };
    let mut variants = [
        Variant::new("bare axum handler", bare.target("/execute")),
        Variant::new("plain call", haft.target("read")),
        Variant::new("a new key each, a tool that reads", keyed("read", FRESH_KEY)),
        Variant::new("a new key each, a tool that writes", keyed("write", FRESH_KEY)),
        Variant::new("the same key again, from the journal", keyed("read", "again")),
    ];
    for connections in [1, 16] {
        for variant in &variants {
            variant.target.round(connections, WARM_UP).await?;
        }
        for turn in 0..ROUNDS {
            // Rotates the order, so that each is the first in some rounds.
            let first = turn % variants.len();
            let (rest, front) = variants.split_at_mut(first);
            for variant in front.iter_mut().chain(rest) {
                variant.rounds.push(variant.target.round(connections, ROUND).await?);
            }
        }
        let heading = ["", "per second", "median", "slowest 1 %", "CPU each"].map(str::to_owned).to_vec();
        let mut rows = vec![heading];
        for variant in &mut variants {
            rows.push(row(variant.name, &Round::medians(&std::mem::take(&mut variant.rounds))));
        }
        print(&format!("Calls with an Idempotency-Key, {connections} connections, SQLite"), &rows);
    }
    Ok(())
}
