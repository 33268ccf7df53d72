//! Isolation of spaces: every method that takes a space is called with the wrong one.

use std::collections::HashMap;

use haft_core::agent::AgentSpec;
use haft_core::alert::AlertTransition;
use haft_core::artifact::NewArtifact;
use haft_core::user::Scope;
use haft_core::{CallError, ErrorKind};
use haft_store::{AgentFilter, Force, HistoryFilter, SecretOwnerId, VersionState};
use secrecy::SecretString;

use crate::alerts::{above, instant};
use crate::support::{all, both, next, provider, put_tool, user};

/// Returns true if a call with the wrong space revealed something.
fn reveals<T>(answer: Result<T, CallError>, is_nothing: impl FnOnce(&T) -> bool) -> bool {
    match answer {
        Ok(answer) => !is_nothing(&answer),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

#[tokio::test]
async fn methods_reveal_nothing_to_another_space() {
    both(async |db| {
        let store = db.open().await;
        let ((ada, home), (bob, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let space = SecretOwnerId::Space;
        let tool = put_tool(&store, home.id, "weather").await;
        let held = next(&tool, "Held.", VersionState::Held);
        store.put_tools(home.id, vec![held], &[], None).await.expect("a held version");
        let agent = store.create_agent(home.id, None, AgentSpec::new("clerk")).await.expect("an agent");
        let provider_of = store.create_provider(home.id, provider("openai")).await.expect("a provider");
        let alert = store.create_alert(home.id, None, above(1.0)).await.expect("an alert");
        let fired = store
            .step_alert(home.id, &alert, AlertTransition::Fire, Some(2.0), instant(0))
            .await
            .expect("a step");
        let fired = fired.expect("the first");
        let value = SecretString::from("a value");
        store.put_secret(home.id, space, "KEY", &value, None).await.expect("a secret");
        let (token, _) =
            store.create_token(home.id, ada.id, "laptop", Scope::Read, None).await.expect("a token");
        let file = NewArtifact::new("notes.txt", "text/plain").expect("a name");
        let mut upload = store.begin_artifact(home.id, ada.id, &file, 1 << 20).await.expect("an upload");
        upload.write(b"words").await.expect("written");
        let artifact = upload.finish().await.expect("stored");
        let before = store.tools_since(home.id, 0).await.expect("the tools");

        let put = next(&tool, "Mine now.", VersionState::Live);
        let id = agent.id.to_string();
        let rows = [
            ("role_of", reveals(store.role_of(away.id, ada.id).await, Option::is_none)),
            (
                "list_members",
                reveals(store.list_members(away.id, &all()).await, |(members, _)| {
                    members.iter().all(|member| member.user_id == bob.id)
                }),
            ),
            ("remove_member", reveals(store.remove_member(away.id, ada.id).await, |()| false)),
            ("create_token", {
                let made = store.create_token(away.id, ada.id, "t", Scope::Read, None).await;
                reveals(made, |_| false)
            }),
            ("get_token", reveals(store.get_token(away.id, token.id).await, Option::is_none)),
            ("list_tokens", {
                let listed = store.list_tokens(away.id, ada.id, &all()).await;
                reveals(listed, |(tokens, _)| tokens.is_empty())
            }),
            ("touch_token", reveals(store.touch_token(away.id, token.id).await, |()| true)),
            ("delete_token", reveals(store.delete_token(away.id, token.id).await, |()| false)),
            ("reveal", reveals(store.reveal(away.id, space, "KEY").await, Option::is_none)),
            ("list_secrets", {
                let listed = store.list_secrets(away.id, space, &all()).await;
                reveals(listed, |(secrets, _)| secrets.is_empty())
            }),
            ("delete_secret", reveals(store.delete_secret(away.id, space, "KEY").await, |()| false)),
            ("tools_state", { reveals(store.tools_fingerprint(away.id).await, |state| state.count == 0) }),
            ("tools_since", { reveals(store.tools_since(away.id, 0).await, |since| since.live.is_empty()) }),
            ("get_tool", reveals(store.get_tool(away.id, &tool.id).await, Option::is_none)),
            ("find_tool by id", {
                reveals(store.find_tool(away.id, &tool.id.to_string()).await, Option::is_none)
            }),
            ("find_tool by name", reveals(store.find_tool(away.id, "weather").await, Option::is_none)),
            ("put_tools", reveals(store.put_tools(away.id, vec![put], &[], None).await, |_| false)),
            ("versions", reveals(store.versions(away.id, &tool.id).await, Vec::is_empty)),
            ("get_version", reveals(store.get_version(away.id, &tool.id, 1).await, Option::is_none)),
            ("make_live", reveals(store.approve_version(away.id, &tool.id, 2, 1).await, |_| false)),
            ("roll_back", { reveals(store.roll_back(away.id, &tool.id, 1, 1, "", None).await, |_| false) }),
            ("delete_tool", {
                reveals(store.delete_tool(away.id, &tool.id, None, Force::Yes).await, |()| false)
            }),
            ("get_agent by id", reveals(store.get_agent(away.id, &id).await, Option::is_none)),
            ("get_agent by name", reveals(store.get_agent(away.id, "clerk").await, Option::is_none)),
            ("agent_names", reveals(store.agent_names(away.id).await, HashMap::is_empty)),
            ("list_agents", {
                let listed = store.list_agents(away.id, &AgentFilter::default(), &all()).await;
                reveals(listed, |(agents, _)| agents.is_empty())
            }),
            ("put_agent", {
                let put = store.put_agent(away.id, agent.id, AgentSpec::new("mine"), 1).await;
                reveals(put, |_| false)
            }),
            ("delete_agent", reveals(store.delete_agent(away.id, agent.id, None).await, |()| false)),
            ("get_provider", reveals(store.get_provider(away.id, "openai").await, Option::is_none)),
            ("list_providers", {
                let listed = store.list_providers(away.id, &all()).await;
                reveals(listed, |(providers, _)| providers.is_empty())
            }),
            ("put_provider", {
                let put = store.put_provider(away.id, provider_of.id, provider("mine"), 1).await;
                reveals(put, |_| false)
            }),
            ("delete_provider", {
                reveals(store.delete_provider(away.id, provider_of.id, None).await, |()| false)
            }),
            ("history", {
                let listed = store.history(away.id, &HistoryFilter::default(), &all()).await;
                reveals(listed, |(entries, _)| entries.is_empty())
            }),
            ("history_since", reveals(store.history_since(away.id, 0, 10).await, Vec::is_empty)),
            ("last_history", reveals(store.last_history_seq(away.id).await, |last| *last == 0)),
            ("get_alert", reveals(store.get_alert(away.id, fired.id).await, Option::is_none)),
            ("list_alerts", {
                let listed = store.list_alerts(away.id, &all()).await;
                reveals(listed, |(alerts, _)| alerts.is_empty())
            }),
            ("put_alert", reveals(store.put_alert(away.id, fired.id, above(7.0), 1).await, |_| false)),
            ("delete_alert", reveals(store.delete_alert(away.id, fired.id, None).await, |()| false)),
            ("step_alert", {
                let stepped =
                    store.step_alert(away.id, &fired, AlertTransition::Resolve, None, instant(1)).await;
                reveals(stepped, Option::is_none)
            }),
            ("claim_telling", reveals(store.claim_notification(away.id, &fired).await, |is_ours| !is_ours)),
            ("note_telling", {
                let noted = store.record_notification(away.id, fired.id, 0, Some("mine".to_owned())).await;
                reveals(noted, |()| true)
            }),
            ("get_artifact", {
                reveals(store.get_artifact(away.id, ada.id, artifact.id).await, Option::is_none)
            }),
            ("get_linked_artifact", {
                reveals(store.get_linked_artifact(away.id, artifact.id).await, Option::is_none)
            }),
            ("read_artifact", reveals(store.read_artifact(away.id, artifact.id, 0).await, |_| false)),
            ("list_artifacts", {
                let listed = store.list_artifacts(away.id, ada.id, &all()).await;
                reveals(listed, |(artifacts, _)| artifacts.is_empty())
            }),
            ("delete_artifact", {
                reveals(store.delete_artifact(away.id, ada.id, artifact.id).await, |()| false)
            }),
        ];
        for (method, saw_something) in rows {
            assert!(!saw_something, "{method} reaches into another space");
        }

        // None of the calls changed anything.
        let after = store.tools_since(home.id, 0).await.expect("the tools");
        assert_eq!((after.live, after.changed), (before.live, before.changed));
        let kept = store.get_agent(home.id, "clerk").await.expect("found");
        assert_eq!(kept, Some(agent));
        assert_eq!(store.get_provider(home.id, "openai").await.expect("found"), Some(provider_of));
        assert_eq!(store.get_alert(home.id, fired.id).await.expect("found"), Some(fired));
        assert_eq!(store.get_token(home.id, token.id).await.expect("found"), Some(token));
        assert!(store.reveal(home.id, space, "KEY").await.expect("a result").is_some());
        let kept = store.get_artifact(home.id, ada.id, artifact.id).await.expect("found");
        assert_eq!(kept, Some(artifact));
        let (spaces, _) = store.list_spaces(bob.id, &all()).await.expect("a list");
        assert!(spaces.iter().all(|(space, _)| space.id == away.id));
    })
    .await;
}

#[tokio::test]
async fn names_are_unique_per_space_only() {
    both(async |db| {
        let store = db.open().await;
        let ((_, home), (_, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        for space in [home.id, away.id] {
            put_tool(&store, space, "weather").await;
            store.create_agent(space, None, AgentSpec::new("clerk")).await.expect("an agent");
            store.create_provider(space, provider("openai")).await.expect("a provider");
        }
        assert_eq!(store.tools_since(home.id, 0).await.expect("a list").live.len(), 1);
    })
    .await;
}
