//! Planning of log searches: the conditions of a filter, and the indexes that can be scanned for it. Executes
//! no SQL.

use haft_core::{AgentId, ErrorKind, Source, SpaceId, UserId};
use uuid::Uuid;

use super::call::CallStatus;
use super::find::CallFilter;
use super::full_text::SearchWord;

/// Maximum number of tool names that are scanned one by one, since each is a separate index lookup. With more
/// names, a scan of another index finds matches soon enough.
const MAX_NAMES: usize = 500;

/// Maximum number of names if there are further conditions.
const MAX_NAMES_WITH_CONDITIONS: usize = 100;

/// A part of a search. Rows that match several parts are returned once.
#[derive(Default)]
pub(super) struct Part {
    /// Calls by any of these names.
    pub(super) names: Option<Vec<String>>,
    /// Calls of this tool.
    pub(super) tool_id: Option<String>,
    /// Failed calls that contain all of these words. If empty, all calls.
    pub(super) words: Vec<SearchWord>,
}

/// A search for the newest rows of a part.
pub(super) struct Search<'a> {
    pub(super) space: SpaceId,
    /// Conditions that must all hold.
    pub(super) conditions: Vec<Condition<'a>>,
    pub(super) words: &'a [SearchWord],
    /// Exclusive upper bound of the ids.
    pub(super) below: Uuid,
    /// Inclusive lower bound of the ids.
    pub(super) from: Option<Uuid>,
    /// Maximum number of rows to return.
    pub(super) rows: u64,
    /// Maximum number of rows to scan.
    pub(super) steps: u64,
}

/// A condition on a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition<'a> {
    Kind(ErrorKind),
    Agent(AgentId),
    Source(Source),
    /// Failed or cancelled.
    Failed,
    /// Any of these tool names.
    Names(&'a [String]),
    ToolId(&'a str),
    User(UserId),
    Status(CallStatus),
    Word(&'a SearchWord),
}

/// A backward scan: along the index of one condition, or over all rows of the space.
pub(super) struct Scan<'a> {
    pub(super) along: Option<Condition<'a>>,
    /// The remaining conditions, tested on each scanned row.
    pub(super) conditions: Vec<Condition<'a>>,
}

impl Condition<'_> {
    /// Returns the index of the rows that satisfy the condition, ordered by id. Returns `None` if there is
    /// none.
    pub(super) fn index(self) -> Option<&'static str> {
        match self {
            Self::Kind(_) => Some("tool_call_log_kind"),
            Self::Agent(_) => Some("tool_call_log_agent"),
            Self::Source(Source::Api) => None,
            Self::Source(_) => Some("tool_call_log_source"),
            Self::Failed => Some("tool_call_log_errors"),
            Self::Names(_) => Some("tool_call_log_tool"),
            Self::ToolId(_) | Self::User(_) | Self::Status(_) | Self::Word(_) => None,
        }
    }
}

impl<'a> Scan<'a> {
    /// Returns the names if there are several; each is a separate range of the index.
    pub(super) fn names(&self) -> Option<&'a [String]> {
        match self.along {
            Some(Condition::Names(names)) if names.len() != 1 => Some(names),
            Some(_) | None => None,
        }
    }
}

/// Returns the conditions of a filter for one part, cheapest first.
pub(super) fn conditions_of<'a>(filter: &CallFilter, part: &'a Part) -> Vec<Condition<'a>> {
    let (kind, status) = match (filter.kind, filter.status) {
        // Every cancelled call has this error kind, and error kinds have an index.
        (None, Some(CallStatus::Cancelled)) => (Some(ErrorKind::Cancelled), None),
        other => other,
    };
    let is_failed = kind.is_none() && (status == Some(CallStatus::Failed) || !part.words.is_empty());
    let conditions = [
        kind.map(Condition::Kind),
        filter.agent.map(Condition::Agent),
        filter.source.map(Condition::Source),
        is_failed.then_some(Condition::Failed),
        part.names.as_deref().map(Condition::Names),
        part.tool_id.as_deref().map(Condition::ToolId),
        filter.user.map(Condition::User),
        status.map(Condition::Status),
    ];
    conditions.into_iter().flatten().chain(part.words.iter().map(Condition::Word)).collect()
}

/// Returns the possible scans. Each of them covers every matching row.
pub(super) fn scans<'a>(conditions: &[Condition<'a>]) -> Vec<Scan<'a>> {
    let max_names = if conditions.len() == 1 { MAX_NAMES } else { MAX_NAMES_WITH_CONDITIONS };
    let mut scans = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let is_too_many = matches!(condition, Condition::Names(names) if names.len() > max_names);
        if condition.index().is_some() && !is_too_many {
            let others = conditions.iter().enumerate().filter(|(other, _)| *other != index);
            scans.push(Scan {
                along: Some(*condition),
                conditions: others.map(|(_, other)| *other).collect(),
            });
        }
    }
    // Several names share the maximum number of steps, so a scan over all rows may reach further back. It
    // never reaches further than a scan along a single value.
    if scans.iter().all(|scan| scan.names().is_some()) {
        scans.push(Scan { along: None, conditions: conditions.to_vec() });
    }
    scans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(filter: &CallFilter, part: &Part) -> Vec<&'static str> {
        let name = |scan: &Scan<'_>| scan.along.map_or(Some("all"), Condition::index).unwrap_or("none");
        scans(&conditions_of(filter, part)).iter().map(name).collect()
    }

    #[test]
    fn indexed_conditions_are_scanned_along_their_index() {
        let names = |count| Part { names: Some(vec!["a".to_owned(); count]), ..Part::default() };
        let any = CallFilter::default;
        let failed = || CallFilter { status: Some(CallStatus::Failed), ..any() };
        let all = "all";
        for (filter, part, expected) in [
            (any(), Part::default(), vec![all]),
            (CallFilter { source: Some(Source::Api), ..any() }, Part::default(), vec![all]),
            (CallFilter { status: Some(CallStatus::Success), ..any() }, Part::default(), vec![all]),
            (
                CallFilter { status: Some(CallStatus::Cancelled), ..any() },
                Part::default(),
                vec!["tool_call_log_kind"],
            ),
            (
                CallFilter { kind: Some(ErrorKind::Timeout), ..failed() },
                Part::default(),
                vec!["tool_call_log_kind"],
            ),
            (failed(), names(1), vec!["tool_call_log_errors", "tool_call_log_tool"]),
            (failed(), names(2), vec!["tool_call_log_errors", "tool_call_log_tool"]),
            (any(), names(1), vec!["tool_call_log_tool"]),
            (any(), names(2), vec!["tool_call_log_tool", all]),
            (any(), names(MAX_NAMES), vec!["tool_call_log_tool", all]),
            (any(), names(MAX_NAMES + 1), vec![all]),
            (failed(), names(MAX_NAMES_WITH_CONDITIONS + 1), vec!["tool_call_log_errors"]),
        ] {
            assert_eq!(along(&filter, &part), expected, "{filter:?}");
        }
    }
}
