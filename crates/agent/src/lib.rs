//! The chat loop: a model responds, its calls are executed, and it responds again, until it has its final response.
//!
//! A conversation is a run, so that it continues after any crash, and it is stored in its journal only. Models belong to
//! `llm` and tools to the engine; this crate depends on neither HTTP nor SQL.

mod call_history;
mod call_plan;
mod call_result;
mod client_history;
mod context_window;
mod conversation_input;
mod conversation_program;
mod conversations;
mod deferred_calls;
mod ephemeral_turn;
mod event;
mod files;
mod follower;
mod host;
mod inbox;
mod kind;
mod large_results;
mod model_request;
mod models;
mod nested_turn;
mod prompt;
mod response_format;
mod response_step;
mod results_as_text;
mod stored_response;
mod tool_calls;
mod toolbox;
mod toolbox_cache;
mod transcript;
mod turn_context;
mod turn_cursor;
mod turn_end;
mod turn_limits;
mod turn_log;
mod turn_logs;
mod turn_preparation;
mod turn_runner;
mod turn_stream;

pub use conversation_input::{ConversationInput, ModelParameters};
pub use conversation_program::program;
pub use conversations::{ConversationSettings, Conversations, NewConversation, NewInboxMessage, Retention};
pub use ephemeral_turn::{EnclosingTurn, EphemeralTurn};
pub use event::{ChatEvent, message_json};
pub use follower::{FollowedEvent, Follower};
pub use host::ConversationHost;
pub use inbox::{
    ChatMessage, ChatRole, ContinueMessage, InboxMessage, Instruction, MessagePart, ProviderCall, TaskEnded,
    ToolResultsMessage, TurnRequest, TurnTerms, UserMessage,
};
pub use kind::AgentKind;
pub use large_results::{result_file_suffix, result_files};
pub use models::{ModelChoice, Models, SelectedModel, SpaceUser};
pub use nested_turn::NestedTurn;
pub use response_format::format_schema;
pub use stored_response::{FormatCheck, StoredResponse};
pub use transcript::{
    CallState, CallTask, FinishReason, StepCall, TaskReason, Transcript, Turn, TurnEnd, TurnSetup, TurnStep,
};
pub use turn_cursor::TurnCursor;
pub use turn_limits::TurnLimits;
pub use turn_log::TurnLog;
pub use turn_logs::TurnLogs;
pub use turn_stream::{Disconnect, SentMessage, TurnStream};

/// Returns every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    let tables = [
        model_request::TEMPLATES,
        turn_context::TEMPLATES,
        turn_limits::TEMPLATES,
        turn_stream::TEMPLATES,
        call_history::TEMPLATES,
        tool_calls::TEMPLATES,
        call_plan::TEMPLATES,
        response_step::TEMPLATES,
        turn_preparation::TEMPLATES,
        turn_end::TEMPLATES,
        files::TEMPLATES,
        kind::TEMPLATES,
        response_format::TEMPLATES,
        results_as_text::TEMPLATES,
        turn_runner::TEMPLATES,
    ];
    tables.into_iter().flatten().copied().collect()
}
