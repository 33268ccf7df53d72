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
mod cli_results;
mod cli_tasks;
mod clients;
mod command_line;
mod commands;
mod configuration;
mod console;
mod crash;
mod definitions;
mod documented_commands;
mod endurance;
mod events;
mod fuzz;
mod house;
mod http_failures;
mod http_tools;
mod idempotency;
mod import_limits;
mod imports;
mod install;
mod invitations;
mod logs;
mod metrics;
mod model_calls;
mod model_options;
mod openapi;
mod permissions;
mod previous_version;
mod providers;
mod recovery;
mod resilience;
mod rest_cases;
mod run_rules;
mod schema_preview;
mod serve;
mod sessions;
mod slow_apis;
mod stats;
mod survival;
mod task_events;
mod tasks;
mod timestamps;
mod tool_call_curl;
mod tool_call_masks;
mod tool_call_replay;
mod tool_calls;
mod tool_contract;
mod traces;
mod v1;
mod versions;
mod web;

const HAFT: &str = env!("CARGO_BIN_EXE_haft");

/// The admin's token of a server that a test starts.
const TOKEN: &str = "token-of-the-tests";
