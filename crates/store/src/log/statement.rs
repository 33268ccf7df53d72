//! The statements by which rows are found, put together from constants; values are always arguments.

use std::fmt::Write as _;

use haft_core::Source;
use serde_json::json;
use uuid::Uuid;

use super::call::{source, uuid};
use super::course::{Course, Search, Test};
use super::words;
use crate::db::{Arg, Db};

pub(super) struct Statement<'a> {
    db: &'a Db,
    pub(super) sql: String,
    pub(super) args: Vec<Arg>,
}

impl<'a> Statement<'a> {
    /// The id of the last row of a walk, if it makes all of its steps: one row, or one for each name.
    pub(super) fn floor(db: &'a Db, search: &Search<'_>, course: &Course<'_>) -> Self {
        let names = course.names();
        let walks = names.map_or(1, |names| names.len().max(1) as u64);
        let last = (search.steps / walks).saturating_sub(1);
        let mut floor = Self::new(db);
        if names.is_some() {
            floor.and("SELECT (");
        }
        floor.line(search, course, search.from);
        floor.with(" ORDER BY l.id DESC LIMIT 1 OFFSET ", Arg::from(last));
        if let Some(names) = names {
            floor.and(") FROM ");
            floor.names(names);
        }
        floor
    }

    /// The ids of rows on a course for which its tests hold, down to the floor.
    pub(super) fn ids(db: &'a Db, search: &Search<'_>, course: &Course<'_>, floor: Option<Uuid>) -> Self {
        let mut ids = Self::new(db);
        let Some(names) = course.names() else {
            ids.passing(search, course, floor);
            return ids;
        };
        // Of each name as many as there may be of all. SQLite joins a row with what is made for it only where
        // a function makes that.
        match db {
            Db::Sqlite(_) => {
                ids.and("SELECT unhex(i.value) FROM ");
                ids.names(names);
                ids.and(" CROSS JOIN json_each((SELECT json_group_array(hex(l.id)) FROM (");
                ids.passing(search, course, floor);
                ids.with(") l)) i ORDER BY i.value DESC LIMIT ", Arg::from(search.rows));
            }
            Db::Postgres(_) => {
                ids.and("SELECT l.id FROM ");
                ids.names(names);
                ids.and(" CROSS JOIN LATERAL (");
                ids.passing(search, course, floor);
                ids.with(") l ORDER BY l.id DESC LIMIT ", Arg::from(search.rows));
            }
        }
        ids
    }

    /// How many rows have all the words, up to some number.
    pub(super) fn count_words(db: &'a Db, search: &Search<'_>, most: u64) -> Self {
        let mut count = Self::new(db);
        count.and("SELECT COUNT(*) FROM (SELECT 1");
        match db {
            Db::Sqlite(_) => count.having_words(search),
            Db::Postgres(_) => {
                count.and(" FROM tool_call_log l");
                count.between(search, search.from);
                count.having_words(search);
            }
        }
        count.with(" LIMIT ", Arg::from(most));
        count.and(") f");
        count
    }

    /// The ids of rows with all the words, by the index of words.
    pub(super) fn ids_by_words(db: &'a Db, search: &Search<'_>) -> Self {
        let mut ids = Self::new(db);
        match db {
            Db::Sqlite(_) => {
                ids.and("SELECT l.id FROM (SELECT rowid AS seq");
                ids.having_words(search);
                ids.and(") w CROSS JOIN tool_call_log l ON l.seq = w.seq");
                ids.between(search, search.from);
                ids.other_tests(search);
            }
            // By itself it might prefer to walk, in the hope to meet enough of them soon.
            Db::Postgres(_) => {
                ids.and("WITH found AS MATERIALIZED (SELECT l.id FROM tool_call_log l");
                ids.between(search, search.from);
                ids.having_words(search);
                ids.other_tests(search);
                ids.and(") SELECT l.id FROM found l");
            }
        }
        ids.with(" ORDER BY l.id DESC LIMIT ", Arg::from(search.rows));
        ids
    }

    fn new(db: &'a Db) -> Self {
        Self { db, sql: String::new(), args: Vec::new() }
    }

    fn and(&mut self, sql: &'static str) {
        self.sql.push_str(sql);
    }

    /// Goes on with some SQL and the place of an argument.
    fn with(&mut self, sql: &'static str, arg: Arg) {
        self.args.push(arg);
        let _ = write!(self.sql, "{sql}${}", self.args.len());
    }

