//! Conversations of a user: runs of the chat program, ordered by their last change. Their messages are their steps, which
//! this module does not interpret.

use haft_core::{CallError, RunId, SpaceId, UserId};
use haft_runs::{Run, RunStatus, RunWithSteps};
use jiff::Timestamp;
use sqlx::AssertSqlSafe;

use super::RunJournal;
use super::row::{run, run_columns};
use crate::db::{Arg, args};
use crate::page::Page;

/// A filter of conversations. An absent field matches every conversation.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// A part of the title.
    pub words: Option<String>,
    pub agent: Option<String>,
}

/// The status of a conversation that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedConversation {
    pub id: RunId,
    pub status: RunStatus,
    pub waiting_for: Option<String>,
    pub at: Timestamp,
}

/// Maximum number of changed conversations that are read at once.
const MAX_CHANGED: u64 = 200;

const CHANGED: &str = "SELECT id, status, waiting_for, changed_at FROM runs
     WHERE space_id = $1 AND user_id = $2 AND program = 'chat' AND conversation_id IS NOT NULL
     AND ended_at IS NULL AND (changed_at, id) > ($3, $4) ORDER BY changed_at, id LIMIT $5";

const SELECT: &str = concat!("SELECT ", run_columns!());

/// A run that only waits for tool results of a client has no conversation id.
const FROM_CONVERSATIONS: &str = " FROM runs WHERE space_id = $1 AND user_id = $2 AND program = 'chat'
     AND conversation_id IS NOT NULL AND ended_at IS NULL";

fn is_of(user: UserId, run: &Run) -> bool {
    run.program == "chat" && run.user == Some(user) && !run.status.is_final()
}

impl RunJournal {
    /// Returns a conversation of a user. Returns `None` if it has ended.
    pub async fn conversation(
        &self,
        space: SpaceId,
        user: UserId,
        id: RunId,
    ) -> Result<Option<Run>, CallError> {
        Ok(self.get(space, id).await?.filter(|run| is_of(user, run)))
    }

    /// Returns a conversation of a user with its steps.
    pub async fn conversation_with_steps(
        &self,
        space: SpaceId,
        user: UserId,
        id: RunId,
    ) -> Result<Option<RunWithSteps>, CallError> {
        Ok(self.with_steps(space, id).await?.filter(|conversation| is_of(user, &conversation.run)))
    }

    /// Returns the conversations of a user, the last changed first.
    pub async fn conversations(
        &self,
        space: SpaceId,
        user: UserId,
        filter: &ConversationFilter,
        page: &Page,
    ) -> Result<(Vec<Run>, Option<String>), CallError> {
        let (_, last) = page.start_key()?;
        let mut sql = format!("{SELECT}{FROM_CONVERSATIONS}");
        let mut values = args![space, user];
        let mut and = |clause: &str, value: Arg| {
            values.push(value);
            sql.push_str(&clause.replace('?', &format!("${}", values.len())));
        };
        if let Some((moment, id)) = last.split_once(' ') {
            and(" AND (changed_at, id) < (?", Arg::Int(Some(moment.parse().unwrap_or_default())));
            and(", ?)", Arg::from(id));
        }
        if let Some(agent) = &filter.agent {
            and(" AND agent_id = ?", Arg::from(agent));
        }
        if let Some(words) = &filter.words {
            let words = words.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            and(" AND LOWER(name) LIKE ? ESCAPE '\\'", Arg::from(format!("%{words}%")));
        }
        values.push(Arg::from(page.rows()));
        sql.push_str(&format!(" ORDER BY changed_at DESC, id DESC LIMIT ${}", values.len()));
        // Composed of constants; the values of the filter are arguments.
        let rows = self.db().rows(AssertSqlSafe(sql), values).await?;
        let runs: Result<Vec<Run>, CallError> = rows.iter().map(run).collect();
        Ok(page.cut(runs?, |run| ("", format!("{} {}", run.changed_at.as_microsecond(), run.id))))
    }

    /// Returns conversations of a user that changed after a moment, or in that moment with an id after `last`, in order,
    /// and whether these are all.
    pub async fn changed_conversations(
        &self,
        space: SpaceId,
        user: UserId,
        (moment, last): (Timestamp, &str),
    ) -> Result<(Vec<ChangedConversation>, bool), CallError> {
        let rows = self.db().rows(CHANGED, args![space, user, moment, last, MAX_CHANGED]).await?;
        let changed = rows.iter().map(|row| {
            let (id, status, waiting_for, at) = (row.id(0)?, row.word(1)?, row.maybe_text(2)?, row.time(3)?);
            Ok(ChangedConversation { id, status, waiting_for, at })
        });
        let changed: Result<Vec<_>, CallError> = changed.collect();
        Ok((changed?, (rows.len() as u64) < MAX_CHANGED))
    }

    /// Changes the title of a conversation. Returns false if there is none.
    pub async fn rename(
        &self,
        space: SpaceId,
        user: UserId,
        id: RunId,
        title: &str,
    ) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let sql =
            "UPDATE runs SET name = $4 WHERE space_id = $1 AND user_id = $2 AND id = $3 AND program = 'chat'";
        let is_there = tx.run(sql, args![space, user, id, title]).await? > 0;
        tx.commit().await?;
        Ok(is_there)
    }

    /// Deletes a conversation with its steps. The lease of a worker that executes it ends.
    pub async fn delete_conversation(
        &self,
        space: SpaceId,
        user: UserId,
        id: RunId,
    ) -> Result<bool, CallError> {
        let mut tx = self.db().begin().await?;
        let sql = "DELETE FROM runs WHERE space_id = $1 AND user_id = $2 AND id = $3 AND program = 'chat'";
        let is_gone = tx.run(sql, args![space, user, id]).await? > 0;
        tx.commit().await?;
        Ok(is_gone)
    }
}
