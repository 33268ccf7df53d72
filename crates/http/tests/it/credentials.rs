//! Literal credentials of a definition that is saved become secrets.

use haft_core::ToolSpec;
use haft_core::tool::input;
use haft_engine::ToolService;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::support::engine;

type Extracted = Result<Vec<(String, SecretString)>, Vec<String>>;

fn extract(spec: &mut ToolSpec, before: Option<&ToolSpec>, is_taken: impl Fn(&str) -> bool) -> Extracted {
    let tools: ToolService = engine(&[]);
    tools.extract_credentials(spec, before, is_taken)
}

fn tool(headers: Value) -> ToolSpec {
    let definition =
        json!({"name": "shop", "description": "s", "url": "https://a.example", "headers": headers});
    input::parse(definition).expect("a definition").spec
}

fn names(secrets: &[(String, SecretString)]) -> Vec<&str> {
    secrets.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn literals_are_extracted_and_references_stay() {
    let definition = json!({
        "name": "weather", "description": "w", "url": "https://a.example/{{city}}",
        "headers": {
            "Authorization": "Bearer sk-123456", "X-API-Key": "k-1", "Accept": "text/plain",
            "X-Token": "secret://there", "Cookie": "id={{session}}", "X-Auth": "",
        },
        "auth": {"type": "basic", "username": "ada", "password": "hunter2"},
    });
    let mut spec = input::parse(definition).expect("a definition").spec;
    let secrets = extract(&mut spec, None, |_| false).expect("no mask");
    let found: Vec<(&str, &str)> =
        secrets.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
    assert_eq!(
        found,
        [
            ("weather_authorization", "sk-123456"),
            ("weather_x_api_key", "k-1"),
            ("weather_password", "hunter2")
        ]
    );
    assert_eq!(
        spec.config["headers"],
        json!({
            "Authorization": "Bearer secret://weather_authorization",
            "X-API-Key": "secret://weather_x_api_key", "Accept": "text/plain",
            "X-Token": "secret://there", "Cookie": "id={{session}}", "X-Auth": "",
        })
    );
    assert_eq!(spec.config["auth"]["password"], "secret://weather_password");
    let again = extract(&mut spec, None, |_| false).expect("no mask");
    assert!(again.is_empty(), "an extracted credential is not extracted again");
}

#[tokio::test]
async fn a_name_is_unused_or_that_of_the_previous_version() {
    let mut two = tool(json!({"X-Api-Key": "one", "X_Api_Key": "two"}));
    let secrets = extract(&mut two, None, |_| false).expect("no mask");
    assert_eq!(names(&secrets), ["shop_x_api_key", "shop_x_api_key_2"]);

    let is_taken = |name: &str| ["shop_x_api_key", "shop_x_api_key_2"].contains(&name);
    let mut new = tool(json!({"X-Api-Key": "three"}));
    let secrets = extract(&mut new, None, is_taken).expect("no mask");
    assert_eq!(names(&secrets), ["shop_x_api_key_3"]);

    let mut newer = tool(json!({"X_Api_Key": 98_765, "x-api-key": "four"}));
    let secrets = extract(&mut newer, Some(&two), is_taken).expect("no mask");
    assert_eq!(names(&secrets), ["shop_x_api_key_2", "shop_x_api_key"]);
    assert_eq!(secrets[0].1.expose_secret(), "98765");
}

#[tokio::test]
async fn a_mask_stands_for_the_previous_credential() {
    let before = tool(json!({"Authorization": "Bearer secret://mine", "X-Token": "{{token}}"}));
    for (given, expected) in [
        ("***", "Bearer secret://mine"),
        ("Bearer ***", "Bearer secret://mine"),
        ("Token ***", "Token secret://mine"),
    ] {
        let mut spec = tool(json!({"authorization": given}));
        let secrets = extract(&mut spec, Some(&before), |_| true).expect("no missing credential");
        assert!(secrets.is_empty());
        assert_eq!(spec.config["headers"]["authorization"], expected, "{given}");
    }
    for (header, before) in [("Authorization", None), ("X-Token", Some(&before)), ("X-Key", Some(&before))] {
        let missing = extract(&mut tool(json!({header: "***"})), before, |_| false).map(drop);
        assert_eq!(missing, Err(vec![format!("config.headers.{header}")]));
    }
}

#[tokio::test]
async fn the_config_of_an_unknown_kind_is_unchanged() {
    let mut spec = tool(json!({"Authorization": "Bearer sk-123456"}));
    spec.kind = "unknown".into();
    let before = spec.clone();
    assert!(extract(&mut spec, None, |_| false).expect("no mask").is_empty());
    assert_eq!(spec, before);
}
