//! Users and passwords, spaces and members.

use haft_core::ErrorKind;
use haft_core::space::Role;
use haft_store::{Force, Page};
use secrecy::SecretString;

use crate::support::{all, both, kind, put_tool, user};

#[tokio::test]
async fn users_are_created_with_a_personal_space() {
    both(async |db| {
        let store = db.open().await;
        assert_eq!(store.count_users().await.expect("a count"), 0);
        let (ada, home) = user(&store, "ada").await;
        assert!(home.is_personal);
        assert_eq!(store.role_of(home.id, ada.id).await.expect("a role"), Some(Role::Admin));
        assert_eq!(store.get_user(ada.id).await.expect("found"), Some(ada.clone()));
        assert_eq!(store.find_user_by_name("ada").await.expect("found"), Some(ada));

        assert_eq!(kind(store.create_user("ada", None, false).await), ErrorKind::Conflict);
        assert_eq!(kind(store.create_user(" ", None, false).await), ErrorKind::Validation);
        assert_eq!(store.count_users().await.expect("a count"), 1);
        assert_eq!(kind(store.delete_space(home.id, Force::Yes).await), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn personal_spaces_have_no_other_members() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        for role in [Role::Viewer, Role::Admin] {
            assert_eq!(kind(store.put_member(home.id, bob.id, role).await), ErrorKind::Conflict);
        }
        assert_eq!(kind(store.remove_member(home.id, ada.id).await), ErrorKind::Conflict);
        assert_eq!(kind(store.remove_member(home.id, bob.id).await), ErrorKind::NotFound);
        assert_eq!(kind(store.put_member(home.id, ada.id, Role::Editor).await), ErrorKind::Conflict);
        store.put_member(home.id, ada.id, Role::Admin).await.expect("no change");

        // Each user has a personal space, even as a member of another personal space.
        let rows = format!(
            "INSERT INTO members (space_id, user_id, role) VALUES ('{}', '{}', 'viewer');
             INSERT INTO members (space_id, user_id, role) VALUES ('{}', '{}', 'viewer');",
            away.id, ada.id, home.id, bob.id
        );
        db.raw(&rows).await;
        for (user, space) in [(&ada, &home), (&bob, &away)] {
            let own = store.personal_space(user.id).await.expect("a result");
            assert_eq!(own, Some((space.id, Role::Admin)), "{}", user.name);
        }
    })
    .await;
}

#[tokio::test]
async fn inactive_admins_are_not_the_oldest_admin() {
    both(async |db| {
        let store = db.open().await;
        assert_eq!(store.oldest_admin().await.expect("a result"), None);
        user(&store, "ada").await;
        let (bob, _) = store.create_user("bob", None, true).await.expect("a user");
        let (cyd, _) = store.create_user("cyd", None, true).await.expect("a user");
        assert_eq!(store.oldest_admin().await.expect("a result"), Some(bob.clone()));
        store.set_user_rights(bob.id, false, true).await.expect("deactivated");
        assert_eq!(store.oldest_admin().await.expect("a result"), Some(cyd));
    })
    .await;
}

#[tokio::test]
async fn passwords_are_verified_and_stored_as_hashes_only() {
    both(async |db| {
        let store = db.open().await;
        let (right, wrong) = (SecretString::from("correct horse"), SecretString::from("wrong horse"));
        let (ada, _) = store.create_user("ada", Some(&right), true).await.expect("a user");
        let found = store.verify_password("ada", &right).await.expect("a result");
        assert_eq!(found, Some(ada.clone()));
        assert_eq!(store.verify_password("ada", &wrong).await.expect("a result"), None);
        assert_eq!(store.verify_password("nobody", &right).await.expect("a result"), None);

        store.set_user_rights(ada.id, false, false).await.expect("deactivated");
        assert_eq!(store.verify_password("ada", &right).await.expect("a result"), None);
        store.set_user_rights(ada.id, true, false).await.expect("activated");

        let session = store.create_session(ada.id, std::time::Duration::from_secs(60)).await.expect("one");
        store.set_password(ada.id, &wrong).await.expect("changed");
        assert_eq!(store.verify_password("ada", &right).await.expect("a result"), None);
        assert!(store.verify_password("ada", &wrong).await.expect("a result").is_some());
        assert_eq!(crate::identity::session_of(&store, &session).await, None, "it outlived its password");

        let short = SecretString::from("short");
        assert_eq!(kind(store.set_password(ada.id, &short).await), ErrorKind::Validation);
    })
    .await;
}

#[tokio::test]
async fn pages_continue_after_the_cursor() {
    both(async |db| {
        let store = db.open().await;
        for name in ["cyd", "ada", "eve", "bob", "dan"] {
            user(&store, name).await;
        }
        let mut names = Vec::new();
        let mut page = Page::first(2);
        loop {
            let (users, next) = store.list_users(&page).await.expect("a page");
            assert!(users.len() <= 2);
            names.extend(users.into_iter().map(|user| user.name));
            let Some(next) = next else { break };
            page.cursor = Some(next);
        }
        assert_eq!(names, ["ada", "bob", "cyd", "dan", "eve"]);

        let bad = Page { limit: 2, cursor: Some("made up".to_owned()) };
        assert_eq!(kind(store.list_users(&bad).await), ErrorKind::Validation);
    })
    .await;
}

#[tokio::test]
async fn stale_space_renames_are_rejected() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let team = store.create_space("team", ada.id).await.expect("a space");
        let renamed = store.rename_space(team.id, "the team", 1).await.expect("renamed");
        assert_eq!((renamed.name.as_str(), renamed.version), ("the team", 2));
        assert_eq!(store.get_space(team.id).await.expect("found"), Some(renamed));
        assert_eq!(kind(store.rename_space(team.id, "late", 1).await), ErrorKind::Conflict);

        let (spaces, _) = store.list_spaces(ada.id, &all()).await.expect("a list");
        let spaces: Vec<_> = spaces.iter().map(|(space, role)| (space.name.as_str(), *role)).collect();
        assert_eq!(spaces, [("ada", Role::Admin), ("the team", Role::Admin)]);
    })
    .await;
}

