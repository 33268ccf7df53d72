//! OAuth client credentials: a token is fetched once, renewed in time, and never exposed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use haft_engine::{CallOptions, CallRequest, Caller, ErrorKind, Locale, Source, SpaceId};
use haft_testkit::{RecordedRequest, Upstream, http_response, json_reply};
use http::Response;
use serde_json::{Value, json};

use crate::support::{Stage, assert_masked, echo, open, with};

const CLIENT_SECRET: &str = "cl1ent/secret+42";

/// An issuer of the tokens `token-number-1`, `token-number-2` and so on, with further fields.
async fn issuer(fields: Value) -> Upstream {
    let before = AtomicUsize::new(0);
    Upstream::start(move |_| numbered(&before, &fields)).await
}

fn numbered(before: &AtomicUsize, fields: &Value) -> Response<Vec<u8>> {
    let token = format!("token-number-{}", before.fetch_add(1, Ordering::SeqCst) + 1);
    json_reply(200, &with(json!({"access_token": token, "token_type": "Bearer"}), fields.clone()))
}

/// An issuer that responds slowly.
async fn slow_issuer(time: Duration) -> Upstream {
    let before = AtomicUsize::new(0);
    Upstream::start_async(move |_| {
        let answer = numbered(&before, &json!({"expires_in": 3600}));
        async move {
            tokio::time::sleep(time).await;
            answer
        }
    })
    .await
}

async fn stage<F>(answer: F) -> Stage
where
    F: Fn(&RecordedRequest) -> Response<Vec<u8>> + Send + Sync + 'static,
{
    Stage::answering(&[("client", CLIENT_SECRET)], answer).await
}

fn fine(_: &RecordedRequest) -> Response<Vec<u8>> {
    json_reply(200, &json!({"ok": true}))
}

/// A tool that uses this issuer.
fn tool(stage: &Stage, issuer: &Upstream, auth: Value) -> Value {
    let whole = json!({
        "type": "oauth2ClientCredentials", "tokenUrl": issuer.url("/token"),
        "clientId": "haft", "clientSecret": "secret://client",
    });
    open(stage.config_at("/data", json!({"auth": with(whole, auth), "params": {}})))
}

fn sent_tokens(stage: &Stage) -> Vec<String> {
    let seen = stage.up.seen();
    seen.iter().map(|seen| seen.header("authorization").unwrap_or("none").to_owned()).collect()
}

#[tokio::test]
async fn the_grant_is_requested_as_a_form() {
    let stage = stage(fine).await;
    for (auth, scope) in [
        (json!({}), None),
        (json!({"scope": "read write"}), Some("read write")),
        (json!({"scope": ["read", "write"]}), Some("read write")),
        (json!({"scope": "a&b=c"}), Some("a&b=c")),
    ] {
        let case = auth.to_string();
        let issuer = issuer(json!({"expires_in": 3600})).await;
        let made = stage.call_definition(tool(&stage, &issuer, auth), json!({})).await;
        assert_eq!(made.only_request(&case).header("authorization"), Some("Bearer token-number-1"), "{case}");
        let asked = issuer.seen();
        assert_eq!(asked.len(), 1, "{case}: requests for a token");
        let asked = &asked[0];
        assert_eq!((asked.method.as_str(), asked.target.as_str()), ("POST", "/token"), "{case}");
        assert_eq!(asked.header("content-type"), Some("application/x-www-form-urlencoded"), "{case}");
        assert_eq!(asked.header("accept"), Some("application/json"), "{case}");
        let fields: Vec<(String, String)> = url::form_urlencoded::parse(&asked.body).into_owned().collect();
        let mut expected = vec![
            ("grant_type", "client_credentials"),
            ("client_id", "haft"),
            ("client_secret", CLIENT_SECRET),
        ];
        expected.extend(scope.map(|scope| ("scope", scope)));
        let expected: Vec<(String, String)> =
            expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(fields, expected, "{case}: the form");
    }
}

