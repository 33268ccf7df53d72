//! The routes, one file per noun or verb. Wire types stand beside their handler.

pub(crate) mod agents;
pub(crate) mod alerts;
pub(crate) mod approvals;
pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod callbacks;
pub(crate) mod changes;
pub(crate) mod chat;
pub(crate) mod circuits;
pub(crate) mod conversations;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod execute;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod invitations;
pub(crate) mod metrics;
pub(crate) mod providers;
pub(crate) mod saving;
pub(crate) mod schema_preview;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod spaces;
pub(crate) mod stats;
pub(crate) mod tasks;
pub(crate) mod tokens;
pub(crate) mod tool_calls;
pub(crate) mod tools;
pub(crate) mod users;
pub(crate) mod v1;

use haft_core::Template;

/// Every message of the routes.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    let own = [
        callbacks::TEMPLATES,
        circuits::TEMPLATES,
        events::TEMPLATES,
        execute::TEMPLATES,
        saving::TEMPLATES,
        secrets::TEMPLATES,
        session::TEMPLATES,
        spaces::TEMPLATES,
        stats::TEMPLATES,
        tokens::TEMPLATES,
        users::TEMPLATES,
    ];
    own.into_iter()
        .flatten()
        .copied()
        .chain(agents::all_templates())
        .chain(approvals::all_templates())
        .chain(alerts::all_templates())
        .chain(chat::all_templates())
        .chain(conversations::all_templates())
        .chain(providers::all_templates())
        .chain(import::all_templates())
        .chain(tasks::all_templates())
        .chain(tool_calls::all_templates())
        .chain(tools::all_templates())
        .chain(v1::all_templates())
}
