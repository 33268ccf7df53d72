//! History: one entry per changed object, written in the transaction of the change.
//!
//! Permissions are checked by the callers. Entries never contain the value of a secret, a token or a
//! password.

mod chain;
mod changed_fields;
mod event_name;
mod find;
mod note;

use haft_core::{CallError, SpaceId, UserId};
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use self::changed_fields::changed_fields;
pub use self::event_name::{Action, What};
pub use self::find::{HistoryFilter, HistoryVisibility};
pub(crate) use self::note::{Note, Notes};

use crate::feed;
use crate::row::Row;

/// One changed object.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// Sequence number over all changes, counted from 1.
    pub seq: u64,
    /// [`no_space`] for objects outside of spaces: users, and deleted spaces.
    pub space: SpaceId,
    pub at: Timestamp,
    /// The user who made the change. `None` if the server made it.
    pub user: Option<UserId>,
    pub user_name: Option<String>,
    pub what: What,
    pub action: Action,
    pub id: String,
    /// Name of the object after the change.
    pub name: String,
    /// Version of the object after the change, if it has versions. After a deletion, the last version.
    pub version: Option<u64>,
    /// An object with further information, such as the names of the changed fields.
    pub details: Value,
}

impl HistoryEntry {
    /// Returns the event name, such as `tool.updated`.
    pub fn event_name(&self) -> String {
        format!("{}.{}", self.what.as_str(), self.action.as_str())
    }
}

/// The space id of objects outside of spaces.
pub fn no_space() -> SpaceId {
    feed::identity()
}

/// The columns of a row, in the order of every statement. The link and the user name follow.
const COLUMNS: &str = "h.seq, h.space_id, h.at, h.user_id, h.what, h.action, h.thing_id, h.thing_name, \
                       h.version, h.details";

/// Reads an entry and the name of its user.
fn entry(row: &Row) -> Result<HistoryEntry, CallError> {
    Ok(HistoryEntry {
        seq: row.number(0)?,
        space: row.id(1)?,
        at: row.time(2)?,
        user: row.maybe_id(3)?,
        what: row.word(4)?,
        action: row.word(5)?,
        id: row.text(6)?,
        name: row.text(7)?,
        version: row.maybe_number(8)?,
        details: row.json(9)?,
        user_name: row.maybe_text(10)?,
    })
}
