//! Which provider and which model is chosen, with a store in memory and providers on loopback.

use std::collections::HashMap;

use futures_util::StreamExt;
use haft_core::provider::{Provider, ProviderSpec};
use haft_core::{Locale, UserId};
use haft_egress::Limits;
use haft_llm::{Delta, ModelRequest, ModelTurn, Scripted};
use haft_store::{Database, Key, MasterKeys, SecretOwnerId};
use haft_testkit::{Upstream, json_reply};
use secrecy::SecretString;
use serde_json::{Value, json};
use url::Url;

use super::*;

struct Scene {
    store: Store,
    secrets: Arc<StoredSecrets>,
    space: SpaceId,
    user: UserId,
}

impl Scene {
    async fn new() -> Self {
        let keys = MasterKeys::new(Key::generate().expect("a key"), Vec::new());
        let store = Store::open(&Database::Memory, keys).await.expect("a store");
        let (user, space) = store.create_user("ada", None, false).await.expect("a user");
        let secrets = Arc::new(StoredSecrets::new(store.clone(), space.id, HashMap::new()));
        Self { store, secrets, space: space.id, user: user.id }
    }

    fn models(&self, settings: ModelSettings) -> StoredModels {
        let egress = Egress::builder().build();
        StoredModels::new(self.store.clone(), self.secrets.clone(), egress, settings)
    }

    async fn stores(&self, spec: Value) -> Provider {
        let spec: ProviderSpec = serde_json::from_value(spec).expect("a provider");
        self.store.create_provider(self.space, spec).await.expect("stored")
    }

    async fn find(
        &self,
        models: &StoredModels,
        provider: Option<&str>,
        model: Option<&str>,
    ) -> Result<SelectedModel, CallError> {
        let wanted = ModelChoice { provider: provider.map(str::to_owned), model: model.map(str::to_owned) };
        models.find(SpaceUser { space: self.space, user: Some(self.user) }, &wanted).await
    }

    /// As `provider/model`, or as what is wrong.
    async fn chosen(&self, models: &StoredModels, provider: Option<&str>, model: Option<&str>) -> String {
        match self.find(models, provider, model).await {
            Ok(chosen) => format!("{}/{}", chosen.provider, chosen.name),
            Err(error) => format!("{}: {}", error.kind(), error.message().render(Locale::En)),
        }
    }
}

