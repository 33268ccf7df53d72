//! Errors of the command line with their own messages, rendered in the language of the terminal.

use std::error::Error as StdError;
use std::fmt;

use haft_core::{ErrorKind, Locale, Message};

/// An error with a message of [`crate::messages`], and the kind that determines the exit code.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) kind: ErrorKind,
    message: Message,
    source: Option<anyhow::Error>,
}

impl CliError {
    pub(crate) fn new(kind: ErrorKind, message: Message) -> Self {
        Self { kind, message, source: None }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.render(Locale::En))
    }
}

impl StdError for CliError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| -> &(dyn StdError + 'static) { source.as_ref() })
    }
}

/// Returns an error with this message and no cause.
pub(crate) fn failure(message: Message) -> anyhow::Error {
    CliError::new(ErrorKind::Internal, message).into()
}

/// Adds a message to an error of another crate, or turns `None` into an error with this message.
pub(crate) trait OrFail<T> {
    fn or_fail(self, message: impl FnOnce() -> Message) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, message: impl FnOnce() -> Message) -> anyhow::Result<T> {
        self.map_err(|error| {
            let (kind, message, source) = (ErrorKind::Internal, message(), Some(error.into()));
            CliError { kind, message, source }.into()
        })
    }
}

impl<T> OrFail<T> for Option<T> {
    fn or_fail(self, message: impl FnOnce() -> Message) -> anyhow::Result<T> {
        self.ok_or_else(|| failure(message()))
    }
}

/// Renders an error with its causes. A [`CliError`] is rendered in the language of the terminal.
pub(crate) fn render_error(error: &anyhow::Error, locale: Locale) -> String {
    error.chain().map(|cause| render_cause(cause, locale)).collect::<Vec<String>>().join(": ")
}

/// Renders one error without its causes.
pub(crate) fn render_cause(error: &(dyn StdError + 'static), locale: Locale) -> String {
    match error.downcast_ref::<CliError>() {
        Some(refused) => refused.message.render(locale),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages;

    #[test]
    fn error_is_rendered_in_the_language_of_the_terminal_with_its_causes() {
        let read: Result<(), std::io::Error> = Err(std::io::Error::other("it is gone"));
        let error = read.or_fail(|| Message::new(&messages::CANNOT_READ).with("path", "a.json"));
        let error = error.expect_err("an error");
        assert_eq!(render_error(&error, Locale::En), "cannot read a.json: it is gone");
        assert_eq!(render_error(&error, Locale::Zh), "无法读取 a.json: it is gone");
        let nothing = None::<()>.or_fail(|| Message::new(&messages::NO_SERVER)).expect_err("an error");
        assert!(render_error(&nothing, Locale::Zh).starts_with("没有可询问的服务器"));
    }
}
