//! HTTP tools through the engine, against servers on loopback.
#![allow(clippy::expect_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

mod auth;
mod bodies;
mod bypass_attempts;
mod copy_as_curl;
mod credentials;
mod dry_runs;
mod generic;
mod headers;
mod idempotency;
mod import_curl;
mod import_curl_handwritten;
mod import_har;
mod import_limits;
mod import_openapi;
mod import_openapi_calls;
mod import_openapi_hostile;
mod import_openapi_requests;
mod import_openapi_sample;
mod import_openapi_schemas;
mod import_postman;
mod oauth;
mod oauth_failures;
mod path;
mod query;
mod responses;
mod saved;
mod saved_auth;
mod schema;
mod spellings;
mod statuses;
mod stored;
mod support;
mod traces;
