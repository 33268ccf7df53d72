//! Which events a listener wants: by name, and by tool.

use std::sync::Arc;

use haft_core::{CallError, Message, ToolVersion, Violation};
use haft_engine::{CallEvent, SpaceTools};
use haft_store::{HistoryEntry, RunNews, What};

haft_core::templates! {
    BAD_TYPES = "events.badTypes",
        "must be up to {most} event names separated by commas, such as tool.updated or tool.call.*",
        "必须是以逗号分隔的事件名（最多 {most} 个），例如 tool.updated 或 tool.call.*";
}

/// So many names may be asked for, since each event is held against them.
const MOST: usize = 32;

/// What a listener wants to hear of; everything when it did not say.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    names: Vec<Name>,
    tool: Option<String>,
}

#[derive(Debug)]
enum Name {
    Whole(String),
    /// `tool.call.*`
    Beginning(String),
}

impl Filter {
    /// Reads what the address says.
    pub(crate) fn new(types: Option<&str>, tool: Option<String>) -> Result<Self, CallError> {
        let names: Option<Vec<Name>> = types.into_iter().flat_map(|list| list.split(',')).map(name).collect();
        match names {
            Some(names) if names.len() <= MOST => Ok(Self { names, tool }),
            Some(_) | None => {
                let message = Message::new(&BAD_TYPES).with("most", MOST);
                Err(CallError::invalid(vec![Violation::new("types", message)]))
            }
        }
    }

    /// A tool is meant by its name or its id. An event has the name, so an id is looked up, as it stands now.
    pub(super) fn takes_call(&self, event: &CallEvent, tools: SpaceTools<'_>) -> bool {
        let is_named_so = |found: Arc<ToolVersion>| *found.spec.name.as_str() == *event.tool;
        let is_meant = |tool: &str| *tool == *event.tool || tools.get(tool).is_some_and(is_named_so);
        self.takes(event.stage.name()) && self.tool.as_deref().is_none_or(is_meant)
    }

    /// Here too; what is no tool is not meant at all.
    pub(super) fn takes_change(&self, entry: &HistoryEntry, name: &str) -> bool {
        let is_meant = |tool: &str| {
            matches!(entry.what, What::Tool) && [entry.name.as_str(), entry.id.as_str()].contains(&tool)
        };
        self.takes(name) && self.tool.as_deref().is_none_or(is_meant)
    }

    /// And here; a task is one of its tool.
    pub(super) fn takes_task(&self, news: &RunNews, name: &str) -> bool {
        let about = &news.run.labels;
        let is_meant = |tool: &str| [about.name.as_str(), about.lane.as_str()].contains(&tool);
        self.takes(name) && self.tool.as_deref().is_none_or(is_meant)
    }

    /// Whether conversations are heard of at all; none is of a tool.
    pub(super) fn takes_conversations(&self) -> bool {
        self.takes(super::conversations::CHANGED) && self.tool.is_none()
    }

    pub(super) fn takes(&self, name: &str) -> bool {
        let fits = |wanted: &Name| match wanted {
            Name::Whole(whole) => whole == name,
            Name::Beginning(beginning) => name.starts_with(beginning.as_str()),
        };
        self.names.is_empty() || self.names.iter().any(fits)
    }
}

/// One name, if it is one.
fn name(written: &str) -> Option<Name> {
    let written = written.trim();
    let is_plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    match written.strip_suffix('*') {
        Some(beginning) => is_plain(beginning).then(|| Name::Beginning(beginning.to_owned())),
        None => (!written.is_empty() && is_plain(written)).then(|| Name::Whole(written.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(types: &str, taken: &[&str], left: &[&str]) {
        let filter = Filter::new(Some(types), None).expect("a filter");
        assert!(taken.iter().all(|name| filter.takes(name)), "{types} takes {taken:?}");
        assert!(!left.iter().any(|name| filter.takes(name)), "{types} leaves {left:?}");
    }

    #[test]
    fn names_are_whole_or_beginnings() {
        check("tool.updated", &["tool.updated"], &["tool.updated2", "tool", "tool.call.started"]);
        check("tool.call.*", &["tool.call.started", "tool.call.failed"], &["tool.updated", "tool.call"]);
        check("agent.*, tool.call.failed", &["agent.created", "tool.call.failed"], &["tool.call.started"]);
        check("*", &["tool.updated", "anything"], &[]);
        assert!(Filter::new(None, None).expect("none").takes("anything"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let many = vec!["a"; MOST + 1].join(",");
        for wrong in ["", ",", "tool.updated,", "to*ol", "**", "tool updated", "工具", many.as_str()] {
            assert!(Filter::new(Some(wrong), None).is_err(), "{wrong:?}");
        }
        assert!(Filter::new(Some(&vec!["a"; MOST].join(",")), None).is_ok());
    }
}
