//! What the operator set for models: providers of the environment, defaults, and where to look for one.

use std::sync::Arc;

use haft_core::provider::ProviderKind;
use haft_llm::Scripted;
use secrecy::SecretString;
use url::Url;

/// Where models come from besides the store.
#[derive(Clone, Default)]
pub struct ModelSettings {
    /// For every space, in the order in which one is chosen.
    pub environment: Vec<EnvironmentProvider>,
    /// Where an Ollama may be that nobody told of; nothing when none is looked for.
    pub local: Option<Url>,
    /// The name or id of the provider that is asked when nobody says which.
    pub default_provider: Option<String>,
    /// Its model, where nobody says which.
    pub default_model: Option<String>,
}

/// A provider that the environment has a key, an address or a script for.
#[derive(Clone)]
pub struct EnvironmentProvider {
    pub name: &'static str,
    /// The variable that it is there for.
    pub variable: &'static str,
    pub speaks: Speaks,
}

/// What a provider of the environment answers with.
#[derive(Clone)]
pub enum Speaks {
    /// A dialect, at an address.
    Wire { kind: ProviderKind, base: Url, key: Option<SecretString> },
    /// A list of answers.
    Script(Arc<Scripted>),
}
