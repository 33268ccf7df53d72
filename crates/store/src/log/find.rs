//! Reading rows: a page at a time, the newest first, by what is asked for; and one with its bodies.

use std::cmp::Reverse;

use haft_core::{AgentId, CallError, CallId, ErrorKind, Message, Source, SpaceId, UserId, Violation};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::call::{CallRow, CallStatus, LoggedCall, call_row, columns, logged_call, uuid};
use super::course::{Part, Search, asked_of};
use super::walk::Found;
use super::{CallLog, id, words};
use crate::db::Arg;
use crate::page::{self, Page};

haft_core::templates! {
    NO_WORDS = "log.noWords",
        "holds no word to look for",
        "没有可供搜索的词";
}

/// What the cursors of this list begin with.
const CURSOR: &str = "call";

/// So many rows are looked at for one page, which takes some tens of milliseconds where they lie far apart.
const STEPS: u64 = 10_000;

/// Which calls of a space.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// The id of a tool, or the name it was called by.
    pub tool: Option<String>,
    pub agent: Option<AgentId>,
    pub user: Option<UserId>,
    pub status: Option<CallStatus>,
    pub kind: Option<ErrorKind>,
    pub source: Option<Source>,
    /// Begun then or later.
    pub from: Option<Timestamp>,
    /// Begun before.
    pub to: Option<Timestamp>,
    /// Words of the tool's name or of the error; `refus*` stands for all that begin so.
    pub text: Option<String>,
}

impl CallLog {
    /// Calls of a space, the newest first. A page may be short and still have a next one: it looks at so many
    /// rows at most.
    pub async fn find(
        &self,
        space: SpaceId,
        filter: &CallFilter,
        page: &Page,
    ) -> Result<(Vec<CallRow>, Option<String>), CallError> {
        self.find_within(space, filter, page, STEPS).await
    }

    /// The same, with as many rows looked at as there are steps, at most.
    pub async fn find_within(
        &self,
        space: SpaceId,
        filter: &CallFilter,
        page: &Page,
        steps: u64,
    ) -> Result<(Vec<CallRow>, Option<String>), CallError> {
        let before = before(page)?;
        let below = filter.to.map(id::lowest).map_or(before, |to| to.min(before));
        let (from, rows, steps) = (filter.from.map(id::lowest), page.rows(), steps.max(1));
        let mut found = Found::default();
        for part in &self.parts(space, filter).await? {
            if part.names.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            let (tests, words) = (asked_of(filter, part), part.words.as_slice());
            let search = Search { space, tests, words, below, from, rows, steps };
            found.join(self.search(&search).await?);
        }
        let Found { mut ids, floor } = found;
        ids.retain(|id| floor.is_none_or(|floor| *id >= floor));
        ids.sort_unstable_by_key(|id| Reverse(*id));
        ids.dedup();
        let (ids, next) = page.cut(ids, |id| (CURSOR, id.to_string()));
        // The page is all that the walk came past; the next one goes on where it ended.
        let next = next.or_else(|| page::cursor(CURSOR, &floor?.to_string()));
        Ok((self.rows_of(space, &ids).await?, next))
    }

    /// The call of that id: the row's own, or the last that had it as its call id.
    pub async fn get(&self, space: SpaceId, id: &str) -> Result<Option<LoggedCall>, CallError> {
        if let Ok(row_id) = Uuid::try_parse(id)
            && let Some(call) = self.read("l.id = $2", space, uuid(row_id)).await?
        {
            return Ok(Some(call));
        }
        match id.parse::<CallId>() {
            Ok(call_id) => self.read(BY_CALL_ID, space, Arg::from(call_id.as_str())).await,
            Err(_) => Ok(None),
        }
    }

    /// The newest calls that have a call id, with their bodies: at most `most`.
    pub async fn of_call(
        &self,
        space: SpaceId,
        call: &CallId,
        most: u64,
    ) -> Result<Vec<LoggedCall>, CallError> {
        let values = vec![uuid(space), Arg::from(call.as_str()), Arg::from(most)];
        let sql = newest(BY_CALL_ID, "$3");
        self.db().rows(AssertSqlSafe(sql), values).await?.iter().map(logged_call).collect()
    }

