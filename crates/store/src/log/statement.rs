//! The SQL statements of log searches, composed of constants; values are always arguments.

use std::fmt::Write as _;

use haft_core::Source;
use serde_json::json;
use uuid::Uuid;

use super::call::{source, uuid};
use super::full_text;
use super::scan::{Condition, Scan, Search};
use crate::db::{Arg, Db};

pub(super) struct Statement<'a> {
    db: &'a Db,
    pub(super) sql: String,
    pub(super) args: Vec<Arg>,
}

impl<'a> Statement<'a> {
    /// Selects the id of the last row that a scan reaches within its steps: one row, or one per name.
    pub(super) fn floor(db: &'a Db, search: &Search<'_>, scan: &Scan<'_>) -> Self {
        let names = scan.names();
        let walks = names.map_or(1, |names| names.len().max(1) as u64);
        let last = (search.steps / walks).saturating_sub(1);
        let mut floor = Self::new(db);
        if names.is_some() {
            floor.and("SELECT (");
        }
        floor.line(search, scan, search.from);
        floor.with(" ORDER BY l.id DESC LIMIT 1 OFFSET ", Arg::from(last));
        if let Some(names) = names {
            floor.and(") FROM ");
            floor.names(names);
        }
        floor
    }

    /// Selects the ids of rows on a scan that meet all of its conditions, down to the floor.
    pub(super) fn ids(db: &'a Db, search: &Search<'_>, scan: &Scan<'_>, floor: Option<Uuid>) -> Self {
        let mut ids = Self::new(db);
        let Some(names) = scan.names() else {
            ids.passing(search, scan, floor);
            return ids;
        };
        // Each name may contribute a full page. SQLite supports lateral joins only with table-valued
        // functions.
        match db {
            Db::Sqlite(_) => {
                ids.and("SELECT unhex(i.value) FROM ");
                ids.names(names);
                ids.and(" CROSS JOIN json_each((SELECT json_group_array(hex(l.id)) FROM (");
                ids.passing(search, scan, floor);
                ids.with(") l)) i ORDER BY i.value DESC LIMIT ", Arg::from(search.rows));
            }
            Db::Postgres(_) => {
                ids.and("SELECT l.id FROM ");
                ids.names(names);
                ids.and(" CROSS JOIN LATERAL (");
                ids.passing(search, scan, floor);
                ids.with(") l ORDER BY l.id DESC LIMIT ", Arg::from(search.rows));
            }
        }
        ids
    }

    /// Counts the rows that contain all words, up to `most`.
    pub(super) fn count_matches(db: &'a Db, search: &Search<'_>, most: u64) -> Self {
        let mut count = Self::new(db);
        count.and("SELECT COUNT(*) FROM (SELECT 1");
        match db {
            Db::Sqlite(_) => count.full_text_match(search),
            Db::Postgres(_) => {
                count.and(" FROM tool_call_log l");
                count.between(search, search.from);
                count.full_text_match(search);
            }
        }
        count.with(" LIMIT ", Arg::from(most));
        count.and(") f");
        count
    }

    /// Selects the ids of rows that contain all words, by the full-text index.
    pub(super) fn ids_by_full_text(db: &'a Db, search: &Search<'_>) -> Self {
        let mut ids = Self::new(db);
        match db {
            Db::Sqlite(_) => {
                ids.and("SELECT l.id FROM (SELECT rowid AS seq");
                ids.full_text_match(search);
                ids.and(") w CROSS JOIN tool_call_log l ON l.seq = w.seq");
                ids.between(search, search.from);
                ids.other_conditions(search);
            }
            // Materialized, because the planner might otherwise scan by id in the hope of early matches.
            Db::Postgres(_) => {
                ids.and("WITH found AS MATERIALIZED (SELECT l.id FROM tool_call_log l");
                ids.between(search, search.from);
                ids.full_text_match(search);
                ids.other_conditions(search);
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

    /// Appends SQL and a placeholder for an argument.
    fn with(&mut self, sql: &'static str, arg: Arg) {
        self.args.push(arg);
        let _ = write!(self.sql, "{sql}${}", self.args.len());
    }

    /// Selects all rows on a scan, down to the floor.
    fn line(&mut self, search: &Search<'_>, scan: &Scan<'_>, floor: Option<Uuid>) {
        self.and("SELECT l.id FROM tool_call_log l");
        // Without table statistics, SQLite would prefer a scan over all rows.
        if let (Db::Sqlite(_), Some(index)) = (self.db, scan.along.and_then(Condition::index)) {
            self.and(" INDEXED BY ");
            self.and(index);
        }
        self.between(search, floor);
        match scan.along {
            Some(Condition::Names(_)) if scan.names().is_some() => self.and(" AND l.tool_name = n.value"),
            Some(condition) => {
                self.and(" AND ");
                self.condition(condition);
            }
            None => {}
        }
    }

    /// Selects the rows on a scan that meet its conditions, newest first.
    fn passing(&mut self, search: &Search<'_>, scan: &Scan<'_>, floor: Option<Uuid>) {
        self.line(search, scan, floor);
        for condition in &scan.conditions {
            self.unindexed(*condition);
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

    /// Appends the conditions that the full-text index covers.
    fn full_text_match(&mut self, search: &Search<'_>) {
        let query = Arg::from(full_text::query(self.db, search.space, search.words));
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

    /// Appends the conditions that the full-text index does not cover.
    fn other_conditions(&mut self, search: &Search<'_>) {
        for condition in &search.conditions {
            if !matches!(condition, Condition::Word(_)) {
                self.unindexed(*condition);
            }
        }
    }

    /// Appends a condition in a form that uses no index, so that the planner stays with the chosen scan.
    fn unindexed(&mut self, condition: Condition<'_>) {
        self.and(" AND (");
        self.condition(condition);
        self.and(") IS TRUE");
    }

    fn condition(&mut self, condition: Condition<'_>) {
        match condition {
            Condition::Kind(kind) => self.with("l.error_kind = ", Arg::from(kind.to_string())),
            Condition::Agent(agent) => self.with("l.agent_id = ", uuid(agent)),
            Condition::Source(Source::Api) => self.and("l.source = 'api'"),
            // Written out like in the definition of the partial index, so that both databases use it.
            Condition::Source(rare) => {
                self.with("l.source <> 'api' AND l.source = ", Arg::from(source(rare)))
            }
            Condition::Failed => self.and("l.status <> 'success'"),
            Condition::Names([name]) => self.with("l.tool_name = ", Arg::from(name)),
            Condition::Names(names) => {
                self.and("l.tool_name IN (SELECT n.value FROM ");
                self.names(names);
                self.and(")");
            }
            Condition::ToolId(tool) => self.with("l.tool_id = ", Arg::from(tool)),
            Condition::User(user) => self.with("l.user_id = ", uuid(user)),
            Condition::Status(status) => self.with("l.status = ", Arg::from(status.as_str())),
            Condition::Word(word) => {
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

    /// Expands one JSON argument to rows: `n.value`.
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
