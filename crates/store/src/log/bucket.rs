//! One bucket of the statistics: whose calls it counts, when they began, and how it stands in the columns.

use haft_core::{CallError, ToolId};
use uuid::Uuid;

use super::call::uuid;
use super::span::Span;
use super::totals::Totals;
use crate::db::Arg;
use crate::row::Row;

/// Whose calls are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Series {
    Space,
    Tool,
    Agent,
}

impl Series {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Tool => "tool",
            Self::Agent => "agent",
        }
    }
}

/// What tells buckets apart, in the order of the primary key: those of one time stand together, so that few
/// pages of the table change while calls are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) space: Uuid,
    pub(super) span: Span,
    pub(super) series: Series,
    /// In microseconds since the epoch.
    pub(super) start: i64,
    /// The name of a tool, the id of an agent; nothing for the space, and for names that no tool had.
    pub(super) name: String,
}

impl Key {
    pub(super) const COLUMNS: [&str; 5] = ["space_id", "span", "series", "start", "name"];

    pub(super) fn args(&self) -> [Arg; 5] {
        [
            uuid(self.space),
            Arg::Int(Some(self.span.seconds())),
            Arg::from(self.series.as_str()),
            Arg::Int(Some(self.start)),
            Arg::from(&self.name),
        ]
    }

    /// The values of a key that no bucket has.
    pub(super) fn no_args() -> [Arg; 5] {
        [Arg::Bytes(None), Arg::Int(None), Arg::Text(None), Arg::Int(None), Arg::Text(None)]
    }
}

/// What is counted in a bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bucket {
    /// The tool that had the name last.
    pub(super) tool: Option<ToolId>,
    pub(super) totals: Totals,
}

impl Bucket {
    /// Adds what was counted before.
    pub(super) fn add_earlier(&mut self, earlier: Self) {
        self.tool = self.tool.take().or(earlier.tool);
        self.totals.merge(&earlier.totals);
    }

    /// Adds what was counted later.
    pub(super) fn add_later(&mut self, later: &Self) {
        if later.tool.is_some() {
            self.tool.clone_from(&later.tool);
        }
        self.totals.merge(&later.totals);
    }

    /// The columns besides those of the key.
    pub(super) fn columns() -> impl Iterator<Item = &'static str> {
        ["tool_id"].into_iter().chain(Totals::COLUMNS)
    }

    /// `s.tool_id, s.calls, …` for a `SELECT` from `tool_call_stats s`.
    pub(super) fn selected() -> String {
        Self::columns().map(|column| format!("s.{column}")).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn args(&self) -> impl Iterator<Item = Arg> {
        [Arg::Text(self.tool.as_ref().map(ToString::to_string))].into_iter().chain(self.totals.args())
    }

    /// The bucket at the columns that begin there.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self, CallError> {
        let tool = match row.maybe_text(first)? {
            Some(_) => Some(row.tool_id(first)?),
            None => None,
        };
        Ok(Self { tool, totals: Totals::read(row, first + 1)? })
    }
}
