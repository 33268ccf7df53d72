//! The catalog of callable tools, in memory: one shared layer visible to every space, and one layer per
//! space.
//!
//! Reads take no lock. A change copies the layer that it changes, so its cost grows with the number of tools;
//! changes of many tools are applied as one.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption};
use haft_core::nearest::nearest;
use haft_core::{
    CallError, Effect, ErrorKind, Message, PolicyRule, Prepared, SpaceId, Template, ToolId, ToolName,
    ToolSchema, ToolVersion,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bulkhead::Bulkhead;
use crate::lock::lock;
use crate::prepare::{Callable, PreparedTool};
use crate::rate::Limiter;
use crate::schema::LazySchema;
use crate::secrets::CachedMask;

haft_core::templates! {
    NAME_TAKEN = "tool.nameTaken",
        "a tool named {name} exists already",
        "名为 {name} 的工具已存在";
    NAME_OF_PROGRAM = "tool.nameOfProgram",
        "{name} is the name of a tool that comes with the program and cannot be replaced; choose another name",
        "{name} 是程序自带工具的名称，不能被替换；请换一个名称";
    STALE = "tool.stale",
        "{name} has been changed: its version is {actual}, not {expected}; read it again and repeat the change",
        "{name} 已被修改：当前版本是 {actual}，不是 {expected}；请重新读取后再修改";
    NOT_FOUND = "tool.notFound",
        "there is no tool {name}",
        "没有名为 {name} 的工具";
    NOT_FOUND_NEAR = "tool.notFoundNear",
        "there is no tool {name}; did you mean {near}?",
        "没有名为 {name} 的工具；是否想用 {near}？";
}

/// Maximum number of prepared earlier versions.
const MAX_PINNED: usize = 1000;

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A prepared tool.
pub(crate) struct Entry {
    /// Unique among all entries of this process.
    pub(crate) number: u64,
    pub(crate) version: Arc<ToolVersion>,
    pub(crate) name: Arc<str>,
    input: LazySchema,
    output: Option<LazySchema>,
    pub(crate) prepared: Arc<dyn Prepared>,
    pub(crate) effect: Effect,
    pub(crate) policy: PolicyRule,
    /// The policy of the live version, if this entry is another version. Both policies apply.
    pub(crate) live_policy: PolicyRule,
    pub(crate) limiter: Option<Arc<Limiter>>,
    pub(crate) bulkhead: Option<Arc<Bulkhead>>,
    /// The mask of the secrets that the last call used.
    pub(crate) mask: ArcSwapOption<CachedMask>,
}

impl Entry {
    /// Creates an entry. Reuses the rate limiter and bulkhead of `before` if their settings have not changed.
    fn new(version: ToolVersion, tool: Callable, before: Option<&Entry>) -> Self {
        let spec = &version.spec;
        let limiter = spec.rate_limit.map(|limit| {
            let same = before.filter(|entry| entry.version.spec.rate_limit == Some(limit));
            same.and_then(|entry| entry.limiter.clone()).unwrap_or_else(|| Arc::new(Limiter::new(limit)))
        });
        let bulkhead = spec.max_concurrency.map(|limit| {
            let same = before.filter(|entry| entry.version.spec.max_concurrency == Some(limit));
            same.and_then(|entry| entry.bulkhead.clone()).unwrap_or_else(|| Arc::new(Bulkhead::new(limit)))
        });
        Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            name: version.spec.name.as_str().into(),
            version: Arc::new(version),
            input: tool.input,
            output: tool.output,
            prepared: tool.prepared,
            effect: tool.effect,
            policy: tool.policy,
            live_policy: PolicyRule::default(),
            limiter,
            bulkhead,
            mask: ArcSwapOption::empty(),
        }
    }

    /// Returns true if all schemas of the tool are compiled.
    pub(crate) fn is_compiled(&self) -> bool {
        self.input.is_compiled() && self.output.as_ref().is_none_or(LazySchema::is_compiled)
    }

    /// Returns the input schema, and compiles it on first use.
    pub(crate) fn input(&self) -> Result<&ToolSchema, CallError> {
        let document = self.version.spec.input_schema.as_ref();
        self.input.get(document.unwrap_or(&Value::Null), &self.version.spec.name)
    }

    /// Returns the output schema, and compiles it on first use. Returns `None` if there is no usable one.
    pub(crate) fn output(&self) -> Option<&ToolSchema> {
        let document = self.version.spec.output_schema.as_ref()?;
        self.output.as_ref()?.get(document, &self.version.spec.name).ok()
    }
}