    /// All rows on a course, down to the floor.
    fn line(&mut self, search: &Search<'_>, course: &Course<'_>, floor: Option<Uuid>) {
        self.and("SELECT l.id FROM tool_call_log l");
        // Without figures about its tables, SQLite would rather walk past all rows.
        if let (Db::Sqlite(_), Some(index)) = (self.db, course.along.and_then(Test::index)) {
            self.and(" INDEXED BY ");
            self.and(index);
        }
        self.between(search, floor);
        match course.along {
            Some(Test::Names(_)) if course.names().is_some() => self.and(" AND l.tool_name = n.value"),
            Some(test) => {
                self.and(" AND ");
                self.condition(test);
            }
            None => {}
        }
    }

    /// Those of them for which the tests hold, the newest first.
    fn passing(&mut self, search: &Search<'_>, course: &Course<'_>, floor: Option<Uuid>) {
        self.line(search, course, floor);
        for test in &course.tests {
            self.test(*test);
        }
        self.with(" ORDER BY l.id DESC LIMIT ", Arg::from(search.rows));
    }

    fn between(&mut self, search: &Search<'_>, floor: Option<Uuid>) {
        self.with(" WHERE l.space_id = ", uuid(search.space));
        self.with(" AND l.id < ", uuid(search.below));
        if let Some(floor) = floor {
            self.with(" AND l.id >= ", uuid(floor));
        }
    }

    /// What the index of words knows.
    fn having_words(&mut self, search: &Search<'_>) {
        let query = Arg::from(words::query(self.db, search.space, search.words));
        match self.db {
            Db::Sqlite(_) => self.with(" FROM tool_call_words WHERE tool_call_words MATCH ", query),
            Db::Postgres(_) => {
                self.with(
                    " AND l.status <> 'success'
                      AND array_to_tsvector(string_to_array(l.words, ' ')) @@ CAST(",
                    query,
                );
                self.and(" AS tsquery)");
            }
        }
    }

    /// What it does not know.
    fn other_tests(&mut self, search: &Search<'_>) {
        for test in &search.tests {
            if !matches!(test, Test::Word(_)) {
                self.test(*test);
            }
        }
    }

    /// A condition in a form that leads to no index, so that the walk stays on its course.
    fn test(&mut self, test: Test<'_>) {
        self.and(" AND (");
        self.condition(test);
        self.and(") IS TRUE");
    }

    fn condition(&mut self, test: Test<'_>) {
        match test {
            Test::Kind(kind) => self.with("l.error_kind = ", Arg::from(kind.to_string())),
            Test::Agent(agent) => self.with("l.agent_id = ", uuid(agent)),
            Test::Source(Source::Api) => self.and("l.source = 'api'"),
            // The condition of an index for what is rare is written out, so that both databases see it.
            Test::Source(rare) => self.with("l.source <> 'api' AND l.source = ", Arg::from(source(rare))),
            Test::Failed => self.and("l.status <> 'success'"),
            Test::Names([name]) => self.with("l.tool_name = ", Arg::from(name)),
            Test::Names(names) => {
                self.and("l.tool_name IN (SELECT n.value FROM ");
                self.names(names);
                self.and(")");
            }
            Test::ToolId(tool) => self.with("l.tool_id = ", Arg::from(tool)),
            Test::User(user) => self.with("l.user_id = ", uuid(user)),
            Test::Status(status) => self.with("l.status = ", Arg::from(status.as_str())),
            Test::Word(word) => {
                match self.db {
                    Db::Sqlite(_) => {
                        self.and("' ' || (SELECT w.words FROM tool_call_words w WHERE w.rowid = l.seq)");
                    }
                    Db::Postgres(_) => self.and("' ' || l.words"),
                }
                self.with(" || ' ' LIKE ", Arg::from(word.pattern()));
            }
        }
    }

    /// Names as rows of one argument, however many there are: `n.value`.
    fn names(&mut self, names: &[String]) {
        let names = Arg::from(json!(names).to_string());
        match self.db {
            Db::Sqlite(_) => {
                self.with("json_each(", names);
                self.and(") n");
            }
            Db::Postgres(_) => {
                self.with("json_array_elements_text(CAST(", names);
                self.and(" AS json)) n (value)");
            }
        }
    }
}