#[tokio::test]
async fn deleting_a_space_with_contents_needs_force() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let team = store.create_space("team", ada.id).await.expect("a space");
        let tool = put_tool(&store, team.id, "weather").await;
        assert_eq!(kind(store.delete_space(team.id, Force::No).await), ErrorKind::Conflict);
        store.delete_space(team.id, Force::Yes).await.expect("deleted");
        assert_eq!(store.get_space(team.id).await.expect("a result"), None);
        assert_eq!(store.get_tool(team.id, &tool.id).await.expect("a result"), None);
        assert!(store.versions(team.id, &tool.id).await.expect("a result").is_empty());
        assert_eq!(kind(store.delete_space(team.id, Force::Yes).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn the_last_admin_cannot_be_removed() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, _), (bob, _)) = (user(&store, "ada").await, user(&store, "bob").await);
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        assert_eq!(kind(store.remove_member(team, ada.id).await), ErrorKind::Conflict);
        assert_eq!(kind(store.put_member(team, ada.id, Role::Editor).await), ErrorKind::Conflict);
        store.put_member(team, ada.id, Role::Admin).await.expect("no change");

        store.put_member(team, bob.id, Role::Viewer).await.expect("a member");
        assert_eq!(kind(store.remove_member(team, ada.id).await), ErrorKind::Conflict);
        store.put_member(team, bob.id, Role::Admin).await.expect("an admin");
        // An admin who cannot log in does not count.
        store.set_user_rights(bob.id, false, false).await.expect("deactivated");
        assert_eq!(kind(store.remove_member(team, ada.id).await), ErrorKind::Conflict);
        store.set_user_rights(bob.id, true, false).await.expect("activated");

        store.put_member(team, ada.id, Role::Caller).await.expect("demoted");
        let (members, _) = store.list_members(team, &all()).await.expect("a list");
        let members: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.role)).collect();
        assert_eq!(members, [("ada", Role::Caller), ("bob", Role::Admin)]);
        store.remove_member(team, ada.id).await.expect("removed");
        assert_eq!(kind(store.remove_member(team, ada.id).await), ErrorKind::NotFound);
        assert_eq!(store.role_of(team, ada.id).await.expect("a result"), None);
    })
    .await;
}
