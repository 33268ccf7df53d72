//! Agents and providers: documents with a name and a version.

use haft_core::agent::{AgentBinding, AgentSpec};
use haft_core::{ErrorKind, ToolId, ToolName};
use haft_store::{AgentFilter, Page};

use crate::support::{all, both, kind, missing_provider, provider, user};

#[tokio::test]
async fn agents_and_bindings_share_one_version() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let binding = AgentBinding::new(ToolId::Named(ToolName::constant("calculator")));
        let spec = AgentSpec { bindings: vec![binding.clone()], ..AgentSpec::new("clerk") };
        let clerk = store.create_agent(home.id, Some(ada.id), spec.clone()).await.expect("an agent");
        let by_id = store.get_agent(home.id, &clerk.id.to_string()).await.expect("found");
        let upper = store.get_agent(home.id, &clerk.id.to_string().to_uppercase()).await.expect("found");
        let by_name = store.get_agent(home.id, "clerk").await.expect("found");
        assert_eq!([&by_id, &upper, &by_name], [&Some(clerk.clone()); 3]);

        assert_eq!(kind(store.create_agent(home.id, None, spec.clone()).await), ErrorKind::Conflict);
        let twice = AgentSpec { bindings: vec![binding.clone(), binding], ..AgentSpec::new("other") };
        assert_eq!(kind(store.create_agent(home.id, None, twice).await), ErrorKind::Validation);
        let id = AgentSpec::new(clerk.id.to_string());
        assert_eq!(kind(store.create_agent(home.id, None, id).await), ErrorKind::Validation);

        let renamed = AgentSpec { name: "writer".to_owned(), ..spec.clone() };
        let writer = store.put_agent(home.id, clerk.id, renamed, 1).await.expect("changed");
        assert_eq!((writer.version, writer.owner_id), (2, Some(ada.id)));
        assert_eq!(kind(store.put_agent(home.id, clerk.id, spec.clone(), 1).await), ErrorKind::Conflict);
        store.create_agent(home.id, None, spec.clone()).await.expect("the name is free again");
        assert_eq!(kind(store.put_agent(home.id, clerk.id, spec, 2).await), ErrorKind::Conflict);

        assert_eq!(kind(store.delete_agent(home.id, clerk.id, Some(1)).await), ErrorKind::Conflict);
        store.delete_agent(home.id, clerk.id, Some(2)).await.expect("deleted");
        assert_eq!(kind(store.delete_agent(home.id, clerk.id, None).await), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test]
async fn agents_are_searched_by_name_and_description() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        for (name, description, is_active) in [
            ("alpha", "Knows the WEATHER", true),
            ("beta", "100% sure", true),
            ("gamma", "天气 Übung", false),
        ] {
            let spec = AgentSpec { description: description.to_owned(), is_active, ..AgentSpec::new(name) };
            store.create_agent(home.id, None, spec).await.expect("an agent");
        }
        let found = async |q: Option<&str>, is_active| {
            let filter = AgentFilter { q: q.map(str::to_owned), is_active, category: None };
            let (agents, _) = store.list_agents(home.id, &filter, &all()).await.expect("a list");
            agents.into_iter().map(|agent| agent.spec.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(None, None).await, "alpha beta gamma");
        assert_eq!(found(Some("weather"), None).await, "alpha");
        assert_eq!(found(Some("天气"), None).await, "gamma");
        assert_eq!(found(Some("ÜBUNG"), None).await, "gamma");
        assert_eq!(found(Some("%"), None).await, "beta");
        assert_eq!(found(Some("_"), None).await, "");
        assert_eq!(found(None, Some(true)).await, "alpha beta");
        assert_eq!(found(Some("a"), Some(false)).await, "gamma");

        let (first, next) =
            store.list_agents(home.id, &AgentFilter::default(), &Page::first(2)).await.expect("a page");
        let rest = Page { limit: 2, cursor: next };
        let (second, end) = store.list_agents(home.id, &AgentFilter::default(), &rest).await.expect("a page");
        assert_eq!((first.len(), second.len(), end), (2, 1, None));
    })
    .await;
}

#[tokio::test]
async fn stale_provider_changes_are_rejected() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let openai = store.create_provider(home.id, provider("openai")).await.expect("a provider");
        assert_eq!(openai.spec, provider("openai"));
        assert_eq!(store.get_provider(home.id, "openai").await.expect("found"), Some(openai.clone()));
        assert_eq!(kind(store.create_provider(home.id, provider("openai")).await), ErrorKind::Conflict);

        let changed = store.put_provider(home.id, openai.id, provider("mine"), 1).await.expect("changed");
        assert_eq!((changed.version, changed.spec.name.as_str()), (2, "mine"));
        let late = store.put_provider(home.id, openai.id, provider("late"), 1).await;
        assert_eq!(kind(late), ErrorKind::Conflict);
        let absent = store.put_provider(home.id, missing_provider(), provider("absent"), 1).await;
        assert_eq!(kind(absent), ErrorKind::NotFound);
        let (listed, _) = store.list_providers(home.id, &all()).await.expect("a list");
        assert_eq!(listed, [changed]);
        assert_eq!(kind(store.delete_provider(home.id, openai.id, Some(1)).await), ErrorKind::Conflict);
        store.delete_provider(home.id, openai.id, Some(2)).await.expect("deleted");
        assert_eq!(kind(store.delete_provider(home.id, openai.id, None).await), ErrorKind::NotFound);
    })
    .await;
}
