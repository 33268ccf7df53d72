//! `url_reader`: fetches a web page, or a file that is kept here, and gives its article as Markdown.
//!
//! What a page holds is read in the files beside.

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
use haft_egress::{Answer, Egress, Hosts, Limits, Policy, Request, ToolPolicy};
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

/// The most that is read of a page, decoded.
const MOST_BYTES: usize = 5 << 20;

/// Characters of content where the call does not say how many.
const DEFAULT_LENGTH: usize = 5_000;

const PAGES: HeaderValue =
    HeaderValue::from_static("text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8");
const ENGLISH: HeaderValue = HeaderValue::from_static("en, *;q=0.5");
const CHINESE: HeaderValue = HeaderValue::from_static("zh-CN, zh;q=0.9, en;q=0.8, *;q=0.5");

pub(crate) struct UrlReader {
    egress: Egress,
    /// Every host. Addresses and ports are judged all the same.
    hosts: Hosts,
}

impl UrlReader {
    pub(crate) fn new(egress: Egress) -> Self {
        // Should `*` ever mean nothing, a page's own host is left.
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
                (shown, Found::of_answer(&answer))
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

    async fn fetch(&self, url: &Url, context: &CallContext) -> Result<Answer, CallError> {
        let mut request = Request::new(Method::GET, url)?;
        request.headers.insert(ACCEPT, PAGES);
        let language = match context.locale() {
            Locale::En => ENGLISH,
            Locale::Zh => CHINESE,
        };
        request.headers.insert(ACCEPT_LANGUAGE, language);
        // The port in a tool's own URL is allowed because its author wrote it. This one a model wrote.
        let mut portless = url.clone();
        let _ = portless.set_port(None);
        let policy = ToolPolicy::new(&portless, self.hosts.clone());
        // The engine ends every attempt in its time.
        let limits = Limits { deadline: None, bytes: MOST_BYTES };
        self.egress.send(Policy::Tool(context.space(), &policy), request, limits).await
    }
}

/// What is to be read, wherever it comes from.
struct Found {
    /// Empty where nobody said it.
    content_type: String,
    body: Bytes,
    /// What its links are relative to; a file stands nowhere.
    url: Option<Url>,
    /// What it is called where it does not say so itself.
    name: String,
}

impl Found {
    fn of_answer(answer: &Answer) -> Self {
        let url = answer.url();
        let header = answer.headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = header.as_deref().unwrap_or_default().trim().to_owned();
        Self { content_type, body: answer.body.clone(), name: page::file_name(&url), url: Some(url) }
    }

    fn of_file(file: ArtifactBytes) -> Self {
        // Of a file whose type nobody knows its bytes tell more.
        let is_known = file.media_type != artifact::UNKNOWN_TYPE;
        let content_type = if is_known { file.media_type } else { String::new() };
        Self { content_type, body: file.bytes, url: None, name: file.name }
    }
}

/// An address as browsers take one: spaces and letters of every language may stand in it.
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

/// Reads a page on a thread of its own, so that others need not wait for it.
async fn read_page(found: Found, context: &CallContext) -> Result<Page, CallError> {
    // The call keeps its place for as long as anyone works on it.
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
                     or a text file and need what it says. It does not run scripts, log in, or read PDF files, \
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
        // No format: `uri` would refuse addresses that every browser takes.
        spec.input_schema = Some(json!({
            "type": "object",
            "properties": {
                "url": {
                    "type": "string",
                    "description": "The address of the page, with http:// or https://; or artifact://ID for a file that is kept here",
                },
                "maxLength": {
                    "type": "integer", "minimum": 100, "maximum": 50_000, "default": DEFAULT_LENGTH,
                    "description": "The most characters of content to return; the rest is cut off.",
                },
            },
            "required": ["url"],
            "additionalProperties": false,
        }));
        spec.output_schema = Some(json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Where the page was found, after redirects."},
                "title": {"type": "string"},
                "description": {"type": "string", "description": "What the page says of itself, or how it begins."},
                "content": {"type": "string", "description": "The main text, as Markdown."},
                "contentLength": {"type": "integer", "description": "The characters of the content before it was cut."},
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
        // Read like an address of ours is: more than one text stands for the same.
        let is_kept_here = |url: Url| url.path().contains(artifact::PATH);
        ArtifactRef::parse(url).is_some() || Url::parse(url).is_ok_and(is_kept_here)
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
