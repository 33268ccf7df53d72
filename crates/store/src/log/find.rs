//! Reading rows: a page at a time, the newest first, by what is asked for; and one with its bodies.

use std::cmp::Reverse;
use std::fmt::Write as _;

use haft_core::{AgentId, CallError, CallId, ErrorKind, Message, Source, SpaceId, UserId, Violation};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::call::{CallRow, CallStatus, LoggedCall, call_row, columns, logged_call, source, uuid};
use super::words::{self, Asked};
use super::{CallLog, id};
use crate::db::{Arg, Db};
use crate::page::{self, Page};

haft_core::templates! {
    NO_WORDS = "log.noWords",
        "holds no word to look for",
        "没有可供搜索的词";
}

/// What the cursors of this list begin with.
const CURSOR: &str = "call";

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

/// One way to rows, each with an index of its own. What several ways lead to is told once.
#[derive(Default)]
struct Way {
    name: Option<String>,
    tool_id: Option<String>,
    words: Option<String>,
}

/// A name of a tool, and its id where only that tool is meant.
type Named = (String, Option<String>);

impl CallLog {
    /// Calls of a space, the newest first.
    pub async fn find(
        &self,
        space: SpaceId,
        filter: &CallFilter,
        page: &Page,
    ) -> Result<(Vec<CallRow>, Option<String>), CallError> {
        let before = before(page)?;
        let mut found: Vec<CallRow> = Vec::new();
        for way in self.ways(space, filter).await? {
            let (sql, args) = statement(self.db(), space, filter, &way, before, page);
            for row in self.db().rows(AssertSqlSafe(sql), args).await? {
                found.push(call_row(&row)?);
            }
        }
        found.sort_unstable_by_key(|row| Reverse(row.id));
        found.dedup_by_key(|row| row.id);
        Ok(page.cut(found, |row| (CURSOR, row.id.to_string())))
    }

    /// The call of that id: the row's own, or the last that had it as its call id.
    pub async fn get(&self, space: SpaceId, id: &str) -> Result<Option<LoggedCall>, CallError> {
        if let Ok(row_id) = Uuid::try_parse(id)
            && let Some(call) = self.read("l.id = $2", space, uuid(row_id)).await?
        {
            return Ok(Some(call));
        }
        match id.parse::<CallId>() {
            Ok(call_id) => self.read("l.call_id = $2", space, Arg::from(call_id.as_str())).await,
            Err(_) => Ok(None),
        }
    }

    async fn read(
        &self,
        condition: &'static str,
        space: SpaceId,
        of: Arg,
    ) -> Result<Option<LoggedCall>, CallError> {
        let sql = format!(
            "SELECT {}, b.arguments, b.result FROM tool_call_log l
             JOIN tool_call_bodies b ON b.seq = l.seq AND b.id = l.id
             WHERE l.space_id = $1 AND {condition} ORDER BY l.id DESC LIMIT 1",
            columns()
        );
        let row = self.db().row(AssertSqlSafe(sql), vec![uuid(space), of]).await?;
        row.map(|row| logged_call(&row)).transpose()
    }

    async fn ways(&self, space: SpaceId, filter: &CallFilter) -> Result<Vec<Way>, CallError> {
        let of_tool: Option<Vec<Named>> = match &filter.tool {
            None => None,
            // An id may have had several names; a name may have been that of several tools.
            Some(tool) => match Uuid::try_parse(tool) {
                Ok(id) => {
                    let id = id.to_string();
                    let names = self.names_of(space, Some(&id)).await?;
                    Some(names.into_iter().map(|name| (name, Some(id.clone()))).collect())
                }
                Err(_) => Some(vec![(tool.clone(), None)]),
            },
        };
        let Some(text) = &filter.text else {
            let named = |(name, tool_id): Named| Way { name: Some(name), tool_id, words: None };
            return Ok(match of_tool {
                Some(names) => names.into_iter().map(named).collect(),
                None => vec![Way::default()],
            });
        };
        let asked = words::asked(text);
        if asked.is_empty() {
            return Err(CallError::invalid(vec![Violation::new("text", Message::new(&NO_WORDS))]));
        }
        self.ways_to_words(space, of_tool, &asked).await
    }

