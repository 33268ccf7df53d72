//! What the tests share: both tools in an engine, servers with one page, and what a call made of them.

use std::sync::Arc;

use haft_core::builtin::BuiltinKind;
use haft_egress::Egress;
use haft_engine::{
    Binding, CallOptions, CallRequest, Caller, ErrorKind, Locale, Source, SpaceId, ToolConfig,
    ToolExecutionResult, ToolService,
};
use haft_testkit::{Upstream, reply};
use haft_web::SearchProviders;
use serde_json::{Value, json};

/// Both tools, over one way out.
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

/// One attempt of one call.
pub(crate) async fn call(tools: &ToolService, tool: &str, arguments: Value, locale: Locale) -> Made {
    call_with(tools, tool, arguments, locale, CallOptions::default()).await
}

/// One attempt of one call, made in some way.
pub(crate) async fn call_with(
    tools: &ToolService,
    tool: &str,
    arguments: Value,
    locale: Locale,
    options: CallOptions,
) -> Made {
    let caller = Caller {
        space: SpaceId::from(uuid::Uuid::nil()),
        user: None,
        source: Source::Library,
        locale,
        request: None,
    };
    let request = CallRequest { tool: tool.to_owned(), arguments, options: options.retries(0) };
    Made { result: tools.call(&caller, request).await.expect("the engine itself works"), locale }
}

/// The way of an agent whose binding has this configuration.
pub(crate) fn bound(tool_config: &Value) -> CallOptions {
    let fields = tool_config.as_object().cloned().expect("an object");
    let tool_config = ToolConfig::parse(fields).expect("a configuration");
    CallOptions::default().binding(Arc::new(Binding { tool_config, ..Binding::default() }))
}

/// Reads a page, in English.
pub(crate) async fn read(url: &str) -> Made {
    let tools = tools(SearchProviders::default());
    call(&tools, "url_reader", json!({"url": url}), Locale::En).await
}

/// Reads what a server answers with this content type; none where it is empty.
pub(crate) async fn read_as(kind: &str, body: impl Into<Vec<u8>>) -> Made {
    let headers = [("content-type", kind)];
    let server = serving(200, if kind.is_empty() { &[] } else { &headers }, body).await;
    read(&server.url("/page")).await
}

/// A server that answers everything alike.
pub(crate) async fn serving(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Upstream {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let headers: Vec<(String, String)> = headers.iter().map(own).collect();
    let body = body.into();
    Upstream::start(move |_| {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        reply(status, &headers, body.clone())
    })
    .await
}

/// A call that was made.
pub(crate) struct Made {
    pub(crate) result: ToolExecutionResult,
    locale: Locale,
}

impl Made {
    #[track_caller]
    pub(crate) fn data(&self, case: &str) -> &Value {
        match &self.result.outcome {
            Ok(data) => data,
            Err(error) => panic!("{case}: {error}"),
        }
    }

    /// A text of the answer.
    #[track_caller]
    pub(crate) fn text(&self, name: &str, case: &str) -> &str {
        self.data(case)[name].as_str().unwrap_or_else(|| panic!("{case}: no {name}"))
    }

    /// Kind and words of a failure.
    #[track_caller]
    pub(crate) fn failed(&self, case: &str) -> (ErrorKind, String) {
        match &self.result.outcome {
            Ok(data) => panic!("{case}: it went through and answered {data}"),
            Err(error) => (error.kind(), error.message().render(self.locale)),
        }
    }

    /// What is known besides of a failure.
    #[track_caller]
    pub(crate) fn details(&self, case: &str) -> Value {
        let error = self.result.error().unwrap_or_else(|| panic!("{case}: it went through"));
        Value::Object(error.details(self.locale))
    }

    /// All that a caller gets to see.
    pub(crate) fn shown(&self) -> String {
        serde_json::to_string(&self.result).expect("JSON")
    }
}
