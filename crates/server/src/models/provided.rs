//! One provider, prepared so that it can be asked: read, parsed and checked once for each of its versions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_agent::SpaceUser;
use haft_core::mask::Mask;
use haft_core::provider::{Provider, ProviderKind};
use haft_core::text::TextPart;
use haft_core::{CallError, ErrorKind, Message, SecretRef, Text};
use haft_egress::{Egress, Hosts, Limits, ToolPolicy};
use haft_engine::SecretSource;
use haft_llm::{Dialect, Model, Reach, Scripted, Wire};
use secrecy::ExposeSecret;
use serde::Serialize;
use tokio::time::Instant;
use url::Url;

use super::ollama::Windows;
use super::settings::{EnvironmentProvider, Speaks};
use super::{picking, windows};
use crate::stored_secrets::StoredSecrets;

haft_core::templates! {
    NO_KEY = "models.noKey",
        "{secret} has no value yet",
        "{secret} 尚无值";
    NO_ADDRESS = "models.noAddress",
        "The provider {name} has no usable address. Set another one.",
        "模型服务 {name} 没有可用的地址；请重新设置";
    NO_MODEL = "models.noModel",
        "The provider {name} lists no chat model. Specify a model.",
        "模型服务 {name} 没有列出可对话的模型；请指定模型";
}

/// A list of models may be so large, and take so long.
const LARGEST_LIST: usize = 4 << 20;
const LONGEST: Duration = Duration::from_secs(15);

/// A list is good for so long.
const LISTED_FOR: Duration = Duration::from_secs(300);

/// What a scripted provider's model is called where it has no other name.
const SCRIPTED: &str = "scripted";

/// Where a provider comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    Stored,
    Environment,
    /// On this machine, without anybody saying so.
    Found,
}

/// A provider that can be asked.
pub(crate) struct Provided {
    /// Its name, where it is not stored.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) kind: ProviderKind,
    pub(crate) models: Vec<String>,
    /// Whether its models write tool calls into their text.
    pub(super) text_tool_calls: bool,
    /// What the environment has it from.
    pub(crate) variable: Option<&'static str>,
    /// 0 where it is not stored.
    pub(super) version: u64,
    way: Way,
    listed: Mutex<Option<(Instant, Arc<[String]>)>>,
    windows: Windows,
}

enum Way {
    Script(Arc<Scripted>),
    /// With the key already, or without any.
    Wire(Arc<Wire>),
    /// The key is a secret, which is looked up each time: it is kept in memory, and may change.
    Keyed(Box<Wire>, String, SecretRef),
    /// What is stored cannot be used; nothing that was checked when it was saved.
    Unusable,
}

/// A provider with all that one who asks it needs.
pub(crate) enum Ready {
    Script(Arc<Scripted>),
    Wire(Arc<Wire>),
}

impl Ready {
    pub(crate) fn model(&self) -> Arc<dyn Model> {
        match self {
            Self::Script(script) => script.clone(),
            Self::Wire(wire) => wire.clone(),
        }
    }
}

impl Provided {
    pub(super) fn of_stored(provider: &Provider, egress: &Egress) -> Self {
        let spec = &provider.spec;
        Self {
            id: provider.id.to_string(),
            name: spec.name.clone(),
            source: Source::Stored,
            kind: spec.kind,
            models: spec.models.clone(),
            text_tool_calls: spec.text_tool_calls,
            variable: None,
            version: provider.version,
            way: way(provider, egress).unwrap_or(Way::Unusable),
            listed: Mutex::default(),
            windows: Windows::default(),
        }
    }

    pub(super) fn of_environment(provider: &EnvironmentProvider, egress: &Egress) -> Self {
        let (kind, way) = match &provider.speaks {
            Speaks::Script(script) => (ProviderKind::Scripted, Some(Way::Script(script.clone()))),
            Speaks::Wire { kind, base, key } => {
                let wire = Dialect::of(*kind).map(|dialect| Wire {
                    name: provider.name.to_owned(),
                    dialect,
                    base: base.clone(),
                    key: key.clone(),
                    reach: Reach::Operator,
                    egress: egress.clone(),
                });
                (*kind, wire.map(|wire| Way::Wire(Arc::new(wire))))
            }
        };
        Self {
            id: provider.name.to_owned(),
            name: provider.name.to_owned(),
            source: Source::Environment,
            kind,
            models: Vec::new(),
            text_tool_calls: false,
            variable: Some(provider.variable),
            version: 0,
            way: way.unwrap_or(Way::Unusable),
            listed: Mutex::default(),
            windows: Windows::default(),
        }
    }

    pub(super) fn found(wire: Wire, models: Vec<String>) -> Self {
        Self {
            id: wire.name.clone(),
            name: wire.name.clone(),
            source: Source::Found,
            kind: ProviderKind::Ollama,
            models,
            text_tool_calls: false,
            variable: None,
            version: 0,
            way: Way::Wire(Arc::new(wire)),
            listed: Mutex::default(),
            windows: Windows::default(),
        }
    }

    /// Whether it is what somebody calls so.
    pub(crate) fn is(&self, name_or_id: &str) -> bool {
        self.name == name_or_id || self.id == name_or_id
    }

