//! Tools and versions: atomic saves, optimistic locking, approval, rollback, bindings.

use haft_core::agent::{AgentBinding, AgentSpec};
use haft_core::{ErrorKind, Locale, ToolId, ToolName};
use haft_store::{Apply, Force, PutTool, SecretOwnerId, VersionState};
use secrecy::SecretString;
use uuid::Uuid;

use crate::support::{both, kind, next, put_tool, tool, user};

#[tokio::test]
async fn tools_round_trip_with_versions() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut put = tool(home.id, "weather");
        put.version.owner_id = Some(ada.id);
        put.version.spec.config.insert("url".to_owned(), "https://例え.jp/{city}?\u{0}".into());
        let given = put.version.clone();
        let kept = store.put_tools(home.id, vec![put], &[], Some(ada.id)).await.expect("stored");
        assert_eq!(kept, std::slice::from_ref(&given));
        assert_eq!(store.get_tool(home.id, &given.id).await.expect("found"), Some(given.clone()));
        let all = store.tools_since(home.id, 0).await.expect("a list");
        assert_eq!(all.changed, std::slice::from_ref(&given));

        let second = next(&given, "Better.", VersionState::Live);
        let kept = store.put_tools(home.id, vec![second], &[], None).await.expect("stored");
        assert_eq!((kept[0].version, kept[0].owner_id), (2, Some(ada.id)));
        let first = store.get_version(home.id, &given.id, 1).await.expect("found");
        assert_eq!(first, Some(given.clone()), "versions are immutable");
        let versions = store.versions(home.id, &given.id).await.expect("a list");
        let versions: Vec<_> = versions.iter().map(|info| (info.version, info.created_by)).collect();
        assert_eq!(versions, [(2, None), (1, Some(ada.id))]);
    })
    .await;
}

#[tokio::test]
async fn stale_tool_changes_are_rejected() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let weather = put_tool(&store, home.id, "weather").await;
        let again = PutTool { expected: None, ..next(&weather, "Again.", VersionState::Live) };
        assert_eq!(kind(store.put_tools(home.id, vec![again], &[], None).await), ErrorKind::Conflict);
        let taken = tool(home.id, "weather");
        assert_eq!(kind(store.put_tools(home.id, vec![taken], &[], None).await), ErrorKind::Conflict);
        let absent = PutTool { expected: Some(1), ..tool(home.id, "absent") };
        assert_eq!(kind(store.put_tools(home.id, vec![absent], &[], None).await), ErrorKind::NotFound);

        let (one, other) =
            (next(&weather, "One.", VersionState::Live), next(&weather, "Other.", VersionState::Live));
        let (one, other) = tokio::join!(
            store.put_tools(home.id, vec![one], &[], None),
            store.put_tools(home.id, vec![other], &[], None),
        );
        let lost = [one, other].into_iter().filter_map(Result::err).collect::<Vec<_>>();
        assert_eq!(lost.iter().map(|error| error.kind()).collect::<Vec<_>>(), [ErrorKind::Conflict]);
        assert_eq!(lost[0].details(Locale::En)["version"], 2);
    })
    .await;
}

