//! `web_search`: queries a search provider, and returns its results in a common form.
//!
//! Each provider has a module for its requests and responses. Keys are configured by the operator, and are
//! sent only in request headers.

mod brave;
mod provider;
mod searxng;
mod tavily;

use haft_core::builtin::Builtin;
use haft_core::mask::Mask;
use haft_core::tool::Title;
use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, ErrorKind, KindName, Message, ToolName,
    ToolOutput, ToolSpec,
};
use haft_egress::{Egress, EgressResponse, Limits, RequestPolicy};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

pub use brave::Brave;
pub use searxng::SearXng;
pub use tavily::Tavily;

use self::provider::{Found, Provider};
use crate::status;

haft_core::templates! {
    // Clients match on these texts, so they are not translated.
    NO_TAVILY = "webSearch.noTavily",
        "Tavily API key not configured. Please add TAVILY_API_KEY to your environment variables.",
        "Tavily API key not configured. Please add TAVILY_API_KEY to your environment variables.";
    NO_SEARXNG = "webSearch.noSearxng",
        "SearXNG not configured. Please add SEARXNG_URL to your environment variables.",
        "SearXNG not configured. Please add SEARXNG_URL to your environment variables.";
    NO_BRAVE = "webSearch.noBrave",
        "Brave API key not configured. Please add BRAVE_API_KEY to your environment variables.",
        "Brave API key not configured. Please add BRAVE_API_KEY to your environment variables.";
    TAVILY_FAILED = "webSearch.tavilyFailed",
        "Tavily API error: {status}",
        "Tavily API error: {status}";
    SEARXNG_FAILED = "webSearch.searxngFailed",
        "SearXNG error: {status}",
        "SearXNG error: {status}";
    BRAVE_FAILED = "webSearch.braveFailed",
        "Brave API error: {status}",
        "Brave API error: {status}";
    NOT_RESULTS = "webSearch.notResults",
        "The response of {provider} is not a list of results",
        "{provider} 返回的内容不是结果列表";
    BAD_KEY = "webSearch.badKey",
        "The key of {provider} contains characters that cannot be sent; check {variable}",
        "{provider} 的密钥包含无法发送的字符；请检查 {variable}";
}

/// Maximum size of a response, decoded.
const MOST_BYTES: usize = 2 << 20;

/// Default number of results.
const DEFAULT_RESULTS: usize = 5;

/// Maximum lengths of the texts of a result, in characters.
const LONGEST_TITLE: usize = 500;
const LONGEST_URL: usize = 4_000;
const LONGEST_CONTENT: usize = 10_000;

/// Maximum length of a failure's body, in characters.
const ERROR_BODY: usize = 2_000;

/// The providers that the operator configured. Calls use the first one unless they choose another.
#[derive(Debug, Clone, Default)]
pub struct SearchProviders {
    pub tavily: Option<Tavily>,
    pub searxng: Option<SearXng>,
    pub brave: Option<Brave>,
}

pub(crate) struct WebSearch {
    egress: Egress,
    providers: SearchProviders,
    /// Masks the keys of all providers: a SearXNG instance may itself use Brave.
    mask: Mask,
}

impl WebSearch {
    pub(crate) fn new(egress: Egress, providers: SearchProviders) -> Self {
        let tavily = providers.tavily.as_ref().map(|tavily| tavily.key.expose_secret());
        let brave = providers.brave.as_ref().map(|brave| brave.key.expose_secret());
        let mask = Mask::new(tavily.into_iter().chain(brave));
        Self { egress, providers, mask }
    }

    /// The provider that a call chooses, or the first configured one.
    fn provider(&self, chosen: Option<&str>) -> Result<&dyn Provider, CallError> {
        let SearchProviders { tavily, searxng, brave } = &self.providers;
        let tavily = tavily.as_ref().map(|provider| provider as &dyn Provider);
        let searxng = searxng.as_ref().map(|provider| provider as &dyn Provider);
        let brave = brave.as_ref().map(|provider| provider as &dyn Provider);
        let (provider, missing) = match chosen {
            Some("tavily") => (tavily, &NO_TAVILY),
            Some("searxng") => (searxng, &NO_SEARXNG),
            Some("brave") => (brave, &NO_BRAVE),
            // The schema allows no other names.
            Some(_) | None => (tavily.or(searxng).or(brave), &NO_TAVILY),
        };
        provider.ok_or_else(|| CallError::new(ErrorKind::Execution, Message::new(missing)))
    }

