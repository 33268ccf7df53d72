//! Who changed what: one entry for each thing that a change touched, written with the change itself.
//!
//! Nothing here decides who may see an entry, and none holds the value of a secret, a token or a password.

mod chain;
mod changed;
mod find;
mod note;
mod words;

use haft_core::{CallError, SpaceId, UserId};
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use self::changed::changed;
pub use self::find::{HistoryFilter, Sight};
pub(crate) use self::note::{Note, Notes};
pub use self::words::{Action, What};

use crate::feed;
use crate::row::Row;

/// One thing that was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The place in the order of all changes, counted from 1.
    pub seq: u64,
    /// [`no_space`] for what belongs to none: users, and spaces that are gone.
    pub space: SpaceId,
    pub at: Timestamp,
    /// Who did it; nobody when the program did it by itself.
    pub user: Option<UserId>,
    pub user_name: Option<String>,
    pub what: What,
    pub action: Action,
    pub id: String,
    /// Its name after the change.
    pub name: String,
    /// Its version after the change, where it has versions; the last one when it was deleted.
    pub version: Option<u64>,
    /// An object: what else is known, such as the names of the fields that changed.
    pub details: Value,
}

impl HistoryEntry {
    /// What happened, such as `tool.updated`.
    pub fn event_name(&self) -> String {
        format!("{}.{}", self.what.as_str(), self.action.as_str())
    }
}

/// Stands for the space of what belongs to none.
pub fn no_space() -> SpaceId {
    feed::identity()
}

/// The columns of a row, in the order of every statement; its link and the name of its user come behind.
const COLUMNS: &str = "h.seq, h.space_id, h.at, h.user_id, h.what, h.action, h.thing_id, h.thing_name, \
                       h.version, h.details";

/// Reads an entry with the name of its user.
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