#[tokio::test]
async fn one_token_serves_concurrent_and_later_calls() {
    let stage = stage(fine).await;
    let issuer = slow_issuer(Duration::from_millis(100)).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    let calls = (0..20).map(|_| stage.tools.execute("t", json!({}), CallOptions::default()));
    for (number, result) in join_all(calls).await.into_iter().enumerate() {
        let result = result.expect("the engine itself works");
        assert!(result.is_success(), "call {number}: {:?}", result.error());
    }
    let later = stage.call(json!({}), CallOptions::default()).await;
    assert!(later.result.is_success(), "later: {:?}", later.result.error());
    assert_eq!(issuer.seen().len(), 1, "one fetch for all");
    assert_eq!(sent_tokens(&stage), vec!["Bearer token-number-1"; 21], "the same token for all");
}

#[tokio::test]
async fn a_token_is_renewed_shortly_before_it_expires() {
    for (case, life, pause, fetches) in [
        ("no life at all", json!(0), 0, 3),
        ("half its life is over", json!(0.3), 200, 3),
        ("half its life, as text", json!("0.3"), 200, 3),
        ("an hour", json!(3600), 0, 1),
        ("an hour, as text", json!("3600"), 0, 1),
        ("within the margin, half is left", json!(50), 0, 1),
        ("not said", Value::Null, 0, 1),
        ("nonsense", json!("soon"), 0, 1),
    ] {
        let stage = stage(fine).await;
        let issuer = issuer(json!({"expires_in": life})).await;
        stage.register(&tool(&stage, &issuer, json!({})));
        for _ in 0..3 {
            let made = stage.call(json!({}), CallOptions::default()).await;
            assert!(made.result.is_success(), "{case}: {:?}", made.result.error());
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        assert_eq!(issuer.seen().len(), fetches, "{case}: fetches");
        let last = format!("Bearer token-number-{fetches}");
        assert_eq!(sent_tokens(&stage).last(), Some(&last), "{case}: the last call has the newest");
    }
}

#[tokio::test]
async fn a_rejected_token_is_removed_from_the_cache() {
    let stage = stage(|seen| match seen.header("authorization") {
        Some("Bearer token-number-1") => json_reply(401, &json!({"error": "expired"})),
        _ => json_reply(200, &json!({"ok": true})),
    })
    .await;
    let issuer = issuer(json!({"expires_in": 3600})).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    let first = stage.call(json!({}), CallOptions::default()).await;
    assert_eq!(first.failed("the old token").0, ErrorKind::Authentication, "the old token");
    for case in ["the next call", "the one after"] {
        let made = stage.call(json!({}), CallOptions::default()).await;
        assert_eq!(made.only_request(case).header("authorization"), Some("Bearer token-number-2"), "{case}");
    }
    assert_eq!(issuer.seen().len(), 2, "fetched again, once");
}

#[tokio::test]
async fn a_revoked_token_is_renewed_and_the_request_sent_once_more() {
    let revoked = Arc::new(AtomicBool::new(false));
    let is_revoked = revoked.clone();
    let stage = stage(move |seen| match seen.header("authorization") {
        Some("Bearer token-number-1") if is_revoked.load(Ordering::SeqCst) => json_reply(401, &json!({})),
        _ => json_reply(200, &json!({"ok": true})),
    })
    .await;
    let issuer = issuer(json!({"expires_in": 3600})).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    assert!(stage.call(json!({}), CallOptions::default()).await.result.is_success());
    revoked.store(true, Ordering::SeqCst);
    let renewed = stage.call(json!({}), CallOptions::default()).await;
    assert!(renewed.result.is_success(), "{:?}", renewed.result.error());
    assert_eq!(renewed.result.attempts, 1);
    let expected = ["1", "1", "2"].map(|number| format!("Bearer token-number-{number}"));
    assert_eq!(sent_tokens(&stage), expected);
    assert_eq!(issuer.seen().len(), 2);
}

#[tokio::test]
async fn other_failures_do_not_remove_the_token() {
    for status in [400, 403, 404, 500] {
        let stage = stage(move |_| json_reply(status, &json!({}))).await;
        let issuer = issuer(json!({"expires_in": 3600})).await;
        stage.register(&with(tool(&stage, &issuer, json!({})), json!({"retryCount": 0})));
        for _ in 0..2 {
            let made = stage.call(json!({}), CallOptions::default()).await;
            assert!(!made.result.is_success(), "{status}: it failed");
        }
        assert_eq!(issuer.seen().len(), 1, "{status}: one fetch");
    }
}

#[tokio::test]
async fn a_token_belongs_to_one_space() {
    let stage = stage(fine).await;
    let issuer = issuer(json!({"expires_in": 3600})).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    for (number, token) in [(1, "token-number-1"), (2, "token-number-2"), (1, "token-number-1")] {
        let caller = Caller {
            space: SpaceId::from(uuid::Uuid::from_u128(number)),
            user: None,
            source: Source::Api,
            locale: Locale::En,
            request: None,
        };
        let request =
            CallRequest { tool: "t".to_owned(), arguments: json!({}), options: CallOptions::default() };
        let result = stage.tools.call(&caller, request).await.expect("the engine itself works");
        assert!(result.is_success(), "space {number}: {:?}", result.error());
        assert_eq!(sent_tokens(&stage).last(), Some(&format!("Bearer {token}")), "space {number}");
    }
}

#[tokio::test]
async fn a_cancelled_caller_does_not_affect_the_others() {
    let stage = stage(fine).await;
    let issuer = slow_issuer(Duration::from_millis(150)).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    let call = || stage.tools.execute("t", json!({}), CallOptions::default());
    let leader = tokio::time::timeout(Duration::from_millis(40), call());
    let (leader, follower, third) = tokio::join!(leader, call(), call());
    assert!(leader.is_err(), "the leader went away in the middle of the fetch");
    for (case, result) in [("follower", follower), ("third", third)] {
        let result = result.expect("the engine itself works");
        assert!(result.is_success(), "{case}: {:?}", result.error());
    }
    assert_eq!(issuer.seen().len(), 1, "one fetch for all callers");
    assert_eq!(sent_tokens(&stage), ["Bearer token-number-1"; 2], "for the remaining callers");
}

#[tokio::test]
async fn a_fetch_without_waiters_is_continued_by_the_next_call() {
    let stage = stage(fine).await;
    let issuer = slow_issuer(Duration::from_millis(100)).await;
    stage.register(&tool(&stage, &issuer, json!({})));
    let alone = stage.tools.execute("t", json!({}), CallOptions::default());
    let alone = tokio::time::timeout(Duration::from_millis(30), alone).await;
    assert!(alone.is_err(), "the only caller went away");
    tokio::time::sleep(Duration::from_millis(120)).await;
    let made = stage.call(json!({}), CallOptions::default()).await;
    let case = "the next";
    assert_eq!(made.only_request(case).header("authorization"), Some("Bearer token-number-1"), "{case}");
    assert_eq!(issuer.seen().len(), 1, "{case}: the same fetch");
}

#[tokio::test]
async fn neither_token_nor_client_secret_is_returned() {
    let stage = stage(echo).await;
    for path in ["/200", "/400", "/500"] {
        let issuer = issuer(json!({"expires_in": 3600})).await;
        let mut definition = with(tool(&stage, &issuer, json!({})), json!({"retryCount": 0}));
        definition["config"]["url"] = stage.up.url(path).into();
        let made = stage.call_definition(definition, json!({})).await;
        assert_eq!(made.seen.len(), 1, "{path}: it was sent");
        assert_masked(&made.visible_text(), "token-number-1", path);
        assert!(!made.visible_text().contains(CLIENT_SECRET), "{path}: the client secret");
    }
}

#[tokio::test]
async fn a_token_at_the_truncation_limit_of_an_error_body_is_masked() {
    let body = format!("{}token-number-1", "x".repeat(2048 - 10));
    let stage = stage(move |_| http_response(400, &[("content-type", "text/plain")], body.clone())).await;
    let issuer = issuer(json!({"expires_in": 3600})).await;
    let made = stage.call_definition(tool(&stage, &issuer, json!({})), json!({})).await;
    let details = made.error("cut").details(Locale::En);
    let kept = details["body"].as_str().unwrap_or_default().trim_start_matches('x');
    assert!(!kept.starts_with("token"), "{kept:?} is left of the token");
}
