//! Reading history entries: pages with the newest first, or all after a sequence number with the oldest
//! first.

use std::fmt::Write as _;

use haft_core::{CallError, Message, SpaceId, UserId, Violation};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::{COLUMNS, HistoryEntry, What, entry};
use crate::Store;
use crate::db::{Arg, args};
use crate::failure;
use crate::page::{self, Page};

/// Prefix of the cursors of this list.
const CURSOR: &str = "change";

/// Maximum number of entries per request.
const MAX_ENTRIES: u64 = 1000;

/// Selects entries of a space.
#[derive(Debug, Clone, Default)]
pub struct HistoryFilter {
    pub what: Option<What>,
    /// The id of the changed object; for a secret, its name.
    pub id: Option<String>,
    pub user: Option<UserId>,
    /// Inclusive.
    pub from: Option<Timestamp>,
    /// Exclusive.
    pub to: Option<Timestamp>,
    /// Limits the result to entries that a user may see. `None` means all.
    pub sight: Option<HistoryVisibility>,
}

/// The entries that a user may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryVisibility {
    /// Entries about these kinds of objects.
    pub whats: Vec<What>,
    /// Entries caused by this user.
    pub own: UserId,
}

impl HistoryVisibility {
    /// Returns true if the user may see an entry.
    pub fn shows(&self, entry: &HistoryEntry) -> bool {
        entry.user == Some(self.own) || self.whats.contains(&entry.what)
    }
}

impl Store {
    /// Lists the history of a space, newest first.
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
        let mut args = args![space, upper_bound(page)?, what, id.clone(), *user, *from, *to];
        if let Some(HistoryVisibility { whats, own }) = sight {
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

    /// Lists the history of a space after a sequence number, oldest first, at most `most` entries.
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
        let rows = self.db().rows(AssertSqlSafe(sql), args![space, seq, most.min(MAX_ENTRIES)]).await?;
        rows.iter().map(entry).collect()
    }

    /// Returns the sequence number of the last entry of a space, or 0 if there is none.
    pub async fn last_history_seq(&self, space: SpaceId) -> Result<u64, CallError> {
        let sql = "SELECT COALESCE(MAX(seq), 0) FROM history WHERE space_id = $1";
        let row = self.db().row(sql, args![space]).await?;
        row.ok_or_else(|| failure::unreadable("no sequence number"))?.number(0)
    }
}

/// Reads the sequence number below which the page begins.
fn upper_bound(page: &Page) -> Result<u64, CallError> {
    if page.cursor.is_none() {
        return Ok(u64::MAX);
    }
    let bad = || CallError::invalid(vec![Violation::new("cursor", Message::new(&page::BAD_CURSOR))]);
    let (list, seq) = page.start_key()?;
    if list == CURSOR { seq.parse().map_err(|_| bad()) } else { Err(bad()) }
}
