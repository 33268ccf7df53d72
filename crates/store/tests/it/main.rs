//! The store, from outside. Every test runs on SQLite, and on PostgreSQL where `HAFT_TEST_POSTGRES` says where.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod agents;
mod alerts;
mod artifacts;
mod begun;
mod feed;
mod foreign;
mod history;
mod history_chain;
mod identity;
mod inbox;
mod later;
mod log;
mod log_chain;
mod log_find;
mod log_retention;
mod log_stats;
mod log_stats_kept;
mod older_program;
mod opening;
mod panics;
mod people;
mod run_rights;
mod runs;
mod secrets;
mod support;
mod tools;
