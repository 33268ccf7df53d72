//! Shared helpers: an engine with HTTP tools, an upstream server, and the result of a call with its requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use haft_core::SecretRef;
use haft_egress::Egress;
use haft_engine::{
    BoxFuture, CallError, CallOptions, ErrorKind, SecretSource, SpaceId, Tool, ToolExecutionResult,
    ToolService, UserId,
};
use haft_http::HttpKind;
use haft_testkit::{RecordedRequest, Upstream, http_response, json_reply};
use http::Response;
use secrecy::SecretString;
use serde_json::{Map, Value, json};

/// Secrets by their full name, for every caller.
struct Vault(HashMap<String, String>);

impl SecretSource for Vault {
    fn reveal<'a>(
        &'a self,
        _: SpaceId,
        _: Option<UserId>,
        secret: &'a SecretRef,
    ) -> BoxFuture<'a, Result<Option<SecretString>, CallError>> {
        let value = self.0.get(&secret.to_string()).map(|value| SecretString::from(value.as_str()));
        Box::pin(std::future::ready(Ok(value)))
    }
}

/// An engine whose tools may reach loopback and have these secrets, named as after `secret://`.
pub(crate) fn engine(secrets: &[(&str, &str)]) -> ToolService {
    builder(secrets).build()
}

/// The builder of such an engine.
pub(crate) fn builder(secrets: &[(&str, &str)]) -> haft_engine::ToolServiceBuilder {
    let egress = Egress::builder().open("127.0.0.0/8".parse().expect("networks")).build();
    let named = secrets.iter().map(|(name, value)| (format!("secret://{name}"), (*value).to_owned()));
    let vault = Vault(named.collect());
    ToolService::builder().kind(HttpKind::new(egress)).secrets(Arc::new(vault))
}

/// A definition of the tool `t` with this config and short pauses between attempts.
pub(crate) fn defined(config: Value) -> Value {
    json!({"name": "t", "description": "A tool.", "type": "http", "retryDelay": 1, "config": config})
}

/// A definition that accepts any arguments.
pub(crate) fn open(config: Value) -> Value {
    with(defined(config), json!({"inputSchema": {"type": "object"}}))
}

/// Adds or replaces fields of a JSON object.
pub(crate) fn with(mut object: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().expect("fields") {
        object[name.as_str()] = value.clone();
    }
    object
}

/// The violations of a definition, as path and message.
pub(crate) fn wrong(tools: &ToolService, definition: Value) -> Vec<(String, String)> {
    match tools.validate(Tool::from_json(definition)) {
        Ok(()) => Vec::new(),
        Err(error) => {
            let reported = error.violations().iter();
            reported.map(|violation| (violation.path.clone(), violation.message.to_string())).collect()
        }
    }
}

/// An engine and an upstream.
pub(crate) struct Stage {
    pub(crate) tools: ToolService,
    pub(crate) up: Upstream,
}

impl Stage {
    /// A stage whose upstream accepts every request.
    pub(crate) async fn new() -> Self {
        Self::answering(&[], |_| json_reply(200, &json!({"ok": true}))).await
    }

    pub(crate) async fn answering<F>(secrets: &[(&str, &str)], answer: F) -> Self
    where
        F: Fn(&RecordedRequest) -> Response<Vec<u8>> + Send + Sync + 'static,
    {
        Self { tools: engine(secrets), up: Upstream::start(answer).await }
    }

    /// A config with the URL of a path of the upstream.
    pub(crate) fn config_at(&self, path: &str, config: Value) -> Value {
        with(config, json!({"url": self.up.url(path)}))
    }

    /// Registers the tool `t`, replacing an earlier one.
    #[track_caller]
    pub(crate) fn register(&self, definition: &Value) {
        self.tools.unregister("t");
        if let Err(error) = self.tools.register(Tool::from_json(definition.clone())) {
            panic!("{definition}: {error}");
        }
    }

    /// Calls the tool `t`.
    pub(crate) async fn call(&self, arguments: Value, options: CallOptions) -> CallOutcome {
        let before = self.up.seen().len();
        let result = self.tools.execute("t", arguments, options).await.expect("the engine itself works");
        CallOutcome { result, seen: self.up.seen().split_off(before) }
    }

    /// Registers a tool and calls it.
    pub(crate) async fn call_definition(&self, definition: Value, arguments: Value) -> CallOutcome {
        self.register(&definition);
        self.call(arguments, CallOptions::default()).await
    }

