//! The binary as people and scripts use it, and the rules of this repository.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod agent_changes;
mod agents;
mod alerts;
mod approvals;
mod artifact_calls;
mod artifacts;
mod audit;
mod bindings;
mod builtins;
mod canary;
mod changes;
mod chat;
mod cli_chat;
mod cli_files;
mod cli_login;
mod cli_over_http;
mod cli_tasks;
mod clients;
mod command_line;
mod configuration;
mod console;
mod crash;
mod endurance;
mod events;
mod fuzz;
mod house;
mod http_failures;
mod http_tools;
mod idempotency;
mod imports;
mod logs;
mod metrics;
mod openapi;
mod permissions;
mod providers;
mod recovery;
mod serve;
mod sessions;
mod slow_apis;
mod stats;
mod survival;
mod task_events;
mod tasks;
mod tool_call_curl;
mod tool_call_masks;
mod tool_call_replay;
mod tool_calls;
mod traces;
mod v1;
mod versions;
mod web;

const HAFT: &str = env!("CARGO_BIN_EXE_haft");
