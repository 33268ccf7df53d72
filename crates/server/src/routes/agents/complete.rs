//! An agent made whole: what a body or a patch says, put together with what is there.

use haft_core::agent::{Agent, AgentSpec};
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, Message, Violation};
use serde_json::{Value, json};

use super::Shown;
use super::bind::{Binder, Start, is_same_list};
use super::input::{AgentInput, BAD_TOOL_CHOICE, tool_chosen};
use crate::routes::saving::{differing, merge, refuse};

haft_core::templates! {
    TWO_LISTS = "agents.twoLists",
        "lists other tools than bindings, or lists them in another order; send only one of the two",
        "与 bindings 中的工具或顺序不同；请只保留一个";
}

/// The two ways to say which tools an agent has.
const LISTS: [&str; 2] = ["toolIds", "bindings"];

/// The agent that an input makes of what is there, or all that is wrong with it.
pub(crate) async fn complete(
    input: AgentInput,
    binder: &Binder<'_>,
    before: Option<&AgentSpec>,
    kept: &Value,
) -> Result<AgentSpec, CallError> {
    let AgentInput { server_fields, spec, tool_ids, bindings, mut violations } = input;
    violations.extend(differing(&server_fields, kept));
    let listed = tool_ids.map(|ids| binder.list(&ids, &mut violations));
    let full = match bindings {
        Some(wanted) => Some(binder.bind(wanted, Start::Fresh, &mut violations).await?),
        None => None,
    };
    let bindings = match (listed, full) {
        (None, None) => binder.before(),
        (Some(listed), None) => listed,
        (None, Some(full)) => binder.sorted(full),
        (Some(listed), Some(mut full)) => {
            full.sort_by_key(|binding| binding.sort_order);
            let as_written = is_same_list(&listed, &full);
            let full = binder.sorted(full);
            // What comes in one place may come in any order, and is shown by name.
            if violations.is_empty() && !as_written && !is_same_list(&listed, &full) {
                violations.push(Violation::new("toolIds", Message::new(&TWO_LISTS)));
            }
            full
        }
    };
    let Some(spec) = spec else { return Err(CallError::invalid(violations)) };
    let spec = AgentSpec { bindings, ..spec };
    if violations.is_empty() && !chooses_well(&spec, binder, before) {
        violations.push(Violation::new("config.toolChoice", Message::new(&BAD_TOOL_CHOICE)));
    }
    refuse(violations)?;
    Ok(spec)
}

/// Whether the tool that must be called is one that the agent has. A choice that was there before may
/// have lost its tool, which is no reason to refuse other changes.
fn chooses_well(spec: &AgentSpec, binder: &Binder<'_>, before: Option<&AgentSpec>) -> bool {
    let choice = spec.config.tool_choice.as_ref();
    if before.is_some_and(|before| before.config.tool_choice.as_ref() == choice) {
        return true;
    }
    let Some(Ok(Some(chosen))) = choice.map(tool_chosen) else { return true };
    spec.bindings.iter().any(|binding| binder.name_of(&binding.tool_id) == chosen)
}

/// The body that a patch makes of an agent as it is shown. What is said of neither list leaves the tools as they are.
pub(super) fn patched(before: &Agent, changes: Value) -> Value {
    let mut changes = camel_keys(changes);
    if let Some(config) = changes.get_mut("config") {
        *config = camel_keys(config.take());
    }
    let mut whole = serde_json::to_value(Shown::from(before)).unwrap_or_default();
    for name in LISTS {
        if let Some(list) = changes.get_mut(name)
            && list.is_null()
        {
            // By default an agent has no tools.
            *list = json!([]);
        }
        if let Value::Object(whole) = &mut whole {
            whole.shift_remove(name);
        }
    }
    merge(&mut whole, changes);
    whole
}
