//! One logged call: its row, its bodies, and their columns.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{AgentId, CallError, CallId, ConversationId, ErrorKind, Source, SpaceId, ToolId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::db::Arg;
use crate::failure;
use crate::hash_chain::Link;
use crate::row::Row;

/// A finished call without its arguments and result.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// UUIDv7 of the time at which the call began, so ids are ordered by time.
    pub id: Uuid,
    pub space: SpaceId,
    /// Callers may use the same call id several times.
    pub call_id: CallId,
    /// `None` if no tool has the requested name.
    pub tool: Option<(ToolId, u64)>,
    pub tool_name: Arc<str>,
    pub agent: Option<AgentId>,
    pub conversation: Option<ConversationId>,
    pub user: Option<UserId>,
    pub source: Source,
    /// The failure. `None` if the call succeeded.
    pub error: Option<CallFailure>,
    pub attempts: u32,
    pub cached: bool,
    /// JSON list of the paths of coerced arguments, if any.
    pub coerced: Option<String>,
    /// JSON list of the deviations of the result from the output schema, if any.
    pub warnings: Option<String>,
    /// Stored in microseconds.
    pub duration: Duration,
    /// Stored in microseconds.
    pub started_at: Timestamp,
    /// The call that this one replays.
    pub replay_of: Option<CallId>,
    pub arguments_cut: bool,
    pub result_cut: bool,
    /// True if the stored arguments are complete: neither truncated nor redacted.
    pub replayable: bool,
}

/// The failure of a call, with its message in English.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFailure {
    pub kind: ErrorKind,
    pub message: String,
    /// A JSON object.
    pub details: String,
}

/// The arguments and the result of a call as JSON, truncated if too long.
#[derive(Debug, Clone, PartialEq)]
pub struct CallBodies {
    pub arguments: Arc<str>,
    /// `None` if the call failed.
    pub result: Option<Arc<str>>,
}

/// A logged call with its bodies.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedCall {
    pub row: CallRow,
    pub bodies: CallBodies,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    Success,
    Failed,
    Cancelled,
}

impl CallStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl CallRow {
    /// Returns the outcome, which follows from the error.
    pub fn status(&self) -> CallStatus {
        match &self.error {
            None => CallStatus::Success,
            Some(error) if error.kind == ErrorKind::Cancelled => CallStatus::Cancelled,
            Some(_) => CallStatus::Failed,
        }
    }

    pub(super) fn micros(&self) -> i64 {
        i64::try_from(self.duration.as_micros()).unwrap_or(i64::MAX)
    }
}

pub(super) fn source(source: Source) -> &'static str {
    match source {
        Source::Api => "api",
        Source::Chat => "chat",
        Source::Flow => "flow",
        Source::Mcp => "mcp",
        Source::Cli => "cli",
        Source::Task => "task",
        Source::Library => "library",
    }
}

/// The columns of a row, in the order of every statement.
pub(super) const COLUMNS: [&str; 26] = [
    "seq",
    "id",
    "space_id",
    "call_id",
    "tool_id",
    "tool_version",
    "tool_name",
    "agent_id",
    "conversation_id",
    "user_id",
    "source",
    "status",
    "error_kind",
    "error_message",
    "error_details",
    "attempts",
    "is_cached",
    "coerced",
    "warnings",
    "duration",
    "started_at",
    "replay_of",
    "arguments_cut",
    "result_cut",
    "is_replayable",
    "chain",
];
pub(super) const SEQ: usize = 0;
pub(super) const CALL_ID: usize = 3;
pub(super) const STATUS: usize = 11;
pub(super) const CHAIN: usize = 25;
/// Positions of the bodies, when they are selected after the row.
const ARGUMENTS: usize = 26;
const RESULT: usize = 27;

/// `l.seq, l.id, …` for a `SELECT` from `tool_call_log l`.
pub(super) fn columns() -> String {
    COLUMNS.map(|column| format!("l.{column}")).join(", ")
}

/// Returns the values of a row, in the order of [`COLUMNS`].
pub(super) fn row_args(seq: i64, call: &CallRow, link: &Link, tools: &mut ToolText) -> [Arg; COLUMNS.len()] {
    let (tool_id, tool_version) = match &call.tool {
        Some((id, version)) => (Arg::Shared(tools.of(id)), Arg::from(*version)),
        None => (Arg::Text(None), Arg::Int(None)),
    };
    let (kind, message, details) = match &call.error {
        Some(error) => {
            (Some(error.kind.to_string()), Some(error.message.clone()), Some(error.details.clone()))
        }
        None => (None, None, None),
    };
    [
        Arg::Int(Some(seq)),
        uuid(call.id),
        uuid(call.space),
        Arg::Text(own_call_id(call)),
        tool_id,
        tool_version,
        Arg::Shared(call.tool_name.clone()),
        maybe_uuid(call.agent),
        maybe_uuid(call.conversation),
        maybe_uuid(call.user),
        Arg::Shared(Arc::from(source(call.source))),
        Arg::Shared(Arc::from(call.status().as_str())),
        Arg::Text(kind),
        Arg::Text(message),
        Arg::Text(details),
        Arg::from(u64::from(call.attempts)),
        Arg::from(call.cached),
        Arg::Text(call.coerced.clone()),
        Arg::Text(call.warnings.clone()),
        Arg::Int(Some(call.micros())),
        Arg::from(call.started_at),
        Arg::Text(call.replay_of.as_ref().map(ToString::to_string)),
        Arg::from(call.arguments_cut),
        Arg::from(call.result_cut),
        Arg::from(call.replayable),
        Arg::from(link.to_vec()),
    ]
}

