//! A call with an `Idempotency-Key` beside a plain one, and beside a bare handler.

use std::path::Path;
use std::time::Duration;

use super::{Door, SETTLING, row};
use crate::connection::request;
use crate::http::start;
use crate::load::{FRESH_KEY, Round, Target};
use crate::table::print;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);

/// One of those that are compared, with its rounds so far.
struct Way {
    name: &'static str,
    target: Target,
    rounds: Vec<Round>,
}

impl Way {
    fn new(name: &'static str, target: Target) -> Self {
        Self { name, target: Target { settling: SETTLING, ..target }, rounds: Vec::new() }
    }
}

pub(super) async fn run(binary: &Path) -> anyhow::Result<()> {
    let (bare, door) = (start(&["bare"])?, Door::open(binary)?);
    let keyed = |tool: &str, key: &str| {
        let target = door.target(tool);
        let (path, head) = (format!("/api/tools/{tool}/execute"), format!("Idempotency-Key: {key}\r\n"));
        let body = r#"{"arguments":{"city":"Tokyo"}}"#;
        Target { request: request("POST", &target.address, &path, &head, body), ..target }
    };
    let mut ways = [
        Way::new("bare axum handler", bare.target("/execute")),
        Way::new("plain call", door.target("read")),
        Way::new("a new key each, a tool that reads", keyed("read", FRESH_KEY)),
        Way::new("a new key each, a tool that writes", keyed("write", FRESH_KEY)),
        Way::new("the same key again, from the journal", keyed("read", "again")),
    ];
    for connections in [1, 16] {
        for way in &ways {
            way.target.round(connections, WARM_UP).await?;
        }
        for turn in 0..ROUNDS {
            // Each is the first once in a while.
            let first = turn % ways.len();
            let (later, now) = ways.split_at_mut(first);
            for way in now.iter_mut().chain(later) {
                way.rounds.push(way.target.round(connections, ROUND).await?);
            }
        }
        let heading = ["", "per second", "median", "slowest 1 %", "CPU each"].map(str::to_owned).to_vec();
        let mut rows = vec![heading];
        for way in &mut ways {
            rows.push(row(way.name, &Round::middle(&std::mem::take(&mut way.rounds))));
        }
        print(&format!("Calls with an Idempotency-Key, {connections} connections, SQLite"), &rows);
    }
    Ok(())
}
