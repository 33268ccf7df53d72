//! Who changed what: `GET /api/changes`.

use axum::extract::State;
use axum::response::Response;
use haft_store::{HistoryFilter, What, no_space};
use jiff::Timestamp;
use serde::Deserialize;

use super::tool_calls::user_of;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::{Who, too_little};
use crate::envelope;
use crate::error::Failure;
use crate::events::ShownChange;
use crate::query::{ListOf, Parameters};

const SAYS: &str = "List changes in the space, newest first. Changes of members and tokens are visible to \
    admins of the space only, changes of a user's own secrets to that user only. All users see their own changes";

const OF_SERVER: &str = "`server`: changes that belong to no space, such as users and deleted spaces. For \
    server admins only";

const WHATS: &str = "tool|agent|provider|secret|ownSecret|space|member|user|token|alert|task|approval";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/changes", list)
            .needs(Needs::Read)
            .says(SAYS)
            .parameter("of", "space|server", OF_SERVER)
            .parameter("what", WHATS, "Only changes of resources of this type")
            .parameter("id", "string", "Only changes of the resource with this id; for a secret, its name")
            .parameter("user", "string", "Only changes by this user, by id or name; `me` for yourself")
            .parameter("from", "date-time", "Only changes at or after this time")
            .parameter("to", "date-time", "Only changes before this time")
            .pages()
            .answers(200, "ChangePage"),
    ]
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum Of {
    #[default]
    Space,
    Server,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    #[serde(default)]
    of: Of,
    what: Option<What>,
    id: Option<String>,
    user: Option<String>,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(filter): Parameters<Filter>,
) -> Result<Response, Failure> {
    let Filter { of, what, id, user, from, to, limit, cursor } = filter;
    let page = ListOf { limit, cursor }.checked()?;
    let (space, sight) = match of {
        Of::Space => (visitor.space, Some(visitor.sight())),
        Of::Server if visitor.may(Needs::Operator) => (no_space(), None),
        Of::Server => return Err(too_little(Needs::Operator).into()),
    };
    let user = match user {
        None => None,
        Some(name) => match user_of(&state, visitor.user.id, &name).await? {
            Some(user) => Some(user),
            // No user of that name changed anything.
            None => return Ok(envelope::page([(); 0], None)),
        },
    };
    let filter = HistoryFilter { what, id, user, from, to, sight };
    let (entries, next) = state.store.history(space, &filter, &page).await?;
    let entries: Vec<ShownChange<'_>> = entries.iter().map(ShownChange::from).collect();
    Ok(envelope::page(&entries, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_knows_every_word() {
        let words: Vec<&str> = What::ALL.iter().map(|what| what.as_str()).collect();
        assert_eq!(WHATS, words.join("|"));
    }
}
