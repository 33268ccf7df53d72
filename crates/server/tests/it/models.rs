//! Models as whoever asks them finds them: changes of other processes are followed, and what is known costs no query.

use haft_agent::{ModelChoice, Models, SpaceUser};
use haft_core::ErrorKind;
use haft_core::provider::{ProviderKind, ProviderSpec};
use haft_testkit::eventually;
use serde_json::json;

use crate::support::App;

#[tokio::test]
async fn what_another_process_stores_is_found_and_then_no_database_is_asked() {
    let app = App::start().await;
    let me = app.api.get("/api/me").await;
    let space = me.data()["space"]["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let find = async || {
        let found = app.models.find(SpaceUser { space, user: None }, &ModelChoice::default()).await;
        found.map(|chosen| (chosen.provider, chosen.name)).map_err(|error| error.kind())
    };
    let revision = app.store.current_revision().await.expect("a revision");
    let following = tokio::spawn(app.app.clone().follow(revision, app.stop.clone()));
    assert_eq!(find().await, Err(ErrorKind::Execution), "there is none");

    let spec = ProviderSpec {
        name: "play".to_owned(),
        kind: ProviderKind::Scripted,
        base_url: None,
        api_key: None,
        models: vec!["m".to_owned()],
        script: Some(json!([{"text": "Hello."}])),
        text_tool_calls: false,
        by_operator: false,
    };
    // Past the API, as another process would.
    app.store.create_provider(space, spec).await.expect("stored");
    eventually("it is found", async || find().await.is_ok()).await;
    app.stop.cancel();
    following.await.expect("it ends");
    app.store.close().await;
    assert_eq!(find().await, Ok(("play".to_owned(), "m".to_owned())), "no database is asked");
}
