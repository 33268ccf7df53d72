//! Where models come from: providers of a space, then those of the environment, then an Ollama on this machine.
//!
//! What a space has is read and prepared once, and again when the space has changed: to find a model costs no query.

mod local;
mod ollama;
mod picking;
mod provided;
mod settings;
mod windows;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use haft_agent::{ModelChoice, Models, SelectedModel, SpaceUser};
use haft_core::provider::ProviderKind;
use haft_core::{BoxFuture, CallError, ErrorKind, Message, SpaceId, Template};
use haft_egress::Egress;
use haft_llm::TextToolCalls;
use haft_store::{Page, Store};

use self::local::Local;
pub(crate) use self::provided::{Provided, Ready, Source, list};
pub use self::settings::{EnvironmentProvider, ModelSettings, Speaks};
use crate::stored_secrets::StoredSecrets;

haft_core::templates! {
    NO_PROVIDER = "models.noProvider",
        "There is no model provider. Add one under Settings → Providers, or set OPENAI_API_KEY, ANTHROPIC_API_KEY, \
         GEMINI_API_KEY, ZHIPU_API_KEY, DEEPSEEK_API_KEY or OLLAMA_HOST and restart Haft.",
        "没有可用的模型：请在“设置 → 模型服务”中添加，或设置 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY、\
         ZHIPU_API_KEY、DEEPSEEK_API_KEY 或 OLLAMA_HOST 后重新启动 Haft";
    UNKNOWN = "models.unknownProvider",
        "There is no provider {name}. Available: {names}",
        "没有模型服务 {name}；现有：{names}";
    UNKNOWN_DEFAULT = "models.unknownDefault",
        "The default provider {name} does not exist. Available: {names}",
        "默认模型服务 {name} 不存在；现有：{names}";
}

pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, provided::TEMPLATES].into_iter().flatten().copied()
}

/// More providers than any space has.
const PROVIDERS: u32 = 1000;

/// So many spaces are kept at most.
const MOST: usize = 10_000;

/// All models that can be asked.
pub struct StoredModels {
    store: Store,
    secrets: Arc<StoredSecrets>,
    egress: Egress,
    environment: Vec<Arc<Provided>>,
    local: Option<Local>,
    /// What is meant where nothing is said.
    usual: ModelChoice,
    known: RwLock<HashMap<SpaceId, Known>>,
    generation: AtomicU64,
}

/// The providers of one space, from the oldest on.
struct Known {
    providers: Arc<[Arc<Provided>]>,
    /// Whether nothing changed since; what did not is used again.
    is_current: bool,
}

impl StoredModels {
    pub fn new(store: Store, secrets: Arc<StoredSecrets>, egress: Egress, settings: ModelSettings) -> Self {
        let ModelSettings { environment, local, default_provider, default_model } = settings;
        let prepared = environment.iter().map(|one| Arc::new(Provided::of_environment(one, &egress)));
        Self {
            environment: prepared.collect(),
            local: local.map(|base| Local::new(base, &egress)),
            usual: ModelChoice { provider: default_provider, model: default_model },
            known: RwLock::default(),
            generation: AtomicU64::new(0),
            store,
            secrets,
            egress,
        }
    }

