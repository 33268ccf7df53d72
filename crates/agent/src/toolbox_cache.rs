//! A cache of the tools that agents offer to models, across turns. An entry is replaced when the agent or one of its
//! tools has changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::agent::{Agent, AgentBinding};
use haft_core::{AgentId, ToolVersion};

use crate::toolbox::{OfferedTool, offer};

/// Maximum number of entries.
const CAPACITY: usize = 1_000;

/// The offered tools by agent, and by whether results may arrive after the turn.
#[derive(Default)]
pub(crate) struct ToolboxCache(RwLock<HashMap<(AgentId, bool), CachedTools>>);

struct CachedTools {
    /// The agent from which the entry was computed.
    agent: Arc<Agent>,
    tools: Vec<Arc<ToolVersion>>,
    offered: Arc<[OfferedTool]>,
}

impl CachedTools {
    fn is_of(&self, agent: &Arc<Agent>, bound: &[(Arc<ToolVersion>, &AgentBinding)]) -> bool {
        let tools = bound.iter().map(|(tool, _)| tool);
        let is_same = |(cached, tool): (&Arc<ToolVersion>, &Arc<ToolVersion>)| Arc::ptr_eq(cached, tool);
        Arc::ptr_eq(&self.agent, agent)
            && self.tools.len() == bound.len()
            && self.tools.iter().zip(tools).all(is_same)
    }
}

impl ToolboxCache {
    pub(crate) fn of(
        &self,
        agent: &Arc<Agent>,
        bound: &[(Arc<ToolVersion>, &AgentBinding)],
        defers: bool,
    ) -> Arc<[OfferedTool]> {
        let key = (agent.id, defers);
        let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = cached.get(&key).filter(|entry| entry.is_of(agent, bound)) {
            return entry.offered.clone();
        }
        drop(cached);
        let offered = bound.iter().filter_map(|(tool, binding)| offer(tool, Some(binding), defers));
        let offered: Arc<[OfferedTool]> = offered.collect();
        let tools = bound.iter().map(|(tool, _)| tool.clone()).collect();
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= CAPACITY {
            all.clear();
        }
        all.insert(key, CachedTools { agent: agent.clone(), tools, offered: offered.clone() });
        offered
    }
}