    /// Registers a tool with this config that accepts any arguments, and calls it.
    pub(crate) async fn call_with(&self, config: Value, arguments: Value) -> CallOutcome {
        self.call_definition(open(config), arguments).await
    }
}

/// The result of a call, and the requests it sent.
pub(crate) struct CallOutcome {
    pub(crate) result: ToolExecutionResult,
    pub(crate) seen: Vec<RecordedRequest>,
}

impl CallOutcome {
    /// The single request of a successful call.
    #[track_caller]
    pub(crate) fn only_request(&self, case: &str) -> &RecordedRequest {
        assert!(self.result.is_success(), "{case}: {:?}", self.result.error());
        assert_eq!(self.seen.len(), 1, "{case}: the number of requests");
        &self.seen[0]
    }

    #[track_caller]
    pub(crate) fn data(&self, case: &str) -> &Value {
        match &self.result.outcome {
            Ok(data) => data,
            Err(error) => panic!("{case}: {error}"),
        }
    }

    #[track_caller]
    pub(crate) fn error(&self, case: &str) -> &CallError {
        match &self.result.outcome {
            Ok(data) => panic!("{case}: it went through and answered {data}"),
            Err(error) => error,
        }
    }

    #[track_caller]
    pub(crate) fn failed(&self, case: &str) -> (ErrorKind, String) {
        let error = self.error(case);
        (error.kind(), error.message().to_string())
    }

    /// Kind and message of a failed call that sent nothing.
    #[track_caller]
    pub(crate) fn refused(&self, case: &str) -> (ErrorKind, String) {
        assert!(self.seen.is_empty(), "{case}: sent {:?}", self.seen);
        self.failed(case)
    }

    /// The complete result that a caller sees.
    pub(crate) fn visible_text(&self) -> String {
        serde_json::to_string(&self.result).expect("JSON")
    }
}

/// A stage whose upstream returns the last configured response.
pub(crate) struct ResponseStage {
    pub(crate) stage: Stage,
    answer: Arc<Mutex<(u16, String, Vec<u8>)>>,
}

impl ResponseStage {
    pub(crate) async fn new() -> Self {
        let answer = Arc::new(Mutex::new((200_u16, String::new(), Vec::<u8>::new())));
        let next = answer.clone();
        let stage = Stage::answering(&[], move |_| {
            let (status, kind, body) = next.lock().expect("a lock").clone();
            let headers = [("content-type", kind.as_str())];
            http_response(status, if kind.is_empty() { &[] } else { &headers }, body)
        });
        Self { stage: stage.await, answer }
    }

    /// The result of a tool with this config for one response, with a single attempt.
    pub(crate) async fn read(
        &self,
        config: Value,
        status: u16,
        kind: &str,
        body: impl Into<Vec<u8>>,
    ) -> CallOutcome {
        *self.answer.lock().expect("a lock") = (status, kind.to_owned(), body.into());
        let definition = with(open(self.stage.config_at("/answer", config)), json!({"retryCount": 0}));
        self.stage.call_definition(definition, json!({})).await
    }
}

/// A response that contains the whole request as text and base64; the path begins with the status to return.
pub(crate) fn echo(seen: &RecordedRequest) -> Response<Vec<u8>> {
    let status = seen.target.get(1..4).and_then(|text| text.parse().ok()).unwrap_or(200);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Map<String, Value> =
        seen.headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()).into())).collect();
    let all = json!({"target": seen.target, "headers": headers, "body": text(&seen.body)});
    let base64 = STANDARD_NO_PAD.encode(all.to_string());
    json_reply(status, &json!({"echo": all, "base64": base64}))
}

/// All encodings in which a credential must not be returned: plain, URL-encoded, base64 at every offset.
pub(crate) fn spellings(credential: &str) -> Vec<String> {
    let encoded = url::form_urlencoded::byte_serialize(credential.as_bytes()).collect();
    let mut spellings = vec![credential.to_owned(), encoded];
    for (before, first) in [("", 0), ("x", 2), ("xy", 3)] {
        let whole = STANDARD_NO_PAD.encode(format!("{before}{credential}"));
        // The first and last characters also depend on the neighboring text.
        spellings.push(whole[first..whole.len() - 1].to_owned());
    }
    spellings
}

/// Checks that a text contains nothing of a credential, but a mask in its place.
#[track_caller]
pub(crate) fn assert_masked(text: &str, credential: &str, case: &str) {
    for spelling in spellings(credential) {
        assert!(!text.contains(&spelling), "{case}: {spelling} is in {text}");
    }
    assert!(text.contains("***"), "{case}: nothing was masked in {text}");
}
