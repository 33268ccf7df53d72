//! Writing entries: within the change that they tell of, so that there is never one without the other.

use haft_core::{CallError, SpaceId};
use serde_json::Value;

use super::chain::{CHAIN, Stored};
use super::{Action, What};
use crate::chain::Place;
use crate::db::Tx;
use crate::feed::Change;
use crate::store::now;

/// What was done to one thing. Who did it is known by the store's handle.
pub(crate) struct Note {
    pub(crate) what: What,
    pub(crate) action: Action,
    pub(crate) id: String,
    /// Its name after the change.
    pub(crate) name: String,
    pub(crate) version: Option<u64>,
    /// An object. Never the value of a secret, a token or a password.
    pub(crate) details: Value,
}

/// The notes of one change so far.
#[derive(Default)]
pub(crate) struct Notes {
    /// Where the chain ends after the last of them.
    last: Option<Place>,
}

impl Notes {
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    async fn add(&mut self, tx: &mut Tx, entry: Stored) -> Result<(), CallError> {
        let before = match self.last {
            Some(last) => last,
            None => CHAIN.hold(tx).await?,
        };
        let seq = before.seq + 1;
        let last = Place { seq, link: entry.link(&before.link, seq) };
        let added = tx.run(
            "INSERT INTO history (seq, space_id, at, user_id, what, action, thing_id, thing_name, version,
                                  details, chain)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            entry.args(last),
        );
        added.await?;
        self.last = Some(last);
        Ok(())
    }

    /// Moves the end of the chain behind all of them.
    pub(crate) async fn end(&self, tx: &mut Tx) -> Result<(), CallError> {
        match self.last {
            Some(last) => CHAIN.end(tx, last).await,
            None => Ok(()),
        }
    }
}

impl Change<'_> {
    /// Puts on record what the change did, in the space that it is a change of.
    pub(crate) async fn note(&mut self, note: Note) -> Result<(), CallError> {
        self.note_in(self.space, note).await
    }

    /// The same in another space, which is then told of the change like the first.
    pub(crate) async fn note_in(&mut self, space: SpaceId, note: Note) -> Result<(), CallError> {
        self.touches(space).await?;
        let Note { what, action, id, name, version, details } = note;
        let entry = Stored {
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