    async fn search(&self, chosen: Option<&str>, query: &str, most: usize) -> Result<Value, CallError> {
        let provider = self.provider(chosen)?;
        let request = provider.request(query, most)?;
        // The engine enforces the deadline of an attempt.
        let limits = Limits { deadline: None, bytes: MOST_BYTES };
        let answer = self.egress.send(RequestPolicy::Operator, request, limits).await?;
        if let Some(error) = status::error(&answer, provider.failed()) {
            return Err(self.with_body(error, &answer));
        }
        let read = serde_json::from_slice::<Value>(&answer.body).ok();
        let Some(found) = read.and_then(|read| provider.results(&read)) else {
            let message = Message::new(&NOT_RESULTS).with("provider", provider.name());
            return Err(CallError::new(ErrorKind::Execution, message));
        };
        let results: Vec<Value> = found.into_iter().take(most).map(|found| self.result(&found)).collect();
        Ok(json!({"query": query, "count": results.len(), "results": results}))
    }

    /// Converts a result to the tool's output. Texts are masked before truncation: half a key would not be
    /// recognized.
    fn result(&self, found: &Found) -> Value {
        let text = |text: &str, longest: usize| -> String {
            let clean = self.mask.text(text.trim());
            clean.chars().filter(|character| *character != '\0').take(longest).collect()
        };
        json!({
            "title": text(&found.title, LONGEST_TITLE),
            "url": text(&found.url, LONGEST_URL),
            "content": text(&found.content, LONGEST_CONTENT),
        })
    }

    /// Adds the response body to an error.
    fn with_body(&self, error: CallError, answer: &EgressResponse) -> CallError {
        let body = String::from_utf8_lossy(&answer.body);
        let body: String = self.mask.text(&body).chars().take(ERROR_BODY).collect();
        if body.is_empty() { error } else { error.detail("body", body) }
    }
}

impl Builtin for WebSearch {
    fn spec(&self) -> ToolSpec {
        let about = "Searches the web and returns the title, URL and a summary of each result. Use it for current \
                     events, facts you are not sure of and pages whose address you do not know; read a page itself \
                     with url_reader.";
        let mut spec = ToolSpec::new(ToolName::constant("web_search"), about, KindName::from("builtin"));
        spec.description_zh = Some(
            "搜索网页，返回每条结果的标题、URL 和摘要。用于时事、没有把握的事实，以及不知道地址的页面；要读取页面本身请用 url_reader。",
        );
        spec.title = Some(Title::Localized { en: "Web Search".to_owned(), zh: "网页搜索".to_owned() });
        spec.icon = Some("search".to_owned());
        spec.category = Some("search".to_owned());
        spec.input_schema = Some(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "What to search for."},
                "maxResults": {
                    "type": "integer", "minimum": 1, "maximum": 10, "default": DEFAULT_RESULTS,
                    "description": "Maximum number of results.",
                },
                "provider": {
                    "type": "string", "enum": ["tavily", "searxng", "brave"], "x-binding-only": true,
                    "description": "The search provider; default: the first configured one. An agent's binding sets it; models do not see it.",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }));
        let text = json!({"type": "string"});
        spec.output_schema = Some(json!({
            "type": "object",
            "properties": {
                "query": text,
                "results": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"title": text, "url": text, "content": text},
                        "required": ["title", "url", "content"],
                    },
                },
                "count": {"type": "integer"},
            },
            "required": ["query", "results", "count"],
        }));
        spec
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["Tavily_web_search"]
    }

    fn breaker_key(&self, arguments: &Arguments) -> Option<BreakerKey> {
        let provider = self.provider(arguments.get("provider").and_then(Value::as_str)).ok()?;
        Some(BreakerKey::new(provider.base().origin().ascii_serialization()))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let (chosen, query) = (text("provider"), text("query").unwrap_or_default());
        // An integer may be written as 3.0.
        let most = arguments.get("maxResults").and_then(Value::as_f64);
        let most = most.map_or(DEFAULT_RESULTS, |most| most as usize);
        Box::pin(async move {
            let outcome = self.search(chosen, query, most).await;
            outcome.map(ToolOutput::from).map_err(|error| error.masked(&self.mask))
        })
    }
}
