//! The tools of agents as models are told of them, from turn to turn: worked out anew when the agent or one of its tools
//! has changed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use haft_core::agent::{Agent, AgentBinding};
use haft_core::{AgentId, ToolVersion};

use crate::toolbox::{Offered, offer};

/// So many agents are remembered at most.
const MOST: usize = 1_000;

/// By agent, and whether results may come later by themselves.
#[derive(Default)]
pub(crate) struct KnownTools(RwLock<HashMap<(AgentId, bool), Known>>);

struct Known {
    /// What it was made of.
    agent: Arc<Agent>,
    tools: Vec<Arc<ToolVersion>>,
    offered: Arc<[Offered]>,
}

impl Known {
    fn is_of(&self, agent: &Arc<Agent>, bound: &[(Arc<ToolVersion>, &AgentBinding)]) -> bool {
        let tools = bound.iter().map(|(tool, _)| tool);
        let is_same = |(known, tool): (&Arc<ToolVersion>, &Arc<ToolVersion>)| Arc::ptr_eq(known, tool);
        Arc::ptr_eq(&self.agent, agent)
            && self.tools.len() == bound.len()
            && self.tools.iter().zip(tools).all(is_same)
    }
}

impl KnownTools {
    pub(crate) fn of(
        &self,
        agent: &Arc<Agent>,
        bound: &[(Arc<ToolVersion>, &AgentBinding)],
        defers: bool,
    ) -> Arc<[Offered]> {
        let key = (agent.id, defers);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key).filter(|known| known.is_of(agent, bound)) {
            return known.offered.clone();
        }
        drop(known);
        let offered = bound.iter().filter_map(|(tool, binding)| offer(tool, Some(binding), defers));
        let offered: Arc<[Offered]> = offered.collect();
        let tools = bound.iter().map(|(tool, _)| tool.clone()).collect();
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(key, Known { agent: agent.clone(), tools, offered: offered.clone() });
        offered
    }
}
