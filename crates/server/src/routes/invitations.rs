//! Invitations: a space admin's at `/api/spaces/{id}/invitations`, the invited user's at `/api/invitations`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::space::Invitation;
use haft_core::user::Scope;
use haft_core::{CallError, SpaceId};
use haft_store::{Page, no_invitation};

use super::spaces::{check_admin, find, not_allowed};
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::{ListOf, Named, NamedWithin, Parameters};
use crate::visitors::Visitor;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/spaces/{id}/invitations", list_of_space)
            .needs(Needs::Identity)
            .says("List open invitations of a space")
            .checks(Scope::Admin, "For admins of the space; a token must have the scope admin.")
            .pages()
            .answers(200, "InvitationList"),
        Route::delete("/spaces/{id}/invitations/{user}", withdraw)
            .needs(Needs::Identity)
            .says("Withdraw an invitation, by the invited name")
            .checks(Scope::Admin, "For admins of the space; a token must have the scope admin.")
            .answers(200, "Invitation"),
        Route::get("/invitations", list_own)
            .needs(Needs::Identity)
            .says("List open invitations of the current user")
            .checks(Scope::Read, "A token of a lesser scope than admin sees none.")
            .pages()
            .answers(200, "InvitationList"),
        Route::post("/invitations/{id}/accept", accept)
            .needs(Needs::Identity)
            .says("Accept an invitation, by the space's id")
            .checks(Scope::Admin, "A token must have the scope admin.")
            .answers(200, "Invitation"),
        Route::delete("/invitations/{id}", decline)
            .needs(Needs::Identity)
            .says("Decline an invitation, by the space's id")
            .checks(Scope::Admin, "A token must have the scope admin.")
            .answers(200, "Invitation"),
    ]
}

async fn list_of_space(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let (space, role) = find(&state, &visitor, &id).await?;
    check_admin(&visitor, role)?;
    let (invitations, next) = state.store.list_invitations(space.id, &page.checked()?).await?;
    Ok(envelope::page(&invitations, next))
}

async fn withdraw(
    State(state): State<AppState>,
    Who(visitor): Who,
    NamedWithin(id, user): NamedWithin,
) -> Result<Response, Failure> {
    let (space, role) = find(&state, &visitor, &id).await?;
    check_admin(&visitor, role)?;
    let withdrawn = state.store_for(&visitor).delete_invitation(space.id, &user, "withdrawn").await?;
    Ok(envelope::success(StatusCode::OK, withdrawn))
}

async fn list_own(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let page: Page = page.checked()?;
    // A token of lesser scope stays in its own space and learns of no other.
    if !visitor.may_act_for_itself() {
        return Ok(envelope::page(Vec::<Invitation>::new(), None));
    }
    let (invitations, next) = state.store.invitations_of(&visitor.user, &page).await?;
    Ok(envelope::page(&invitations, next))
}

async fn accept(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(space): Named,
) -> Result<Response, Failure> {
    let space = invited_into(&visitor, &space)?;
    let accepted = state.store_for(&visitor).accept_invitation(space, &visitor.user).await?;
    state.visitors.forget();
    Ok(envelope::success(StatusCode::OK, accepted))
}

async fn decline(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(space): Named,
) -> Result<Response, Failure> {
    let space = invited_into(&visitor, &space)?;
    let name = &visitor.user.name;
    let declined = state.store_for(&visitor).delete_invitation(space, name, "declined").await?;
    Ok(envelope::success(StatusCode::OK, declined))
}

/// The space of a path, for a caller who may act for the user.
fn invited_into(visitor: &Visitor, space: &str) -> Result<SpaceId, CallError> {
    if visitor.scope != Scope::Admin {
        return Err(not_allowed());
    }
    space.parse().map_err(|_| no_invitation(&visitor.user.name))
}
