//! What Haft keeps, on SQLite or PostgreSQL: the only SQL of the product.
//!
//! One file per noun, each method with the space first. Rules of the API, permissions and anything that
//! runs never live here; errors are call errors, and no value of a secret leaves but by `Store::reveal`.

mod agents;
mod alerts;
mod apply;
mod artifacts;
mod chain;
mod credential;
mod crypt;
mod db;
mod failure;
mod feed;
mod history;
mod insert;
mod invitations;
mod keys;
mod known_agents;
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
mod spare;
mod sqlite;
mod store;
mod tokens;
mod tools;
mod uploads;
mod users;
mod versions;

pub use agents::AgentFilter;
pub use alerts::MOST_ALERTS;
pub use apply::Apply;
pub use chain::{ChainFault, Fault, Verification};
pub use credential::CredentialHash;
pub use feed::Changes;
pub use history::{Action, HistoryEntry, HistoryFilter, Sight, What, no_space};
pub use invitations::no_invitation;
pub use keys::{Key, MasterKeys};
pub use links::{Linked, Signed};
pub use log::{
    AgentStats, CallBodies, CallFailure, CallFilter, CallLog, CallRow, CallStatus, LoggedCall, Retention,
    Stats, StatsOf, StatsQuery, StatsStep, ToolStats, Totals, Window,
};
pub use page::Page;
pub use runs::{
    Approval, ChangedConversation, ConversationFilter, RunCounts, RunFilter, RunJournal, RunNews, RunSummary,
};
pub use secrets::{SecretInfo, SecretOwnerId};
pub use sessions::Session;
pub use store::{Database, Force, Store};
pub use tools::{PutTool, ToolsSince, ToolsState};
pub use uploads::Upload;
pub use versions::{VersionInfo, VersionState};

/// Every message of this crate.
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
