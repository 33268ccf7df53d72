//! Writing history entries, within the transaction of the change that they describe.

use haft_core::{CallError, SpaceId};
use serde_json::Value;

use super::chain::{CHAIN, HistoryRow};
use super::{Action, What};
use crate::db::Tx;
use crate::feed::Change;
use crate::hash_chain::ChainPosition;
use crate::store::now;

/// A history entry to write. The user is taken from the store handle.
pub(crate) struct Note {
    pub(crate) what: What,
    pub(crate) action: Action,
    pub(crate) id: String,
    /// Name of the object after the change.
    pub(crate) name: String,
    pub(crate) version: Option<u64>,
    /// An object. It must not contain the value of a secret, a token or a password.
    pub(crate) details: Value,
}

/// The entries that a change has written so far.
#[derive(Default)]
pub(crate) struct Notes {
    /// The head of the chain after the last entry.
    last: Option<ChainPosition>,
}

impl Notes {
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    async fn add(&mut self, tx: &mut Tx, entry: HistoryRow) -> Result<(), CallError> {
        let before = match self.last {
            Some(last) => last,
            None => CHAIN.lock_head(tx).await?,
        };
        let seq = before.seq + 1;
        let last = ChainPosition { seq, link: entry.link(&before.link, seq) };
        let insert = tx.run(
            "INSERT INTO history (seq, space_id, at, user_id, what, action, thing_id, thing_name, version,
                                  details, chain)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            entry.args(last),
        );
        insert.await?;
        self.last = Some(last);
        Ok(())
    }

    /// Stores the new head of the chain.
    pub(crate) async fn write_head(&self, tx: &mut Tx) -> Result<(), CallError> {
        match self.last {
            Some(last) => CHAIN.set_head(tx, last).await,
            None => Ok(()),
        }
    }
}

impl Change<'_> {
    /// Writes a history entry in the space of the change.
    pub(crate) async fn note(&mut self, note: Note) -> Result<(), CallError> {
        self.note_in(self.space, note).await
    }

    /// Writes a history entry in another space, which is then notified of the change too.
    pub(crate) async fn note_in(&mut self, space: SpaceId, note: Note) -> Result<(), CallError> {
        self.touches(space).await?;
        let Note { what, action, id, name, version, details } = note;
        let entry = HistoryRow {
            space: space.to_string(),
            at: now().as_microsecond(),
            user: self.actor().map(|user| user.to_string()),
            what: what.as_str().to_owned(),
            action: action.as_str().to_owned(),
            id,
            name,
            version: version.map(|version| i64::try_from(version).unwrap_or(i64::MAX)),
            details: details.to_string(),
        };
        self.notes.add(&mut self.tx, entry).await
    }
}
