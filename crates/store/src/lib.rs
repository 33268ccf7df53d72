//! Storage on SQLite or PostgreSQL. All SQL of the product is in this crate.
//!
//! There is one module per resource; most methods take the space first. API rules, permissions and execution
//! belong to other crates. Errors are call errors. Plain values of secrets leave only through
//! `Store::reveal`.

mod agent_cache;
mod agents;
mod alerts;
mod apply;
mod artifacts;
mod credential;
mod crypt;
mod db;
mod failure;
mod feed;
mod hash_chain;
mod history;
mod insert;
mod invitations;
mod keys;
mod links;
mod log;
mod members;
mod migrate;
mod name;
mod page;
mod password;
mod postgres;
mod providers;
mod readers;
mod row;
mod runs;
mod secrets;
mod sessions;
mod spaces;
mod sqlite;
mod store;
mod tokens;
mod tools;
mod uploads;
mod users;
mod versions;

pub use agents::AgentFilter;
pub use alerts::MAX_ALERTS;
pub use apply::Apply;
pub use credential::CredentialHash;
pub use feed::Changes;
pub use hash_chain::{ChainFault, Fault, Verification};
pub use history::{Action, HistoryEntry, HistoryFilter, HistoryVisibility, What, no_space};
pub use invitations::no_invitation;
pub use keys::{Key, MasterKeys};
pub use links::{LinkTarget, SignedLink};
pub use log::{
    AgentStats, CallBodies, CallFailure, CallFilter, CallLog, CallRow, CallStatus, LogRetention, LoggedCall,
    Stats, StatsOf, StatsQuery, StatsStep, StatsWindow, ToolStats, Totals,
};
pub use page::Page;
pub use runs::{
    Approval, ChangedConversation, ConversationFilter, RunCounts, RunFilter, RunJournal, RunNews, RunSummary,
};
pub use secrets::{SecretInfo, SecretOwnerId};
pub use sessions::Session;
pub use store::{Database, Force, Store};
pub use tools::{PutTool, ToolChanges, ToolsFingerprint};
pub use uploads::Upload;
pub use versions::{VersionInfo, VersionState};

/// Returns all message templates of this crate.
pub fn all_templates() -> Vec<&'static haft_core::Template> {
    let own = [
        agents::TEMPLATES,
        alerts::TEMPLATES,
        credential::TEMPLATES,
        crypt::TEMPLATES,
        failure::TEMPLATES,
        invitations::TEMPLATES,
        keys::TEMPLATES,
        links::TEMPLATES,
        log::TEMPLATES,
        members::TEMPLATES,
        migrate::TEMPLATES,
        name::TEMPLATES,
        page::TEMPLATES,
        password::TEMPLATES,
        postgres::TEMPLATES,
        secrets::TEMPLATES,
        spaces::TEMPLATES,
        sqlite::TEMPLATES,
        store::TEMPLATES,
        tools::TEMPLATES,
        uploads::TEMPLATES,
        versions::TEMPLATES,
    ];
    own.into_iter().flatten().copied().chain(runs::all_templates()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_message_is_there_in_both_languages() {
        haft_core::message::check_templates(&super::all_templates()).expect("complete messages");
    }
}
