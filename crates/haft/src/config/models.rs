//! Model providers from environment variables: keys, URLs, a script, and the default provider and model.
//!
//! No error contains a value, since URLs and keys may contain credentials.

use std::net::IpAddr;
use std::sync::Arc;

use haft_core::provider::ProviderKind;
use haft_core::{CallError, Locale, Message};
use haft_llm::{Dialect, Scripted};
use haft_server::{EnvironmentProvider, ModelSettings, Speaks};
use url::Url;

use crate::cli_error::{OrFail as _, failure};
use crate::messages;

/// A provider that is enabled by its API key, with the names of its variables.
struct ProviderVariables {
    name: &'static str,
    kind: ProviderKind,
    key: &'static str,
    base: &'static str,
    /// The default URL. `None` means that of the dialect.
    default_base: Option<&'static str>,
}

/// The providers, in order of precedence as the default provider.
const PROVIDERS: [ProviderVariables; 5] = [
    ProviderVariables {
        name: "openai",
        kind: ProviderKind::Openai,
        key: "OPENAI_API_KEY",
        base: "OPENAI_BASE_URL",
        default_base: None,
    },
    ProviderVariables {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        key: "ANTHROPIC_API_KEY",
        base: "ANTHROPIC_BASE_URL",
        default_base: None,
    },
    ProviderVariables {
        name: "gemini",
        kind: ProviderKind::Gemini,
        key: "GEMINI_API_KEY",
        base: "GEMINI_BASE_URL",
        default_base: None,
    },
    ProviderVariables {
        name: "zhipu",
        kind: ProviderKind::Openai,
        key: "ZHIPU_API_KEY",
        base: "ZHIPU_BASE_URL",
        default_base: Some("https://open.bigmodel.cn/api/paas/v4"),
    },
    ProviderVariables {
        name: "deepseek",
        kind: ProviderKind::Openai,
        key: "DEEPSEEK_API_KEY",
        base: "DEEPSEEK_BASE_URL",
        default_base: Some("https://api.deepseek.com"),
    },
];

const OLLAMA: &str = "OLLAMA_HOST";
const FIND: &str = "HAFT_FIND_OLLAMA";
const SCRIPT: &str = "HAFT_SCRIPT";

/// The default port of Ollama.
const OLLAMA_PORT: u16 = 11434;

/// The default provider and model of the file.
pub(super) struct Defaults {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
}

/// Reads the settings from variables, which `set` looks up, and from the file.
pub(super) fn settings(
    file: Defaults,
    locale: Locale,
    set: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<ModelSettings> {
    let mut environment = Vec::new();
    for provider in &PROVIDERS {
        let Some(key) = set(provider.key) else { continue };
        let default_base =
            provider.default_base.or_else(|| Dialect::of(provider.kind).map(Dialect::usual_base));
        let written = set(provider.base).or_else(|| default_base.map(str::to_owned)).unwrap_or_default();
        let base = address(&written).or_fail(|| not_an_address(provider.base))?;
        let speaks = Speaks::Wire { kind: provider.kind, base, key: Some(key.into()) };
        environment.push(EnvironmentProvider { name: provider.name, variable: provider.key, speaks });
    }
    let host = set(OLLAMA).map(|host| ollama(&host).or_fail(|| not_an_address(OLLAMA))).transpose()?;
    let has_host = host.is_some();
    if let Some(base) = host {
        let speaks = Speaks::Wire { kind: ProviderKind::Ollama, base, key: None };
        environment.push(EnvironmentProvider { name: "ollama", variable: OLLAMA, speaks });
    }
    if let Some(path) = set(SCRIPT) {
        let text = std::fs::read_to_string(&path)
            .or_fail(|| Message::new(&messages::CANNOT_READ).with("path", format!("{SCRIPT}: {path}")))?;
        let to_error = |error: CallError| anyhow::anyhow!("{SCRIPT}: {}", error.message().render(locale));
        let speaks = Speaks::Script(Arc::new(Scripted::read(&text).map_err(to_error)?));
        environment.push(EnvironmentProvider { name: "scripted", variable: SCRIPT, speaks });
    }
    let local = match set(FIND).as_deref() {
        None | Some("true" | "1") => address(Dialect::Ollama.usual_base()),
        Some("false" | "0") => None,
        Some(elsewhere) => match address(elsewhere) {
            Some(url) => Some(url),
            None => return Err(failure(Message::new(&messages::NOT_FIND).with("name", FIND))),
        },
    };
    let local = local.filter(|_| !has_host);
    let default_provider = set("HAFT_DEFAULT_PROVIDER").or(file.provider);
    let default_model = set("HAFT_DEFAULT_MODEL").or(file.model);
    Ok(ModelSettings { environment, local, default_provider, default_model })
}

fn not_an_address(name: &str) -> Message {
    Message::new(&messages::NOT_AN_ADDRESS).with("name", name)
}

fn address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_open = url.username().is_empty() && url.password().is_none();
    (matches!(url.scheme(), "http" | "https") && url.has_host() && is_open).then_some(url)
}

