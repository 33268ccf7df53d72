//! Models over loopback: servers that speak each dialect, and what comes of them.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod failures;
mod golden;
mod options;
mod refusals;
mod scripted;
mod streams;
mod strictness;
mod support;

#[test]
fn every_message_is_there_in_both_languages() {
    haft_core::message::check_templates(&haft_llm::all_templates()).expect("complete messages");
}
