//! Converts model options to each dialect.

use haft_core::ModelOptions;
use haft_core::model_options::stops;
use serde_json::{Map, Value, json};

use crate::dialect::Dialect;
use crate::thinking::ThinkingMode;

/// Options that do not change the response. Dialects that do not support them drop them without a warning.
const HINTS: [&str; 6] =
    ["user", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention", "prediction"];

/// Options that Ollama supports under the same name.
const OLLAMA: [&str; 16] = [
    "top_p",
    "top_k",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "min_p",
    "typical_p",
    "repeat_penalty",
    "repeat_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "num_keep",
    "num_gpu",
    "num_batch",
    "num_thread",
];

/// Top-level fields of Ollama with the same name.
const OLLAMA_FIELDS: [&str; 2] = ["logprobs", "top_logprobs"];

/// Values of `reasoning_effort` and kinds of `thinking` that are converted. Compatible servers have others.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const THINKING_KINDS: [&str; 3] = ["enabled", "disabled", "adaptive"];

/// Minimum number of tokens for the response in addition to a thinking budget.
const MIN_RESPONSE: u64 = 1_024;

/// Maximum length of a user id for Anthropic, in characters.
const MAX_USER_ID: usize = 256;

/// Returns true if a dialect has an option. OpenAI-compatible servers receive every option and reject unknown
/// ones themselves.
fn has_option(dialect: Dialect, name: &str) -> bool {
    match dialect {
        Dialect::OpenAi => true,
        Dialect::Anthropic => ["stop", "top_p", "top_k", "reasoning_effort", "thinking"].contains(&name),
        Dialect::Gemini => gemini_name(name).is_some() || ["reasoning_effort", "thinking"].contains(&name),
        Dialect::Ollama => {
            OLLAMA.contains(&name)
                || OLLAMA_FIELDS.contains(&name)
                || ["stop", "reasoning_effort", "thinking"].contains(&name)
        }
    }
}

/// Returns true if a dialect can express the value of a supported option. OpenAI-compatible servers check
/// values themselves.
fn takes(dialect: Dialect, name: &str, value: &Value) -> bool {
    let number = |least: f64, most: f64| value.as_f64().is_some_and(|given| (least..=most).contains(&given));
    match (dialect, name) {
        (Dialect::OpenAi, _) => true,
        (_, "top_p") => number(0.0, 1.0),
        (Dialect::Anthropic | Dialect::Gemini, "top_k") => number(1.0, f64::from(i32::MAX)),
        (_, "frequency_penalty" | "presence_penalty") => number(-2.0, 2.0),
        (_, "top_logprobs") => number(0.0, 20.0),
        (_, "reasoning_effort") => value.as_str().is_some_and(|word| EFFORTS.contains(&word)),
        (_, "thinking") => {
            value.is_boolean() || value["type"].as_str().is_some_and(|kind| THINKING_KINDS.contains(&kind))
        }
        _ => true,
    }
}

/// The names of options that a dialect does not support, or not with their values.
pub(crate) fn unsupported(dialect: Dialect, options: &ModelOptions) -> Vec<String> {
    let changes_nothing = |name: &str, value: &Value| {
        HINTS.contains(&name)
            || (name == "logprobs" && value == &Value::Bool(false))
            || (name == "top_logprobs" && value.as_u64() == Some(0))
            || (matches!(name, "frequency_penalty" | "presence_penalty") && value.as_f64() == Some(0.0))
            || (name == "logit_bias" && value.as_object().is_some_and(Map::is_empty))
    };
    let is_supported = |name: &str, value: &Value| match has_option(dialect, name) {
        true => takes(dialect, name, value),
        false => changes_nothing(name, value),
    };
    let missing = options.iter().filter(|(name, value)| !is_supported(name, value));
    missing.map(|(name, _)| name.to_owned()).collect()
}

/// Copies options to a chat completion, unchanged.
pub(crate) fn openai(options: &ModelOptions, is_own: bool, fields: &mut Map<String, Value>) {
    for (name, value) in options.iter() {
        let is_empty_stop = name == "stop" && stops(value).is_some_and(|stops| stops.is_empty());
        if is_empty_stop || fields.contains_key(name) {
            continue;
        }
        let value = match (name, value) {
            // Compatible servers with thinking models use Anthropic's object.
            ("thinking", Value::Bool(is_on)) if !is_own => {
                json!({"type": if *is_on { "enabled" } else { "disabled" }})
            }
            (_, value) => value.clone(),
        };
        fields.insert(name.to_owned(), value);
    }
}

/// Converts options to Anthropic's Messages API.
pub(crate) fn anthropic(options: &ModelOptions, fields: &mut Map<String, Value>) {
    for (name, value) in options.iter() {
        match name {
            "top_p" | "top_k" => {
                fields.insert(name.to_owned(), value.clone());
            }
            "stop" => {
                let stops = stops(value).filter(|stops| !stops.is_empty());
                fields.extend(stops.map(|stops| ("stop_sequences".to_owned(), json!(stops))));
            }
            "user" => {
                let id = value.as_str().filter(|id| id.chars().count() <= MAX_USER_ID);
                fields.extend(id.map(|id| ("metadata".to_owned(), json!({"user_id": id}))));
            }
            // Other tiers are specific to OpenAI.
            "service_tier" if value == "auto" || value == "standard_only" => {
                fields.insert(name.to_owned(), value.clone());
            }
            "reasoning_effort" => match value.as_str() {
                // An explicit `thinking` takes precedence.
                Some("none") if options.get("thinking").is_some() => {}
                Some("none") => {
                    fields.insert("thinking".to_owned(), json!({"type": "disabled"}));
                }
                Some(effort) => {
                    let effort = if effort == "minimal" { "low" } else { effort };
                    let config = fields.entry("output_config").or_insert_with(|| json!({}));
                    config["effort"] = effort.into();
                }
                None => {}
            },
            "thinking" => {
                let thinking = match value {
                    Value::Bool(true) => json!({"type": "adaptive"}),
                    Value::Bool(false) => json!({"type": "disabled"}),
                    Value::Null
                    | Value::Number(_)
                    | Value::String(_)
                    | Value::Array(_)
                    | Value::Object(_) => value.clone(),
                };
                make_room(&thinking, fields);
                fields.insert("thinking".to_owned(), thinking);
            }
            _ => {}
        }
    }
}

/// Raises `max_tokens` above the thinking budget: thinking counts as output.
fn make_room(thinking: &Value, fields: &mut Map<String, Value>) {
    let Some(budget) = thinking["budget_tokens"].as_u64() else { return };
    let length = fields.get("max_tokens").and_then(Value::as_u64).unwrap_or_default();
    if length <= budget {
        fields.insert("max_tokens".to_owned(), (budget + length.max(MIN_RESPONSE)).into());
    }
}

/// The name of an option in Gemini's `generationConfig`.
pub(crate) fn gemini_name(name: &str) -> Option<&'static str> {
    match name {
        "top_p" => Some("topP"),
        "top_k" => Some("topK"),
        "seed" => Some("seed"),
        "frequency_penalty" => Some("frequencyPenalty"),
        "presence_penalty" => Some("presencePenalty"),
        "stop" => Some("stopSequences"),
        _ => None,
    }
}

