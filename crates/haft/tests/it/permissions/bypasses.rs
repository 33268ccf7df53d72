//! Ways around the permissions that were found and closed.

use serde_json::json;

use super::assert_indistinguishable;
use super::world::{Resources, World, id, login, session};
use crate::agents::make;

#[tokio::test]
async fn user_who_is_no_member_is_not_found_by_id() {
    let world = World::start().await;
    let own = id(&make(&world.stranger, "/api/spaces", &json!({"name": "own"})).await);
    let (foreign, nothing) = (&world.by_id, Resources::missing_by_id());
    let path = |resources: &Resources| format!("/api/spaces/{own}/members/{}", resources.user);
    let reply = world.stranger.delete(&path(foreign)).await;
    assert_eq!(reply.status, 404, "{}", reply.body);
    let missing = world.stranger.delete(&path(&nothing)).await;
    assert_indistinguishable("DELETE a member by id", (&reply, &foreign.all()), (&missing, &nothing.all()));
}

#[tokio::test]
async fn rollback_needs_the_permission_to_save_the_older_version() {
    let world = World::start().await;
    let space = &world.by_id.space;
    let is_whole = |who: &str| {
        let found = world.actors.iter().find(|actor| actor.who == who && actor.rights.scope == "admin");
        &found.expect("an actor").client
    };
    let (steward, editor) = (is_whole("steward"), is_whole("editor"));
    // For now, the operator may edit in this space, too.
    super::world::put(
        &world.admin,
        &format!("/api/spaces/{space}/members/zeppelin_steward"),
        &json!({"role": "editor"}),
    )
    .await;
    let narrow = json!({"name": "wide", "description": "Calls.", "url": "https://api.example.com/x"});
    let mut wide = narrow.clone();
    wide["security"] = json!({"allowedDomains": ["*"]});
    make(steward, "/api/tools", &wide).await;
    assert_eq!(steward.put("/api/tools/wide", &narrow).await.status, 200);
    let refused = editor.put("/api/tools/wide", &wide).await;
    assert_eq!((refused.status, refused.kind()), (403, "Permission"), "{}", refused.body);
    let back = editor.post("/api/tools/wide/rollback", &json!({"version": 1})).await;
    assert_eq!((back.status, back.kind()), (403, "Permission"), "{}", back.body);
    let back = steward.post("/api/tools/wide/rollback", &json!({"version": 1})).await;
    assert_eq!(back.status, 200, "{}", back.body);
}

#[tokio::test]
async fn personal_space_cannot_be_taken_over() {
    let world = World::start().await;
    let mut people = Vec::new();
    for name in ["owner", "guest"] {
        let body = json!({"name": name, "password": super::world::PASSWORD});
        make(&world.operator, "/api/users", &body).await;
        let entered = login(&world.anyone, name).await;
        let space = id(&entered.data()["space"]);
        people.push((session(&world.anyone, &entered), space));
    }
    let [(owner, of_owner), (guest, of_guest)] = &people[..] else { panic!("two people") };
    // These requests may be refused or not. They must not change where another user's session works.
    guest.put(&format!("/api/spaces/{of_guest}/members/owner"), &json!({"role": "viewer"})).await;
    owner.put(&format!("/api/spaces/{of_owner}/members/guest"), &json!({"role": "admin"})).await;
    assert_eq!(owner.get("/api/me").await.data()["space"]["id"], of_owner.as_str());
    guest.delete(&format!("/api/spaces/{of_owner}/members/owner")).await;
    owner.delete(&format!("/api/spaces/{of_owner}/members/owner")).await;
    let entered = login(&world.anyone, "owner").await;
    assert_eq!(entered.status, 200, "{}", entered.body);
    assert_eq!(entered.data()["space"]["id"], of_owner.as_str(), "{}", entered.body);
    assert_eq!(entered.data()["role"], "admin", "{}", entered.body);
}
