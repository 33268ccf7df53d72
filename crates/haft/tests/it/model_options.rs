//! How a model is asked beyond its messages: options, forms of answers, ids of calls, and parts of messages that not
//! every provider knows.

mod call_ids;
mod formats;
mod messages;
mod options;
mod response_format;
mod unsupported;
