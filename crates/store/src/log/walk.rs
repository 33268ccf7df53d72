//! Log searches. A search scans the index that reaches furthest back, newest rows first, with a limited
//! number of steps. This bounds the cost of a page for any filter and any number of rows.

use haft_core::CallError;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::CallLog;
use super::call::read_uuid;
use super::full_text::SearchWord;
use super::scan::{Scan, Search, scans};
use super::statement::Statement;
use crate::failure;
use crate::row::Row;

/// If words occur in fewer rows than `steps / FEW`, the full-text index is used.
const FEW: u64 = 5;

/// Ids of matching rows, and how far back the search went.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ids: Vec<Uuid>,
    /// Rows with smaller ids were not searched. `None` if all rows were.
    pub(super) floor: Option<Uuid>,
}

impl Found {
    /// Adds the result of another part. Only the range that both have searched is complete.
    pub(super) fn join(&mut self, other: Self) {
        self.ids.extend(other.ids);
        self.floor = self.floor.max(other.floor);
    }
}

impl CallLog {
    /// Returns the newest rows that meet all conditions.
    pub(super) async fn search(&self, search: &Search<'_>) -> Result<Found, CallError> {
        if search.words.is_empty() {
            return self.walk(search).await;
        }
        if search.words.iter().any(SearchWord::is_prefix) {
            // For a prefix, the full-text index collects all matches before it returns any, so try a scan
            // first.
            let found = self.walk(search).await?;
            let is_enough = found.floor.is_none() || found.ids.len() as u64 >= search.rows;
            if is_enough
                || search.words.iter().any(SearchWord::is_vague)
                || !self.has_few_matches(search).await?
            {
                return Ok(found);
            }
            return self.search_full_text(search).await;
        }
        if self.has_few_matches(search).await? {
            self.search_full_text(search).await
        } else {
            self.walk(search).await
        }
    }

    async fn walk(&self, search: &Search<'_>) -> Result<Found, CallError> {
        let scans = scans(&search.conditions);
        // Every row of this scan matches, so no step limit is needed.
        if let Some(scan) = scans.iter().find(|scan| scan.conditions.is_empty()) {
            return Ok(Found { ids: self.ids(search, scan, search.from).await?, floor: None });
        }
        let mut furthest: Option<(&Scan<'_>, Option<Uuid>)> = None;
        for scan in &scans {
            let floor = self.floor(search, scan).await?;
            if furthest.is_none_or(|(_, other)| floor < other) {
                furthest = Some((scan, floor));
            }
            if floor.is_none() {
                break;
            }
        }
        let Some((scan, floor)) = furthest else { return Ok(Found::default()) };
        Ok(Found { ids: self.ids(search, scan, floor.or(search.from)).await?, floor })
    }

    /// Returns the id at which a scan runs out of steps. Returns `None` if it covers all rows.
    async fn floor(&self, search: &Search<'_>, scan: &Scan<'_>) -> Result<Option<Uuid>, CallError> {
        let floors = self.ids_by(Statement::floor(self.db(), search, scan)).await?;
        // If several names are scanned, the most frequent one determines the end.
        Ok(floors.into_iter().max())
    }

    async fn ids(
        &self,
        search: &Search<'_>,
        scan: &Scan<'_>,
        floor: Option<Uuid>,
    ) -> Result<Vec<Uuid>, CallError> {
        self.ids_by(Statement::ids(self.db(), search, scan, floor)).await
    }

    /// Returns true if only few rows of the space contain all words.
    async fn has_few_matches(&self, search: &Search<'_>) -> Result<bool, CallError> {
        let few = search.steps / FEW;
        let rows = self.rows_by(Statement::count_matches(self.db(), search, few + 1)).await?;
        let count = rows.first().ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
        Ok(count <= few)
    }

    /// Searches by the full-text index.
    async fn search_full_text(&self, search: &Search<'_>) -> Result<Found, CallError> {
        let ids = self.ids_by(Statement::ids_by_full_text(self.db(), search)).await?;
        Ok(Found { ids, floor: None })
    }

    async fn ids_by(&self, statement: Statement<'_>) -> Result<Vec<Uuid>, CallError> {
        let rows = self.rows_by(statement).await?;
        let ids = rows.iter().filter_map(|row| row.maybe_bytes(0).transpose());
        ids.map(|id| read_uuid(id?)).collect()
    }

    async fn rows_by(&self, statement: Statement<'_>) -> Result<Vec<Row>, CallError> {
        let Statement { sql, args, .. } = statement;
        self.db().rows(AssertSqlSafe(sql), args).await
    }
}

#[cfg(test)]
mod tests {
    use haft_core::{AgentId, Source, SpaceId, UserId};

    use super::*;
    use crate::Database;
    use crate::log::CallFilter;
    use crate::log::full_text;
    use crate::log::scan::{Condition, Part, conditions_of};

    async fn plan(log: &CallLog, statement: Statement<'_>) -> String {
        let Statement { sql, args, .. } = statement;
        let steps = log.db().rows(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")), args).await;
        let steps = steps.expect("a plan");
        let steps: Vec<String> = steps.iter().map(|step| step.text(3).expect("a step of the plan")).collect();
        steps.join("; ")
    }

    #[tokio::test]
    async fn scans_use_the_chosen_index() {
        let log = CallLog::open(&Database::Memory).await.expect("a log");
        let user = Some(UserId::from(Uuid::nil()));
        let of_user = CallFilter { user, ..CallFilter::default() };
        let full = CallFilter {
            agent: Some(AgentId::from(Uuid::nil())),
            source: Some(Source::Chat),
            ..of_user.clone()
        };
        let names = Some(vec!["a".to_owned(), "b".to_owned()]);
        let named = Part { names, tool_id: Some("id".to_owned()), words: Vec::new() };
        let with_words = Part { words: full_text::parse_query("refused conn*"), ..Part::default() };
        let any = Part::default();
        let cases = [(&full, &with_words, 3), (&full, &named, 3), (&of_user, &named, 2), (&of_user, &any, 1)];
        for (filter, part, count) in cases {
            let (space, below) = (SpaceId::from(Uuid::nil()), Uuid::max());
            let (conditions, words) = (conditions_of(filter, part), part.words.as_slice());
            let search = Search { space, conditions, words, below, from: None, rows: 51, steps: 100 };
            let scans = scans(&search.conditions);
            assert_eq!(scans.len(), count, "{filter:?}");
            for scan in &scans {
                let index =
                    scan.along.and_then(Condition::index).unwrap_or("sqlite_autoindex_tool_call_log_1");
                for statement in [
                    Statement::floor(log.db(), &search, scan),
                    Statement::ids(log.db(), &search, scan, Some(Uuid::nil())),
                ] {
                    let plan = plan(&log, statement).await;
                    assert!(plan.contains("SEARCH l USING ") && plan.contains(index), "{index}: {plan}");
                }
            }
        }
    }
}
