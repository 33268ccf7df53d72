//! Deletes runs that ended long ago, in batches.

use std::time::Duration;

use haft_core::CallError;
use jiff::SignedDuration;

use super::RunJournal;
use crate::db::args;

/// Maximum number of runs that one transaction deletes.
const BATCH: u64 = 500;

impl RunJournal {
    /// Deletes runs that ended longer ago than `keep`. Returns true if there are more.
    pub async fn tidy(&self, keep: Duration) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let now = self.0.clock.now(&mut tx).await?;
        let age = SignedDuration::try_from(keep).unwrap_or(SignedDuration::MAX);
        let Ok(before) = now.saturating_sub(age) else { return Ok(false) };
        let sql = "DELETE FROM runs WHERE id IN
                       (SELECT id FROM runs WHERE ended_at IS NOT NULL AND ended_at < $1 ORDER BY ended_at LIMIT $2)";
        let gone = tx.run(sql, args![before, BATCH]).await?;
        tx.commit().await?;
        Ok(gone >= BATCH)
    }
}
