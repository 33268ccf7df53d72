//! Decides what to leave out of a request after a provider rejected it.

use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{CallError, ErrorKind, Locale, ModelOptions};

use crate::dialect::Dialect;
use crate::options::gemini_name;
use crate::request::ModelRequest;

/// Maximum number of requests for one response. A provider may reject one option after another.
pub(crate) const MAX_REQUESTS: usize = 5;

/// Terms for the response format in error messages.
const FORMAT_TERMS: [&str; 15] = [
    "response_format",
    "output_config.format",
    "output_config:",
    "output format",
    "response_schema",
    "responseschema",
    "response schema",
    "responsemimetype",
    "response_mime_type",
    "response mime type",
    "json_schema",
    "json_object",
    "json mode",
    "structured output",
    "schema",
];

/// Removes from a request the options that the provider rejected, and returns their names in OpenAI's API.
/// Returns no name if the error has another cause. The temperature and the response format field are always
/// removed, other options only with `drop_params`.
pub(crate) fn leave_out_refused(
    dialect: Dialect,
    request: &mut ModelRequest,
    has_format_field: bool,
    error: &CallError,
) -> Vec<String> {
    if error.kind() != ErrorKind::Validation {
        return Vec::new();
    }
    let reason = error.message().render(Locale::En).to_ascii_lowercase();
    let names = refused(dialect, request, has_format_field, &reason);
    for name in &names {
        request.leave_out(name);
    }
    names
}

/// The options that an error is about, by their names in OpenAI's API. Options are checked before the
/// response format: terms such as `schema` also occur in other errors.
fn refused(dialect: Dialect, request: &ModelRequest, has_format_field: bool, reason: &str) -> Vec<String> {
    if request.temperature.is_some() && mentions(reason, "temperature") {
        return vec!["temperature".to_owned()];
    }
    let options = &request.options;
    if options.drops_unsupported() {
        let is_named = |name: &str| {
            names_in_errors(dialect, options, name, has_format_field)
                .iter()
                .any(|name| mentions(reason, name))
        };
        let named: Vec<String> =
            options.iter().map(|(name, _)| name).filter(|name| is_named(name)).map(str::to_owned).collect();
        if !named.is_empty() {
            return named;
        }
    }
    let is_format = has_format_field && FORMAT_TERMS.iter().any(|words| reason.contains(words));
    if is_format { vec![RESPONSE_FORMAT.to_owned()] } else { Vec::new() }
}

/// The names of an option in the errors of a dialect, in lower case.
fn names_in_errors(
    dialect: Dialect,
    options: &ModelOptions,
    name: &str,
    has_format_field: bool,
) -> Vec<String> {
    let is_off = name == "reasoning_effort" && options.get(name).is_some_and(|effort| effort == "none");
    let own: &[&str] = match (dialect, name) {
        (Dialect::OpenAi, "reasoning_effort") => &["reasoning.effort"],
        (Dialect::Anthropic, "stop") => &["stop_sequences"],
        (Dialect::Anthropic, "user") => &["user_id"],
        (Dialect::Anthropic, "reasoning_effort") if is_off => &["thinking"],
        (Dialect::Anthropic, "reasoning_effort") if has_format_field => &["effort"],
        // Without a response format, `output_config` contains only the effort.
        (Dialect::Anthropic, "reasoning_effort") => &["effort", "output_config"],
        (Dialect::Gemini, "stop") => &["stop_sequences"],
        (Dialect::Gemini, "frequency_penalty" | "presence_penalty") => &["penalty"],
        (Dialect::Gemini, "reasoning_effort" | "thinking") => &[
            "thinking",
            "thinkingconfig",
            "thinking_config",
            "thinkinglevel",
            "thinking_level",
            "thinkingbudget",
            "thinking_budget",
        ],
        (Dialect::Ollama, "reasoning_effort" | "thinking") => &["think", "thinking"],
        _ => &[],
    };
    let on_wire = if dialect == Dialect::Gemini { gemini_name(name) } else { None };
    let names = [Some(name), on_wire].into_iter().flatten().chain(own.iter().copied());
    names.map(str::to_ascii_lowercase).collect()
}

