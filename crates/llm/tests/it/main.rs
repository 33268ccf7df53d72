//! Models over loopback: servers for each dialect, and the resulting responses.
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
fn every_message_exists_in_both_languages() {
    haft_core::message::check_templates(&haft_llm::all_templates()).expect("complete messages");
}
