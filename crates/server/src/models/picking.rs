//! Which model of a provider is asked when nobody says which.
//!
//! Names of models come and go. So what is preferred here is looked for in what the provider lists; a fixed name is
//! the last resort, for a well-known provider that gives no list.

use url::Url;

/// A provider that is known by its host.
struct WellKnown {
    hosts: &'static [&'static str],
    /// Beginnings of names, the best first: what answers well and does not cost the most.
    prefers: &'static [&'static str],
    /// Asked for where there is no list.
    otherwise: &'static str,
}

const WELL_KNOWN: [WellKnown; 5] = [
    WellKnown {
        hosts: &["api.openai.com"],
        prefers: &["gpt-5.6-terra", "gpt-5-mini", "gpt-5", "gpt-4.1"],
        otherwise: "gpt-5.6-terra",
    },
    WellKnown {
        hosts: &["api.anthropic.com"],
        // Listed from the newest on.
        prefers: &["claude-sonnet"],
        otherwise: "claude-sonnet-4-6",
    },
    WellKnown {
        hosts: &["generativelanguage.googleapis.com"],
        prefers: &["gemini-flash-latest"],
        otherwise: "gemini-flash-latest",
    },
    WellKnown {
        hosts: &["open.bigmodel.cn", "api.z.ai"],
        prefers: &["glm-5", "glm-4.7", "glm-4.6"],
        otherwise: "glm-4.6",
    },
    WellKnown {
        hosts: &["api.deepseek.com"],
        prefers: &["deepseek-flash", "deepseek-v4-flash", "deepseek-chat"],
        otherwise: "deepseek-flash",
    },
];

/// Parts of names of what is listed beside models and does not converse.
const SILENT: [&str; 10] =
    ["embed", "rerank", "whisper", "tts", "audio", "realtime", "image", "dall-e", "moderation", "transcribe"];

fn well_known(base: &Url) -> Option<&'static WellKnown> {
    let host = base.host_str()?;
    WELL_KNOWN.iter().find(|known| known.hosts.contains(&host))
}

/// The model to ask of those that the provider at an address lists.
pub(super) fn pick(base: &Url, listed: &[String]) -> Option<String> {
    let converses = |name: &&String| {
        let name = name.to_ascii_lowercase();
        !SILENT.iter().any(|part| name.contains(part))
    };
    let listed: Vec<&String> = listed.iter().filter(converses).collect();
    let preferred = well_known(base).into_iter().flat_map(|known| known.prefers).find_map(|beginning| {
        let whole = listed.iter().find(|name| name.as_str() == *beginning);
        whole.or_else(|| listed.iter().find(|name| name.starts_with(beginning)))
    });
    preferred.or_else(|| listed.first()).map(|name| (*name).clone())
}

/// The model to ask where there is no list.
pub(super) fn unlisted(base: &Url) -> Option<&'static str> {
    well_known(base).map(|known| known.otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_preferred_is_taken_from_the_list_and_what_cannot_converse_is_not() {
        let (openai, claude) = ("https://api.openai.com/v1", "https://api.anthropic.com");
        let (own, glm) = ("http://models.internal:8000/v1", "https://open.bigmodel.cn/api/paas/v4");
        for (base, listed, expected) in [
            (openai, vec!["gpt-4.1-mini", "gpt-5-mini-2025-08-07", "gpt-5-mini"], Some("gpt-5-mini")),
            (openai, vec!["gpt-image-1", "gpt-4o", "gpt-4.1-mini"], Some("gpt-4.1-mini")),
            (openai, vec!["text-embedding-3-small", "davinci"], Some("davinci")),
            (claude, vec!["claude-opus-5", "claude-sonnet-5", "claude-sonnet-4-6"], Some("claude-sonnet-5")),
            (claude, vec!["claude-opus-5"], Some("claude-opus-5")),
            (glm, vec!["glm-4.5", "glm-4.6"], Some("glm-4.6")),
            (own, vec!["nomic-embed-text:latest", "llama3.2:latest", "qwen3"], Some("llama3.2:latest")),
            (own, vec!["gpt-4.1", "gpt-5-mini"], Some("gpt-4.1")),
            (own, vec!["nomic-embed-text:latest"], None),
            (own, vec![], None),
        ] {
            let base = Url::parse(base).expect("a URL");
            let names: Vec<String> = listed.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(pick(&base, &names).as_deref(), expected, "{base} {listed:?}");
        }
    }

    #[test]
    fn only_a_well_known_provider_has_a_model_without_a_list() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        assert_eq!(unlisted(&url("https://api.deepseek.com/v1")), Some("deepseek-flash"));
        assert_eq!(unlisted(&url("https://api.openai.com.evil.example/v1")), None);
        assert_eq!(unlisted(&url("http://127.0.0.1:11434")), None);
    }
}
