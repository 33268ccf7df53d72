//! Self-contained built-in tools: dates, text, lists, objects. No network, no files.
//!
//! The calculator is a separate crate, because it embeds a JavaScript engine.

mod array;
mod datetime;
mod object;
mod operation;
mod path;
mod stop;
mod string;

use haft_core::builtin::BuiltinKind;
use haft_core::{CallError, ErrorKind, KindName, Message, Template, ToolName, ToolSpec};

/// Returns the kind `builtin` with every tool of this crate. Add others with [`BuiltinKind::with`].
pub fn kind() -> BuiltinKind {
    BuiltinKind::default()
        .with(datetime::DateTime)
        .with(string::TOOL)
        .with(array::TOOL)
        .with(object::TOOL)
        .with(stop::StopResponse)
}

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static Template> {
    let own =
        [datetime::TEMPLATES, operation::TEMPLATES, path::TEMPLATES, string::TEMPLATES, array::TEMPLATES];
    own.into_iter().flatten().copied().chain(object::all_templates()).collect()
}

/// Creates a definition with a constant, valid name.
fn spec(name: &'static str, about: &str) -> ToolSpec {
    ToolSpec::new(ToolName::constant(name), about, KindName::from("builtin"))
}

/// Creates an error of the tool itself.
fn failure(message: Message) -> CallError {
    CallError::new(ErrorKind::Execution, message)
}