#[tokio::test]
async fn saving_several_tools_is_atomic() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let taken = put_tool(&store, home.id, "taken").await;
        let before = store.current_revision().await.expect("a revision");
        let tools = vec![tool(home.id, "first"), tool(home.id, "second"), tool(home.id, "taken")];
        assert_eq!(kind(store.put_tools(home.id, tools, &[], None).await), ErrorKind::Conflict);
        assert_eq!(store.tools_since(home.id, 0).await.expect("a list").changed, [taken]);
        assert_eq!(store.current_revision().await.expect("a revision"), before, "nothing happened");

        let tools = vec![tool(home.id, "first"), tool(home.id, "second")];
        assert_eq!(store.put_tools(home.id, tools, &[], None).await.expect("stored").len(), 2);
        assert_eq!(store.tools_since(home.id, 0).await.expect("a list").live.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn held_versions_wait_for_approval() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let first = put_tool(&store, home.id, "weather").await;
        let held = next(&first, "Changed by its server.", VersionState::Held);
        let held = store.put_tools(home.id, vec![held], &[], None).await.expect("stored").remove(0);
        assert_eq!(held.version, 2);
        let live = store.get_tool(home.id, &first.id).await.expect("found");
        assert_eq!(live, Some(first.clone()), "the one before is called");
        let back = store.roll_back(home.id, &first.id, 2, 1, "no", None).await;
        assert_eq!(kind(back), ErrorKind::Conflict, "a rollback is not an approval");
        let approved = store.approve_version(home.id, &first.id, 1, 1).await;
        assert_eq!(kind(approved), ErrorKind::Conflict, "only held versions can be approved");
        assert_eq!(kind(store.approve_version(home.id, &first.id, 2, 7).await), ErrorKind::Conflict);
        assert_eq!(kind(store.approve_version(home.id, &first.id, 9, 1).await), ErrorKind::NotFound);

        let live = store.approve_version(home.id, &first.id, 2, 1).await.expect("approved");
        assert_eq!(live, held);
        assert_eq!(store.get_tool(home.id, &first.id).await.expect("found"), Some(live));

        let back = store.roll_back(home.id, &first.id, 1, 2, "as before", None).await.expect("back");
        assert_eq!((back.version, &back.spec), (3, &first.spec));
        let versions = store.versions(home.id, &first.id).await.expect("a list");
        assert_eq!(versions[0].note, "as before");
        assert_eq!(kind(store.roll_back(home.id, &first.id, 1, 2, "late", None).await), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn tools_without_a_live_version_are_not_listed() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let put = PutTool { state: VersionState::Held, ..tool(home.id, "weather") };
        let id = put.version.id.clone();
        store.put_tools(home.id, vec![put], &[], None).await.expect("stored");
        assert!(store.tools_since(home.id, 0).await.expect("a list").live.is_empty());
        assert_eq!(store.get_tool(home.id, &id).await.expect("a result"), None);
        for sought in ["weather".to_owned(), id.to_string(), id.to_string().to_uppercase()] {
            let found = store.find_tool(home.id, &sought).await.expect("a result").expect("found");
            assert_eq!((found.id, found.version), (id.clone(), 1), "{sought}");
        }
        assert_eq!(store.find_tool(home.id, "absent").await.expect("a result"), None);
        assert_eq!(
            kind(store.put_tools(home.id, vec![tool(home.id, "weather")], &[], None).await),
            ErrorKind::Conflict
        );
        store.approve_version(home.id, &id, 1, 1).await.expect("approved");
        assert_eq!(store.tools_since(home.id, 0).await.expect("a list").live.len(), 1);
        let live = store.get_tool(home.id, &id).await.expect("found").expect("one");
        let held = next(&live, "Changed.", VersionState::Held);
        store.put_tools(home.id, vec![held], &[], None).await.expect("stored");
        let found = store.find_tool(home.id, "weather").await.expect("a result");
        assert_eq!(found, Some(live), "the live one before the one that is held");
    })
    .await;
}

#[tokio::test]
async fn tools_since_returns_changes_after_a_revision() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let stays = put_tool(&store, home.id, "stays").await;
        let goes = put_tool(&store, home.id, "goes").await;
        let seen = store.current_revision().await.expect("a revision");
        let changes = put_tool(&store, home.id, "changes").await;
        store.delete_tool(home.id, &goes.id, Some(1), Force::No).await.expect("deleted");

        let since = store.tools_since(home.id, seen).await.expect("a result");
        assert_eq!(since.live, [(changes.id.clone(), 1), (stays.id.clone(), 1)]);
        assert_eq!(since.changed, [changes]);
        let all = store.tools_since(home.id, 0).await.expect("a result");
        assert_eq!(all.changed.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_state_of_tools_differs_only_after_changes() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let (_, away) = user(&store, "bob").await;
        let mut states = vec![store.tools_fingerprint(home.id).await.expect("a state")];
        let mut differs = async |is_expected: bool, what: &str| {
            let state = store.tools_fingerprint(home.id).await.expect("a state");
            assert_eq!(states.last() != Some(&state), is_expected, "{what}");
            states.push(state);
        };
        let first = put_tool(&store, home.id, "first").await;
        differs(true, "one was added").await;
        put_tool(&store, away.id, "foreign").await;
        differs(false, "another space's").await;
        let value = SecretString::from("value".to_owned());
        store.put_secret(home.id, SecretOwnerId::Space, "KEY", &value, None).await.expect("a secret");
        differs(false, "a secret").await;
        let held = next(&first, "Held.", VersionState::Held);
        store.put_tools(home.id, vec![held], &[], None).await.expect("held");
        differs(false, "a version that is not called").await;
        store
            .put_tools(home.id, vec![next(&first, "Live.", VersionState::Live)], &[], None)
            .await
            .expect("live");
        differs(true, "a version that is").await;
        store.delete_tool(home.id, &first.id, None, Force::No).await.expect("deleted");
        differs(true, "one was deleted").await;
    })
    .await;
}

