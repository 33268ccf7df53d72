//! The thinking mode, from the options `thinking` and `reasoning_effort`.

use haft_core::ModelOptions;
use serde_json::Value;

/// The thinking budget for each effort, in tokens, for models without thinking levels.
const EFFORT_BUDGETS: [(&str, u32); 6] = [
    ("minimal", 1_024),
    ("low", 1_024),
    ("medium", 8_192),
    ("high", 24_576),
    ("xhigh", 24_576),
    ("max", 24_576),
];

/// The amount of thinking before a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingMode<'a> {
    Off,
    /// The model decides.
    On,
    /// At most this number of tokens.
    Budget(i64),
    Effort(&'a str),
}

impl<'a> ThinkingMode<'a> {
    /// The mode that the options request: `thinking` turns thinking on or off and may set a budget;
    /// `reasoning_effort` applies if there is no budget. Returns `None` if neither is given.
    pub(crate) fn of(options: &'a ModelOptions) -> Option<Self> {
        let effort = options.get("reasoning_effort").and_then(Value::as_str);
        let Some(thinking) = options.get("thinking") else {
            return effort.map(|effort| if effort == "none" { Self::Off } else { Self::Effort(effort) });
        };
        let is_on = thinking.as_bool().unwrap_or_else(|| thinking["type"] != "disabled");
        let effort = effort.filter(|effort| *effort != "none");
        Some(match (is_on, thinking["budget_tokens"].as_i64(), effort) {
            (false, _, _) => Self::Off,
            (true, Some(tokens), _) => Self::Budget(tokens),
            (true, None, Some(effort)) => Self::Effort(effort),
            (true, None, None) => Self::On,
        })
    }

    /// The field of Gemini's `thinkingConfig` and its value: one of the model's thinking levels, or a budget
    /// if it has none.
    pub(crate) fn gemini(self, levels: &[&str]) -> (&'static str, Value) {
        let takes_levels = !levels.is_empty();
        let level = |level: &str| ("thinkingLevel", Value::from(level));
        let budget = |tokens: i64| ("thinkingBudget", Value::from(tokens));
        match self {
            // The lowest level that all of these models support.
            Self::Off | Self::Effort("minimal" | "low") if takes_levels => level("low"),
            Self::Off => budget(0),
            // Gemini lets the model decide.
            Self::On => budget(-1),
            Self::Budget(tokens) => budget(tokens),
            Self::Effort("medium") if levels.contains(&"medium") => level("medium"),
            Self::Effort(_) if takes_levels => level("high"),
            Self::Effort(effort) => {
                let tokens = EFFORT_BUDGETS.iter().find(|(name, _)| *name == effort);
                budget(tokens.map_or(0, |(_, tokens)| i64::from(*tokens)))
            }
        }
    }

    /// The value of Ollama's `think`: a level for gpt-oss, on or off for other models.
    pub(crate) fn ollama(self, model: &str) -> Value {
        match self {
            Self::Off => false.into(),
            Self::On | Self::Budget(_) => true.into(),
            Self::Effort(_) if !model.contains("gpt-oss") => true.into(),
            Self::Effort("minimal" | "low") => "low".into(),
            Self::Effort("medium") => "medium".into(),
            Self::Effort(_) => "high".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(given: Value) -> ModelOptions {
        let Value::Object(fields) = given else { panic!("{given}") };
        ModelOptions::read(fields).expect("good options")
    }

    #[test]
    fn effort_maps_to_a_level_a_budget_or_a_switch() {
        for (effort, levels, level_of_two, budgets) in [
            ("none", "low", "low", 0),
            ("minimal", "low", "low", 1_024),
            ("low", "low", "low", 1_024),
            ("medium", "medium", "high", 8_192),
            ("max", "high", "high", 24_576),
        ] {
            let options = options(json!({"reasoning_effort": effort}));
            let mode = ThinkingMode::of(&options).expect("a mode");
            assert_eq!(mode.gemini(&["low", "medium", "high"]), ("thinkingLevel", json!(levels)), "{effort}");
            assert_eq!(mode.gemini(&["low", "high"]), ("thinkingLevel", json!(level_of_two)), "{effort}");
            assert_eq!(mode.gemini(&[]), ("thinkingBudget", json!(budgets)), "{effort}");
            for (model, think) in [("gpt-oss:20b", json!(levels)), ("qwen3", json!(true))] {
                let think = if effort == "none" { json!(false) } else { think };
                assert_eq!(mode.ollama(model), think, "{model} {effort}");
            }
        }
    }

    #[test]
    fn thinking_and_reasoning_effort_determine_one_mode() {
        let budget = json!({"type": "enabled", "budget_tokens": 2_000});
        for (given, expected) in [
            (json!({}), None),
            (json!({"thinking": true}), Some(ThinkingMode::On)),
            (json!({"thinking": true, "reasoning_effort": "low"}), Some(ThinkingMode::Effort("low"))),
            (json!({"thinking": true, "reasoning_effort": "none"}), Some(ThinkingMode::On)),
            (json!({"thinking": {"type": "adaptive"}}), Some(ThinkingMode::On)),
            (json!({"thinking": budget, "reasoning_effort": "low"}), Some(ThinkingMode::Budget(2_000))),
            (json!({"thinking": false, "reasoning_effort": "high"}), Some(ThinkingMode::Off)),
            (json!({"thinking": {"type": "disabled"}}), Some(ThinkingMode::Off)),
        ] {
            let options = options(given.clone());
            assert_eq!(ThinkingMode::of(&options), expected, "{given}");
        }
    }
}
