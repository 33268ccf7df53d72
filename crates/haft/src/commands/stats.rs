//! `haft stats`: prints the statistics of the call log.

use std::process::ExitCode;

use haft_core::Message;
use serde_json::Value;

use super::{empty_lists, format_duration, results, text};
use crate::cli::StatsArgs;
use crate::client::ApiClient;
use crate::config::Config;
use crate::output;

pub(crate) async fn run(args: StatsArgs, config: Config) -> anyhow::Result<ExitCode> {
    super::log_to_stderr(config.log.as_deref().unwrap_or("warn"))?;
    let StatsArgs { server, window, tool, agent } = args;
    let client = ApiClient::for_server(&server, &config)?;
    let given = [("window", window), ("tool", tool), ("agent", agent)];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", super::path_segment(&value?))));
    let path = format!("/api/stats?{}", given.collect::<Vec<String>>().join("&"));
    let response = client.get(&path).await?;
    if let Some(code) = super::report_failure(&response, server.json) {
        return Ok(code);
    }
    let (stats, locale) = (&response.data, config.locale);
    if server.json {
        output::print_line(stats);
        return Ok(ExitCode::SUCCESS);
    }
    let tools = stats["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let all = stats["totals"]["calls"].as_u64().unwrap_or_default();
    if all == 0 {
        output::print_status(&client.render(&empty_lists::NO_CALLS));
        return Ok(ExitCode::SUCCESS);
    }
    let [calls, errors, rate] =
        [&results::CALLS, &results::ERRORS, &results::ERROR_RATE].map(|heading| client.render(heading));
    let [name, p50, p95, p99] = ["", "p50", "p95", "p99"].map(str::to_owned);
    let mut rows = vec![[name, calls, errors, rate, p50, p95, p99]];
    rows.extend(tools.iter().map(|tool| row(text(tool, "toolName"), tool)));
    let all_tools = Message::new(&results::ALL_TOOLS).with("window", text(stats, "window"));
    rows.push(row(&all_tools.render(locale), &stats["totals"]));
    output::print_table(rows);
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, totals: &Value) -> [String; 7] {
    let rate = totals["errorRate"].as_f64().map_or_else(String::new, |rate| format!("{:.1} %", rate * 100.0));
    [
        name.to_owned(),
        totals["calls"].to_string(),
        totals["errors"].to_string(),
        rate,
        format_duration(&totals["p50"]),
        format_duration(&totals["p95"]),
        format_duration(&totals["p99"]),
    ]
}
