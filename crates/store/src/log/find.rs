//! Reading calls: filtered pages with the newest first, and single calls with their bodies.

use std::cmp::Reverse;

use haft_core::{AgentId, CallError, CallId, ErrorKind, Message, Source, SpaceId, UserId, Violation};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::call::{CallRow, CallStatus, LoggedCall, call_row, columns, logged_call, uuid};
use super::scan::{Part, Search, conditions_of};
use super::walk::Found;
use super::{CallLog, full_text, id};
use crate::db::Arg;
use crate::page::{self, Page};

haft_core::templates! {
    NO_WORDS = "log.noWords",
        "contains no word to search for",
        "没有可供搜索的词";
}

/// Prefix of the cursors of this list.
const CURSOR: &str = "call";

/// Maximum number of rows scanned per page; takes tens of milliseconds if they are far apart on disk.
const STEPS: u64 = 10_000;

/// Selects calls of a space.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// The id of a tool, or the name by which it was called.
    pub tool: Option<String>,
    pub agent: Option<AgentId>,
    pub user: Option<UserId>,
    pub status: Option<CallStatus>,
    pub kind: Option<ErrorKind>,
    pub source: Option<Source>,
    /// Inclusive.
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
    /// Words of the tool name or the error message; `refus*` matches a prefix.
    pub text: Option<String>,
}

impl CallLog {
    /// Lists the calls of a space, newest first. The number of scanned rows is limited, so a page may be
    /// short although there is a next one.
    pub async fn find(
        &self,
        space: SpaceId,
        filter: &CallFilter,
        page: &Page,
    ) -> Result<(Vec<CallRow>, Option<String>), CallError> {
        self.find_with_step_limit(space, filter, page, STEPS).await
    }

    /// Lists calls like [`CallLog::find`], scanning at most `steps` rows.
    pub async fn find_with_step_limit(
        &self,
        space: SpaceId,
        filter: &CallFilter,
        page: &Page,
        steps: u64,
    ) -> Result<(Vec<CallRow>, Option<String>), CallError> {
        let upper = upper_bound(page)?;
        let below = filter.to.map(id::lowest).map_or(upper, |to| to.min(upper));
        let (from, rows, steps) = (filter.from.map(id::lowest), page.rows(), steps.max(1));
        let mut found = Found::default();
        for part in &self.parts(space, filter).await? {
            if part.names.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            let (conditions, words) = (conditions_of(filter, part), part.words.as_slice());
            let search = Search { space, conditions, words, below, from, rows, steps };
            found.join(self.search(&search).await?);
        }
        let Found { mut ids, floor } = found;
        ids.retain(|id| floor.is_none_or(|floor| *id >= floor));
        ids.sort_unstable_by_key(|id| Reverse(*id));
        ids.dedup();
        let (ids, next) = page.cut(ids, |id| (CURSOR, id.to_string()));
        // The scan covered the whole page; the next page starts where it ended.
        let next = next.or_else(|| page::cursor(CURSOR, &floor?.to_string()));
        Ok((self.rows_of(space, &ids).await?, next))
    }

    /// Returns the call with this row id, or else the newest call with this call id.
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

    /// Returns the newest calls with a call id and their bodies, at most `most`.
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
        let row = self.db().row(AssertSqlSafe(newest_one(condition)), vec![uuid(space), of]).await?;
        row.map(|row| logged_call(&row)).transpose()
    }

    /// Reads rows by id, newest first.
    async fn rows_of(&self, space: SpaceId, ids: &[Uuid]) -> Result<Vec<CallRow>, CallError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let placeholders: Vec<String> = (2..ids.len() + 2).map(|number| format!("${number}")).collect();
        let sql = format!(
            "SELECT {} FROM tool_call_log l WHERE l.space_id = $1 AND l.id IN ({})",
            columns(),
            placeholders.join(", ")
        );
        let args = [uuid(space)].into_iter().chain(ids.iter().map(|id| uuid(*id))).collect();
        let rows = self.db().rows(AssertSqlSafe(sql), args).await?;
        let mut calls: Vec<CallRow> = rows.iter().map(call_row).collect::<Result<_, _>>()?;
        calls.sort_unstable_by_key(|call| Reverse(call.id));
        Ok(calls)
    }

    /// Splits a filter into parts that together match the same rows.
    async fn parts(&self, space: SpaceId, filter: &CallFilter) -> Result<Vec<Part>, CallError> {
        // A tool may have had several names, and several tools may have had the same name.
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
        let words = full_text::parse_query(text);
        if words.is_empty() {
            return Err(CallError::invalid(vec![Violation::new("text", Message::new(&NO_WORDS))]));
        }
        // Match calls whose tool name contains all words, and failed calls whose name and error together do.
        let (named, others) = match names {
            Some(names) => {
                let parted = names.into_iter().partition(|name| full_text::contains_all(&words, name));
                let (named, others): (Vec<String>, Vec<String>) = parted;
                (named, Some(others))
            }
            None => {
                let mut named = self.names_of(space, None).await?;
                named.retain(|name| full_text::contains_all(&words, name));
                (named, None)
            }
        };
        let mut parts = vec![Part { names: Some(named), tool_id: tool_id.clone(), words: Vec::new() }];
        // Words are indexed for failed calls only.
        if filter.status != Some(CallStatus::Success) {
            parts.push(Part { names: others, tool_id, words });
        }
        Ok(parts)
    }
}

/// The condition for a lookup by call id.
const BY_CALL_ID: &str = "l.call_id = $2";

/// Selects the newest row that meets a condition, with its bodies.
fn newest_one(condition: &'static str) -> String {
    newest(condition, "1")
}

/// Selects the newest rows that meet a condition, with their bodies.
fn newest(condition: &'static str, most: &'static str) -> String {
    format!(
        "SELECT {}, b.arguments, b.result FROM tool_call_log l
         JOIN tool_call_bodies b ON b.seq = l.seq AND b.id = l.id
         WHERE l.space_id = $1 AND {condition} ORDER BY l.id DESC LIMIT {most}",
        columns()
    )
}

/// Reads the id below which the page begins.
fn upper_bound(page: &Page) -> Result<Uuid, CallError> {
    if page.cursor.is_none() {
        return Ok(Uuid::max());
    }
    let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&page::BAD_CURSOR))]);
    let (list, id) = page.start_key()?;
    if list == CURSOR { Uuid::try_parse(&id).map_err(|_| bad()) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    #[tokio::test]
    async fn calls_are_found_by_the_index_of_call_ids() {
        let log = CallLog::open(&Database::Memory).await.expect("a log");
        let sql = format!("EXPLAIN QUERY PLAN {}", newest_one(BY_CALL_ID));
        let args = vec![uuid(Uuid::nil()), Arg::from("call_1")];
        let steps = log.db().rows(AssertSqlSafe(sql), args).await.expect("a plan");
        let plan: Vec<String> = steps.iter().map(|step| step.text(3).expect("a step of the plan")).collect();
        let index = "tool_call_log_call (space_id=? AND call_id=?)";
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "{plan:?}");
    }
}
