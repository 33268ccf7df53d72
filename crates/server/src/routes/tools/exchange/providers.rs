//! Model providers of an import, matched by name. Only admins of the space may change any.

use std::collections::{HashMap, HashSet};

use haft_core::provider::{Provider, ProviderSpec};
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, ErrorKind, Message, SpaceId};
use haft_store::Page;
use serde_json::{Value, json};

use super::super::save::new_secrets;
use super::{Changed, PAGE, Plan, UPDATED};
use crate::api::Needs;
use crate::app::AppState;
use crate::routes::providers::input::{self, Input};

haft_core::templates! {
    FOR_SPACE_ADMINS = "exchange.providersForAdmins",
        "Only admins of the space may change providers: {names}",
        "仅空间管理员可以更改模型服务：{names}";
}

pub(super) async fn all(state: &AppState, space: SpaceId) -> Result<Vec<Provider>, CallError> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let (providers, next) = state.store.list_providers(space, &Page { limit: PAGE, cursor }).await?;
        all.extend(providers);
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}

impl Plan<'_> {
    pub(super) async fn providers(&mut self, definitions: Vec<Value>) -> Result<(), CallError> {
        let there = all(self.state, self.space()).await?;
        let by_name: HashMap<&str, &Provider> =
            there.iter().map(|provider| (provider.spec.name.as_str(), provider)).collect();
        let mut named = HashSet::new();
        for (at, definition) in definitions.into_iter().enumerate() {
            if self.is_over() {
                return Ok(());
            }
            let path = format!("providers.{at}");
            let name = definition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let before = by_name.get(name.as_str()).copied();
            match self.provider(definition, before).await {
                Ok(input) => {
                    if !self.is_twice(&path, &name, !named.insert(name.clone())) {
                        self.plan_provider(before, input).await?;
                    }
                }
                Err(error) => self.refuse_one(&path, error)?,
            }
        }
        for provider in there.iter().filter(|provider| self.prune && !named.contains(&provider.spec.name)) {
            self.report.providers.push(Changed::removed(&provider.spec.name));
            self.apply.deleted_providers.push(provider.id);
        }
        Ok(())
    }

    async fn provider(&self, definition: Value, before: Option<&Provider>) -> Result<Input, CallError> {
        let mut definition = camel_keys(definition);
        // Who applies it decides whether it counts as the operator's; a definition may only do without.
        let by_operator = definition.as_object_mut().and_then(|fields| fields.shift_remove("byOperator"));
        let Input { mut spec, key } = input::read(self.state, self.visitor, definition, before).await?;
        spec.by_operator &= by_operator != Some(Value::Bool(false));
        Ok(Input { spec, key })
    }

    async fn plan_provider(&mut self, before: Option<&Provider>, input: Input) -> Result<(), CallError> {
        let Input { spec, key } = input;
        let was: Option<&ProviderSpec> = before.map(|before| &before.spec);
        let is_same = was == Some(&spec);
        let secrets = new_secrets(self.state, self.space(), key.into_iter().collect()).await?;
        let mut changed = Changed::new(&spec.name, was.map(|was| json!(was)).as_ref(), &json!(spec));
        if is_same && !secrets.is_empty() {
            changed.change = UPDATED;
        }
        self.report.providers.push(changed);
        self.apply.secrets.extend(secrets);
        if !is_same {
            self.apply.providers.push((before.map(|before| (before.id, before.version)), spec));
        }
        Ok(())
    }

    /// Refuses changes that need another role than the rest of an import.
    pub(super) fn check_rights(&self) -> Result<(), CallError> {
        let changed = self.report.providers.iter().filter(|provider| provider.is_change());
        let changed: Vec<&str> = changed.map(|provider| provider.name.as_str()).collect();
        if changed.is_empty() || self.visitor.may(Needs::SpaceAdmin) {
            return Ok(());
        }
        let message = Message::new(&FOR_SPACE_ADMINS).with("names", changed.join(", "));
        Err(CallError::new(ErrorKind::Permission, message))
    }
}
