//! Calls on record as callers see them.

use haft_core::{AgentId, CallId, ConversationId, ErrorKind, Source, SpaceId, ToolId, UserId};
use haft_store::{CallFailure, CallRow, CallStatus, LoggedCall};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown<'a> {
    id: Uuid,
    call_id: &'a CallId,
    space_id: SpaceId,
    tool_id: Option<&'a ToolId>,
    tool_version: Option<u64>,
    tool_name: &'a str,
    agent_id: Option<AgentId>,
    conversation_id: Option<ConversationId>,
    user_id: Option<UserId>,
    source: Source,
    status: CallStatus,
    error: Option<ShownFailure<'a>>,
    attempts: u32,
    cached: bool,
    coerced: Json<'a>,
    warnings: Json<'a>,
    /// In milliseconds.
    duration: f64,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    started_at: Timestamp,
    replay_of: Option<&'a CallId>,
    arguments_cut: bool,
    result_cut: bool,
    replayable: bool,
    not_replayable: Option<NotReplayable>,
}

/// Why a call cannot be made again as it was.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum NotReplayable {
    Cut,
    Masked,
}

#[derive(Serialize)]
struct ShownFailure<'a> {
    kind: ErrorKind,
    message: &'a str,
    details: Json<'a>,
}

/// The same with its bodies: a value where it is whole, and the beginning of its text where it was cut.
#[derive(Serialize)]
pub(super) struct ShownWithBodies<'a> {
    #[serde(flatten)]
    row: Shown<'a>,
    arguments: Value,
    result: Value,
}

impl<'a> From<&'a CallRow> for Shown<'a> {
    fn from(row: &'a CallRow) -> Self {
        Self {
            id: row.id,
            call_id: &row.call_id,
            space_id: row.space,
            tool_id: row.tool.as_ref().map(|(id, _)| id),
            tool_version: row.tool.as_ref().map(|(_, version)| *version),
            tool_name: &row.tool_name,
            agent_id: row.agent,
            conversation_id: row.conversation,
            user_id: row.user,
            source: row.source,
            status: row.status(),
            error: row.error.as_ref().map(ShownFailure::from),
            attempts: row.attempts,
            cached: row.cached,
            coerced: list(row.coerced.as_deref()),
            warnings: list(row.warnings.as_deref()),
            duration: row.duration.as_micros() as f64 / 1000.0,
            started_at: row.started_at,
            replay_of: row.replay_of.as_ref(),
            arguments_cut: row.arguments_cut,
            result_cut: row.result_cut,
            replayable: row.replayable,
            not_replayable: match (row.replayable, row.arguments_cut) {
                (true, _) => None,
                (false, true) => Some(NotReplayable::Cut),
                (false, false) => Some(NotReplayable::Masked),
            },
        }
    }
}

impl<'a> From<&'a CallFailure> for ShownFailure<'a> {
    fn from(error: &'a CallFailure) -> Self {
        Self { kind: error.kind, message: &error.message, details: Json(&error.details) }
    }
}

impl<'a> From<&'a LoggedCall> for ShownWithBodies<'a> {
    fn from(call: &'a LoggedCall) -> Self {
        let LoggedCall { row, bodies } = call;
        Self {
            row: row.into(),
            arguments: body(&bodies.arguments),
            result: bodies.result.as_deref().map(body).unwrap_or_default(),
        }
    }
}

/// A list that was not kept where it was empty.
fn list(kept: Option<&str>) -> Json<'_> {
    Json(kept.unwrap_or("[]"))
}

/// A value that is JSON text already.
struct Json<'a>(&'a str);

impl Serialize for Json<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0) {
            Ok(value) => value.serialize(serializer),
            Err(_) => serializer.serialize_str(self.0),
        }
    }
}

/// The value that a text is, or the text itself when it was cut.
fn body(text: &str) -> Value {
    match text {
        "" => Value::Null,
        _ => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}
