//! One bucket of the statistics: its key, its counts, and their columns.

use haft_core::{CallError, ToolId};
use uuid::Uuid;

use super::call::uuid;
use super::span::Span;
use super::totals::Totals;
use crate::db::Arg;
use crate::row::Row;

/// The dimension by which calls are counted.
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

/// The primary key of a bucket. Buckets of the same time are adjacent, so that counting touches few pages of
/// the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) space: Uuid,
    pub(super) span: Span,
    pub(super) series: Series,
    /// In microseconds since the epoch.
    pub(super) start: i64,
    /// The name of a tool or the id of an agent. Empty for the space, and for calls of unknown tools.
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

    /// A key that matches no bucket.
    pub(super) fn no_args() -> [Arg; 5] {
        [Arg::Bytes(None), Arg::Int(None), Arg::Text(None), Arg::Int(None), Arg::Text(None)]
    }
}

/// The counts of a bucket.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bucket {
    /// The tool that last had this name.
    pub(super) tool: Option<ToolId>,
    pub(super) totals: Totals,
}

impl Bucket {
    /// Adds earlier counts.
    pub(super) fn add_earlier(&mut self, earlier: Self) {
        self.tool = self.tool.take().or(earlier.tool);
        self.totals.merge(&earlier.totals);
    }

    /// Adds later counts.
    pub(super) fn add_later(&mut self, later: &Self) {
        if later.tool.is_some() {
            self.tool.clone_from(&later.tool);
        }
        self.totals.merge(&later.totals);
    }

    /// The columns that are not part of the key.
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

    /// Reads a bucket from the columns that start at `first`.
    pub(super) fn read(row: &Row, first: usize) -> Result<Self, CallError> {
        let tool = match row.maybe_text(first)? {
            Some(_) => Some(row.tool_id(first)?),
            None => None,
        };
        Ok(Self { tool, totals: Totals::read(row, first + 1)? })
    }
}
