//! The chat loop: a model is asked, its calls are carried out, and it is asked again, until it has its answer.
//!
//! A conversation is a run, so that it goes on after any crash, and its journal is all that is kept of it. Models are
//! `llm`'s, tools the engine's; nothing here knows of HTTP or SQL.

mod ask;
mod at;
mod call_history;
mod carry;
mod chat;
mod chat_run;
mod client_history;
mod ending;
mod event;
mod files;
mod fit;
mod kind;
mod known_tools;
mod large;
mod live;
mod models;
mod once;
mod program;
mod prompt;
mod response_format;
mod result;
mod results_as_text;
mod said;
mod surroundings;
mod toolbox;
mod transcript;
mod turn;

pub use chat::{Chat, Keeping};
pub use chat_run::{Asking, ChatRun};
pub use event::{ChatEvent, shown};
pub use kind::AgentKind;
pub use large::{ends_name, kept_files};
pub use live::{Live, Talk};
pub use models::{Asker, Chosen, Models, Wanted};
pub use once::Within;
pub use program::program;
pub use response_format::format_schema;
pub use said::{
    Asked, GoOn, Instruction, Letter, Message, Piece, ProviderCall, Returned, Role, Said, TaskEnded, Terms,
};
pub use surroundings::Surroundings;
pub use transcript::{
    Answer, CallState, Finish, FormatCheck, Reason, Setup, StepCall, Task, Transcript, Turn, TurnEnd,
    TurnStep,
};

/// Every message of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    let tables = [
        ask::TEMPLATES,
        at::TEMPLATES,
        chat::TEMPLATES,
        call_history::TEMPLATES,
        carry::TEMPLATES,
        ending::TEMPLATES,
        files::TEMPLATES,
        kind::TEMPLATES,
        response_format::TEMPLATES,
        results_as_text::TEMPLATES,
        turn::TEMPLATES,
    ];
    tables.into_iter().flatten().copied().collect()
}