    /// By a name that holds all the words, whatever became of the call; or by name and error together.
    async fn ways_to_words(
        &self,
        space: SpaceId,
        of_tool: Option<Vec<Named>>,
        asked: &[Asked],
    ) -> Result<Vec<Way>, CallError> {
        let query = words::query(self.db(), space, asked);
        match of_tool {
            Some(names) => Ok(names
                .into_iter()
                .map(|(name, tool_id)| {
                    let words = (!words::are_in(asked, &name)).then(|| query.clone());
                    Way { name: Some(name), tool_id, words }
                })
                .collect()),
            None => {
                let names = self.names_of(space, None).await?;
                let named = names.into_iter().filter(|name| words::are_in(asked, name));
                let named = named.map(|name| Way { name: Some(name), ..Way::default() });
                Ok(named.chain([Way { words: Some(query), ..Way::default() }]).collect())
            }
        }
    }
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

/// A statement that is put together from constants, and its arguments.
struct Statement {
    sql: String,
    args: Vec<Arg>,
}

impl Statement {
    /// Goes on with some SQL and the place of an argument.
    fn with(&mut self, sql: &'static str, arg: Arg) {
        self.args.push(arg);
        let _ = write!(self.sql, "{sql}${}", self.args.len());
    }

    fn and(&mut self, sql: &'static str) {
        self.sql.push_str(sql);
    }
}

fn statement(
    db: &Db,
    space: SpaceId,
    filter: &CallFilter,
    way: &Way,
    before: Uuid,
    page: &Page,
) -> (String, Vec<Arg>) {
    let mut statement =
        Statement { sql: format!("SELECT {} FROM tool_call_log l", columns()), args: Vec::new() };
    statement.with(" WHERE l.space_id = ", uuid(space));
    let to = filter.to.map(id::lowest).map_or(before, |to| to.min(before));
    statement.with(" AND l.id < ", uuid(to));
    if let Some(from) = filter.from {
        statement.with(" AND l.id >= ", uuid(id::lowest(from)));
    }
    if let Some(name) = &way.name {
        statement.with(" AND l.tool_name = ", Arg::from(name));
    }
    if let Some(tool) = &way.tool_id {
        statement.with(" AND l.tool_id = ", Arg::from(tool));
    }
    if let Some(agent) = filter.agent {
        statement.with(" AND l.agent_id = ", uuid(agent));
    }
    if let Some(user) = filter.user {
        statement.with(" AND l.user_id = ", uuid(user));
    }
    // The conditions of the indexes for what is rare are written out, so that both databases see them.
    match filter.status {
        None => {}
        Some(CallStatus::Success) => statement.and(" AND l.status = 'success'"),
        Some(CallStatus::Failed) => statement.and(" AND l.status <> 'success' AND l.status = 'failed'"),
        Some(CallStatus::Cancelled) => statement.and(" AND l.error_kind = 'Cancelled'"),
    }
    if let Some(kind) = filter.kind {
        statement.with(" AND l.error_kind = ", Arg::from(kind.to_string()));
    }
    match filter.source {
        None => {}
        Some(Source::Api) => statement.and(" AND l.source = 'api'"),
        Some(other) => statement.with(" AND l.source <> 'api' AND l.source = ", Arg::from(source(other))),
    }
    if let Some(words) = &way.words {
        let words = Arg::from(words);
        match db {
            Db::Sqlite(_) => {
                statement.with(
                    " AND l.status <> 'success' AND l.seq IN
                     (SELECT rowid FROM tool_call_words WHERE tool_call_words MATCH ",
                    words,
                );
                statement.and(")");
            }
            Db::Postgres(_) => {
                statement.with(
                    " AND l.status <> 'success'
                      AND array_to_tsvector(string_to_array(l.words, ' ')) @@ CAST(",
                    words,
                );
                statement.and(" AS tsquery)");
            }
        }
    }
    statement.with(" ORDER BY l.id DESC LIMIT ", Arg::from(page.rows()));
    (statement.sql, statement.args)
}
