//! Black-box tests of the core: tables of schemas, hostile input, definitions.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and ends its tasks itself"
)]

mod arguments;
mod definitions;
mod hostile;
mod schema_cases;
mod schema_limits;
