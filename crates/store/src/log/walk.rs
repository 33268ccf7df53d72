//! Walks through the log, the newest row first: along the index that leads furthest back, past so many rows
//! at most. So no page costs more than that, whatever is asked for and however many rows there are.

use haft_core::CallError;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::CallLog;
use super::call::read_uuid;
use super::course::{Course, Search, courses};
use super::statement::Statement;
use super::words::Asked;
use crate::failure;
use crate::row::Row;

/// Where words are in fewer rows than this part of the steps, they are read by the index of words.
const FEW: u64 = 5;

/// Ids of rows for which all tests hold, and how far back was looked for them.
#[derive(Default)]
pub(super) struct Found {
    pub(super) ids: Vec<Uuid>,
    /// Rows with smaller ids were not looked at; none when all were.
    pub(super) floor: Option<Uuid>,
}

impl Found {
    /// Adds what is in another part. Only what was looked for in both is known.
    pub(super) fn join(&mut self, other: Self) {
        self.ids.extend(other.ids);
        self.floor = self.floor.max(other.floor);
    }
}

impl CallLog {
    /// The newest rows for which all tests hold.
    pub(super) async fn search(&self, search: &Search<'_>) -> Result<Found, CallError> {
        if search.words.is_empty() {
            return self.walk(search).await;
        }
        if search.words.iter().any(Asked::is_beginning) {
            // The index gathers all words that begin so before it tells of any, so we look around first.
            let found = self.walk(search).await?;
            let is_enough = found.floor.is_none() || found.ids.len() as u64 >= search.rows;
            if is_enough || search.words.iter().any(Asked::is_vague) || !self.are_few(search).await? {
                return Ok(found);
            }
            return self.look_up(search).await;
        }
        if self.are_few(search).await? { self.look_up(search).await } else { self.walk(search).await }
    }

    async fn walk(&self, search: &Search<'_>) -> Result<Found, CallError> {
        let courses = courses(&search.tests);
        // Every row on it is one that is asked for.
        if let Some(course) = courses.iter().find(|course| course.tests.is_empty()) {
            return Ok(Found { ids: self.ids(search, course, search.from).await?, floor: None });
        }
        let mut furthest: Option<(&Course<'_>, Option<Uuid>)> = None;
        for course in &courses {
            let floor = self.floor(search, course).await?;
            if furthest.is_none_or(|(_, other)| floor < other) {
                furthest = Some((course, floor));
            }
            if floor.is_none() {
                break;
            }
        }
        let Some((course, floor)) = furthest else { return Ok(Found::default()) };
        Ok(Found { ids: self.ids(search, course, floor.or(search.from)).await?, floor })
    }

    /// The id at which a walk ends when it has made all of its steps; none when it comes to the end before.
    async fn floor(&self, search: &Search<'_>, course: &Course<'_>) -> Result<Option<Uuid>, CallError> {
        let floors = self.ids_by(Statement::floor(self.db(), search, course)).await?;
        // Where several names are followed, the one that is used most ends the walk.
        Ok(floors.into_iter().max())
    }

    async fn ids(
        &self,
        search: &Search<'_>,
        course: &Course<'_>,
        floor: Option<Uuid>,
    ) -> Result<Vec<Uuid>, CallError> {
        self.ids_by(Statement::ids(self.db(), search, course, floor)).await
    }

    /// Whether only few rows of the space have all the words.
    async fn are_few(&self, search: &Search<'_>) -> Result<bool, CallError> {
        let few = search.steps / FEW;
        let rows = self.rows_by(Statement::count_words(self.db(), search, few + 1)).await?;
        let count = rows.first().ok_or_else(|| failure::unreadable("no count"))?.number(0)?;
        Ok(count <= few)
    }

    /// The rows that have all the words, by the index of words.
    async fn look_up(&self, search: &Search<'_>) -> Result<Found, CallError> {
        let ids = self.ids_by(Statement::ids_by_words(self.db(), search)).await?;
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
    use crate::log::course::{Part, Test, asked_of};
    use crate::log::words;

    async fn plan(log: &CallLog, statement: Statement<'_>) -> String {
        let Statement { sql, args, .. } = statement;
        let steps = log.db().rows(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")), args).await;
        let steps = steps.expect("a plan");
        let steps: Vec<String> = steps.iter().map(|step| step.text(3).expect("what it does")).collect();
        steps.join("; ")
    }

    #[tokio::test]
    async fn a_walk_keeps_to_its_index() {
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
        let with_words = Part { words: words::asked("refused conn*"), ..Part::default() };
        let any = Part::default();
        let cases = [(&full, &with_words, 3), (&full, &named, 3), (&of_user, &named, 2), (&of_user, &any, 1)];
        for (filter, part, count) in cases {
            let (space, below) = (SpaceId::from(Uuid::nil()), Uuid::max());
            let (tests, words) = (asked_of(filter, part), part.words.as_slice());
            let search = Search { space, tests, words, below, from: None, rows: 51, steps: 100 };
            let courses = courses(&search.tests);
            assert_eq!(courses.len(), count, "{filter:?}");
            for course in &courses {
                let index = course.along.and_then(Test::index).unwrap_or("sqlite_autoindex_tool_call_log_1");
                for statement in [
                    Statement::floor(log.db(), &search, course),
                    Statement::ids(log.db(), &search, course, Some(Uuid::nil())),
                ] {
                    let plan = plan(&log, statement).await;
                    assert!(plan.contains("SEARCH l USING ") && plan.contains(index), "{index}: {plan}");
                }
            }
        }
    }
}
