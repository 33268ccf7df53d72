//! The one change feed: which spaces changed since when.
//!
//! Every change takes the next revision as the first thing in its transaction. That row is locked until
//! the commit, so changes are made one after the other and are seen in the order of their revisions.

use haft_core::{CallError, SpaceId, UserId};
use tokio::sync::watch;
use uuid::Uuid;

use crate::Store;
use crate::db::{Db, Tx, args};
use crate::failure;
use crate::history::Notes;

/// What PostgreSQL's notices are called.
pub(crate) const CHANNEL: &str = "haft";

/// Stands for what belongs to no space: users, tokens, sessions and members.
pub(crate) fn identity() -> SpaceId {
    SpaceId::from(Uuid::nil())
}

/// What changed since a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The revision to ask from next time.
    pub revision: u64,
    pub spaces: Vec<SpaceId>,
    /// Users, tokens, sessions or members.
    pub identity: bool,
    /// Spaces of which something is on record that changes nothing else: it is for those who listen.
    pub news: Vec<SpaceId>,
}

/// Whom a change concerns.
#[derive(Clone, Copy)]
enum Reach {
    /// Everyone who keeps anything of the space.
    All,
    /// Those who listen to what is put on record.
    Listeners,
}

/// A change under way. Dropped without a commit, it leaves no trace.
pub(crate) struct Change<'a> {
    pub(crate) tx: Tx,
    pub(crate) revision: u64,
    /// What it is a change of.
    pub(crate) space: SpaceId,
    /// What it put on record so far.
    pub(crate) notes: Notes,
    reach: Reach,
    /// Who is told of it.
    touched: Vec<SpaceId>,
    store: &'a Store,
}

impl Store {
    /// The number of the last change.
    pub async fn current_revision(&self) -> Result<u64, CallError> {
        current(self.db()).await
    }

    pub async fn changes_since(&self, revision: u64) -> Result<Changes, CallError> {
        // One statement, so that the revision and the list are of the same moment.
        let rows = self.db().rows(
            "SELECT r.value, c.space_id, c.is_news FROM revision r LEFT JOIN
                 (SELECT space_id, revision, CAST(0 AS BIGINT) AS is_news FROM changes WHERE revision > $1
                  UNION ALL
                  SELECT space_id, revision, CAST(1 AS BIGINT) AS is_news FROM news WHERE revision > $1) c
                 ON c.revision > $1
             WHERE r.id = 1 ORDER BY c.revision",
            args![revision],
        );
        let mut changes = Changes { revision, spaces: Vec::new(), identity: false, news: Vec::new() };
        for row in rows.await? {
            changes.revision = row.number(0)?;
            match row.maybe_id::<SpaceId>(1)? {
                None => {}
                Some(space) if row.flag(2)? => changes.news.push(space),
                Some(space) if space == identity() => changes.identity = true,
                Some(space) => changes.spaces.push(space),
            }
        }
        // Of other processes nobody else may have told.
        raise(self.known_revision(), changes.revision);
        Ok(changes)
    }

    /// Raised after each change, at once for those of this process. A hint: who must know polls as well.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.known_revision().subscribe()
    }

    /// Begins a change of a space, or of `identity()`.
    pub(crate) async fn change(&self, space: SpaceId) -> Result<Change<'_>, CallError> {
        self.begin_change(space, Reach::All).await
    }

    /// Begins one that nobody has to know of but those who listen: no call depends on it.
    pub(crate) async fn change_for_listeners(&self, space: SpaceId) -> Result<Change<'_>, CallError> {
        self.begin_change(space, Reach::Listeners).await
    }

    async fn begin_change(&self, space: SpaceId, reach: Reach) -> Result<Change<'_>, CallError> {
        let mut tx = self.db().begin().await?;
        let row = tx.row("UPDATE revision SET value = value + 1 WHERE id = 1 RETURNING value", args![]);
        let revision = row.await?.ok_or_else(|| failure::unreadable("no revision"))?.number(0)?;
        let (notes, touched) = (Notes::default(), Vec::new());
        let mut change = Change { tx, revision, space, notes, reach, touched, store: self };
        change.touches(space).await?;
        Ok(change)
    }
}

impl Change<'_> {
    /// Says that the change is also one of another space.
    pub(crate) async fn touches(&mut self, space: SpaceId) -> Result<(), CallError> {
        if self.touched.contains(&space) {
            return Ok(());
        }
        let sql = match self.reach {
            Reach::All => {
                "INSERT INTO changes (space_id, revision) VALUES ($1, $2)
                 ON CONFLICT (space_id) DO UPDATE SET revision = excluded.revision"
            }
            Reach::Listeners => {
                "INSERT INTO news (space_id, revision) VALUES ($1, $2)
                 ON CONFLICT (space_id) DO UPDATE SET revision = excluded.revision"
            }
        };
        self.tx.run(sql, args![space, self.revision]).await?;
        self.touched.push(space);
        Ok(())
    }

    /// For whom it is made.
    pub(crate) fn actor(&self) -> Option<UserId> {
        self.store.actor()
    }

    /// Keeps a change that is on record. One that noted nothing is refused, so that none is forgotten.
    pub(crate) async fn commit(self) -> Result<(), CallError> {
        if self.notes.is_empty() {
            return Err(failure::broken("a change noted nothing".to_owned()));
        }
        self.finish().await
    }

    /// Keeps a change of something that is no configuration, such as a session.
    pub(crate) async fn commit_unnoted(self) -> Result<(), CallError> {
        self.finish().await
    }

    async fn finish(mut self) -> Result<(), CallError> {
        self.notes.end(&mut self.tx).await?;
        if let Tx::Postgres(_) = &self.tx {
            let notice = args![CHANNEL, self.revision.to_string()];
            self.tx.run("SELECT pg_notify($1, $2)", notice).await?;
        }
        self.tx.commit().await?;
        raise(self.store.known_revision(), self.revision);
        Ok(())
    }
}

pub(crate) async fn current(db: &Db) -> Result<u64, CallError> {
    let row = db.row("SELECT value FROM revision WHERE id = 1", args![]).await?;
    row.ok_or_else(|| failure::unreadable("no revision"))?.number(0)
}

/// Makes a revision known, unless a later one is.
pub(crate) fn raise(known: &watch::Sender<u64>, revision: u64) {
    known.send_if_modified(|known| {
        let is_newer = revision > *known;
        if is_newer {
            *known = revision;
        }
        is_newer
    });
}