#[derive(Default, Clone)]
struct Layer {
    by_name: HashMap<ToolName, Arc<Entry>>,
    names: HashMap<ToolId, ToolName>,
}

impl Layer {
    fn find(&self, name_or_id: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(name_or_id).or_else(|| {
            let id = ToolId::Uuid(Uuid::try_parse(name_or_id).ok()?);
            self.by_id(&id)
        })
    }

    fn by_id(&self, id: &ToolId) -> Option<&Arc<Entry>> {
        self.by_name.get(self.names.get(id)?)
    }

    fn put(&mut self, entry: Arc<Entry>) {
        self.remove(&entry.version.id);
        self.names.insert(entry.version.id.clone(), entry.version.spec.name.clone());
        self.by_name.insert(entry.version.spec.name.clone(), entry);
    }

    fn remove(&mut self, id: &ToolId) -> Option<Arc<Entry>> {
        self.by_name.remove(&self.names.remove(id)?)
    }
}

/// The state that a change of a tool expects, for optimistic locking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No tool with this id or name exists.
    Absent,
    /// The tool exists in this version.
    Version(u64),
}

/// An earlier version of a tool.
#[derive(Clone)]
struct Pinned {
    entry: Arc<Entry>,
    /// The number of the live entry when this one was created.
    live: u64,
}

#[derive(Default)]
pub(crate) struct Catalog {
    shared: ArcSwap<Layer>,
    spaces: ArcSwap<HashMap<SpaceId, Arc<Layer>>>,
    writing: Mutex<()>,
    /// Earlier versions of tools that callers have pinned.
    pinned: ArcSwap<HashMap<(ToolId, u64), Pinned>>,
    /// Aliases of shared tools.
    aliases: HashMap<&'static str, ToolName>,
}

impl Catalog {
    /// Creates an empty catalog, with aliases of shared tools.
    pub(crate) fn with_aliases(aliases: HashMap<&'static str, ToolName>) -> Self {
        Self { aliases, ..Self::default() }
    }

    /// Returns the tool with this name or id that is visible in a space.
    pub(crate) fn find(&self, space: SpaceId, name_or_id: &str) -> Option<Arc<Entry>> {
        if let Some(entry) = self.shared.load().find(name_or_id) {
            return Some(entry.clone());
        }
        if let Some(entry) = self.spaces.load().get(&space).and_then(|layer| layer.find(name_or_id)) {
            return Some(entry.clone());
        }
        let name = self.aliases.get(name_or_id)?;
        self.shared.load().find(name.as_str()).cloned()
    }

    /// Returns the entry of another version, if it is in the catalog.
    pub(crate) fn pinned(&self, live: &Entry, version: u64) -> Option<Arc<Entry>> {
        let pinned = self.pinned.load();
        let pinned = pinned.get(&(live.version.id.clone(), version))?;
        (pinned.live == live.number).then(|| pinned.entry.clone())
    }

    /// Adds the entry of another version. It shares the limiter and bulkhead of the live entry.
    pub(crate) fn pin(&self, live: &Entry, version: ToolVersion, tool: Callable) -> Arc<Entry> {
        let _writing = lock(&self.writing);
        let key = (version.id.clone(), version.version);
        let mut pinned = HashMap::clone(&self.pinned.load());
        let before = pinned.get(&key).map(|pinned| pinned.entry.clone());
        let entry = Entry::new(version, tool, before.as_deref().or(Some(live)));
        let entry = Arc::new(Entry { live_policy: live.policy.clone(), ..entry });
        if pinned.len() >= MAX_PINNED {
            pinned.clear();
        }
        pinned.insert(key, Pinned { entry: entry.clone(), live: live.number });
        self.pinned.store(Arc::new(pinned));
        entry
    }

