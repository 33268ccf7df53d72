//! The history: one entry per changed object, with its author and without secrets.

use std::time::Duration;

use haft_core::agent::{AgentBinding, AgentSpec};
use haft_core::space::Role;
use haft_core::user::Scope;
use haft_core::{ErrorKind, SpaceId, UserId};
use haft_store::{
    Apply, CredentialHash, Force, HistoryEntry, HistoryFilter, HistoryVisibility, Page, SecretOwnerId, Store,
    VersionState, What, no_space,
};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use crate::support::{all, both, kind, next, provider, put_tool, tool, user};

/// The new history entries of some spaces, and of objects outside of spaces.
struct Record {
    spaces: Vec<SpaceId>,
    last: u64,
    by: Option<UserId>,
}

impl Record {
    async fn of(store: &Store, spaces: Vec<SpaceId>, by: Option<UserId>) -> Self {
        let mut record = Self { spaces, last: 0, by };
        record.entries(store).await;
        record
    }

    async fn entries(&mut self, store: &Store) -> Vec<HistoryEntry> {
        let mut found = Vec::new();
        for space in self.spaces.iter().copied().chain([no_space()]) {
            found.extend(store.history_since(space, self.last, 1000).await.expect("entries"));
        }
        found.sort_by_key(|entry| entry.seq);
        let numbers: Vec<u64> = found.iter().map(|entry| entry.seq).collect();
        let expected: Vec<u64> = (self.last + 1..).take(found.len()).collect();
        assert_eq!(numbers, expected, "no sequence number is missing");
        self.last += found.len() as u64;
        found
    }

    /// Formats each new entry as `tool.updated weather 2 {"changed":["description"]}`.
    async fn new_entries(&mut self, store: &Store) -> Vec<String> {
        let mut entries = Vec::new();
        for mut entry in self.entries(store).await {
            assert_eq!(entry.user, self.by, "{entry:?}");
            for id in ["spaceId", "userId"] {
                let fields = entry.details.as_object_mut().expect("an object");
                assert!(fields.shift_remove(id).is_none_or(|id| id.is_string()));
            }
            let version = entry.version.map_or_else(|| "-".to_owned(), |version| version.to_string());
            entries.push(format!("{} {} {version} {}", entry.event_name(), entry.name, entry.details));
        }
        entries
    }
}

