//! From what somebody wants to bindings: tools found, versions pinned, configs and policies held against the tool.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::agent::AgentBinding;
use haft_core::error::ROOT;
use haft_core::{CallError, ErrorKind, Message, Policy, PolicyRule, ToolId, ToolVersion, Violation};
use haft_engine::SpaceTools;
use haft_store::VersionState;
use serde_json::{Map, Value};

use super::coming::{ComingTools, as_id};
use super::input::{Wanted, within};
use super::tool_config;
use crate::app::AppState;
use crate::routes::tools::check_version_rights;
use crate::visitors::Visitor;

haft_core::templates! {
    TWICE = "agents.boundTwice",
        "is already bound; an agent can bind a tool only once",
        "已存在；每个工具只能绑定一次";
    NO_VERSION = "agents.noVersion",
        "there is no version {version} of {tool}",
        "{tool} 没有版本 {version}";
    HELD = "agents.versionHeld",
        "version {version} of {tool} is waiting for approval",
        "{tool} 的版本 {version} 尚待批准";
    LOOSER = "agents.looserPolicy",
        "may be stricter than the policy of {tool}, which is {policy}, but not looser",
        "可以比 {tool} 的策略（{policy}）更严格，但不能更宽松";
}

/// So many violations are told; looking for the names nearest to more would take long.
const MOST_TOLD: usize = 100;

/// What a binding is made from.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// What is said of it, and nothing else.
    Fresh,
    /// The one that is there, with what is said changed.
    Stored,
}

/// What bindings of one agent are made against.
pub(crate) struct Binder<'a> {
    state: &'a AppState,
    /// Who makes them.
    visitor: &'a Visitor,
    tools: SpaceTools<'a>,
    /// Tools that come in the same request; they stand before those that are there.
    coming: Option<&'a ComingTools>,
    /// Those that the agent has.
    before: &'a [AgentBinding],
}

/// A binding that is not held against its tool yet.
struct Draft {
    path: String,
    binding: AgentBinding,
    /// None for one that is as it was.
    tool: Option<Arc<ToolVersion>>,
}

impl<'a> Binder<'a> {
    pub(crate) async fn new(
        state: &'a AppState,
        visitor: &'a Visitor,
        before: &'a [AgentBinding],
    ) -> Result<Self, CallError> {
        state.tools.make_ready(visitor.space).await?;
        Ok(Self { state, visitor, tools: state.tools.in_space(visitor.space), coming: None, before })
    }

    /// The same where tools come in the same request.
    pub(crate) fn with(mut self, coming: &'a ComingTools) -> Self {
        self.coming = Some(coming);
        self
    }

    /// A tool by id or name, as it will be.
    fn tool(&self, named: &str) -> Option<Arc<ToolVersion>> {
        let coming = self.coming.and_then(|coming| coming.find(named));
        coming.cloned().or_else(|| self.tools.get(named))
    }

    /// The bindings as they are.
    pub(super) fn before(&self) -> Vec<AgentBinding> {
        self.before.to_vec()
    }

