//! `url_reader` and `web_search` through the engine, against servers on loopback.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod articles;
mod hostile;
mod pages;
mod search;
mod search_failures;
mod sites;
mod support;

#[test]
fn every_message_exists_in_both_languages() {
    haft_core::message::check_templates(&haft_web::all_templates()).expect("complete messages");
}
