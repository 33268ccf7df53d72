//! The change feed: which spaces changed since a revision.
//!
//! Every change increments the revision as its first statement. That row stays locked until the commit, so
//! changes are serialized and become visible in the order of their revisions.

use haft_core::{CallError, SpaceId, UserId};
use tokio::sync::watch;
use uuid::Uuid;

use crate::Store;
use crate::db::{Db, Tx, args};
use crate::failure;
use crate::history::Notes;

/// Name of the PostgreSQL notification channel.
pub(crate) const CHANNEL: &str = "haft";

/// Space id that represents rows outside of any space: users, tokens, sessions and members.
pub(crate) fn identity() -> SpaceId {
    SpaceId::from(Uuid::nil())
}

/// Changes since a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The cursor for the next request.
    pub revision: u64,
    pub spaces: Vec<SpaceId>,
    /// True if users, tokens, sessions or members changed.
    pub identity: bool,
    /// Spaces with history entries that do not affect calls; only event subscribers need them.
    pub news: Vec<SpaceId>,
}

/// The subscribers that must be notified of a change.
#[derive(Clone, Copy)]
enum Reach {
    /// All caches of the space.
    All,
    /// Subscribers of history events only.
    Listeners,
}

/// An open change. It is rolled back if dropped without a commit.
pub(crate) struct Change<'a> {
    pub(crate) tx: Tx,
    pub(crate) revision: u64,
    /// The space that changes.
    pub(crate) space: SpaceId,
    /// History entries written so far.
    pub(crate) notes: Notes,
    reach: Reach,
    /// Spaces that are notified.
    touched: Vec<SpaceId>,
    store: &'a Store,
}

impl Store {
    /// Returns the revision of the last change.
    pub async fn current_revision(&self) -> Result<u64, CallError> {
        current(self.db()).await
    }

    /// Returns the changes after a revision.
    pub async fn changes_since(&self, revision: u64) -> Result<Changes, CallError> {
        // One statement, so that the revision and the list are consistent.
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
        // Changes of other processes may not have been announced here yet.
        publish_revision(self.revision_sender(), changes.revision);
        Ok(changes)
    }

    /// Subscribes to the latest revision. Changes of this process are announced immediately; changes of
    /// others only when they are noticed, so subscribers must also poll.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.revision_sender().subscribe()
    }

    /// Begins a change of a space, or of `identity()`.
    pub(crate) async fn change(&self, space: SpaceId) -> Result<Change<'_>, CallError> {
        self.begin_change(space, Reach::All).await
    }

    /// Begins a change that does not affect calls; only event subscribers are notified.
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
    /// Adds another space that must be notified of the change.
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

    /// The user who makes the change.
    pub(crate) fn actor(&self) -> Option<UserId> {
        self.store.actor()
    }

    /// Commits a change. Fails if it has no history entry, so that none is forgotten.
    pub(crate) async fn commit(self) -> Result<(), CallError> {
        if self.notes.is_empty() {
            return Err(failure::internal("a change has no history entry".to_owned()));
        }
        self.finish().await
    }

    /// Commits a change that needs no history entry, such as a new session.
    pub(crate) async fn commit_unnoted(self) -> Result<(), CallError> {
        self.finish().await
    }

    async fn finish(mut self) -> Result<(), CallError> {
        self.notes.write_head(&mut self.tx).await?;
        if let Tx::Postgres(_) = &self.tx {
            let notice = args![CHANNEL, self.revision.to_string()];
            self.tx.run("SELECT pg_notify($1, $2)", notice).await?;
        }
        self.tx.commit().await?;
        publish_revision(self.store.revision_sender(), self.revision);
        Ok(())
    }
}

pub(crate) async fn current(db: &Db) -> Result<u64, CallError> {
    let row = db.row("SELECT value FROM revision WHERE id = 1", args![]).await?;
    row.ok_or_else(|| failure::unreadable("no revision"))?.number(0)
}

/// Publishes a revision, unless it is older than the current one.
pub(crate) fn publish_revision(sender: &watch::Sender<u64>, revision: u64) {
    sender.send_if_modified(|current| {
        let is_newer = revision > *current;
        if is_newer {
            *current = revision;
        }
        is_newer
    });
}
