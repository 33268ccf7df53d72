//! `haft stats`: the counts of the call log.

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::{duration, empty, results, text};
use crate::cli::StatsArgs;
use crate::config::Config;
use crate::door::Door;
use crate::show;

pub(crate) async fn run(args: StatsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let StatsArgs { server, window, tool, agent } = args;
    let door = Door::to_server(&server, &config)?;
    let given = [("window", window), ("tool", tool), ("agent", agent)];
    let given =
        given.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", super::encoded(&value?))));
    let path = format!("/api/stats?{}", given.collect::<Vec<String>>().join("&"));
    let answer = door.get(&path).await?;
    if let Some(code) = super::failed(&answer, server.json) {
        return Ok(code);
    }
    let (stats, locale) = (&answer.data, config.locale);
    if server.json {
        show::line_out(stats);
        return Ok(ExitCode::SUCCESS);
    }
    let tools = stats["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let all = stats["totals"]["calls"].as_u64().unwrap_or_default();
    if all == 0 {
        show::said(&door.words(&empty::NO_CALLS));
        return Ok(ExitCode::SUCCESS);
    }
    let [calls, errors, rate] =
        [&results::CALLS, &results::ERRORS, &results::ERROR_RATE].map(|heading| door.words(heading));
    let [name, p50, p95, p99] = ["", "p50", "p95", "p99"].map(str::to_owned);
    let mut rows = vec![[name, calls, errors, rate, p50, p95, p99]];
    rows.extend(tools.iter().map(|tool| row(text(tool, "toolName"), tool)));
    let all_tools = Message::new(&results::ALL_TOOLS).with("window", text(stats, "window"));
    rows.push(row(&all_tools.render(locale), &stats["totals"]));
    show::table(rows);
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, totals: &Value) -> [String; 7] {
    let rate = totals["errorRate"].as_f64().map_or_else(String::new, |rate| format!("{:.1} %", rate * 100.0));
    [
        name.to_owned(),
        totals["calls"].to_string(),
        totals["errors"].to_string(),
        rate,
        duration(&totals["p50"]),
        duration(&totals["p95"]),
        duration(&totals["p99"]),
    ]
}
