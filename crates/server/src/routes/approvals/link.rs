//! `POST /api/approvals/{id}/link`: an address where a person decides without signing in; and who comes with one.
//!
//! It opens a page and decides nothing by itself: whatever fetches addresses from messages may fetch it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::artifact::SIGNATURE;
use haft_core::space::Role;
use haft_core::{CallError, ErrorKind, Message, RunId, SpaceId, UserId};
use haft_runs::StepState;
use haft_store::{Approval, LinkTarget, SignedLink};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{NOT_ASKED, find, version_of};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::Named;
use crate::visitors::Visitor;

haft_core::templates! {
    BAD_LINK = "approvals.badLink",
        "The link is invalid or has expired. Request a new one.",
        "链接无效或已失效：请重新获取";
}

/// What has no end may be decided by a link for so long.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Signature {
    sig: Option<String>,
}

/// Who looks at an approval, and decides it: a visitor, or somebody with a link in the place of whoever made it.
pub(super) struct Asker {
    pub(super) space: SpaceId,
    pub(super) user: UserId,
    /// Somebody with a link, which is for one version of the tool.
    pub(super) by_link: Option<u64>,
}

impl Asker {
    /// A link stands for itself, whoever else its holder is.
    pub(super) async fn of(
        state: &AppState,
        visitor: Option<Arc<Visitor>>,
        id: &str,
        signature: &Signature,
    ) -> Result<Self, CallError> {
        match (&signature.sig, visitor) {
            (None, Some(visitor)) => Ok(Self { space: visitor.space, user: visitor.user.id, by_link: None }),
            (Some(signature), _) => Self::with_link(state, id, signature).await,
            (None, None) => Err(bad_link()),
        }
    }

    /// Where the link is good, and whoever made it may still decide.
    async fn with_link(state: &AppState, id: &str, signature: &str) -> Result<Self, CallError> {
        let run = id.parse::<RunId>().map_err(|_| bad_link())?;
        let signed = state.store.signed(LinkTarget::Approval(run), signature, Timestamp::now());
        let Some(SignedLink { space, by: Some(user), number, .. }) = signed else { return Err(bad_link()) };
        let role = state.store.role_of(space, user).await?;
        if role.is_none_or(|role| role < Role::Editor) {
            return Err(bad_link());
        }
        Ok(Self { space, user, by_link: Some(number) })
    }

    /// A link is for the question that it was made for, and for no other that is asked later.
    pub(super) fn may_see(&self, approval: &Approval) -> Result<(), CallError> {
        let is_meant = self.by_link.is_none_or(|version| version == version_of(&approval.step));
        if is_meant { Ok(()) } else { Err(bad_link()) }
    }
}

fn bad_link() -> CallError {
    CallError::new(ErrorKind::Unauthorized, Message::new(&BAD_LINK))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    url: String,
    #[serde(serialize_with = "haft_core::timestamp::serialize")]
    expires_at: Timestamp,
}

pub(super) async fn make(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let found = find(&state, visitor.space, &id).await?;
    if found.step.state != StepState::Waiting {
        return Err(CallError::new(ErrorKind::Conflict, Message::new(&NOT_ASKED)).into());
    }
    let longest = haft_engine::now().saturating_add(LONGEST).unwrap_or(Timestamp::MAX);
    let until = found.step.deadline.unwrap_or(longest).min(longest);
    // A signature knows whole seconds.
    let expires_at = Timestamp::from_second(until.as_second()).unwrap_or(until);
    let number = version_of(&found.step);
    let signed = SignedLink { space: visitor.space, by: Some(visitor.user.id), until: expires_at, number };
    let signature = state.store.sign(LinkTarget::Approval(found.run.id), signed)?;
    let url = state.url_of(&headers, &format!("/approve/{}?{SIGNATURE}={signature}", found.run.id));
    Ok(envelope::success(StatusCode::OK, Link { url, expires_at }))
}