/// Converts options to Gemini's `generationConfig`. `levels` are the thinking levels that the model supports;
/// a model without levels takes a number of tokens.
pub(crate) fn gemini(options: &ModelOptions, levels: &[&str], generation: &mut Map<String, Value>) {
    for (name, value) in options.iter() {
        let Some(own) = gemini_name(name) else { continue };
        let stops = if name == "stop" { stops(value) } else { None };
        match stops {
            Some(stops) if stops.is_empty() => {}
            Some(stops) => _ = generation.insert(own.to_owned(), json!(stops)),
            None => _ = generation.insert(own.to_owned(), value.clone()),
        }
    }
    let Some(mode) = ThinkingMode::of(options) else { return };
    let (name, value) = mode.gemini(levels);
    let config = generation.entry("thinkingConfig").or_insert_with(|| json!({}));
    if let Value::Object(config) = config {
        // Gemini rejects including thoughts if thinking is off.
        if name == "thinkingBudget" && value == 0 {
            config.shift_remove("includeThoughts");
        }
        config.insert(name.to_owned(), value);
    }
}

/// Converts options to Ollama's chat: most inside `options`; `think` and log probabilities are top-level
/// fields.
pub(crate) fn ollama(
    model: &str,
    asked: &ModelOptions,
    options: &mut Map<String, Value>,
    fields: &mut Map<String, Value>,
) {
    for (name, value) in asked.iter() {
        match name {
            "stop" => {
                let stops = stops(value).filter(|stops| !stops.is_empty());
                options.extend(stops.map(|stops| (name.to_owned(), json!(stops))));
            }
            _ if OLLAMA.contains(&name) => {
                options.insert(name.to_owned(), value.clone());
            }
            _ if OLLAMA_FIELDS.contains(&name) => {
                fields.insert(name.to_owned(), value.clone());
            }
            _ => {}
        }
    }
    let think = ThinkingMode::of(asked).map(|mode| ("think".to_owned(), mode.ollama(model)));
    fields.extend(think);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: Value) -> ModelOptions {
        let Value::Object(fields) = given else { panic!("{given}") };
        ModelOptions::read(fields).expect("good options")
    }

    #[test]
    fn unsupported_options_are_listed() {
        let all = options(json!({
            "top_p": 0.5, "seed": 1, "stop": "x", "logit_bias": {"1": 2}, "verbosity": "low",
            "reasoning_effort": "low", "user": "u", "presence_penalty": 0.0, "mirostat": 1, "own": true,
        }));
        for (dialect, expected) in [
            (Dialect::OpenAi, vec![]),
            (Dialect::Anthropic, vec!["seed", "logit_bias", "verbosity", "mirostat", "own"]),
            (Dialect::Gemini, vec!["logit_bias", "verbosity", "mirostat", "own"]),
            (Dialect::Ollama, vec!["logit_bias", "verbosity", "own"]),
        ] {
            assert_eq!(unsupported(dialect, &all), expected, "{dialect:?}");
        }
    }

    #[test]
    fn unsupported_values_are_listed_and_compatible_servers_receive_all() {
        let all = options(json!({
            "top_p": 1.5, "top_k": -1, "frequency_penalty": 3, "top_logprobs": 21, "reasoning_effort": "default",
            "thinking": {"type": "auto"},
        }));
        for (dialect, expected) in [
            (Dialect::OpenAi, vec![]),
            (
                Dialect::Anthropic,
                vec!["top_p", "top_k", "frequency_penalty", "top_logprobs", "reasoning_effort", "thinking"],
            ),
            (
                Dialect::Gemini,
                vec!["top_p", "top_k", "frequency_penalty", "top_logprobs", "reasoning_effort", "thinking"],
            ),
            (
                Dialect::Ollama,
                vec!["top_p", "frequency_penalty", "top_logprobs", "reasoning_effort", "thinking"],
            ),
        ] {
            assert_eq!(unsupported(dialect, &all), expected, "{dialect:?}");
        }
        let mut fields = Map::new();
        openai(&all, false, &mut fields);
        assert_eq!(fields["thinking"], json!({"type": "auto"}));
        assert_eq!(fields.len(), 6, "{fields:?}");
    }

    #[test]
    fn gemini_receives_a_level_or_a_budget_but_not_both() {
        let budget = json!({"type": "enabled", "budget_tokens": 2_000});
        let levels: &[&str] = &["low", "high"];
        let no_levels: &[&str] = &[];
        for (given, levels, expected) in [
            (
                json!({"thinking": true, "reasoning_effort": "low"}),
                levels,
                json!({"includeThoughts": true, "thinkingLevel": "low"}),
            ),
            (
                json!({"reasoning_effort": "low", "thinking": budget}),
                levels,
                json!({"includeThoughts": true, "thinkingBudget": 2_000}),
            ),
            (json!({"thinking": true}), levels, json!({"includeThoughts": true, "thinkingBudget": -1})),
            (json!({"thinking": false, "reasoning_effort": "high"}), no_levels, json!({"thinkingBudget": 0})),
        ] {
            let thoughts = json!({"includeThoughts": true});
            let mut generation = Map::from_iter([("thinkingConfig".to_owned(), thoughts)]);
            gemini(&options(given.clone()), levels, &mut generation);
            assert_eq!(generation["thinkingConfig"], expected, "{given}");
        }
    }

    #[test]
    fn thinking_is_an_object_for_compatible_servers_and_unchanged_for_openai() {
        for (given, compatible) in
            [(json!(true), json!({"type": "enabled"})), (json!(false), json!({"type": "disabled"}))]
        {
            for (is_own, expected) in [(false, &compatible), (true, &given)] {
                let mut fields = Map::new();
                openai(&options(json!({"thinking": given})), is_own, &mut fields);
                assert_eq!(&fields["thinking"], expected, "{given} {is_own}");
            }
        }
    }

    #[test]
    fn anthropic_receives_the_user_and_supported_service_tiers() {
        let long = "x".repeat(MAX_USER_ID + 1);
        for (given, expected) in [
            (json!({"user": "ada"}), json!({"metadata": {"user_id": "ada"}})),
            (json!({"user": long}), json!({})),
            (json!({"service_tier": "auto"}), json!({"service_tier": "auto"})),
            (json!({"service_tier": "flex"}), json!({})),
        ] {
            let mut fields = Map::new();
            anthropic(&options(given.clone()), &mut fields);
            assert_eq!(Value::Object(fields), expected, "{given}");
        }
    }

    #[test]
    fn thinking_of_anthropic_does_not_depend_on_the_order_of_options() {
        for given in [
            json!({"thinking": {"type": "adaptive"}, "reasoning_effort": "none"}),
            json!({"reasoning_effort": "none", "thinking": {"type": "adaptive"}}),
        ] {
            let mut fields = Map::new();
            anthropic(&options(given.clone()), &mut fields);
            assert_eq!(fields["thinking"], json!({"type": "adaptive"}), "{given}");
        }
    }

    #[test]
    fn a_thinking_budget_reserves_tokens_for_the_response() {
        for (length, expected) in [(500, 4_096 + 1_024), (4_096, 8_192), (8_192, 8_192)] {
            let mut fields = Map::from_iter([("max_tokens".to_owned(), json!(length))]);
            let asked = options(json!({"thinking": {"type": "enabled", "budget_tokens": 4_096}}));
            anthropic(&asked, &mut fields);
            assert_eq!(fields["max_tokens"], json!(expected), "{length}");
        }
    }
}