    /// The binding of a tool that is named by id or name.
    pub(super) fn stored(&self, tool: &str) -> Option<&'a AgentBinding> {
        let before = self.before;
        let bound = |id: ToolId| before.iter().find(|binding| binding.tool_id == id);
        as_id(tool).and_then(bound).or_else(|| bound(self.tool(tool)?.id.clone()))
    }

    /// The id of a tool, by id or name, also of one that is bound and gone.
    pub(super) fn id_of(&self, tool: &str) -> Option<ToolId> {
        match self.stored(tool) {
            Some(binding) => Some(binding.tool_id.clone()),
            None => self.tool(tool).map(|tool| tool.id.clone()),
        }
    }

    /// The tool as it is now.
    pub(super) fn live(&self, id: &ToolId) -> Option<Arc<ToolVersion>> {
        self.tool(&id.to_string()).filter(|tool| tool.id == *id)
    }

    /// Bindings in the order that the model sees them: as they say, then by name.
    pub(crate) fn sorted(&self, mut bindings: Vec<AgentBinding>) -> Vec<AgentBinding> {
        bindings.sort_by_cached_key(|binding| (binding.sort_order, self.name_of(&binding.tool_id)));
        bindings
    }

    /// The name of a tool, or its id when it is gone.
    pub(super) fn name_of(&self, id: &ToolId) -> String {
        self.live(id).map_or_else(|| id.to_string(), |tool| tool.spec.name.to_string())
    }

    /// The bindings that a list of tools stands for. Those that stay keep what they have.
    pub(super) fn list(&self, tools: &[String], violations: &mut Vec<Violation>) -> Vec<AgentBinding> {
        let mut bindings = Vec::new();
        let mut seen = HashSet::new();
        for (at, tool) in tools.iter().enumerate() {
            if violations.len() >= MOST_TOLD {
                break;
            }
            let mut say = |message| violations.push(Violation::new(format!("toolIds.{at}"), message));
            match self.id_of(tool) {
                None => say(self.unknown(tool)),
                Some(id) if !seen.insert(id.clone()) => say(Message::new(&TWICE)),
                Some(id) => {
                    let binding = self.stored(tool).cloned().unwrap_or_else(|| AgentBinding::new(id));
                    let sort_order = i64::try_from(at).unwrap_or(i64::MAX);
                    bindings.push(AgentBinding { sort_order, ..binding });
                }
            }
        }
        let mut before = self.before();
        before.sort_by_key(|binding| binding.sort_order);
        // The list as it was shown changes nothing.
        if is_same_list(&before, &bindings) { self.before() } else { bindings }
    }

    /// The bindings that are wanted, in that order, each held against its tool. What is as it was is not
    /// looked at again: its tool may have changed, or be gone.
    pub(super) async fn bind(
        &self,
        wanted: Vec<Wanted>,
        start: Start,
        violations: &mut Vec<Violation>,
    ) -> Result<Vec<AgentBinding>, CallError> {
        let mut drafts = Vec::new();
        let mut seen = HashSet::new();
        for Wanted { path, tool, fields } in wanted {
            if violations.len() >= MOST_TOLD {
                break;
            }
            let mut say = |field: &str, message| {
                violations.push(within(&path, Violation::new(field, message)));
            };
            let Some(id) = self.id_of(&tool) else {
                say("toolId", self.unknown(&tool));
                continue;
            };
            if !seen.insert(id.clone()) {
                say("toolId", Message::new(&TWICE));
                continue;
            }
            let stored = self.stored(&tool);
            let binding = match changed(start, stored, &id, fields) {
                Ok(binding) => binding,
                Err(error) => {
                    say(ROOT, Message::verbatim(error.to_string()));
                    continue;
                }
            };
            if stored == Some(&binding) {
                drafts.push(Draft { path, binding, tool: None });
                continue;
            }
            let Some(live) = self.live(&id) else {
                say("toolId", self.unknown(&tool));
                continue;
            };
            let tool = match self.version(&live, binding.pinned_version).await? {
                Ok(tool) => tool,
                Err(message) => {
                    say("pinnedVersion", message);
                    continue;
                }
            };
            let was_pinned = stored.and_then(|stored| stored.pinned_version) == binding.pinned_version;
            // Also of the one that counts now: it stays when another takes its place.
            if binding.pinned_version.is_some() && !was_pinned {
                match check_version_rights(self.state, self.visitor, ToolVersion::clone(&tool)).await {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::Validation => {
                        say("pinnedVersion", error.message().clone());
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            }
            drafts.push(Draft { path, binding, tool: Some(tool) });
        }
        let mut bindings = Vec::with_capacity(drafts.len());
        for checked in check(drafts).await? {
            match checked {
                Ok(binding) => bindings.push(binding),
                Err(found) => violations.extend(found),
            }
        }
        Ok(bindings)
    }

    /// The version that a binding means, or why there is none.
    pub(super) async fn version(
        &self,
        live: &Arc<ToolVersion>,
        pinned: Option<u64>,
    ) -> Result<Result<Arc<ToolVersion>, Message>, CallError> {
        let Some(pinned) = pinned.filter(|pinned| *pinned != live.version) else {
            return Ok(Ok(live.clone()));
        };
        let say = |template| Message::new(template).with("version", pinned).with("tool", &live.spec.name);
        // What comes with the program has one version only.
        if live.space_id.is_none() {
            return Ok(Err(say(&NO_VERSION)));
        }
        let versions = self.state.store.versions(self.visitor.space, &live.id).await?;
        match versions.iter().find(|version| version.version == pinned).map(|version| version.state) {
            // Pinning is no way around an approval.
            Some(VersionState::Held) => Ok(Err(say(&HELD))),
            Some(VersionState::Live) => {
                let version = self.state.store.get_version(self.visitor.space, &live.id, pinned).await?;
                Ok(version.map(Arc::new).ok_or_else(|| say(&NO_VERSION)))
            }
            None => Ok(Err(say(&NO_VERSION))),
        }
    }

    fn unknown(&self, tool: &str) -> Message {
        self.tools.unknown(tool).message().clone()
    }
}

/// Whether two lists of bindings have the same tools in the same order.
pub(super) fn is_same_list(one: &[AgentBinding], other: &[AgentBinding]) -> bool {
    one.iter().map(|binding| &binding.tool_id).eq(other.iter().map(|binding| &binding.tool_id))
}

fn changed(
    start: Start,
    stored: Option<&AgentBinding>,
    id: &ToolId,
    fields: Map<String, Value>,
) -> Result<AgentBinding, serde_json::Error> {
    let base = match start {
        Start::Fresh => None,
        Start::Stored => stored.cloned(),
    };
    let mut whole = serde_json::to_value(base.unwrap_or_else(|| AgentBinding::new(id.clone())))?;
    if let Value::Object(whole) = &mut whole {
        for (name, value) in fields {
            if value.is_null() {
                whole.shift_remove(&name);
            } else {
                whole.insert(name, value);
            }
        }
    }
    serde_json::from_value(whole)
}

/// Compiling schemas takes long, so it is done off the async threads.
async fn check(drafts: Vec<Draft>) -> Result<Vec<Result<AgentBinding, Vec<Violation>>>, CallError> {
    if drafts.is_empty() {
        return Ok(Vec::new());
    }
    let work = tokio::task::spawn_blocking(|| drafts.into_iter().map(Draft::check).collect());
    work.await.map_err(|error| {
        CallError::text(ErrorKind::Internal, "the bindings could not be checked").caused_by(error)
    })
}

impl Draft {
    fn check(self) -> Result<AgentBinding, Vec<Violation>> {
        let Self { path, binding, tool } = self;
        let Some(tool) = tool else { return Ok(binding) };
        let mut violations = Vec::new();
        let tool_config = tool_config::check(binding.tool_config, &tool.spec, &mut violations);
        let own = tool.spec.policy.unwrap_or_default();
        if binding.policy.is_some_and(|policy| policy < own) {
            let message = Message::new(&LOOSER).with("tool", &tool.spec.name).with("policy", word(own));
            violations.push(Violation::new("policy", message));
        }
        if let Err(violation) = PolicyRule::read(binding.policy, binding.ask_when.as_deref()) {
            violations.push(violation);
        }
        if violations.is_empty() {
            return Ok(AgentBinding { tool_config, ..binding });
        }
        Err(violations.into_iter().map(|violation| within(&path, violation)).collect())
    }
}

fn word(policy: Policy) -> &'static str {
    match policy {
        Policy::Allow => "allow",
        Policy::Ask => "ask",
        Policy::Block => "block",
    }
}
