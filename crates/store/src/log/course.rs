//! What is asked of a row, and the courses through the log that lead past such rows. Nothing is read here.

use haft_core::{AgentId, ErrorKind, Source, SpaceId, UserId};
use uuid::Uuid;

use super::call::CallStatus;
use super::find::CallFilter;
use super::words::Asked;

/// So many names are followed one by one, since each takes a look of its own. Of more, some are soon met on
/// other courses.
const MOST_NAMES: usize = 500;

/// And so many where more is asked than the name.
const MOST_NAMES_AND_MORE: usize = 100;

/// A part of the rows that a page is made of. What several parts hold is told once.
#[derive(Default)]
pub(super) struct Part {
    /// Calls by one of these names.
    pub(super) names: Option<Vec<String>>,
    /// Calls of this tool.
    pub(super) tool_id: Option<String>,
    /// Calls that failed, with all of these words; calls of any kind where there are none.
    pub(super) words: Vec<Asked>,
}

/// One look for the newest rows of a part.
pub(super) struct Search<'a> {
    pub(super) space: SpaceId,
    /// All of them must hold.
    pub(super) tests: Vec<Test<'a>>,
    pub(super) words: &'a [Asked],
    /// Ids are smaller than this one.
    pub(super) below: Uuid,
    /// And not smaller than this one.
    pub(super) from: Option<Uuid>,
    /// So many are enough.
    pub(super) rows: u64,
    /// So many rows may be looked at.
    pub(super) steps: u64,
}

/// One thing that is asked of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Test<'a> {
    Kind(ErrorKind),
    Agent(AgentId),
    Source(Source),
    /// Whatever did not work, what was cancelled too.
    Failed,
    /// One of these.
    Names(&'a [String]),
    ToolId(&'a str),
    User(UserId),
    Status(CallStatus),
    Word(&'a Asked),
}

/// A course back in time: along the index of one test, or past all rows of the space.
pub(super) struct Course<'a> {
    pub(super) along: Option<Test<'a>>,
    /// What is asked of each row on the way.
    pub(super) tests: Vec<Test<'a>>,
}

impl Test<'_> {
    /// The index of the rows for which it holds, in the order of their ids.
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

impl<'a> Course<'a> {
    /// The names that are followed, where there are several: each has its own place in the index.
    pub(super) fn names(&self) -> Option<&'a [String]> {
        match self.along {
            Some(Test::Names(names)) if names.len() != 1 => Some(names),
            Some(_) | None => None,
        }
    }
}

/// What a filter asks of the rows of a part. What is quick to tell comes first.
pub(super) fn asked_of<'a>(filter: &CallFilter, part: &'a Part) -> Vec<Test<'a>> {
    let (kind, status) = match (filter.kind, filter.status) {
        // Each of them has an error of that kind, and kinds have an index.
        (None, Some(CallStatus::Cancelled)) => (Some(ErrorKind::Cancelled), None),
        as_it_is => as_it_is,
    };
    let is_failed = kind.is_none() && (status == Some(CallStatus::Failed) || !part.words.is_empty());
    let asked = [
        kind.map(Test::Kind),
        filter.agent.map(Test::Agent),
        filter.source.map(Test::Source),
        is_failed.then_some(Test::Failed),
        part.names.as_deref().map(Test::Names),
        part.tool_id.as_deref().map(Test::ToolId),
        filter.user.map(Test::User),
        status.map(Test::Status),
    ];
    asked.into_iter().flatten().chain(part.words.iter().map(Test::Word)).collect()
}

/// All courses that lead past every row for which the tests hold.
pub(super) fn courses<'a>(tests: &[Test<'a>]) -> Vec<Course<'a>> {
    let most_names = if tests.len() == 1 { MOST_NAMES } else { MOST_NAMES_AND_MORE };
    let mut courses = Vec::new();
    for (place, test) in tests.iter().enumerate() {
        let is_too_many = matches!(test, Test::Names(names) if names.len() > most_names);
        if test.index().is_some() && !is_too_many {
            let others = tests.iter().enumerate().filter(|(other, _)| *other != place);
            courses.push(Course { along: Some(*test), tests: others.map(|(_, other)| *other).collect() });
        }
    }
    // Several names share the steps, so the course past all rows may lead further than theirs. It never leads
    // further than one along a single thing.
    if courses.iter().all(|course| course.names().is_some()) {
        courses.push(Course { along: None, tests: tests.to_vec() });
    }
    courses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(filter: &CallFilter, part: &Part) -> Vec<&'static str> {
        let name = |course: &Course<'_>| course.along.map_or(Some("all"), Test::index).unwrap_or("none");
        courses(&asked_of(filter, part)).iter().map(name).collect()
    }

    #[test]
    fn what_has_an_index_has_a_course() {
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
            (any(), names(MOST_NAMES), vec!["tool_call_log_tool", all]),
            (any(), names(MOST_NAMES + 1), vec![all]),
            (failed(), names(MOST_NAMES_AND_MORE + 1), vec!["tool_call_log_errors"]),
        ] {
            assert_eq!(along(&filter, &part), expected, "{filter:?}");
        }
    }
}
