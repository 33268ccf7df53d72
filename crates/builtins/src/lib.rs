//! Tools that need nothing but themselves: dates, text, lists, objects. No network, no files.
//!
//! The calculator is a crate of its own, since it brings a JavaScript engine along.

mod array;
mod datetime;
mod object;
mod operation;
mod path;
mod stop;
mod string;

use haft_core::builtin::BuiltinKind;
use haft_core::{CallError, ErrorKind, KindName, Message, Template, ToolName, ToolSpec};

/// The kind `builtin` with every tool of this crate. Add others with [`BuiltinKind::with`].
pub fn kind() -> BuiltinKind {
    BuiltinKind::default()
        .with(datetime::DateTime)
        .with(string::TOOL)
        .with(array::TOOL)
        .with(object::TOOL)
        .with(stop::StopResponse)
}

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own =
        [datetime::TEMPLATES, operation::TEMPLATES, path::TEMPLATES, string::TEMPLATES, array::TEMPLATES];
    own.into_iter().flatten().copied().chain(object::all_templates()).collect()
}

/// A definition with a name that is known to be good.
fn spec(name: &'static str, about: &str) -> ToolSpec {
    ToolSpec::new(ToolName::constant(name), about, KindName::from("builtin"))
}

/// The tool's own failure.
fn failure(message: Message) -> CallError {
    CallError::new(ErrorKind::Execution, message)
}
