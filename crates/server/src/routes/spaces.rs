//! Spaces and their members: `/api/spaces`, `/api/spaces/{id}`, `/api/spaces/{id}/members`.
//!
//! A space that one is no member of is not there.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::space::{Member, Role, Space};
use haft_core::tool::input::camel_keys;
use haft_core::user::{Scope, User};
use haft_core::{CallError, ErrorKind, Message, SpaceId, UserId, Violation};
use haft_engine::now;
use haft_store::Force;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::saving::{Saving, check_version, differing, refuse, take};
use super::users::not_found as no_such_user;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{JsonBody, read};
use crate::envelope::{self, tagged};
use crate::error::Failure;
use crate::query::{Forced, ListOf, Named, NamedWithin, Parameters, if_match};
use crate::visitors::Visitor;

haft_core::templates! {
    NO_SUCH_SPACE = "spaces.notFound",
        "there is no space {name}",
        "没有空间 {name}";
    NOT_ALLOWED = "spaces.notAllowed",
        "Only admins of the space may do this, with a token of sufficient scope.",
        "仅该空间的管理员可以操作，且令牌须有相应权限";
    BAD_NAME = "spaces.badName",
        "must have 1 to {most} characters, no control characters, no whitespace at either end, and not the form of an id",
        "长度必须为 1 到 {most} 个字符，不能包含控制字符，首尾不能有空白，且不能是 id 的形式";
}

/// Fields the server sets. A body may carry them along, as it was read.
const KEPT_BY_SERVER: [&str; 6] = ["id", "isPersonal", "role", "version", "createdAt", "updatedAt"];

