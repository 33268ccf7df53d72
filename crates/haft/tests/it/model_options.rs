//! Requests to models: options, response formats, call ids, and message parts that only some providers
//! support.

mod call_ids;
mod formats;
mod messages;
mod options;
mod response_format;
mod unsupported;
