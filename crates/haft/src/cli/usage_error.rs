//! Usage errors: Chinese texts are Haft's, English texts are clap's.

use std::error::Error as _;
use std::io::Write as _;

use clap::error::{ContextKind, ErrorKind};
use haft_core::{Locale, Message, Template};

use crate::config::terminal_locale;
use crate::{cli_error, messages, output};

/// The parameters of a message, each with the part of a clap error that provides its value.
type Parameters = &'static [(&'static str, ContextKind)];

/// The messages of usage errors. If a kind has two, the first whose parameters are all in the error is used.
static MESSAGES: [(ErrorKind, &Template, Parameters); 8] = [
    (
        ErrorKind::MissingRequiredArgument,
        &messages::MISSING_ARGUMENTS,
        &[("argument", ContextKind::InvalidArg)],
    ),
    (ErrorKind::UnknownArgument, &messages::UNKNOWN_ARGUMENT, &[("argument", ContextKind::InvalidArg)]),
    (
        ErrorKind::InvalidSubcommand,
        &messages::UNKNOWN_COMMAND,
        &[("command", ContextKind::InvalidSubcommand)],
    ),
    (
        ErrorKind::MissingSubcommand,
        &messages::MISSING_COMMAND,
        &[("command", ContextKind::InvalidSubcommand), ("known", ContextKind::ValidSubcommand)],
    ),
    (
        ErrorKind::ArgumentConflict,
        &messages::CONFLICTING,
        &[("argument", ContextKind::InvalidArg), ("others", ContextKind::PriorArg)],
    ),
    (
        ErrorKind::ValueValidation,
        &messages::BAD_VALUE,
        &[("argument", ContextKind::InvalidArg), ("value", ContextKind::InvalidValue)],
    ),
    (
        ErrorKind::InvalidValue,
        &messages::BAD_VALUE,
        &[("argument", ContextKind::InvalidArg), ("value", ContextKind::InvalidValue)],
    ),
    (ErrorKind::InvalidValue, &messages::MISSING_VALUE, &[("argument", ContextKind::InvalidArg)]),
];

/// Prints the help or the error and ends the process. The language is that of `--lang` or of the terminal.
pub(super) fn exit(error: &clap::Error) -> ! {
    let arguments = std::env::args_os().filter_map(|argument| argument.into_string().ok());
    let locale = find_locale(arguments).unwrap_or_else(terminal_locale);
    let Some(text) = render(error, locale).filter(|_| locale != Locale::En) else { error.exit() };
    // Ignored: standard error may be closed.
    let _ = writeln!(anstream::stderr(), "{}error:{:#} {text}", output::BAD, output::BAD);
    std::process::exit(error.exit_code())
}

/// Renders the error. Returns `None` for help, versions and errors that have no message here.
fn render(error: &clap::Error, locale: Locale) -> Option<String> {
    let part = |kind: ContextKind| error.get(kind).map(ToString::to_string).filter(|part| !part.is_empty());
    let filled = |template: &'static Template, parameters: Parameters| {
        let message = Message::new(template);
        parameters.iter().try_fold(message, |message, &(name, kind)| Some(message.with(name, part(kind)?)))
    };
    let wrap = |template, message| Message::new(template).with_messages("message", vec![message]);
    let (given, prior) = (part(ContextKind::InvalidArg), part(ContextKind::PriorArg));
    let mut message = if prior.is_some() && prior == given {
        filled(&messages::REPEATED, &[("argument", ContextKind::InvalidArg)])?
    } else {
        let mut of_kind = MESSAGES.iter().filter(|(kind, ..)| *kind == error.kind());
        of_kind.find_map(|&(_, template, parameters)| filled(template, parameters))?
    };
    if let Some(source) = error.source() {
        let reason = cli_error::render_cause(source, locale);
        message = wrap(&messages::WITH_REASON, message).with("reason", reason);
    }
    if let Some(known) = part(ContextKind::ValidValue) {
        message = wrap(&messages::WITH_VALUES, message).with("known", known);
    }
    let suggestions =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(similar) = suggestions.into_iter().find_map(part) {
        message = wrap(&messages::WITH_SIMILAR, message).with("similar", similar);
    }
    if let Some(usage) = part(ContextKind::Usage) {
        let usage = usage.trim_start().trim_start_matches("Usage:").trim().to_owned();
        message = wrap(&messages::USAGE, message).with("usage", usage);
    }
    Some(message.render(locale))
}

/// Returns the language of the `--lang` argument. Searches the raw arguments, since they could not be parsed.
fn find_locale(mut arguments: impl Iterator<Item = String>) -> Option<Locale> {
    while let Some(argument) = arguments.next() {
        let tag = match argument.strip_prefix("--lang") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(locale) = tag.and_then(|tag| Locale::from_tag(&tag)) {
            return Some(locale);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    fn render_for(arguments: &[&str], locale: Locale) -> Option<String> {
        let arguments = ["haft"].iter().chain(arguments);
        render(&Cli::definition().try_get_matches_from(arguments).expect_err("refused"), locale)
    }

    #[test]
    fn usage_errors_are_worded_in_chinese() {
        for (arguments, expected) in [
            (["tools", "create"].as_slice(), "缺少必需的参数："),
            (&["agents", "--nope"], "未知的参数 '--nope'\n\n用法：haft agents"),
            (&["agents", "--jsn"], "未知的参数 '--jsn'；是否想用 --json？"),
            (&["frobnicate"], "未知的命令 'frobnicate'\n\n用法：haft"),
            (&["import", "--dry-run"], "'haft import' 需要子命令：openapi, curl"),
            (&["call", "t", "--timeout", "soon"], "'--timeout <TIME>' 的值 'soon' 无效：请写时长"),
            (&["tools", "--lang", "fr"], "'--lang <LANG>' 的值 'fr' 无效：请写 en 或 zh"),
            (&["serve", "--idle-timeout", "soon"], "的值 'soon' 无效：请写时长（例如 30s 或 500ms）或整数"),
            (&["serve", "--log-format", "xml"], "的值 'xml' 无效（可用的值：text, json）"),
            (&["call", "t", "--timeout"], "'--timeout <TIME>' 需要一个值"),
            (&["call", "t", "a=1", "--args", "{}"], "不能与 "),
            (&["call", "t", "--args", "1", "--args", "2"], "'--args <JSON>' 不能多次使用"),
        ] {
            let text =
                render_for(arguments, Locale::Zh).unwrap_or_else(|| panic!("{arguments:?}: only by clap"));
            assert!(text.contains(expected), "{arguments:?}: {text}");
        }
        assert_eq!(render_for(&["--help"], Locale::Zh), None);
    }

    #[test]
    fn language_is_found_among_arguments_that_are_wrong() {
        let locale_of = |line: &str| find_locale(line.split(' ').map(str::to_owned));
        assert_eq!(locale_of("haft --nope --lang zh"), Some(Locale::Zh));
        assert_eq!(locale_of("haft --lang=zh_CN.UTF-8 --nope"), Some(Locale::Zh));
        assert_eq!(locale_of("haft --lang fr"), None);
        assert_eq!(locale_of("haft --language zh"), None);
        assert_eq!(locale_of("haft --lang"), None);
    }
}