    /// Returns all tools visible in a space, by name.
    pub(crate) fn list(&self, space: SpaceId) -> Vec<Arc<ToolVersion>> {
        let (shared, spaces) = (self.shared.load(), self.spaces.load());
        let own = spaces.get(&space).map(|layer| layer.by_name.values());
        let all = shared.by_name.values().chain(own.into_iter().flatten());
        let mut tools: Vec<_> = all.map(|entry| entry.version.clone()).collect();
        tools.sort_by(|a, b| a.spec.name.cmp(&b.spec.name));
        tools.dedup_by(|a, b| a.spec.name == b.spec.name);
        tools
    }

    /// Returns the error for an unknown tool, with similar names.
    pub(crate) fn unknown(&self, space: SpaceId, name: &str) -> CallError {
        let tools = self.list(space);
        let near = nearest(name, tools.iter().map(|tool| tool.spec.name.as_str()), 3);
        let name = displayable(name);
        let message = match near.as_slice() {
            [] => Message::new(&NOT_FOUND).with("name", name),
            near => Message::new(&NOT_FOUND_NEAR).with("name", name).with("near", near.join(", ")),
        };
        CallError::new(ErrorKind::NotFound, message).detail("what", "tool").detail("closest", json!(near))
    }

    /// Adds shared tools: all of them, or none if a name is taken.
    pub(crate) fn add_shared(
        &self,
        tools: Vec<(ToolVersion, PreparedTool)>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        let _writing = lock(&self.writing);
        let mut layer = Layer::clone(&self.shared.load());
        let mut added = Vec::with_capacity(tools.len());
        for (version, tool) in tools {
            // A name that a space already uses would hide the tool of that space.
            let name = &version.spec.name;
            let taken = layer.by_name.contains_key(name)
                || self.spaces.load().values().any(|space| space.by_name.contains_key(name));
            if taken {
                return Err(name_taken(name));
            }
            let entry = Arc::new(Entry::new(version, tool.callable, None));
            added.push(entry.version.clone());
            layer.put(entry);
        }
        self.shared.store(Arc::new(layer));
        Ok(added)
    }

    pub(crate) fn remove_shared(&self, name: &str) -> Option<Arc<ToolVersion>> {
        let _writing = lock(&self.writing);
        let mut layer = Layer::clone(&self.shared.load());
        let id = layer.find(name)?.version.id.clone();
        let removed = layer.remove(&id)?;
        self.shared.store(Arc::new(layer));
        Some(removed.version.clone())
    }

    /// Adds or replaces a tool of a space, if its name is free and its version is the expected one.
    pub(crate) fn put(
        &self,
        space: SpaceId,
        version: ToolVersion,
        tool: PreparedTool,
        expected: Expected,
    ) -> Result<Arc<ToolVersion>, CallError> {
        let _writing = lock(&self.writing);
        let before = self.check_put(space, &version, expected)?;
        let entry = Arc::new(Entry::new(version, tool.callable, before.as_deref()));
        let put = entry.version.clone();
        let mut layer = self.layer(space);
        layer.put(entry);
        self.store(space, layer);
        Ok(put)
    }

    /// Adds or replaces many tools of a space: all of them, or none.
    pub(crate) fn put_all(
        &self,
        space: SpaceId,
        tools: Vec<(ToolVersion, PreparedTool, Expected)>,
    ) -> Result<Vec<Arc<ToolVersion>>, CallError> {
        let _writing = lock(&self.writing);
        let mut layer = self.layer(space);
        let mut put = Vec::with_capacity(tools.len());
        for (version, tool, expected) in tools {
            let before = self.check_put(space, &version, expected)?;
            let entry = Arc::new(Entry::new(version, tool.callable, before.as_deref()));
            put.push(entry.version.clone());
            layer.put(entry);
        }
        self.store(space, layer);
        Ok(put)
    }