/// Returns true if a text contains a name as a whole word. Letters of other scripts do not extend a name:
/// Chinese text follows it without a space.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    text.match_indices(name).any(|(from, found)| {
        let (before, after) = (&text[..from], &text[from + found.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The options that are left out of a request after an error.
    fn left_out(dialect: Dialect, given: Value, has_format_field: bool, message: &str) -> Vec<String> {
        let Value::Object(fields) = given else { panic!("{given}") };
        let options = ModelOptions::read(fields).expect("good options");
        let mut request = ModelRequest { options, ..ModelRequest::new("m", Vec::new()) };
        let error = CallError::text(ErrorKind::Validation, message);
        let names = leave_out_refused(dialect, &mut request, has_format_field, &error);
        let remaining: Vec<&str> = request.options.iter().map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| !remaining.contains(&name.as_str())), "{names:?} {remaining:?}");
        assert_eq!(request.format_in_instructions, names == [RESPONSE_FORMAT]);
        names
    }

    #[test]
    fn options_are_recognized_by_their_dialects_names() {
        let effort = json!({"reasoning_effort": "low", "drop_params": true});
        let none = json!({"reasoning_effort": "none", "drop_params": true});
        let stop = json!({"stop": "END", "drop_params": true});
        for (dialect, options, has_format_field, message, expected) in [
            (
                Dialect::Anthropic,
                &effort,
                true,
                "output_config.effort: Extra inputs are not permitted",
                "reasoning_effort",
            ),
            (
                Dialect::Anthropic,
                &effort,
                true,
                "This model does not support the effort parameter.",
                "reasoning_effort",
            ),
            (
                Dialect::Anthropic,
                &effort,
                false,
                "output_config: Extra inputs are not permitted",
                "reasoning_effort",
            ),
            (
                Dialect::Anthropic,
                &effort,
                true,
                "output_config: Extra inputs are not permitted",
                RESPONSE_FORMAT,
            ),
            (
                Dialect::Anthropic,
                &effort,
                true,
                "output_config.format: This model does not support structured outputs.",
                RESPONSE_FORMAT,
            ),
            (Dialect::Anthropic, &none, true, "thinking.type.disabled is not supported", "reasoning_effort"),
            (Dialect::Anthropic, &stop, true, "stop_sequences: each stop sequence must contain text", "stop"),
            (
                Dialect::Gemini,
                &effort,
                false,
                "Thinking level is not supported for this model.",
                "reasoning_effort",
            ),
            (Dialect::Gemini, &stop, false, "Invalid value at 'generation_config.stopSequences'", "stop"),
            (Dialect::Ollama, &effort, false, "\"llama3\" does not support thinking", "reasoning_effort"),
            (Dialect::OpenAi, &effort, false, "参数reasoning_effort不支持", "reasoning_effort"),
        ] {
            let found = left_out(dialect, options.clone(), has_format_field, message);
            assert_eq!(found, [expected], "{dialect:?} {message}");
        }
        // Without `drop_params`, the user must remove the option.
        let kept = json!({"reasoning_effort": "low"});
        let message = "output_config.effort: Extra inputs are not permitted";
        assert_eq!(left_out(Dialect::Anthropic, kept, true, message), Vec::<String>::new());
    }

    #[test]
    fn options_are_matched_as_whole_terms() {
        let options = json!({"x": 1, "top_p": 0.5, "stop": "END", "drop_params": true});
        for (message, expected) in [
            ("max_tokens exceeds the maximum", vec![]),
            ("stop_after is unknown", vec![]),
            ("Unsupported parameter: 'top_p' is not supported with this model.", vec!["top_p"]),
            ("x: Extra inputs are not permitted", vec!["x"]),
            ("Unknown parameters: x, top_p.", vec!["x", "top_p"]),
        ] {
            assert_eq!(left_out(Dialect::OpenAi, options.clone(), false, message), expected, "{message}");
        }
    }
}
