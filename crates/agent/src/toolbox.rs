//! The tools of one turn: the tools of the agent, of the request and of the client, and a few of the chat loop itself.
//! This module calls none of them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::agent::{Agent, AgentBinding, Overrides};
use haft_core::name::{FIND_TOOLS, READ_RESULT, RESERVED_NAMES, TASK_RESULT};
use haft_core::nearest::nearest;
use haft_core::schema::{any_arguments, take_out_binding_only};
use haft_core::{Binding, CallError, ErrorKind, SpaceId, ToolId, ToolSpec, ToolVersion};
use haft_engine::{SpaceTools, ToolService};
use haft_llm::ModelTool;
use serde_json::{Value, json};

use crate::transcript::{CallState, Transcript};

/// Maximum number of tools in a request. If there are more, the model searches for tools.
const MAX_OFFERED: usize = 64;

/// Maximum number of tools that a search returns.
const MAX_FOUND: usize = 8;

/// The description of a tool whose result arrives later.
const ASYNC: &str = "This tool returns {\"status\": \"pending\"} at once; its result is delivered later. \
                     Do not call it again for the same purpose.";

/// The tools that a model may call, in their order.
#[derive(Default)]
pub(crate) struct Toolbox {
    all: Vec<OfferedTool>,
}

#[derive(Clone)]
pub(crate) struct OfferedTool {
    pub(crate) definition: Arc<ModelTool>,
    pub(crate) target: CallTarget,
}

/// The part of the system that executes a call.
#[derive(Clone)]
pub(crate) enum CallTarget {
    /// The engine.
    Tool(Arc<BoundTool>),
    /// The client.
    Client,
    FindTools,
    TaskResult,
    ReadResult,
}

/// A tool as an agent uses it.
pub(crate) struct BoundTool {
    pub(crate) id: String,
    pub(crate) binding: Option<Arc<Binding>>,
    pub(crate) overrides: Overrides,
    pub(crate) is_async: bool,
    /// The tool calls another agent.
    pub(crate) is_agent: bool,
    /// Arguments that only the binding may set.
    pub(crate) binding_only: Vec<String>,
}

/// The tools of an agent that are pinned to a version.
pub(crate) type PinnedTools = HashMap<ToolId, Arc<ToolVersion>>;

/// Finds the pinned tools of an agent. A tool whose version was deleted is left out, with a warning in the log.
pub(crate) async fn pinned(
    tools: &ToolService,
    space: SpaceId,
    agent: &Agent,
) -> Result<PinnedTools, CallError> {
    let mut pinned = PinnedTools::new();
    for binding in
        agent.spec.bindings.iter().filter(|binding| binding.is_enabled && binding.pinned_version.is_some())
    {
        let meant = Binding { version: binding.pinned_version, ..Binding::default() };
        match tools.version(space, &binding.tool_id.to_string(), Some(&meant)).await {
            Ok(Some(tool)) => drop(pinned.insert(binding.tool_id.clone(), tool)),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
            Err(error) => tracing::warn!(
                agent.id = %agent.id, tool.id = %binding.tool_id, %error,
                "A tool of an agent is left out"
            ),
        }
    }
    Ok(pinned)
}

/// Returns the current tools of an agent, in its order.
pub(crate) fn bound<'a>(
    tools: &SpaceTools<'_>,
    agent: &'a Agent,
    pinned: &PinnedTools,
) -> Vec<(Arc<ToolVersion>, &'a AgentBinding)> {
    let enabled = agent.spec.bindings.iter().filter(|binding| binding.is_enabled);
    let found = enabled.filter_map(|binding| {
        let tool = match binding.pinned_version {
            Some(_) => pinned.get(&binding.tool_id).cloned(),
            None => tools.get(&binding.tool_id.to_string()),
        }?;
        Some((tool, binding))
    });
    let mut bound: Vec<_> = found.collect();
    bound.sort_by(|(a, first), (b, second)| {
        (first.sort_order, a.spec.name.as_str()).cmp(&(second.sort_order, b.spec.name.as_str()))
    });
    bound
}