#[tokio::test]
async fn unreadable_tools_are_omitted() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let whole = put_tool(&store, home.id, "whole").await;
        let broken = put_tool(&store, home.id, "broken").await;
        db.raw(&format!("UPDATE tool_versions SET spec = '{{}}' WHERE tool_id = '{}'", broken.id)).await;
        let all = store.tools_since(home.id, 0).await.expect("the others");
        assert_eq!((all.live, all.changed), (vec![(whole.id.clone(), 1)], vec![whole]));
        assert_eq!(kind(store.get_tool(home.id, &broken.id).await), ErrorKind::Internal);
    })
    .await;
}

#[tokio::test]
async fn an_apply_cannot_delete_tools_that_remaining_agents_bind() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let weather = put_tool(&store, home.id, "weather").await;
        let mut ids = Vec::new();
        for name in ["goes", "stays"] {
            let bindings = vec![AgentBinding::new(weather.id.clone())];
            let spec = AgentSpec { bindings, ..AgentSpec::new(name) };
            ids.push(store.create_agent(home.id, None, spec).await.expect("an agent").id);
        }
        let gone = |force| Apply {
            deleted_agents: vec![ids[0]],
            deleted_tools: vec![weather.id.clone()],
            force,
            ..Apply::default()
        };
        let refused = store.apply(home.id, gone(Force::default()), None).await.expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(refused.details(Locale::En)["agents"], serde_json::json!(["stays"]));
        assert!(store.get_agent(home.id, "goes").await.expect("a result").is_some(), "nothing happened");

        // An agent that no longer binds the tool does not block its deletion.
        let changed = Apply { agents: vec![(Some((ids[1], 1)), AgentSpec::new("stays"))], ..gone(Force::No) };
        store.apply(home.id, changed, None).await.expect("applied");
        assert_eq!(store.get_tool(home.id, &weather.id).await.expect("a result"), None);
        assert_eq!(store.get_agent(home.id, "goes").await.expect("a result"), None);
    })
    .await;
}

#[tokio::test]
async fn a_forced_apply_unbinds_deleted_tools() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let weather = put_tool(&store, home.id, "weather").await;
        let bindings = vec![AgentBinding::new(weather.id.clone())];
        let spec = AgentSpec { bindings, ..AgentSpec::new("clerk") };
        store.create_agent(home.id, None, spec).await.expect("an agent");
        let gone = Apply { deleted_tools: vec![weather.id], force: Force::Yes, ..Apply::default() };
        store.apply(home.id, gone, None).await.expect("applied");
        let clerk = store.get_agent(home.id, "clerk").await.expect("found").expect("one");
        assert!(clerk.spec.bindings.is_empty() && clerk.version == 2);
    })
    .await;
}

#[tokio::test]
async fn deleting_a_bound_tool_needs_force() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let weather = put_tool(&store, home.id, "weather").await;
        let calculator = ToolId::Named(ToolName::constant("calculator"));
        let spec = AgentSpec {
            bindings: vec![AgentBinding::new(calculator.clone()), AgentBinding::new(weather.id.clone())],
            ..AgentSpec::new("clerk")
        };
        let clerk = store.create_agent(home.id, None, spec).await.expect("an agent");
        let refused = store.delete_tool(home.id, &weather.id, None, Force::No).await.expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        assert_eq!(refused.details(Locale::En)["agents"], serde_json::json!(["clerk"]));
        assert_eq!(
            kind(store.delete_tool(home.id, &weather.id, Some(7), Force::Yes).await),
            ErrorKind::Conflict
        );

        store.delete_tool(home.id, &weather.id, Some(1), Force::Yes).await.expect("deleted");
        let clerk = store.get_agent(home.id, &clerk.id.to_string()).await.expect("found").expect("one");
        assert_eq!(clerk.version, 2);
        assert_eq!(clerk.spec.tool_ids(), [&calculator]);
        let absent = ToolId::Uuid(Uuid::now_v7());
        assert_eq!(kind(store.delete_tool(home.id, &absent, None, Force::Yes).await), ErrorKind::NotFound);
    })
    .await;
}