fn scripted(name: &'static str) -> EnvironmentProvider {
    let script = Scripted::read(r#"[{"text": "Of the environment."}]"#).expect("a script");
    EnvironmentProvider { name, variable: "HAFT_SCRIPT", speaks: Speaks::Script(Arc::new(script)) }
}

fn script(name: &str, models: &[&str]) -> Value {
    json!({"name": name, "kind": "scripted", "models": models, "script": [{"text": name}]})
}

async fn said(chosen: &SelectedModel) -> String {
    let request = ModelRequest::new(chosen.name.as_str(), vec![ModelTurn::user("Hello.")]);
    let limits = Limits { deadline: None, bytes: 1 << 20 };
    let mut deltas = chosen.model.ask(&request, limits).await.expect("an answer").deltas;
    let mut text = String::new();
    while let Some(delta) = deltas.next().await {
        if let Delta::Text(more) = delta.expect("a delta") {
            text.push_str(&more);
        }
    }
    text
}

#[tokio::test]
async fn with_nothing_at_all_the_error_says_what_to_set() {
    let scene = Scene::new().await;
    let models = scene.models(ModelSettings::default());
    let said = scene.chosen(&models, None, Some("m")).await;
    assert!(said.starts_with("Execution: There is no model provider."), "{said}");
    for name in [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "ZHIPU_API_KEY",
        "DEEPSEEK_API_KEY",
        "OLLAMA_HOST",
        "Settings → Providers",
    ] {
        assert!(said.contains(name), "{name}: {said}");
    }
    let unknown = scene.chosen(&models, Some("openai"), None).await;
    assert_eq!(unknown, "Execution: There is no provider openai. Available: —");
    assert_eq!(crate::error::status(ErrorKind::Execution).as_u16(), 422);
}

#[tokio::test]
async fn the_oldest_of_the_space_comes_first_then_the_environment_in_its_order() {
    let scene = Scene::new().await;
    let environment = vec![scripted("first"), scripted("second")];
    let settings = ModelSettings { environment, ..ModelSettings::default() };
    let models = scene.models(settings.clone());
    assert_eq!(scene.chosen(&models, None, None).await, "first/scripted");
    let zebra = scene.stores(script("zebra", &["z1", "z2"])).await;
    assert_eq!(scene.chosen(&models, None, None).await, "first/scripted", "nobody told of it yet");
    models.forget(scene.space);
    assert_eq!(scene.chosen(&models, None, None).await, "zebra/z1");
    scene.stores(script("ant", &["a1"])).await;
    scene.stores(script("second", &["own"])).await;
    models.forget(scene.space);
    let id = zebra.id.to_string();
    for (provider, model, expected) in [
        (None, None, "zebra/z1"),
        (None, Some("any"), "zebra/any"),
        (None, Some("a1"), "ant/a1"),
        (Some("ant"), None, "ant/a1"),
        (Some("ant"), Some("z1"), "ant/z1"),
        (Some(id.as_str()), Some("z2"), "zebra/z2"),
        (Some("first"), None, "first/scripted"),
        (Some("second"), None, "second/own"),
        (Some("Ant"), None, "Execution: There is no provider Ant. Available: zebra, ant, second, first"),
    ] {
        assert_eq!(scene.chosen(&models, provider, model).await, expected, "{provider:?} {model:?}");
    }
    let own = scene.find(&models, Some("second"), None).await.expect("found");
    assert_eq!(said(&own).await, "second", "that of the space takes the place of its namesake");

    let wanted = |provider: &str, model: &str| ModelSettings {
        default_provider: Some(provider.to_owned()),
        default_model: Some(model.to_owned()),
        ..settings.clone()
    };
    let models = scene.models(wanted("first", "m"));
    for (provider, model, expected) in [
        (None, None, "first/m"),
        (None, Some("a1"), "first/a1"),
        (Some("first"), None, "first/m"),
        (Some("ant"), None, "ant/a1"),
    ] {
        assert_eq!(scene.chosen(&models, provider, model).await, expected, "{provider:?} {model:?}");
    }
    let models = scene.models(wanted("gone", "m"));
    let said = scene.chosen(&models, None, None).await;
    assert!(
        said.starts_with("Execution: The default provider gone does not exist. Available: zebra"),
        "{said}"
    );
}

#[tokio::test]
async fn a_script_speaks_by_itself_only_where_there_is_no_model() {
    let scene = Scene::new().await;
    let settings = ModelSettings { environment: vec![scripted("set")], ..ModelSettings::default() };
    let models = scene.models(settings);
    scene.stores(script("sample", &["s"])).await;
    assert_eq!(scene.chosen(&models, None, None).await, "sample/s");
    scene.stores(json!({"name": "near", "kind": "ollama", "models": ["m"]})).await;
    models.forget(scene.space);
    for (provider, model, expected) in [
        (None, None, "near/m"),
        (None, Some("any"), "near/any"),
        (None, Some("s"), "sample/s"),
        (Some("sample"), None, "sample/s"),
    ] {
        assert_eq!(scene.chosen(&models, provider, model).await, expected, "{provider:?} {model:?}");
    }
}

#[tokio::test]
async fn a_provider_is_asked_once_which_models_it_has_and_prepared_once_for_each_version() {
    let upstream = Upstream::start(|_| {
        json_reply(200, &json!({"data": [{"id": "text-embedding-3"}, {"id": "gpt-4o"}]}))
    })
    .await;
    let scene = Scene::new().await;
    let models = scene.models(ModelSettings::default());
    let base = upstream.url("/v1");
    let provider = json!({"name": "near", "kind": "openai", "baseUrl": base, "byOperator": true});
    let provider = scene.stores(provider).await;
    for _ in 0..3 {
        assert_eq!(scene.chosen(&models, None, None).await, "near/gpt-4o");
        // Something else changed in the space.
        models.forget(scene.space);
    }
    assert_eq!(upstream.seen().len(), 1);
    let window = scene.find(&models, None, None).await.expect("found").window;
    assert_eq!(window, Some(128_000));

    let spec = ProviderSpec { by_operator: false, ..provider.spec };
    scene.store.put_provider(scene.space, provider.id, spec, 1).await.expect("stored");
    models.forget(scene.space);
    let said = scene.chosen(&models, None, None).await;
    assert!(said.contains("127.0.0.1 resolves to a private address"), "{said}");
    assert_eq!(upstream.seen().len(), 1);
}

#[tokio::test]
async fn a_key_is_the_callers_own_or_the_spaces_and_may_come_later() {
    let upstream = Upstream::start(|seen| {
        let name = seen.header("authorization").unwrap_or("nobody").replace("Bearer ", "model-of-");
        json_reply(200, &json!({"data": [{"id": name}]}))
    })
    .await;
    let scene = Scene::new().await;
    let models = scene.models(ModelSettings::default());
    for (name, key) in [("shared", "secret://shared"), ("own", "secret://me/own")] {
        let base = upstream.url("/v1");
        scene
            .stores(
                json!({"name": name, "kind": "openai", "baseUrl": base, "apiKey": key, "byOperator": true}),
            )
            .await;
        let said = scene.chosen(&models, Some(name), Some("m")).await;
        assert_eq!(said, format!("Execution: {key} has no value yet"));
        models.forget(scene.space);
    }
    for (owner, name, value) in
        [(SecretOwnerId::Space, "shared", "of-the-space"), (SecretOwnerId::User(scene.user), "own", "of-ada")]
    {
        let value = SecretString::from(value);
        scene.store.put_secret(scene.space, owner, name, &value, None).await.expect("kept");
    }
    scene.secrets.forget(scene.space);
    // Who echoes a key does not get it shown.
    assert_eq!(scene.chosen(&models, Some("shared"), None).await, "shared/model-of-***");
    assert_eq!(scene.chosen(&models, Some("own"), None).await, "own/model-of-***");
    let keys: Vec<String> =
        upstream.seen().iter().filter_map(|seen| seen.header("authorization").map(str::to_owned)).collect();
    assert_eq!(keys, ["Bearer of-the-space", "Bearer of-ada"]);
    let wanted = ModelChoice { provider: Some("own".to_owned()), model: Some("m".to_owned()) };
    let nobody = models.find(SpaceUser { space: scene.space, user: None }, &wanted).await;
    assert_eq!(nobody.err().map(|error| error.kind()), Some(ErrorKind::Execution), "nobody has no key");
}

#[tokio::test]
async fn an_ollama_on_this_machine_is_found_when_there_is_nothing_else() {
    let tags = json!({"models": [{"name": "nomic-embed-text:latest"}, {"name": "llama3.2:latest"}]});
    let upstream = Upstream::start(move |seen| match seen.target.as_str() {
        "/api/tags" => json_reply(200, &tags),
        _ => json_reply(404, &json!({"error": "model not found"})),
    })
    .await;
    let looked = || upstream.seen().iter().filter(|seen| seen.target == "/api/tags").count();
    let scene = Scene::new().await;
    let local = Some(Url::parse(&upstream.url("/")).expect("a URL"));
    let models = scene.models(ModelSettings { local: local.clone(), ..ModelSettings::default() });
    let found = scene.find(&models, None, None).await.expect("found");
    assert_eq!((found.provider.as_str(), found.name.as_str()), ("ollama", "llama3.2:latest"));
    assert_eq!(found.window, Some(ollama::LARGEST_WINDOW), "its memory is for more than one window");
    assert_eq!(scene.chosen(&models, Some("ollama"), Some("m")).await, "ollama/m");
    assert_eq!(looked(), 1, "it is not looked for again at once");
    let besides = models.besides(scene.space).await.expect("a list");
    assert_eq!(
        besides.iter().map(|one| (one.name.as_str(), one.source)).collect::<Vec<_>>(),
        [("ollama", Source::Found)]
    );

    let models =
        scene.models(ModelSettings { environment: vec![scripted("set")], local, ..ModelSettings::default() });
    assert_eq!(scene.chosen(&models, None, None).await, "set/scripted");
    assert_eq!(looked(), 1, "nobody looks for it where there is another");
    drop(upstream);
    let gone = Some(Url::parse("http://127.0.0.1:1/").expect("a URL"));
    let models = scene.models(ModelSettings { local: gone, ..ModelSettings::default() });
    let said = scene.chosen(&models, None, None).await;
    assert!(said.starts_with("Execution: There is no model provider."), "{said}");
}

#[tokio::test]
async fn an_ollama_is_asked_once_how_much_each_model_reads_and_is_told_that_much() {
    let upstream = Upstream::start(|seen| {
        let model = seen.json()["model"].as_str().unwrap_or_default().to_owned();
        let shown = |most: u32, set: &str| {
            json!({"model_info": {"general.architecture": "own", "own.context_length": most}, "parameters": set})
        };
        match (seen.target.as_str(), model.as_str()) {
            ("/api/show", "small") => json_reply(200, &shown(2_048, "")),
            ("/api/show", "large") => json_reply(200, &shown(1_000_000, "")),
            ("/api/show", "set") => json_reply(200, &shown(1_000_000, "num_ctx 65536")),
            (_, _) => json_reply(404, &json!({"error": "model not found"})),
        }
    })
    .await;
    let scene = Scene::new().await;
    let models = scene.models(ModelSettings::default());
    let base = upstream.url("/");
    scene.stores(json!({"name": "near", "kind": "ollama", "baseUrl": base, "byOperator": true})).await;
    for (model, expected) in [
        ("small", 2_048),
        ("large", ollama::LARGEST_WINDOW),
        ("set", 65_536),
        ("unknown", haft_llm::OLLAMA_WINDOW),
    ] {
        for _ in 0..2 {
            let found = scene.find(&models, None, Some(model)).await.expect("found");
            assert_eq!(found.window, Some(expected), "{model}");
            models.forget(scene.space);
        }
    }
    assert_eq!(upstream.seen().len(), 4, "each was asked for once");
}