const LONGEST_NAME: usize = 100;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/spaces", create)
            .needs(Needs::Identity)
            .says("Create a space; its creator becomes admin").checks(Scope::Admin, "A token must have the scope admin.")
            .dry_run()
            .takes("SpaceInput")
            .answers(201, "Space"),
        Route::get("/spaces", list)
            .needs(Needs::Identity)
            .says("List spaces of the current user; a token of lesser scope sees only its own space").checks(Scope::Read, "A token of the scope admin, and a session, see all spaces of the user; other tokens see their own.")
            .pages()
            .answers(200, "SpaceList"),
        Route::get("/spaces/{id}", show).needs(Needs::Identity).says("Get a space").checks(Scope::Read, "For members of the space. A token of another space must have the scope admin.").answers(200, "Space"),
        Route::put("/spaces/{id}", rename)
            .needs(Needs::Identity)
            .says("Rename a space").checks(Scope::Admin, "For admins of the space; a token must have the scope admin.")
            .dry_run()
            .takes("SpaceUpdate")
            .answers(200, "Space"),
        Route::delete("/spaces/{id}", remove)
            .needs(Needs::Identity)
            .says("Delete a space; a non-empty one requires force, and a personal one cannot be deleted").checks(Scope::Admin, "For admins of the space; a token must have the scope admin.")
            .parameter("force", "boolean", "Also if the space is not empty")
            .answers(200, "Space"),
        Route::get("/spaces/{id}/members", members)
            .needs(Needs::Identity)
            .says("List the members of a space").checks(Scope::Read, "For members of the space. A token of another space must have the scope admin.")
            .pages()
            .answers(200, "MemberList"),
        Route::put("/spaces/{id}/members/{user}", put_member)
            .needs(Needs::Identity)
            .says("Change the role of a member, or invite a user by name; an operator adds a user at once").checks(Scope::Admin, "For admins of the space; a token must have the scope admin.")
            .takes("MemberInput")
            .answers(200, "Member")
            .answers(202, "Invitation"),
        Route::delete("/spaces/{id}/members/{user}", remove_member)
            .needs(Needs::Identity)
            .says("Remove a user from a space; every member may leave, except the last admin").checks(Scope::Admin, "For admins of the space, and for members who leave; a token must have the scope admin.")
            .answers(200, "Member"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpaceInput {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberInput {
    role: Role,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    space: Space,
    role: Role,
}

async fn create(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let SpaceInput { name } = read(body)?;
    if visitor.scope != Scope::Admin {
        return Err(not_allowed().into());
    }
    check_name(&name)?;
    if saving.dry_run {
        let (id, now) = (SpaceId::from(Uuid::now_v7()), now());
        let space = Space { id, name, is_personal: false, version: 1, created_at: now, updated_at: now };
        return Ok(envelope::success(StatusCode::OK, Shown { space, role: Role::Admin }));
    }
    let space = state.store_for(&visitor).create_space(&name, visitor.user.id).await?;
    Ok(shown(StatusCode::CREATED, space, Role::Admin))
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let page = page.checked()?;
    // A token of lesser scope sees its own space only.
    if !visitor.may_act_for_itself() {
        let own = find(&state, &visitor, &visitor.space.to_string()).await?;
        let own: Vec<Shown> = [own].into_iter().map(|(space, role)| Shown { space, role }).collect();
        return Ok(envelope::page(&own, None));
    }
    let (spaces, next) = state.store.list_spaces(visitor.user.id, &page).await?;
    let spaces: Vec<Shown> = spaces.into_iter().map(|(space, role)| Shown { space, role }).collect();
    Ok(envelope::page(&spaces, next))
}

async fn show(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
) -> Result<Response, Failure> {
    let (space, role) = find(&state, &visitor, &id).await?;
    Ok(shown(StatusCode::OK, space, role))
}

async fn rename(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(saving): Parameters<Saving>,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let mut body = camel_keys(body);
    let kept = if let Value::Object(fields) = &mut body { take(fields, &KEPT_BY_SERVER) } else { Map::new() };
    let SpaceInput { name } = read(body)?;
    let (space, role) = find(&state, &visitor, &id).await?;
    check_admin(&visitor, role)?;
    check_name(&name)?;
    let actual = serde_json::to_value(Shown { space: space.clone(), role }).unwrap_or_default();
    refuse(differing(&kept, &actual))?;
    let expected = if_match(&headers)?.unwrap_or(space.version);
    check_version(&space.name, space.version, expected)?;
    if name == space.name {
        return Ok(shown(StatusCode::OK, space, role));
    }
    if saving.dry_run {
        let space = Space { name, version: space.version + 1, updated_at: now(), ..space };
        return Ok(envelope::success(StatusCode::OK, Shown { space, role }));
    }
    let space = state.store_for(&visitor).rename_space(space.id, &name, expected).await?;
    Ok(shown(StatusCode::OK, space, role))
}

async fn remove(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(forced): Parameters<Forced>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (space, role) = find(&state, &visitor, &id).await?;
    check_admin(&visitor, role)?;
    if let Some(expected) = if_match(&headers)? {
        check_version(&space.name, space.version, expected)?;
    }
    let force = if forced.force { Force::Yes } else { Force::No };
    state.store_for(&visitor).delete_space(space.id, force).await?;
    state.visitors.forget();
    Ok(envelope::success(StatusCode::OK, Shown { space, role }))
}

async fn members(
    State(state): State<AppState>,
    Who(visitor): Who,
    Named(id): Named,
    Parameters(page): Parameters<ListOf>,
) -> Result<Response, Failure> {
    let (space, _) = find(&state, &visitor, &id).await?;
    let (members, next) = state.store.list_members(space.id, &page.checked()?).await?;
    Ok(envelope::page(&members, next))
}

async fn put_member(
    State(state): State<AppState>,
    Who(visitor): Who,
    NamedWithin(id, user): NamedWithin,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let MemberInput { role: given } = read(body)?;
    let (space, role) = find(&state, &visitor, &id).await?;
    check_admin(&visitor, role)?;
    let Some(user) = find_member(&state, &visitor, &space, &user).await? else {
        let invitation = state.store_for(&visitor).invite(space.id, &user, given, &visitor.user).await?;
        return Ok(envelope::success(StatusCode::ACCEPTED, invitation));
    };
    state.store_for(&visitor).put_member(space.id, user.id, given).await?;
    state.visitors.forget();
    Ok(envelope::success(StatusCode::OK, Member { user_id: user.id, name: user.name, role: given }))
}

async fn remove_member(
    State(state): State<AppState>,
    Who(visitor): Who,
    NamedWithin(id, user): NamedWithin,
) -> Result<Response, Failure> {
    let (space, role) = find(&state, &visitor, &id).await?;
    let is_own = user == visitor.user.name || user == visitor.user.id.to_string();
    if !(is_own && visitor.scope == Scope::Admin) {
        check_admin(&visitor, role)?;
    }
    let named = user;
    let user = find_user(&state, &named).await?;
    let Some(role) = state.store.role_of_member(space.id, user.id).await? else {
        return Err(no_such_user(&named).into());
    };
    state.store_for(&visitor).remove_member(space.id, user.id).await?;
    state.visitors.forget();
    Ok(envelope::success(StatusCode::OK, Member { user_id: user.id, name: user.name, role }))
}

/// The answer that shows a space, with its version.
fn shown(status: StatusCode, space: Space, role: Role) -> Response {
    let version = space.version;
    tagged(envelope::success(status, Shown { space, role }), version)
}

/// The rule that the store holds names to, for what is tried without it.
fn check_name(name: &str) -> Result<(), CallError> {
    let is_short = (1..=LONGEST_NAME).contains(&name.chars().count());
    let is_plain = name.trim() == name && !name.chars().any(char::is_control);
    if is_short && is_plain && Uuid::try_parse(name).is_err() {
        return Ok(());
    }
    let message = Message::new(&BAD_NAME).with("most", LONGEST_NAME);
    Err(CallError::invalid(vec![Violation::new("name", message)]))
}

/// The space, as long as one is a member and has not come with a token for another.
pub(crate) async fn find(state: &AppState, visitor: &Visitor, id: &str) -> Result<(Space, Role), CallError> {
    let not_found = || {
        let message = Message::new(&NO_SUCH_SPACE).with("name", id);
        CallError::new(ErrorKind::NotFound, message).detail("what", "space")
    };
    let space = id.parse::<SpaceId>().map_err(|_| not_found())?;
    if space != visitor.space && !visitor.may_act_for_itself() {
        return Err(not_found());
    }
    let role = state.store.role_of(space, visitor.user.id).await?.ok_or_else(not_found)?;
    let space = state.store.get_space(space).await?.ok_or_else(not_found)?;
    Ok((space, role))
}

/// The user whose role an admin may set directly: a member, or for an operator any user.
///
/// Returns `None` if the user has to be invited. That holds for users who do not exist, too, so that an admin
/// of a space cannot find out which accounts there are.
async fn find_member(
    state: &AppState,
    visitor: &Visitor,
    space: &Space,
    named: &str,
) -> Result<Option<User>, CallError> {
    if visitor.may(Needs::Operator) {
        return find_user(state, named).await.map(Some);
    }
    match find_user(state, named).await {
        // A deactivated user keeps the role and acts with it again after activation.
        Ok(user) if state.store.role_of_member(space.id, user.id).await?.is_some() => Ok(Some(user)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// By id or by name.
async fn find_user(state: &AppState, named: &str) -> Result<User, CallError> {
    let by_id = match named.parse::<UserId>() {
        Ok(id) => state.store.get_user(id).await?,
        Err(_) => None,
    };
    let found = match by_id {
        Some(user) => Some(user),
        None => state.store.find_user_by_name(named).await?,
    };
    found.ok_or_else(|| no_such_user(named))
}

pub(crate) fn check_admin(visitor: &Visitor, role: Role) -> Result<(), CallError> {
    if role == Role::Admin && visitor.scope == Scope::Admin { Ok(()) } else { Err(not_allowed()) }
}

pub(crate) fn not_allowed() -> CallError {
    CallError::new(ErrorKind::Permission, Message::new(&NOT_ALLOWED))
}