/// Returns the definition of the tool for the model. Returns `None` if the tool is switched off, or has a reserved name
/// because it was saved before names were reserved. `defers` is true if its result may arrive after the call.
pub(crate) fn offer(tool: &ToolVersion, bound: Option<&AgentBinding>, defers: bool) -> Option<OfferedTool> {
    let spec = &tool.spec;
    if !spec.is_active || RESERVED_NAMES.contains(&spec.name.as_str()) {
        return None;
    }
    // A binding that cannot be read was not saved by us; its tool is not given away without it.
    let binding = bound.map(AgentBinding::to_binding).transpose().ok()?;
    let overrides = bound.map(|bound| bound.overrides.clone()).unwrap_or_default();
    let is_async = overrides.run_async.unwrap_or(spec.run_async);
    let (definition, binding_only) = definition(spec, binding.as_ref(), is_async && defers);
    let definition = Arc::new(definition);
    let is_agent = spec.kind.as_str() == crate::kind::NAME;
    let (id, binding) = (tool.id.to_string(), binding.map(Arc::new));
    let bound = BoundTool { id, binding, overrides, is_async, is_agent, binding_only };
    Some(OfferedTool { definition, target: CallTarget::Tool(Arc::new(bound)) })
}

impl Toolbox {
    /// Collects the tools of the client, of the agent, and of this turn. If two have the same name, the first is used.
    pub(crate) fn new(
        client: &[ModelTool],
        own: &[OfferedTool],
        named: impl Iterator<Item = OfferedTool>,
    ) -> Self {
        let client = client.iter().map(|definition| OfferedTool {
            definition: Arc::new(definition.clone()),
            target: CallTarget::Client,
        });
        let mut toolbox = Self::default();
        client.chain(own.iter().cloned()).chain(named).for_each(|offered| toolbox.add(offered));
        toolbox
    }

    fn add(&mut self, offered: OfferedTool) {
        if self.find(&offered.definition.name).is_none() {
            self.all.push(offered);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&OfferedTool> {
        self.all.iter().find(|offered| offered.definition.name == name)
    }

    /// Returns the target of a call by the name of the tool. The tools of the chat loop come after all others.
    pub(crate) fn target(&self, name: &str) -> Option<CallTarget> {
        match (self.find(name), name) {
            (Some(offered), _) => Some(offered.target.clone()),
            (None, FIND_TOOLS) if self.is_large() => Some(CallTarget::FindTools),
            (None, TASK_RESULT) => Some(CallTarget::TaskResult),
            (None, READ_RESULT) => Some(CallTarget::ReadResult),
            (None, _) => None,
        }
    }

    /// Returns true if the tool of this name calls another agent.
    pub(crate) fn is_agent(&self, name: &str) -> bool {
        match self.find(name).map(|offered| &offered.target) {
            Some(CallTarget::Tool(bound)) => bound.is_agent,
            Some(
                CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult,
            )
            | None => false,
        }
    }

    /// Returns the binding of the tool of this name.
    pub(crate) fn binding(&self, name: &str) -> Option<Arc<Binding>> {
        match &self.find(name)?.target {
            CallTarget::Tool(bound) => bound.binding.clone(),
            CallTarget::Client | CallTarget::FindTools | CallTarget::TaskResult | CallTarget::ReadResult => {
                None
            }
        }
    }

    /// Returns the names of tools that are similar to an unknown name.
    pub(crate) fn near(&self, name: &str) -> Vec<&str> {
        let names = self.all.iter().map(|offered| offered.definition.name.as_str());
        let near = nearest(name, names.clone(), 3);
        if near.is_empty() { names.take(MAX_FOUND).collect() } else { near }
    }

    fn is_large(&self) -> bool {
        self.all.len() > MAX_OFFERED
    }

    /// Returns the tools that are sent to the model: all tools, or the search tool and the tools that it found.
    pub(crate) fn for_model(&self, transcript: &Transcript) -> Vec<Arc<ModelTool>> {
        let mut shown: Vec<Arc<ModelTool>> = match self.is_large() {
            false => self.all.iter().map(|offered| offered.definition.clone()).collect(),
            true => {
                let found = found(transcript);
                let is_shown = |offered: &&OfferedTool| {
                    found.contains(offered.definition.name.as_str())
                        || matches!(offered.target, CallTarget::Client)
                };
                let found = self.all.iter().filter(is_shown).map(|offered| offered.definition.clone());
                [Arc::new(find_tools(self.all.len()))].into_iter().chain(found).collect()
            }
        };
        let is_free = |shown: &[Arc<ModelTool>], name| !shown.iter().any(|shown| shown.name == name);
        if has_tasks(transcript) && is_free(&shown, TASK_RESULT) {
            shown.push(Arc::new(task_result()));
        }
        if has_cut(transcript) && is_free(&shown, READ_RESULT) {
            shown.push(Arc::new(read_result()));
        }
        shown
    }

    /// Returns the tools that match a search, best match first.
    pub(crate) fn search(&self, query: &str) -> Vec<&ModelTool> {
        let query = query.to_lowercase();
        let words: Vec<&str> =
            query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let score = |definition: &ModelTool| -> usize {
            let (name, about) = (definition.name.to_lowercase(), definition.description.to_lowercase());
            let whole = usize::from(!query.trim().is_empty() && about.contains(query.trim())) * 4;
            let each = words
                .iter()
                .map(|word| usize::from(name.contains(word)) * 3 + usize::from(about.contains(word)));
            whole + each.sum::<usize>()
        };
        let mut scored: Vec<(usize, &ModelTool)> =
            self.all.iter().map(|offered| (score(&offered.definition), &*offered.definition)).collect();
        scored.retain(|(score, _)| *score > 0);
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().take(MAX_FOUND).map(|(_, definition)| definition).collect()
    }
}

/// Returns the definition of a tool for a model, and the arguments that only the binding sets.
fn definition(spec: &ToolSpec, binding: Option<&Binding>, is_async: bool) -> (ModelTool, Vec<String>) {
    let mut parameters = spec.input_schema.clone().unwrap_or_else(any_arguments);
    let binding_only = take_out_binding_only(&mut parameters);
    if let Some(binding) = binding {
        binding.tool_config.hide_fixed(&mut parameters);
    }
    let description = match is_async {
        true => format!("{} {ASYNC}", spec.description),
        false => spec.description.clone(),
    };
    let name = spec.name.to_string();
    (ModelTool { name, description, parameters: parameters.into(), strict: None }, binding_only)
}

fn find_tools(count: usize) -> ModelTool {
    ModelTool {
        name: FIND_TOOLS.to_owned(),
        description: format!(
            "Finds tools by their purpose, among {count}. The tools it finds can be called from then on. \
             Use it before you say that something cannot be done."
        ),
        parameters: json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "A few words that describe the purpose of the tool."}},
            "required": ["query"],
        })
        .into(),
        strict: None,
    }
}