#[tokio::test]
async fn changes_of_tools_and_agents_are_recorded() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut record = Record::of(&store, vec![home.id], Some(ada.id)).await;
        let store = store.acting_for(Some(ada.id));
        let put = async |put| {
            store.put_tools(home.id, vec![put], &[], None).await.expect("stored").pop().expect("one")
        };
        let first = put(tool(home.id, "weather")).await;
        let second = put(next(&first, "Other.", VersionState::Live)).await;
        put(next(&second, "Held.", VersionState::Held)).await;
        store.approve_version(home.id, &first.id, 3, 2).await.expect("approved");
        store.roll_back(home.id, &first.id, 1, 3, "", None).await.expect("rolled back");
        assert_eq!(
            record.new_entries(&store).await,
            [
                r#"tool.created weather 1 {}"#,
                r#"tool.updated weather 2 {"changed":["description"]}"#,
                r#"tool.updated weather 3 {"changed":["description"],"held":true}"#,
                r#"tool.approved weather 3 {"changed":["description"]}"#,
                r#"tool.rolledBack weather 4 {"changed":["description"],"backTo":1}"#,
            ]
        );

        let bindings = vec![AgentBinding::new(first.id.clone())];
        let spec = AgentSpec { bindings, ..AgentSpec::new("clerk") };
        let clerk = store.create_agent(home.id, None, spec.clone()).await.expect("an agent");
        let renamed = AgentSpec { name: "writer".to_owned(), is_active: false, ..spec };
        store.put_agent(home.id, clerk.id, renamed, 1).await.expect("changed");
        store.delete_tool(home.id, &first.id, None, Force::Yes).await.expect("deleted");
        store.delete_agent(home.id, clerk.id, None).await.expect("deleted");
        assert_eq!(
            record.new_entries(&store).await,
            [
                r#"agent.created clerk 1 {}"#,
                r#"agent.updated writer 2 {"changed":["name","isActive"]}"#,
                r#"agent.updated writer 3 {"changed":["bindings"]}"#,
                r#"tool.deleted weather 4 {}"#,
                r#"agent.deleted writer 3 {}"#,
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn an_apply_records_each_object_and_a_failed_one_nothing() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut record = Record::of(&store, vec![home.id], Some(ada.id)).await;
        let store = store.acting_for(Some(ada.id));
        let value = SecretString::from("a value");
        let old = put_tool(&store, home.id, "old").await;
        let gone = store.create_agent(home.id, None, AgentSpec::new("gone")).await.expect("an agent");
        record.new_entries(&store).await;
        let apply = |tools| Apply {
            tools,
            secrets: vec![("KEY".to_owned(), value.clone())],
            agents: vec![(None, AgentSpec::new("clerk"))],
            deleted_agents: vec![gone.id],
            deleted_tools: vec![old.id.clone()],
            ..Apply::default()
        };
        let twice = apply(vec![tool(home.id, "weather"), tool(home.id, "weather")]);
        assert_eq!(kind(store.apply(home.id, twice, None).await), ErrorKind::Conflict);
        assert!(record.new_entries(&store).await.is_empty(), "the failed apply is not recorded");

        store.apply(home.id, apply(vec![tool(home.id, "weather")]), None).await.expect("applied");
        assert_eq!(
            record.new_entries(&store).await,
            [
                "agent.deleted gone 1 {}",
                "secret.set KEY - {}",
                "tool.created weather 1 {}",
                "agent.created clerk 1 {}",
                "tool.deleted old 1 {}",
            ]
        );
        let revision = store.current_revision().await.expect("a revision");
        store.apply(home.id, Apply::default(), None).await.expect("no change");
        store.put_tools(home.id, Vec::new(), &[], None).await.expect("no change");
        assert!(record.new_entries(&store).await.is_empty());
        assert_eq!(store.current_revision().await.expect("a revision"), revision);
        let verification = store.verify_history().await.expect("verified");
        assert_eq!((verification.checked, verification.fault), (8, None));
    })
    .await;
}

#[tokio::test]
async fn changes_of_providers_and_secrets_are_recorded_by_name() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let mut record = Record::of(&store, vec![home.id], Some(ada.id)).await;
        let store = store.acting_for(Some(ada.id));
        let openai = store.create_provider(home.id, provider("openai")).await.expect("a provider");
        store.put_provider(home.id, openai.id, provider("mine"), 1).await.expect("changed");
        store.delete_provider(home.id, openai.id, None).await.expect("deleted");
        let value = SecretString::from("a-value-that-nobody-else-has");
        for owner in [SecretOwnerId::Space, SecretOwnerId::User(ada.id)] {
            store.put_secret(home.id, owner, "KEY", &value, None).await.expect("stored");
            store.put_secret(home.id, owner, "KEY", &value, None).await.expect("stored again");
            store.delete_secret(home.id, owner, "KEY").await.expect("deleted");
            assert_eq!(kind(store.delete_secret(home.id, owner, "KEY").await), ErrorKind::NotFound);
        }
        let entries = record.new_entries(&store).await;
        assert_eq!(
            entries,
            [
                r#"provider.created openai 1 {}"#,
                r#"provider.updated mine 2 {"changed":["name"]}"#,
                r#"provider.deleted mine 2 {}"#,
                "secret.set KEY - {}",
                "secret.set KEY - {}",
                "secret.deleted KEY - {}",
                "ownSecret.set KEY - {}",
                "ownSecret.set KEY - {}",
                "ownSecret.deleted KEY - {}",
            ]
        );
        assert!(!entries.join("\n").contains(value.expose_secret()));
    })
    .await;
}

