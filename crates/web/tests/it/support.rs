//! Shared helpers: both tools in an engine, servers with one page, and the results of calls.

use std::sync::Arc;

use haft_core::builtin::BuiltinKind;
use haft_egress::Egress;
use haft_engine::{
    Binding, CallOptions, CallRequest, Caller, ErrorKind, Locale, Source, SpaceId, ToolConfig,
    ToolExecutionResult, ToolService,
};
use haft_testkit::{Upstream, http_response};
use haft_web::SearchProviders;
use serde_json::{Value, json};

/// Both tools, with one egress guard.
pub(crate) fn tools_over(egress: Egress, providers: SearchProviders) -> ToolService {
    let kind = BuiltinKind::default()
        .with(haft_web::url_reader(egress.clone()))
        .with(haft_web::web_search(egress, providers));
    ToolService::builder().kind(kind).build()
}

/// Both tools, which may reach loopback.
pub(crate) fn tools(providers: SearchProviders) -> ToolService {
    let egress = Egress::builder().open("127.0.0.0/8".parse().expect("networks")).build();
    tools_over(egress, providers)
}

/// A call with one attempt.
pub(crate) async fn call(tools: &ToolService, tool: &str, arguments: Value, locale: Locale) -> CallOutcome {
    call_with(tools, tool, arguments, locale, CallOptions::default()).await
}

/// A call with one attempt and these options.
pub(crate) async fn call_with(
    tools: &ToolService,
    tool: &str,
    arguments: Value,
    locale: Locale,
    options: CallOptions,
) -> CallOutcome {
    let caller = Caller {
        space: SpaceId::from(uuid::Uuid::nil()),
        user: None,
        source: Source::Library,
        locale,
        request: None,
    };
    let request = CallRequest { tool: tool.to_owned(), arguments, options: options.retries(0) };
    CallOutcome { result: tools.call(&caller, request).await.expect("the engine itself works"), locale }
}

/// The options of an agent whose binding has this configuration.
pub(crate) fn bound(tool_config: &Value) -> CallOptions {
    let fields = tool_config.as_object().cloned().expect("an object");
    let tool_config = ToolConfig::parse(fields).expect("a configuration");
    CallOptions::default().binding(Arc::new(Binding { tool_config, ..Binding::default() }))
}

/// Reads a page, in English.
pub(crate) async fn read(url: &str) -> CallOutcome {
    let tools = tools(SearchProviders::default());
    call(&tools, "url_reader", json!({"url": url}), Locale::En).await
}

/// Reads a page with this content type; an empty one sends no header.
pub(crate) async fn read_as(kind: &str, body: impl Into<Vec<u8>>) -> CallOutcome {
    let headers = [("content-type", kind)];
    let server = serving(200, if kind.is_empty() { &[] } else { &headers }, body).await;
    read(&server.url("/page")).await
}

/// A server that sends the same response to every request.
pub(crate) async fn serving(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Upstream {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers: Vec<(String, String)> = headers.iter().map(own).collect();
    let body = body.into();
    Upstream::start(move |_| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        http_response(status, &headers, body.clone())
    })
    .await
}

/// The result of a call.
pub(crate) struct CallOutcome {
    pub(crate) result: ToolExecutionResult,
    locale: Locale,
}

impl CallOutcome {
    #[track_caller]
    pub(crate) fn data(&self, case: &str) -> &Value {
        match &self.result.outcome {
            Ok(data) => data,
            Err(error) => panic!("{case}: {error}"),
        }
    }

    /// A text field of the output.
    #[track_caller]
    pub(crate) fn text(&self, name: &str, case: &str) -> &str {
        self.data(case)[name].as_str().unwrap_or_else(|| panic!("{case}: no {name}"))
    }

    /// Kind and message of a failure.
    #[track_caller]
    pub(crate) fn failed(&self, case: &str) -> (ErrorKind, String) {
        match &self.result.outcome {
            Ok(data) => panic!("{case}: it went through and answered {data}"),
            Err(error) => (error.kind(), error.message().render(self.locale)),
        }
    }

    /// The details of a failure.
    #[track_caller]
    pub(crate) fn details(&self, case: &str) -> Value {
        let error = self.result.error().unwrap_or_else(|| panic!("{case}: it went through"));
        Value::Object(error.details(self.locale))
    }

    /// The complete result that a caller sees.
    pub(crate) fn visible_text(&self) -> String {
        serde_json::to_string(&self.result).expect("JSON")
    }
}