    async fn read(
        &self,
        condition: &'static str,
        space: SpaceId,
        of: Arg,
    ) -> Result<Option<LoggedCall>, CallError> {
        let row = self.db().row(AssertSqlSafe(the_last(condition)), vec![uuid(space), of]).await?;
        row.map(|row| logged_call(&row)).transpose()
    }

    /// The rows of a page, the newest first.
    async fn rows_of(&self, space: SpaceId, ids: &[Uuid]) -> Result<Vec<CallRow>, CallError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<String> = (2..ids.len() + 2).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT {} FROM tool_call_log l WHERE l.space_id = $1 AND l.id IN ({})",
            columns(),
            places.join(", ")
        );
        let args = [uuid(space)].into_iter().chain(ids.iter().map(|id| uuid(*id))).collect();
        let rows = self.db().rows(AssertSqlSafe(sql), args).await?;
        let mut calls: Vec<CallRow> = rows.iter().map(call_row).collect::<Result<_, _>>()?;
        calls.sort_unstable_by_key(|call| Reverse(call.id));
        Ok(calls)
    }

    /// The parts that hold all that a filter asks for.
    async fn parts(&self, space: SpaceId, filter: &CallFilter) -> Result<Vec<Part>, CallError> {
        // An id may have had several names; a name may have been that of several tools.
        let tool_id = filter.tool.as_ref().and_then(|tool| Uuid::try_parse(tool).ok());
        let tool_id = tool_id.map(|id| id.to_string());
        let names = match (&filter.tool, &tool_id) {
            (_, Some(id)) => Some(self.names_of(space, Some(id.as_str())).await?),
            (Some(name), None) => Some(vec![name.clone()]),
            (None, None) => None,
        };
        let Some(text) = &filter.text else {
            return Ok(vec![Part { names, tool_id, words: Vec::new() }]);
        };
        let words = words::asked(text);
        if words.is_empty() {
            return Err(CallError::invalid(vec![Violation::new("text", Message::new(&NO_WORDS))]));
        }
        // By a name that holds all the words, whatever became of the call; or by name and error together.
        let (named, others) = match names {
            Some(names) => {
                let parted = names.into_iter().partition(|name| words::are_in(&words, name));
                let (named, others): (Vec<String>, Vec<String>) = parted;
                (named, Some(others))
            }
            None => {
                let mut named = self.names_of(space, None).await?;
                named.retain(|name| words::are_in(&words, name));
                (named, None)
            }
        };
        let mut parts = vec![Part { names: Some(named), tool_id: tool_id.clone(), words: Vec::new() }];
        // Of calls that worked no other words are kept.
        if filter.status != Some(CallStatus::Success) {
            parts.push(Part { names: others, tool_id, words });
        }
        Ok(parts)
    }
}

/// The condition of a look-up by the id that a caller gave.
const BY_CALL_ID: &str = "l.call_id = $2";

/// The statement that reads the last row that meets a condition, with its bodies.
fn the_last(condition: &'static str) -> String {
    newest(condition, "1")
}

/// The statement that reads the newest rows that meet a condition, with their bodies.
fn newest(condition: &'static str, most: &'static str) -> String {
    format!(
        "SELECT {}, b.arguments, b.result FROM tool_call_log l
         JOIN tool_call_bodies b ON b.seq = l.seq AND b.id = l.id
         WHERE l.space_id = $1 AND {condition} ORDER BY l.id DESC LIMIT {most}",
        columns()
    )
}

/// The id before which the page begins.
fn before(page: &Page) -> Result<Uuid, CallError> {
    if page.cursor.is_none() {
        return Ok(Uuid::max());
    }
    let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&page::BAD_CURSOR))]);
    let (list, id) = page.after()?;
    if list == CURSOR { Uuid::try_parse(&id).map_err(|_| bad()) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[tokio::test]
    async fn a_call_is_found_by_the_index_of_the_id_that_its_caller_gave() {
        let log = CallLog::open(&Database::Memory).await.expect("a log");
        let sql = format!("EXPLAIN QUERY PLAN {}", the_last(BY_CALL_ID));
        let args = vec![uuid(Uuid::nil()), Arg::from("call_1")];
        let steps = log.db().rows(AssertSqlSafe(sql), args).await.expect("a plan");
        let plan: Vec<String> = steps.iter().map(|step| step.text(3).expect("what it does")).collect();
        let index = "tool_call_log_call (space_id=? AND call_id=?)";
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
    }
}
