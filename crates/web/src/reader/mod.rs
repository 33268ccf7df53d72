//! `url_reader`: fetches a web page or reads a stored file, and returns its article as Markdown.
//!
//! The submodules decode and convert pages.

mod markdown;
mod media;
mod page;

use bytes::Bytes;
use haft_core::artifact::{self, ArtifactBytes, ArtifactRef};
use haft_core::builtin::Builtin;
use haft_core::tool::Title;
use haft_core::{
    Arguments, BoxFuture, BreakerKey, CallContext, CallError, ErrorKind, KindName, Locale, Message, ToolName,
    ToolOutput, ToolSpec, Violation,
};
use haft_egress::{Egress, EgressResponse, Hosts, Limits, Request, RequestPolicy, ToolPolicy};
use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde_json::{Value, json};
use url::{ParseError, Url};

use self::media::Document;
use self::page::Page;
use crate::status;

haft_core::templates! {
    NO_ACCESS = "urlReader.status",
        "Cannot access page: {status}",
        "无法访问页面: {status}";
    UNSUPPORTED = "urlReader.contentType",
        "Unsupported content type: {contentType}. Only HTML and plain text pages are supported.",
        "不支持的内容类型: {contentType}。仅支持 HTML 和纯文本页面。";
    NOT_A_URL = "urlReader.notAUrl",
        "is not a URL: {reason}",
        "不是有效的 URL: {reason}";
    NO_SCHEME = "urlReader.noScheme",
        "is not a URL: it must begin with http:// or https://",
        "不是有效的 URL: 必须以 http:// 或 https:// 开头";
}

/// Maximum size of a page, decoded.
const MOST_BYTES: usize = 5 << 20;

/// Default length of the content, in characters.
const DEFAULT_LENGTH: usize = 5_000;

const PAGES: HeaderValue =
    HeaderValue::from_static("text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8");
const ENGLISH: HeaderValue = HeaderValue::from_static("en, *;q=0.5");
const CHINESE: HeaderValue = HeaderValue::from_static("zh-CN, zh;q=0.9, en;q=0.8, *;q=0.5");

pub(crate) struct UrlReader {
    egress: Egress,
    /// All hosts. The guard still checks addresses and ports.
    hosts: Hosts,
}

impl UrlReader {
    pub(crate) fn new(egress: Egress) -> Self {
        // If `*` cannot be parsed, only the page's own host remains allowed.
        Self { egress, hosts: Hosts::parse(["*"]).unwrap_or_default() }
    }

    async fn read(&self, written: &str, most: usize, context: &CallContext) -> Result<Value, CallError> {
        let (shown, found) = match context.artifact_in(written) {
            Some(file) => {
                let file = context.artifact(&file, MOST_BYTES as u64).await?;
                (written.to_owned(), Found::of_file(file))
            }
            None => {
                let answer = self.fetch(&parse(written)?, context).await?;
                if let Some(error) = status::error(&answer, &NO_ACCESS) {
                    return Err(error);
                }
                let shown = if answer.was_redirected { answer.url().to_string() } else { written.to_owned() };
                (shown, Found::of_response(&answer))
            }
        };
        let Page { title, description, content } = read_page(found, context).await?;
        let length = content.chars().count();
        let end = content.char_indices().nth(most).map_or(content.len(), |(at, _)| at);
        Ok(json!({
            "url": shown,
            "title": title,
            "description": description,
            "content": content.get(..end),
            "contentLength": length,
            "truncated": length > most,
        }))
    }

    async fn fetch(&self, url: &Url, context: &CallContext) -> Result<EgressResponse, CallError> {
        let mut request = Request::new(Method::GET, url)?;
        request.headers.insert(ACCEPT, PAGES);
        let language = match context.locale() {
            Locale::En => ENGLISH,
            Locale::Zh => CHINESE,
        };
        request.headers.insert(ACCEPT_LANGUAGE, language);
        // A port in a tool's own URL is allowed because its author wrote it. Here a model wrote it, so it is
        // not.
        let mut portless = url.clone();
        let _ = portless.set_port(None);
        let policy = ToolPolicy::new(&portless, self.hosts.clone());
        // The engine enforces the deadline of an attempt.
        let limits = Limits { deadline: None, bytes: MOST_BYTES };
        self.egress.send(RequestPolicy::Tool(context.space(), &policy), request, limits).await
    }
}

/// The content to convert, from any source.
struct Found {
    /// Empty if unknown.
    content_type: String,
    body: Bytes,
    /// The base of relative links. `None` for a file.
    url: Option<Url>,
    /// The title, if the content has none.
    name: String,
}