    /// Checks whether a tool can be put into a space. Returns the entry that it would replace, if there is
    /// one.
    pub(crate) fn check_put(
        &self,
        space: SpaceId,
        version: &ToolVersion,
        expected: Expected,
    ) -> Result<Option<Arc<Entry>>, CallError> {
        let spaces = self.spaces.load();
        let layer = spaces.get(&space);
        let before = layer.and_then(|layer| layer.by_id(&version.id)).cloned();
        let holder = layer.and_then(|layer| layer.by_name.get(&version.spec.name));
        let taken = holder.is_some_and(|entry| entry.version.id != version.id);
        let is_alias = self.aliases.contains_key(version.spec.name.as_str());
        if is_alias || self.shared.load().by_name.contains_key(&version.spec.name) {
            return Err(conflict(&NAME_OF_PROGRAM, &version.spec.name));
        }
        if taken {
            return Err(name_taken(&version.spec.name));
        }
        match (expected, before.as_deref()) {
            (Expected::Absent, None) => {}
            (Expected::Absent, Some(_)) => return Err(name_taken(&version.spec.name)),
            (Expected::Version(_), None) => return Err(self.unknown(space, &version.id.to_string())),
            (Expected::Version(expected), Some(before)) => check_version(before, expected)?,
        }
        Ok(before)
    }

    pub(crate) fn remove(
        &self,
        space: SpaceId,
        id: &ToolId,
        expected: Option<u64>,
    ) -> Result<Arc<ToolVersion>, CallError> {
        let _writing = lock(&self.writing);
        let mut layer = self.layer(space);
        let Some(removed) = layer.remove(id) else {
            return Err(self.unknown(space, &id.to_string()));
        };
        if let Some(expected) = expected {
            check_version(&removed, expected)?;
        }
        self.store(space, layer);
        Ok(removed.version.clone())
    }

    /// Returns true if the tools of a space have been loaded or added.
    pub(crate) fn has_space(&self, space: SpaceId) -> bool {
        self.spaces.load().contains_key(&space)
    }

    /// Returns the version of each tool of a space.
    pub(crate) fn versions(&self, space: SpaceId) -> HashMap<ToolId, u64> {
        let spaces = self.spaces.load();
        let entries = spaces.get(&space).into_iter().flat_map(|layer| layer.by_name.values());
        entries.map(|entry| (entry.version.id.clone(), entry.version.version)).collect()
    }

    /// Updates a space from its source: replaces the `changed` tools, and removes tools that are not in
    /// `all`.
    pub(crate) fn renew(&self, space: SpaceId, changed: Vec<(ToolVersion, Callable)>, all: &HashSet<ToolId>) {
        let _writing = lock(&self.writing);
        let mut layer = self.layer(space);
        let removed: Vec<ToolId> = layer.names.keys().filter(|id| !all.contains(*id)).cloned().collect();
        let mut before: HashMap<ToolId, Arc<Entry>> =
            removed.iter().filter_map(|id| Some((id.clone(), layer.remove(id)?))).collect();
        // Two tools may have swapped their names, so all changed tools are removed before any is added.
        for (version, _) in &changed {
            before.extend(layer.remove(&version.id).map(|entry| (version.id.clone(), entry)));
        }
        for (version, tool) in changed {
            let same = before.get(&version.id).map(|entry| &**entry);
            layer.put(Arc::new(Entry::new(version, tool, same)));
        }
        self.store(space, layer);
    }

    fn layer(&self, space: SpaceId) -> Layer {
        self.spaces.load().get(&space).map(|layer| Layer::clone(layer)).unwrap_or_default()
    }

    fn store(&self, space: SpaceId, layer: Layer) {
        let mut spaces = HashMap::clone(&self.spaces.load());
        spaces.insert(space, Arc::new(layer));
        self.spaces.store(Arc::new(spaces));
    }
}

fn check_version(entry: &Entry, expected: u64) -> Result<(), CallError> {
    let actual = entry.version.version;
    if actual == expected {
        return Ok(());
    }
    let message = Message::new(&STALE)
        .with("name", &entry.version.spec.name)
        .with("actual", actual)
        .with("expected", expected);
    Err(CallError::new(ErrorKind::Conflict, message).detail("version", actual))
}

fn name_taken(name: &ToolName) -> CallError {
    conflict(&NAME_TAKEN, name)
}

fn conflict(template: &'static Template, name: &ToolName) -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(template).with("name", name))
        .detail("name", name.as_str())
}

/// Returns a name given by a caller in displayable form: shortened and on one line.
pub(crate) fn displayable(name: &str) -> String {
    let plain = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let mut shown: String = name.chars().take(64).map(plain).collect();
    if name.chars().nth(64).is_some() {
        shown.push('…');
    }
    shown
}
