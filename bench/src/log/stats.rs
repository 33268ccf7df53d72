//! The duration of statistics of the log for every window, and of the roll-up of calls.

use std::time::Instant;

use haft_store::{CallLog, StatsOf, StatsQuery, StatsWindow};

use super::calls::Calls;
use super::times::Times;
use crate::table::print;

/// The number of repetitions of each query, which alternate between the spaces.
const REPEATS: usize = 30;

/// Rolls up all calls that are not rolled up yet.
pub(super) async fn roll_up(log: &CallLog) -> anyhow::Result<()> {
    while log.roll_up().await? {}
    Ok(())
}

pub(super) async fn time_stats(log: &CallLog, calls: &Calls) -> anyhow::Result<()> {
    let heading = ["window", "all", "slowest", "a tool", "slowest", "an agent", "slowest"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for window in StatsWindow::ALL {
        let mut row = vec![window.as_str().to_owned()];
        row.extend(times(log, calls, window, |_, _| StatsOf::Space).await?);
        row.extend(times(log, calls, window, tool).await?);
        row.extend(times(log, calls, window, agent).await?);
        rows.push(row);
    }
    print(&format!("Statistics of the call log ({REPEATS} times each)"), &rows);
    Ok(())
}

type Of = fn(&Calls, usize) -> StatsOf;

async fn times(log: &CallLog, calls: &Calls, window: StatsWindow, of: Of) -> anyhow::Result<[String; 2]> {
    let mut times = Times::default();
    for (turn, space) in calls.spaces.iter().copied().cycle().take(REPEATS).enumerate() {
        let query = StatsQuery { window, of: of(calls, turn) };
        let start = Instant::now();
        std::hint::black_box(log.stats(space, &query).await?);
        times.push(start.elapsed());
    }
    Ok(times.cells())
}

fn tool(calls: &Calls, turn: usize) -> StatsOf {
    let tool = calls.tools.iter().cycle().nth(turn);
    tool.map_or(StatsOf::Space, |tool| StatsOf::Tool(tool.name.to_string()))
}

fn agent(calls: &Calls, turn: usize) -> StatsOf {
    calls.agents.iter().cycle().nth(turn).copied().map_or(StatsOf::Space, StatsOf::Agent)
}