/// Parses `OLLAMA_HOST` as Ollama does: a URL, or a host and a port, each optional. The wildcard address that
/// a server listens on becomes the loopback address.
fn ollama(text: &str) -> Option<Url> {
    let text = text.trim().trim_matches(['"', '\'']);
    let has_scheme = text.contains("://");
    let mut url = if has_scheme {
        address(text)?
    } else {
        let (host, path) = text.split_once('/').unwrap_or((text, ""));
        let host = match host.parse() {
            // An IPv6 address contains colons, so it needs brackets.
            Ok(IpAddr::V6(address)) => format!("[{address}]"),
            Ok(IpAddr::V4(_)) | Err(_) if host.is_empty() || host.starts_with(':') => {
                format!("127.0.0.1{host}")
            }
            Ok(IpAddr::V4(_)) | Err(_) => host.to_owned(),
        };
        // `Url` drops the default port of http, so the port is detected in the text.
        let names_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let is_bare = !names_port || host.ends_with(']');
        let host = if is_bare { format!("{host}:{OLLAMA_PORT}") } else { host };
        address(&format!("http://{host}/{path}"))?
    };
    let this_machine = match url.host_str() {
        Some("0.0.0.0") => Some("127.0.0.1"),
        Some("[::]") => Some("[::1]"),
        Some(_) | None => None,
    };
    if let Some(host) = this_machine {
        url.set_host(Some(host)).ok()?;
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> anyhow::Result<ModelSettings> {
        let find = |name: &str| set.iter().find(|(known, _)| *known == name);
        let file = Defaults { provider: Some("of-file".to_owned()), model: None };
        settings(file, Locale::En, |name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn base(provider: &EnvironmentProvider) -> String {
        match &provider.speaks {
            Speaks::Wire { base, .. } => base.to_string(),
            Speaks::Script(_) => String::new(),
        }
    }

    #[test]
    fn api_keys_enable_providers_in_a_fixed_order() {
        let set = [
            ("OLLAMA_HOST", "gpu:1234"),
            ("DEEPSEEK_API_KEY", "d"),
            ("ZHIPU_API_KEY", "z"),
            ("GEMINI_API_KEY", "g"),
            ("ANTHROPIC_API_KEY", "a"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/claude"),
            ("OPENAI_API_KEY", "o"),
            ("HAFT_DEFAULT_PROVIDER", "zhipu"),
        ];
        let settings = read(&set).expect("good settings");
        let named: Vec<(&str, String)> =
            settings.environment.iter().map(|one| (one.name, base(one))).collect();
        let expected = [
            ("openai", "https://api.openai.com/v1"),
            ("anthropic", "http://127.0.0.1:9/claude"),
            ("gemini", "https://generativelanguage.googleapis.com/"),
            ("zhipu", "https://open.bigmodel.cn/api/paas/v4"),
            ("deepseek", "https://api.deepseek.com/"),
            ("ollama", "http://gpu:1234/"),
        ];
        assert_eq!(named, expected.map(|(name, base)| (name, base.to_owned())));
        assert_eq!(settings.default_provider.as_deref(), Some("zhipu"));
        assert!(settings.local.is_none(), "OLLAMA_HOST switches the detection off");

        let nothing = read(&[("OPENAI_BASE_URL", "http://x")]).expect("good settings");
        assert!(nothing.environment.is_empty(), "a URL without a key enables no provider");
        assert_eq!(nothing.default_provider.as_deref(), Some("of-file"));
        assert_eq!(nothing.local.map(String::from).as_deref(), Some("http://127.0.0.1:11434/"));
        assert!(read(&[("HAFT_FIND_OLLAMA", "false")]).expect("good settings").local.is_none());
        let elsewhere = read(&[("HAFT_FIND_OLLAMA", "http://127.0.0.1:4711/")]).expect("good settings");
        assert_eq!(elsewhere.local.map(String::from).as_deref(), Some("http://127.0.0.1:4711/"));
    }

    #[test]
    fn error_names_the_variable_and_hides_its_value() {
        for (set, expected) in [
            (vec![("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "hidden")], "OPENAI_BASE_URL is not"),
            (
                vec![("GEMINI_API_KEY", "k"), ("GEMINI_BASE_URL", "https://hidden@a.example")],
                "GEMINI_BASE_URL",
            ),
            (vec![("OLLAMA_HOST", "ftp://hidden")], "OLLAMA_HOST is not"),
            (vec![("HAFT_FIND_OLLAMA", "hidden")], "HAFT_FIND_OLLAMA must be true or false"),
            (vec![("HAFT_SCRIPT", "/nowhere/script.json")], "cannot read HAFT_SCRIPT: /nowhere/script.json"),
        ] {
            let error = read(&set).err().expect("refused");
            let text = format!("{error:#}");
            assert!(text.contains(expected) && !text.contains("hidden"), "{text}");
        }
    }

    #[test]
    fn ollama_host_is_parsed_as_ollama_parses_it() {
        for (text, expected) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434/"),
            ("gpu", "http://gpu:11434/"),
            ("gpu:80", "http://gpu/"),
            (":5000", "http://127.0.0.1:5000/"),
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("0.0.0.0:5000", "http://127.0.0.1:5000/"),
            ("[::]:5000", "http://[::1]:5000/"),
            ("::1", "http://[::1]:11434/"),
            ("[::1]", "http://[::1]:11434/"),
            ("http://gpu", "http://gpu/"),
            ("https://models.example.com/ollama", "https://models.example.com/ollama"),
            ("gpu:5000/ollama", "http://gpu:5000/ollama"),
            (" \"gpu:5000\" ", "http://gpu:5000/"),
        ] {
            assert_eq!(ollama(text).map(String::from).as_deref(), Some(expected), "{text}");
        }
        for bad in ["ftp://gpu", "http://u:p@gpu", "a b"] {
            assert_eq!(ollama(bad), None, "{bad}");
        }
    }
}