    /// Where it is asked; nothing where nobody is.
    pub(crate) fn base(&self) -> Option<&Url> {
        match &self.way {
            Way::Wire(wire) => Some(&wire.base),
            Way::Keyed(wire, _, _) => Some(&wire.base),
            Way::Script(_) | Way::Unusable => None,
        }
    }

    /// Whoever asks, with their key.
    pub(crate) async fn ready(&self, secrets: &StoredSecrets, asker: SpaceUser) -> Result<Ready, CallError> {
        match &self.way {
            Way::Script(script) => Ok(Ready::Script(script.clone())),
            Way::Wire(wire) => Ok(Ready::Wire(wire.clone())),
            Way::Keyed(wire, reference, secret) => {
                let key = secrets.reveal(asker.space, asker.user, secret).await?;
                let missing = || self.wrong(Message::new(&NO_KEY).with("secret", reference));
                let key = Some(key.ok_or_else(missing)?);
                Ok(Ready::Wire(Arc::new(Wire { key, ..Wire::clone(wire) })))
            }
            Way::Unusable => Err(self.wrong(Message::new(&NO_ADDRESS).with("name", &self.name))),
        }
    }

    /// The name of the model to ask, where nobody says which.
    pub(super) async fn usual_model(&self, ready: &Ready) -> Result<String, CallError> {
        let none = || self.wrong(Message::new(&NO_MODEL).with("name", &self.name));
        // A list that nobody wrote has no first that is meant.
        let is_meant = match self.source {
            Source::Stored | Source::Environment => true,
            Source::Found => false,
        };
        if let Some(first) = self.models.first().filter(|_| is_meant) {
            return Ok(first.clone());
        }
        let Ready::Wire(wire) = ready else { return Ok(SCRIPTED.to_owned()) };
        if !is_meant {
            return picking::pick(&wire.base, &self.models).ok_or_else(none);
        }
        match (self.listed(wire).await, picking::unlisted(&wire.base)) {
            (Ok(listed), _) => picking::pick(&wire.base, &listed).ok_or_else(none),
            (Err(_), Some(name)) => Ok(name.to_owned()),
            (Err(error), None) => Err(error),
        }
    }

    /// So many tokens a model reads and writes in all, as far as that is known. Ollama is told how many.
    pub(super) async fn window(&self, ready: &Ready, model: &str) -> Option<u32> {
        match (self.kind, ready) {
            (ProviderKind::Ollama, Ready::Wire(wire)) => Some(self.windows.of(wire, model).await),
            (
                ProviderKind::Openai
                | ProviderKind::Anthropic
                | ProviderKind::Gemini
                | ProviderKind::Ollama
                | ProviderKind::Scripted,
                Ready::Wire(_) | Ready::Script(_),
            ) => windows::window(model),
        }
    }

    /// The names of its models: those that somebody wrote down, or else those that it lists.
    pub(crate) async fn names(&self, ready: &Ready) -> Result<Vec<String>, CallError> {
        if !self.models.is_empty() {
            return Ok(self.models.clone());
        }
        match ready {
            Ready::Script(_) => Ok(vec![SCRIPTED.to_owned()]),
            Ready::Wire(wire) => Ok(self.listed(wire).await?.to_vec()),
        }
    }

    /// What the provider lists, asked once in a while.
    async fn listed(&self, wire: &Wire) -> Result<Arc<[String]>, CallError> {
        let kept = self.listed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((at, names)) = kept
            && at.elapsed() < LISTED_FOR
        {
            return Ok(names);
        }
        let names: Arc<[String]> = list(wire).await?.into();
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        *listed = Some((Instant::now(), names.clone()));
        Ok(names)
    }

    fn wrong(&self, message: Message) -> CallError {
        CallError::new(ErrorKind::Execution, message).detail("provider", self.name.as_str())
    }
}

/// The models of a provider, asked now. One that echoes its key does not get it shown.
pub(crate) async fn list(wire: &Wire) -> Result<Vec<String>, CallError> {
    let limits = Limits { deadline: Some(Instant::now() + LONGEST), bytes: LARGEST_LIST };
    let mask = Mask::new(wire.key.as_ref().map(ExposeSecret::expose_secret));
    let names = wire.models(limits).await?;
    Ok(names.into_iter().map(|name| mask.text(&name).into_owned()).collect())
}

/// How a provider that is stored is asked; nothing where what is stored does not say.
fn way(provider: &Provider, egress: &Egress) -> Option<Way> {
    let spec = &provider.spec;
    let Some(dialect) = Dialect::of(spec.kind) else {
        let script = spec.script.as_ref().map_or_else(|| "[]".to_owned(), ToString::to_string);
        return Some(Way::Script(Arc::new(Scripted::read(&script).ok()?)));
    };
    let base = Url::parse(spec.base_url.as_deref().unwrap_or(dialect.usual_base())).ok()?;
    let reach = if spec.by_operator {
        Reach::Operator
    } else {
        Reach::Space(provider.space_id, ToolPolicy::new(&base, Hosts::default()))
    };
    let (name, egress) = (spec.name.clone(), egress.clone());
    let wire = Wire { name, dialect, base, key: None, reach, egress };
    let Some(reference) = &spec.api_key else { return Some(Way::Wire(Arc::new(wire))) };
    match Text::parse(reference).ok()?.parts() {
        [TextPart::Secret(secret)] => Some(Way::Keyed(Box::new(wire), reference.clone(), secret.clone())),
        [..] => None,
    }
}
