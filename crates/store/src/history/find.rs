//! Reading entries: a page at a time with the newest first, or all after a place with the oldest first.

use std::fmt::Write as _;

use haft_core::{CallError, Message, SpaceId, UserId, Violation};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{COLUMNS, HistoryEntry, What, entry};
use crate::Store;
use crate::db::{Arg, args};
use crate::failure;
use crate::page::{self, Page};

/// What the cursors of this list begin with.
const CURSOR: &str = "change";

/// So many entries are given at once.
const MOST: u64 = 1000;

/// Which entries of a space.
#[derive(Debug, Clone, Default)]
pub struct HistoryFilter {
    pub what: Option<What>,
    /// The id of what was changed; a secret's is its name.
    pub id: Option<String>,
    pub user: Option<UserId>,
    /// Done then or later.
    pub from: Option<Timestamp>,
    /// Done before.
    pub to: Option<Timestamp>,
    /// Only what somebody may see; everything when absent.
    pub sight: Option<Sight>,
}

/// Which entries somebody may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Those about such things.
    pub whats: Vec<What>,
    /// And whatever this user did.
    pub own: UserId,
}

impl Sight {
    pub fn shows(&self, entry: &HistoryEntry) -> bool {
        entry.user == Some(self.own) || self.whats.contains(&entry.what)
    }
}

impl Store {
    /// What was changed in a space, the newest first.
    pub async fn history(
        &self,
        space: SpaceId,
        filter: &HistoryFilter,
        page: &Page,
    ) -> Result<(Vec<HistoryEntry>, Option<String>), CallError> {
        let HistoryFilter { what, id, user, from, to, sight } = filter;
        let mut sql = format!(
            "SELECT {COLUMNS}, u.name FROM history h LEFT JOIN users u ON u.id = h.user_id
             WHERE h.space_id = $1 AND h.seq < $2 AND ($3 IS NULL OR h.what = $3)
               AND ($4 IS NULL OR h.thing_id = $4) AND ($5 IS NULL OR h.user_id = $5)
               AND ($6 IS NULL OR h.at >= $6) AND ($7 IS NULL OR h.at < $7)"
        );
        let what = what.map(|what| what.as_str().to_owned());
        let mut args = args![space, before(page)?, what, id.clone(), *user, *from, *to];
        if let Some(Sight { whats, own }) = sight {
            args.push(Arg::from(*own));
            let _ = write!(sql, " AND (h.user_id = ${}", args.len());
            for what in whats {
                args.push(Arg::from(what.as_str()));
                let _ = write!(sql, " OR h.what = ${}", args.len());
            }
            sql.push(')');
        }
        args.push(Arg::from(page.rows()));
        let _ = write!(sql, " ORDER BY h.seq DESC LIMIT ${}", args.len());
        let rows = self.db().rows(AssertSqlSafe(sql), args).await?;
        let entries: Result<Vec<HistoryEntry>, CallError> = rows.iter().map(entry).collect();
        Ok(page.cut(entries?, |entry| (CURSOR, entry.seq.to_string())))
    }

    /// What was changed in a space after a place, the oldest first, and no more than so many.
    pub async fn history_since(
        &self,
        space: SpaceId,
        seq: u64,
        most: u64,
    ) -> Result<Vec<HistoryEntry>, CallError> {
        let sql = format!(
            "SELECT {COLUMNS}, u.name FROM history h LEFT JOIN users u ON u.id = h.user_id
             WHERE h.space_id = $1 AND h.seq > $2 ORDER BY h.seq LIMIT $3"
        );
        let rows = self.db().rows(AssertSqlSafe(sql), args![space, seq, most.min(MOST)]).await?;
        rows.iter().map(entry).collect()
    }

    /// The place of the last change of a space; 0 when there is none.
    pub async fn last_history(&self, space: SpaceId) -> Result<u64, CallError> {
        let sql = "SELECT COALESCE(MAX(seq), 0) FROM history WHERE space_id = $1";
        let row = self.db().row(sql, args![space]).await?;
        row.ok_or_else(|| failure::unreadable("no place"))?.number(0)
    }
}

/// The place before which a page begins.
fn before(page: &Page) -> Result<u64, CallError> {
    if page.cursor.is_none() {
        return Ok(u64::MAX);
    }
    let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&page::BAD_CURSOR))]);
    let (list, seq) = page.after()?;
    if list == CURSOR { seq.parse().map_err(|_| bad()) } else { Err(bad()) }
}
