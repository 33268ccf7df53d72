//! How much the models of well-known families read and write in all, by how their names begin.
//!
//! The least that a family is known for: what says too much makes requests fail, what says too little only folds
//! a conversation sooner. A name that begins like none of these has no window here.

/// The longest beginning that fits counts.
const WINDOWS: [(&str, u32); 35] = [
    ("chatgpt-", 128_000),
    ("gpt-3.5", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude-", 200_000),
    ("gemini-", 1_048_576),
    ("glm-4", 128_000),
    ("glm-4.5v", 65_536),
    ("glm-4.6", 200_000),
    ("glm-4.7", 200_000),
    ("glm-5", 200_000),
    ("deepseek-", 131_072),
    ("qwen", 32_768),
    ("kimi-", 131_072),
    ("moonshot-v1", 131_072),
    ("moonshot-v1-32k", 32_768),
    ("moonshot-v1-8k", 8_192),
    ("llama2", 4_096),
    ("llama3", 8_192),
    ("llama-3", 8_192),
    ("llama3.", 131_072),
    ("llama-3.", 131_072),
    ("llama4", 131_072),
    ("llama-4", 131_072),
    ("mistral", 32_768),
];

/// So many tokens a model reads and writes in all, as far as that is known.
pub(super) fn window(model: &str) -> Option<u32> {
    // Some servers name the maker before the model.
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let fitting = WINDOWS.iter().filter(|(beginning, _)| name.starts_with(beginning));
    fitting.max_by_key(|(beginning, _)| beginning.len()).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts_and_an_unknown_name_has_no_window() {
        for (model, expected) in [
            ("gpt-4", Some(8_192)),
            ("gpt-4o-mini", Some(128_000)),
            ("gpt-4.1-nano", Some(1_047_576)),
            ("gpt-5.6-terra", Some(400_000)),
            ("o3-pro", Some(200_000)),
            ("claude-sonnet-4-6", Some(200_000)),
            ("models/gemini-flash-latest", Some(1_048_576)),
            ("glm-4.6", Some(200_000)),
            ("glm-4-flash", Some(128_000)),
            ("meta-llama/Llama-3.3-70B-Instruct", Some(131_072)),
            ("llama3:8b", Some(8_192)),
            ("llama3.2:latest", Some(131_072)),
            ("Qwen/Qwen3-32B", Some(32_768)),
            ("phi4", None),
            ("our-own", None),
            ("", None),
        ] {
            assert_eq!(window(model), expected, "{model}");
        }
    }
}