#[tokio::test]
async fn changes_of_users_are_recorded_without_credentials() {
    both(async |db| {
        let server = db.open().await;
        let (ada, home) = user(&server, "ada").await;
        let mut record = Record::of(&server, vec![home.id], Some(ada.id)).await;
        let store = server.acting_for(Some(ada.id));
        let password = SecretString::from("correct horse battery");
        let (bob, _) = store.create_user("bob", Some(&password), false).await.expect("a user");
        let team = store.create_space("team", ada.id).await.expect("a space");
        record.spaces.push(team.id);
        store.rename_space(team.id, "the team", 1).await.expect("renamed");
        for role in [Role::Viewer, Role::Viewer, Role::Editor] {
            store.put_member(team.id, bob.id, role).await.expect("a member");
        }
        let (token, value) =
            store.create_token(team.id, bob.id, "laptop", Scope::Read, None).await.expect("a token");
        store.delete_token(team.id, token.id).await.expect("revoked");
        store.remove_member(team.id, bob.id).await.expect("removed");
        for _ in 0..2 {
            store.set_user_rights(bob.id, false, false).await.expect("deactivated");
        }
        store.set_password(bob.id, &password).await.expect("set");
        store.delete_space(team.id, Force::Yes).await.expect("deleted");
        let entries = record.new_entries(&store).await;
        assert_eq!(
            entries,
            [
                r#"user.created bob - {"isAdmin":false}"#,
                r#"space.created team 1 {}"#,
                r#"space.updated the team 2 {"changed":["name"]}"#,
                r#"member.added bob - {"role":"viewer"}"#,
                r#"member.updated bob - {"role":"editor","before":"viewer"}"#,
                r#"token.created laptop - {"scope":"read","expiresAt":null}"#,
                r#"token.revoked laptop - {}"#,
                r#"member.removed bob - {"before":"editor"}"#,
                r#"user.updated bob - {"changed":["isActive"],"isActive":false,"isAdmin":false}"#,
                r#"user.passwordSet bob - {}"#,
                r#"space.deleted the team 2 {}"#,
            ]
        );
        let words = entries.join("\n");
        for secret in [password.expose_secret(), value.expose_secret(), token.prefix.as_str()] {
            assert!(!words.contains(secret), "{words}");
        }
        let (outside, _) = store.history(no_space(), &HistoryFilter::default(), &all()).await.expect("some");
        assert_eq!(outside[0].id, team.id.to_string(), "the deletion of a space is recorded outside of it");

        // Sessions and login links are not configuration.
        let minute = Duration::from_secs(60);
        let session = store.create_session(ada.id, minute).await.expect("a session");
        store.delete_session(&CredentialHash::of(session.expose_secret())).await.expect("ended");
        store.create_login_link(ada.id, minute).await.expect("a link");
        store.delete_expired().await.expect("deleted");
        assert!(record.new_entries(&store).await.is_empty());

        // Changes by the server itself have no author.
        record.by = None;
        server.create_token(home.id, ada.id, "first", Scope::Admin, None).await.expect("a token");
        assert_eq!(record.new_entries(&server).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn entries_are_filtered_and_paginated() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let (adas, bobs) = (store.acting_for(Some(ada.id)), store.acting_for(Some(bob.id)));
        let weather = put_tool(&adas, home.id, "weather").await;
        let first = adas.last_history_seq(home.id).await.expect("a sequence number");
        let value = SecretString::from("a value");
        bobs.put_secret(home.id, SecretOwnerId::Space, "KEY", &value, None).await.expect("a secret");
        let own = SecretOwnerId::User(bob.id);
        bobs.put_secret(home.id, own, "MINE", &value, None).await.expect("a secret");
        tokio::time::sleep(Duration::from_millis(2)).await;
        store.create_agent(home.id, None, AgentSpec::new("clerk")).await.expect("an agent");
        put_tool(&bobs, away.id, "elsewhere").await;

        let found = async |filter: HistoryFilter| {
            let (entries, _) = store.history(home.id, &filter, &all()).await.expect("entries");
            entries.into_iter().map(|entry| entry.event_name()).collect::<Vec<_>>().join(" ")
        };
        let any = HistoryFilter::default;
        assert_eq!(found(any()).await, "agent.created ownSecret.set secret.set tool.created");
        assert_eq!(found(HistoryFilter { what: Some(What::Secret), ..any() }).await, "secret.set");
        let id = Some(weather.id.to_string());
        assert_eq!(found(HistoryFilter { id, ..any() }).await, "tool.created");
        assert_eq!(found(HistoryFilter { user: Some(ada.id), ..any() }).await, "tool.created");
        let (entries, _) = store.history(home.id, &any(), &all()).await.expect("entries");
        let last = Some(entries[0].at);
        assert_eq!(found(HistoryFilter { from: last, ..any() }).await, "agent.created");
        assert_eq!(found(HistoryFilter { to: last, ..any() }).await, "ownSecret.set secret.set tool.created");
        let names: Vec<Option<&str>> = entries.iter().map(|entry| entry.user_name.as_deref()).collect();
        assert_eq!(names, [None, Some("bob"), Some("bob"), Some("ada")]);

        for (whats, own, expected) in [
            (vec![What::Tool, What::Agent], bob.id, "agent.created ownSecret.set secret.set tool.created"),
            (vec![What::Secret], ada.id, "secret.set tool.created"),
            (vec![], ada.id, "tool.created"),
        ] {
            let sight = HistoryVisibility { whats, own };
            let shown = entries.iter().filter(|entry| sight.shows(entry)).map(HistoryEntry::event_name);
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
            assert_eq!(found(HistoryFilter { sight: Some(sight), ..any() }).await, expected);
        }

        let mut pages = Vec::new();
        let mut page = Page::first(3);
        loop {
            let (entries, next) = store.history(home.id, &any(), &page).await.expect("a page");
            pages.push(entries.len());
            let Some(next) = next else { break };
            page.cursor = Some(next);
        }
        assert_eq!(pages, [3, 1]);
        let (_, other) = store.list_users(&Page::first(1)).await.expect("a page");
        for cursor in [other, Some("made up".to_owned())] {
            let bad = Page { limit: 3, cursor };
            assert_eq!(kind(store.history(home.id, &any(), &bad).await), ErrorKind::Validation);
        }

        let since = store.history_since(home.id, first, 2).await.expect("entries");
        let since: Vec<String> = since.iter().map(HistoryEntry::event_name).collect();
        assert_eq!(since, ["secret.set", "ownSecret.set"], "the oldest first, and no more than asked for");
        let last = store.last_history_seq(home.id).await.expect("a sequence number");
        assert!(store.history_since(home.id, last, 10).await.expect("none").is_empty());
        assert_eq!(store.last_history_seq(SpaceId::from(uuid::Uuid::now_v7())).await.expect("none"), 0);
    })
    .await;
}

#[tokio::test]
async fn processes_share_one_history() {
    both(async |db| {
        let store = db.open().await;
        let another = db.another(&store).await;
        let (ada, _) = user(&store, "ada").await;
        let make = async |by: &Store, name: &str| {
            for number in 0..10 {
                by.create_space(&format!("{name} {number}"), ada.id).await.expect("a space");
            }
        };
        let ((), (), verified) =
            tokio::join!(make(&store, "one"), make(&another, "other"), store.verify_history());
        assert_eq!(verified.expect("verified").fault, None, "while others write");
        let verification = another.verify_history().await.expect("verified");
        assert_eq!((verification.checked, verification.fault), (21, None));
        assert_eq!(verification.head.len(), 64);
    })
    .await;
}

#[tokio::test]
async fn entries_outlive_their_space() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let team = store.create_space("team", ada.id).await.expect("a space");
        put_tool(&store, team.id, "weather").await;
        store.delete_space(team.id, Force::Yes).await.expect("deleted");
        let kept = store.history_since(team.id, 0, 10).await.expect("entries");
        assert_eq!(kept.len(), 2);
        assert!(kept.iter().all(|entry| entry.details == Value::Object(serde_json::Map::new())));
        assert_eq!(store.verify_history().await.expect("verified").checked, 4);
    })
    .await;
}