pub(crate) fn task_result() -> ModelTool {
    ModelTool {
        name: TASK_RESULT.to_owned(),
        description:
            "Returns the result of a call that was pending. Results are delivered without a request, \
                      so this tool is rarely needed."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"callId": {"type": "string"}},
            "required": ["callId"],
        })
        .into(),
        strict: None,
    }
}

fn read_result() -> ModelTool {
    ModelTool {
        name: READ_RESULT.to_owned(),
        description: "Reads further parts of a result that was too large to be shown completely.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "The handle in the result: artifact://…"},
                "offset": {"type": "integer", "minimum": 0, "description": "In characters. Default: 0."},
                "find": {"type": "string", "description": "Starts at the first occurrence of this text after offset."},
            },
            "required": ["handle"],
        })
        .into(),
        strict: None,
    }
}

/// Returns the names of tools that the model found with the search tool.
fn found(transcript: &Transcript) -> HashSet<&str> {
    let calls = transcript.turns.iter().flat_map(|turn| turn.calls());
    let results = calls.filter(|call| call.name == FIND_TOOLS).filter_map(|call| match &call.state {
        CallState::Done(result) => result["data"]["tools"].as_array(),
        CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => None,
    });
    results.flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

fn has_tasks(transcript: &Transcript) -> bool {
    let mut calls = transcript.turns.iter().flat_map(|turn| turn.calls());
    calls.any(|call| matches!(call.state, CallState::Pending(_)))
}

fn has_cut(transcript: &Transcript) -> bool {
    if transcript.turns.iter().any(|turn| !turn.setup.kept.is_empty()) {
        return true;
    }
    let mut calls = transcript.turns.iter().flat_map(|turn| turn.calls());
    calls.any(|call| match &call.state {
        CallState::Done(result) => result["data"]["handle"].is_string(),
        CallState::Running | CallState::Awaited(_) | CallState::Pending(_) => false,
    })
}

/// A tool in the result of a search.
pub(crate) fn search_result(definition: &ModelTool) -> Value {
    json!({"name": definition.name, "description": definition.description})
}