/// Caches the text of the last tool id; consecutive calls often have the same tool.
#[derive(Default)]
pub(super) struct ToolText(Option<(ToolId, Arc<str>)>);

impl ToolText {
    fn of(&mut self, id: &ToolId) -> Arc<str> {
        match &self.0 {
            Some((last, text)) if last == id => text.clone(),
            _ => {
                let text: Arc<str> = id.to_string().into();
                self.0 = Some((id.clone(), text.clone()));
                text
            }
        }
    }
}

pub(super) const BODY_COLUMNS: [&str; 4] = ["seq", "id", "arguments", "result"];

pub(super) fn body_args(seq: i64, call: &LoggedCall) -> [Arg; BODY_COLUMNS.len()] {
    let LoggedCall { row, bodies } = call;
    let result = bodies.result.clone().map_or(Arg::Text(None), Arg::Shared);
    [Arg::Int(Some(seq)), uuid(row.id), Arg::Shared(bodies.arguments.clone()), result]
}

/// Reads a row that was selected with [`columns`].
pub(super) fn call_row(row: &Row) -> Result<CallRow, CallError> {
    let tool = match row.maybe_text(4)? {
        Some(_) => Some((row.tool_id(4)?, row.number(5)?)),
        None => None,
    };
    let error = match row.maybe_text(12)? {
        Some(_) => Some(CallFailure { kind: row.word(12)?, message: row.text(13)?, details: row.text(14)? }),
        None => None,
    };
    let replay_of = row.maybe_text(21)?.map(|id| id.parse::<CallId>()).transpose();
    let id = read_uuid(row.bytes(1)?)?;
    Ok(CallRow {
        id,
        space: read_uuid(row.bytes(2)?)?.into(),
        call_id: call_id(row, id)?,
        tool,
        tool_name: row.text(6)?.into(),
        agent: row.maybe_bytes(7)?.map(read_uuid).transpose()?.map(AgentId::from),
        conversation: row.maybe_bytes(8)?.map(read_uuid).transpose()?.map(ConversationId::from),
        user: row.maybe_bytes(9)?.map(read_uuid).transpose()?.map(UserId::from),
        source: row.word(10)?,
        error,
        attempts: u32::try_from(row.int(15)?).map_err(failure::unreadable)?,
        cached: row.flag(16)?,
        coerced: row.maybe_text(17)?,
        warnings: row.maybe_text(18)?,
        duration: Duration::from_micros(row.number(19)?),
        started_at: row.time(20)?,
        replay_of: replay_of.map_err(failure::unreadable)?,
        arguments_cut: row.flag(22)?,
        result_cut: row.flag(23)?,
        replayable: row.flag(24)?,
    })
}

/// Returns the call id to store. Returns `None` if it equals the id of the row.
fn own_call_id(call: &CallRow) -> Option<String> {
    let mut buffer = Uuid::encode_buffer();
    let id = call.id.hyphenated().encode_lower(&mut buffer);
    (call.call_id.as_str() != id).then(|| call.call_id.to_string())
}

fn call_id(row: &Row, id: Uuid) -> Result<CallId, CallError> {
    match row.maybe_text(CALL_ID)? {
        Some(given) => given.parse().map_err(failure::unreadable),
        None => Ok(id.into()),
    }
}

/// Reads a row and the bodies that follow it.
pub(super) fn logged_call(row: &Row) -> Result<LoggedCall, CallError> {
    let bodies = CallBodies {
        arguments: row.text(ARGUMENTS)?.into(),
        result: row.maybe_text(RESULT)?.map(Into::into),
    };
    Ok(LoggedCall { row: call_row(row)?, bodies })
}

/// Converts an id to its 16 bytes, which sort like the id.
pub(super) fn uuid(id: impl Into<Uuid>) -> Arg {
    Arg::Bytes(Some(id.into().as_bytes().to_vec()))
}

fn maybe_uuid(id: Option<impl Into<Uuid>>) -> Arg {
    Arg::Bytes(id.map(|id| id.into().as_bytes().to_vec()))
}

pub(super) fn read_uuid(bytes: Vec<u8>) -> Result<Uuid, CallError> {
    Uuid::from_slice(&bytes).map_err(failure::unreadable)
}