impl Found {
    fn of_response(answer: &EgressResponse) -> Self {
        let url = answer.url();
        let header = answer.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = header.as_deref().unwrap_or_default().trim().to_owned();
        Self { content_type, body: answer.body.clone(), name: page::file_name(&url), url: Some(url) }
    }

    fn of_file(file: ArtifactBytes) -> Self {
        // If the type of a file is unknown, its bytes are examined instead.
        let is_known = file.media_type != artifact::UNKNOWN_TYPE;
        let content_type = if is_known { file.media_type } else { String::new() };
        Self { content_type, body: file.bytes, url: None, name: file.name }
    }
}

/// Parses a URL like a browser: spaces and non-ASCII letters are allowed.
fn parse(written: &str) -> Result<Url, CallError> {
    Url::parse(written).map_err(|error| {
        let message = if error == ParseError::RelativeUrlWithoutBase {
            Message::new(&NO_SCHEME)
        } else {
            Message::new(&NOT_A_URL).with("reason", error)
        };
        CallError::invalid(vec![Violation::new("url", message)])
    })
}

/// Converts a page on a blocking thread, so that other tasks are not delayed.
async fn read_page(found: Found, context: &CallContext) -> Result<Page, CallError> {
    // The context holds the call's slot until the blocking work ends, even if the caller is cancelled.
    let context = context.clone();
    let work = tokio::task::spawn_blocking(move || {
        let Found { content_type, body, url, name } = found;
        let page = media::document(&content_type, &body).map(|document| match document {
            Document::Html(html) => Page::of_html(&html, url.as_ref()),
            Document::Text(text) => Page::of_text(text, name),
        });
        drop(context);
        page
    });
    match work.await {
        Ok(page) => page,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(CallError::text(ErrorKind::Cancelled, error.to_string())),
    }
}

impl Builtin for UrlReader {
    fn spec(&self) -> ToolSpec {
        let about = "Reads a web page and returns its title, description and main text as Markdown, without \
                     navigation and advertising. Use it when you have the URL of an article, a documentation page \
                     or a text file and need its content. It does not run scripts, log in, or read PDF files, \
                     images or JSON.";
        let mut spec = ToolSpec::new(ToolName::constant("url_reader"), about, KindName::from("builtin"));
        spec.description_zh = Some(
            "读取网页，以 Markdown 返回标题、描述和正文，不含导航和广告。已有文章、文档页面或文本文件的 URL 并需要其内容时使用。\
             不运行脚本，不登录，也不读取 PDF、图片或 JSON。",
        );
        spec.title =
            Some(Title::Localized { en: "Web page reader".to_owned(), zh: "网页读取".to_owned() });
        spec.icon = Some("link".to_owned());
        spec.category = Some("data".to_owned());
        // No `format`: `uri` would reject addresses that browsers accept.
        spec.input_schema = Some(json!({
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": "The address of the page, with http:// or https://; or artifact://ID for a stored file",
                },
                "maxLength": {
                    "type": "integer", "minimum": 100, "maximum": 50_000, "default": DEFAULT_LENGTH,
                    "description": "Maximum number of characters of content; the rest is truncated.",
                },
            },
            "required": ["url"],
            "additionalProperties": false,
        }));
        spec.output_schema = Some(json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "The URL of the page, after redirects."},
                "title": {"type": "string"},
                "description": {"type": "string", "description": "The page's own description, or the beginning of its text."},
                "content": {"type": "string", "description": "The main text, as Markdown."},
                "contentLength": {"type": "integer", "description": "Number of characters of the content before truncation."},
                "truncated": {"type": "boolean"},
            },
            "required": ["url", "title", "description", "content", "contentLength", "truncated"],
        }));
        spec
    }

    fn breaker_key(&self, arguments: &Arguments) -> Option<BreakerKey> {
        let origin = Url::parse(arguments.get("url")?.as_str()?).ok()?.origin();
        origin.is_tuple().then(|| BreakerKey::new(origin.ascii_serialization()))
    }

    fn reads_own_files(&self, arguments: &Arguments) -> bool {
        let url = arguments.get("url").and_then(Value::as_str).unwrap_or_default().trim();
        // Parsed like the server's own addresses, since several spellings are equivalent.
        let is_stored_file = |url: Url| url.path().contains(artifact::PATH);
        ArtifactRef::parse(url).is_some() || Url::parse(url).is_ok_and(is_stored_file)
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Arguments,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, CallError>> {
        let url = arguments.get("url").and_then(Value::as_str).unwrap_or_default().trim();
        // An integer may be written as 300.0.
        let most = arguments.get("maxLength").and_then(Value::as_f64);
        let most = most.map_or(DEFAULT_LENGTH, |most| most as usize);
        Box::pin(async move { self.read(url, most, context).await.map(ToolOutput::from) })
    }
}
