//! Integration tests of the store. Every test runs on SQLite, and also on PostgreSQL if `HAFT_TEST_POSTGRES`
//! is set.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod agents;
mod alerts;
mod artifacts;
mod feed;
mod history;
mod history_chain;
mod identity;
mod inbox;
mod log;
mod log_chain;
mod log_find;
mod log_retention;
mod log_rollup;
mod log_stats;
mod opening;
mod panics;
mod people;
mod run_rights;
mod runs;
mod secrets;
mod space_isolation;
mod support;
mod tools;
mod upgrade;