    /// Something changed in a space: its providers are read anew.
    pub(crate) fn forget(&self, space: SpaceId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::AcqRel);
        if let Some(known) = known.get_mut(&space) {
            known.is_current = false;
        }
    }

    /// What a space can ask besides what it has itself. A provider of the space takes the place of its namesake.
    pub(crate) async fn besides(&self, space: SpaceId) -> Result<Vec<Arc<Provided>>, CallError> {
        let own = self.of_space(space).await?;
        let local = self.local().await;
        let others = self.environment.iter().chain(&local);
        Ok(others.filter(|other| own.iter().all(|own| own.name != other.name)).cloned().collect())
    }

    /// Everybody whom a space can ask.
    pub(crate) async fn all(&self, space: SpaceId) -> Result<Vec<Arc<Provided>>, CallError> {
        let mut all = self.of_space(space).await?.to_vec();
        all.extend(self.besides(space).await?);
        Ok(all)
    }

    /// The provider of that name or id, wherever it comes from.
    pub(crate) async fn named(&self, space: SpaceId, name: &str) -> Result<Option<Arc<Provided>>, CallError> {
        let own = self.of_space(space).await?;
        if let Some(found) = own.iter().chain(&self.environment).find(|provider| provider.is(name)) {
            return Ok(Some(found.clone()));
        }
        Ok(self.local().await.filter(|found| found.is(name)))
    }

    /// The provider to ask, with the key of whoever asks.
    pub(crate) async fn ready(&self, provided: &Provided, asker: SpaceUser) -> Result<Ready, CallError> {
        provided.ready(&self.secrets, asker).await
    }

    async fn chosen(&self, asker: SpaceUser, wanted: &ModelChoice) -> Result<SelectedModel, CallError> {
        let provided = self.wanted(asker.space, wanted).await?;
        let ready = self.ready(&provided, asker).await?;
        let is_usual = wanted.provider.is_none() || wanted.provider == self.usual.provider;
        let usual = self.usual.model.as_ref().filter(|_| is_usual);
        let name = match wanted.model.as_ref().or(usual) {
            Some(name) => name.clone(),
            None => Box::pin(provided.usual_model(&ready)).await?,
        };
        let window = Box::pin(provided.window(&ready, &name)).await;
        let model = ready.model();
        let model = if provided.text_tool_calls { Arc::new(TextToolCalls(model)) } else { model };
        Ok(SelectedModel { provider: provided.name.clone(), name, window, model })
    }

    /// The provider that is wanted, or the one that is meant where nobody says which.
    async fn wanted(&self, space: SpaceId, wanted: &ModelChoice) -> Result<Arc<Provided>, CallError> {
        if let Some(name) = wanted.provider.as_ref().or(self.usual.provider.as_ref()) {
            let template = if wanted.provider.is_some() { &UNKNOWN } else { &UNKNOWN_DEFAULT };
            return match self.named(space, name).await? {
                Some(found) => Ok(found),
                None => Err(self.unknown(space, name, template).await?),
            };
        }
        let own = self.of_space(space).await?;
        let has = |provider: &&Arc<Provided>| {
            wanted.model.as_ref().is_some_and(|model| provider.models.contains(model))
        };
        let all = || own.iter().chain(&self.environment);
        let is_model = |provider: &&Arc<Provided>| provider.kind != ProviderKind::Scripted;
        // Whoever names a model alone means one that somebody says they have.
        // A script is no model: who tried one and has a model since means the model.
        let found = all().find(has).or_else(|| all().find(is_model)).or_else(|| all().next());
        if let Some(found) = found {
            return Ok(found.clone());
        }
        self.local().await.ok_or_else(|| wrong(Message::new(&NO_PROVIDER)))
    }

    async fn unknown(
        &self,
        space: SpaceId,
        name: &str,
        template: &'static Template,
    ) -> Result<CallError, CallError> {
        let (own, others) = (self.of_space(space).await?, self.besides(space).await?);
        let names: Vec<&str> = own.iter().chain(&others).map(|provider| provider.name.as_str()).collect();
        let names = if names.is_empty() { "—".to_owned() } else { names.join(", ") };
        Ok(wrong(Message::new(template).with("name", name).with("names", names)))
    }

    async fn local(&self) -> Option<Arc<Provided>> {
        match &self.local {
            Some(local) => Box::pin(local.find()).await,
            None => None,
        }
    }

    async fn of_space(&self, space: SpaceId) -> Result<Arc<[Arc<Provided>]>, CallError> {
        match self.kept(space) {
            Some((true, providers)) => Ok(providers),
            Some((false, before)) => Box::pin(self.look_up(space, &before)).await,
            None => Box::pin(self.look_up(space, &[])).await,
        }
    }

    /// What was read before, and whether it is still so.
    fn kept(&self, space: SpaceId) -> Option<(bool, Arc<[Arc<Provided>]>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&space).map(|known| (known.is_current, known.providers.clone()))
    }

    /// What the store has, kept for the next time. What is still the same stays as it was prepared.
    async fn look_up(
        &self,
        space: SpaceId,
        before: &[Arc<Provided>],
    ) -> Result<Arc<[Arc<Provided>]>, CallError> {
        let generation = self.generation.load(Ordering::Acquire);
        let (mut stored, _) = self.store.list_providers(space, &Page::first(PROVIDERS)).await?;
        stored.sort_by_key(|provider| (provider.created_at, provider.id.to_string()));
        let prepared = stored.iter().map(|provider| {
            let id = provider.id.to_string();
            let same = before.iter().find(|known| known.id == id && known.version == provider.version);
            same.cloned().unwrap_or_else(|| Arc::new(Provided::of_stored(provider, &self.egress)))
        });
        let providers: Arc<[Arc<Provided>]> = prepared.collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if self.generation.load(Ordering::Acquire) == generation {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(space, Known { providers: providers.clone(), is_current: true });
        }
        Ok(providers)
    }
}

impl Models for StoredModels {
    fn find<'a>(
        &'a self,
        asker: SpaceUser,
        wanted: &'a ModelChoice,
    ) -> BoxFuture<'a, Result<SelectedModel, CallError>> {
        Box::pin(self.chosen(asker, wanted))
    }
}

/// What the operator or an admin has to put right: nothing that goes away by itself.
fn wrong(message: Message) -> CallError {
    CallError::new(ErrorKind::Execution, message).detail("what", "provider")
}

#[cfg(test)]
mod tests;
