//! Ways around the rights that were found, each closed for good.

use serde_json::json;

use super::same;
use super::world::{Things, World, id, login, session};
use crate::agents::make;

#[tokio::test]
async fn a_user_who_is_no_member_is_not_there_by_id() {
    let world = World::start().await;
    let own = id(&make(&world.stranger, "/api/spaces", &json!({"name": "own"})).await);
    let (foreign, nothing) = (&world.by_id, Things::missing_by_id());
    let path = |things: &Things| format!("/api/spaces/{own}/members/{}", things.user);
    let reply = world.stranger.delete(&path(foreign)).await;
    assert_eq!(reply.status, 404, "{}", reply.body);
    let missing = world.stranger.delete(&path(&nothing)).await;
    same("DELETE a member by id", (&reply, &foreign.all()), (&missing, &nothing.all()));
}

#[tokio::test]
async fn going_back_needs_the_right_to_save_what_one_goes_back_to() {
    let world = World::start().await;
    let space = &world.by_id.space;
    let is_whole = |who: &str| {
        let found = world.actors.iter().find(|actor| actor.who == who && actor.rights.scope == "admin");
        &found.expect("an actor").client
    };
    let (steward, editor) = (is_whole("steward"), is_whole("editor"));
    // Who runs the server may edit here too, for now.
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
async fn a_personal_space_stays_its_users_own() {
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
    // Whether these are refused or not: where a session works is not for others to say.
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
