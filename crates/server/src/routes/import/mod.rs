//! Imports: `POST /api/tools/import/{openapi,curl,postman,har}`. All tools of an import are stored, or none.

mod plan;
mod report;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, Template, Violation};
use haft_egress::{Hosts, Limits, Policy, Request, ToolPolicy};
use haft_http::import::{self, CurlOptions, ExampleOptions, Imported, OpenApiOptions};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::body::{JsonBody, read};
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;
use crate::request::Asked;
use crate::routes::saving::Saving;
use crate::routes::tools::save_all;
use crate::visitors::Visitor;
use plan::{Found, Planned, plan, plan_secrets};
use report::{Report, left_out};

haft_core::templates! {
    ONE_SOURCE = "import.oneSource",
        "must be given, or url: exactly one of the two",
        "必须提供，或提供 url：两者只能有一个";
    BAD_URL = "import.badDocumentUrl",
        "is not a URL",
        "不是有效的 URL";
    NOT_FETCHED = "import.notFetched",
        "{host} answered {status} instead of a document",
        "{host} 返回 {status}，而不是文档";
    NOTHING = "import.nothing",
        "nothing in it can become a tool; the report in details.skipped says why",
        "其中没有可以成为工具的内容；原因见 details.skipped";
}

/// A document from a URL may be so large, and take so long.
const DOCUMENT_BYTES: usize = 32 << 20;
const DOCUMENT_TIME: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenApiImport {
    name: Option<String>,
    /// The document, as text or as it is.
    spec: Option<Value>,
    url: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CurlImport {
    command: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DocumentImport {
    document: Value,
    name: Option<String>,
    base_url: Option<String>,
    #[serde(default)]
    only: Vec<String>,
    #[serde(default)]
    dry_run: bool,
}

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::post("/tools/import/openapi", openapi)
            .needs(Needs::Edit)
            .says("Makes tools of the operations of an OpenAPI document")
            .dry_run()
            .takes("OpenApiImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/curl", curl)
            .needs(Needs::Edit)
            .says("Makes tools of cURL commands")
            .dry_run()
            .takes("CurlImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/postman", postman)
            .needs(Needs::Edit)
            .says("Makes tools of a Postman collection")
            .dry_run()
            .takes("DocumentImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/har", har)
            .needs(Needs::Edit)
            .says("Makes tools of the requests that a browser recorded in a HAR file")
            .dry_run()
            .takes("DocumentImport")
            .answers(201, "ImportReport"),
    ]
}

/// `POST /api/tools/import/openapi`
async fn openapi(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    let reading = read_openapi(&state, &visitor, body).await;
    import(&state, &visitor, &asked, reading, &saving).await
}

/// `POST /api/tools/import/curl`
async fn curl(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    import(&state, &visitor, &asked, read_curl(body), &saving).await
}

/// `POST /api/tools/import/postman`
async fn postman(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    import(&state, &visitor, &asked, read_document(body, import::postman), &saving).await
}

/// `POST /api/tools/import/har`
async fn har(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    JsonBody(body): JsonBody,
) -> Result<Response, Failure> {
    import(&state, &visitor, &asked, read_document(body, import::har), &saving).await
}

/// What was asked for, not read yet: large documents take long.
struct Reading {
    dry_run: bool,
    /// Tools may be called otherwise than the user calls those that are there.
    is_named: bool,
    /// All of a document was asked for, so what is missing in it is gone.
    is_whole: bool,
    read: Box<dyn FnOnce() -> Result<Imported, Vec<Violation>> + Send>,
}

async fn read_openapi(state: &AppState, visitor: &Visitor, body: Value) -> Result<Reading, CallError> {
    let body: OpenApiImport = read(body)?;
    let (text, source) = match (&body.spec, body.url) {
        (Some(spec), None) => (Document::of(spec), None),
        (None, Some(written)) => {
            // Not quoted: it may hold a credential.
            let bad = |_| CallError::invalid(vec![Violation::new("url", Message::new(&BAD_URL))]);
            let url = Url::parse(&written).map_err(bad)?;
            let (text, from) = fetch(state, visitor, &url).await?;
            (Document::Text(text), Some(from))
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(CallError::invalid(vec![Violation::new("spec", Message::new(&ONE_SOURCE))]));
        }
    };
    let options = OpenApiOptions { name: body.name, base_url: body.base_url, source, only: body.only };
    Ok(Reading {
        dry_run: body.dry_run,
        is_named: options.name.is_some(),
        is_whole: options.only.is_empty(),
        read: Box::new(move || import::openapi(&text.read()?, &options)),
    })
}

fn read_curl(body: Value) -> Result<Reading, CallError> {
    let CurlImport { command, name, description, only, dry_run } = read(body)?;
    let options = CurlOptions { name, description, only };
    Ok(Reading {
        dry_run,
        is_named: options.name.is_some(),
        is_whole: false,
        read: Box::new(move || import::curl(&command, &options)),
    })
}

type Importer = fn(&Value, &ExampleOptions) -> Result<Imported, Vec<Violation>>;

fn read_document(body: Value, importer: Importer) -> Result<Reading, CallError> {
    let DocumentImport { document, name, base_url, only, dry_run } = read(body)?;
    let document = Document::of(&document);
    let options = ExampleOptions { name, only, base_url };
    Ok(Reading {
        dry_run,
        is_named: options.name.is_some(),
        is_whole: options.only.is_empty(),
        read: Box::new(move || importer(&document.read()?, &options)),
    })
}

/// A document that was given: as text, or as JSON already.
enum Document {
    Text(String),
    Read(Value),
}

impl Document {
    fn of(given: &Value) -> Self {
        match given.as_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Read(given.clone()),
        }
    }

    fn read(self) -> Result<Value, Vec<Violation>> {
        match self {
            Self::Text(text) => import::parse_document(&text),
            Self::Read(document) => Ok(document),
        }
    }
}

/// Fetches a document as a tool would, for the address is the caller's; gives where it was found.
async fn fetch(state: &AppState, visitor: &Visitor, url: &Url) -> Result<(String, Url), CallError> {
    let hosts = Hosts::parse(["*"]).unwrap_or_default();
    let policy = ToolPolicy::new(url, hosts);
    let request = Request::new(axum::http::Method::GET, url)?;
    let limits = Limits { deadline: Some(Instant::now() + DOCUMENT_TIME), bytes: DOCUMENT_BYTES };
    let answer = state.egress.send(Policy::Tool(visitor.space, &policy), request, limits).await?;
    if !answer.status.is_success() {
        let message =
            Message::new(&NOT_FETCHED).with("host", answer.from.host_str()).with("status", answer.status);
        return Err(CallError::new(ErrorKind::Execution, message));
    }
    Ok((String::from_utf8_lossy(&answer.body).into_owned(), answer.url()))
}

/// Compares what is found with what is there, and puts it there unless it is a dry run.
async fn import(
    state: &AppState,
    visitor: &Arc<Visitor>,
    asked: &Asked,
    reading: Result<Reading, CallError>,
    saving: &Saving,
) -> Result<Response, Failure> {
    let Reading { dry_run, is_named, is_whole, read } = reading?;
    let dry_run = dry_run || saving.dry_run;
    state.tools.make_ready(visitor.space).await?;
    let (engine, owner) = (state.tools.clone(), visitor.clone());
    let work = tokio::task::spawn_blocking(move || {
        let imported = read().map_err(CallError::invalid)?;
        plan(&engine, &owner, Found { imported, is_named, is_whole })
    });
    let planned = work.await.unwrap_or_else(|error| {
        Err(CallError::text(ErrorKind::Internal, "the import could not be read").caused_by(error))
    });
    let Planned { mut report, changes, secrets } = planned?;
    if report.tools.is_empty() {
        let skipped = left_out(report.skipped, asked.locale);
        let error = CallError::new(ErrorKind::Validation, Message::new(&NOTHING));
        return Err(error.detail("skipped", serde_json::to_value(skipped).unwrap_or_default()).into());
    }
    let secrets = plan_secrets(state, visitor, secrets, &mut report).await?;
    if !dry_run {
        save_all(state, visitor, changes, secrets).await?;
    }
    let status = if dry_run { StatusCode::OK } else { StatusCode::CREATED };
    Ok(envelope::success(status, Report::of(report, asked.locale)))
}

/// Every message of imports.
pub(crate) fn all_templates() -> impl Iterator<Item = &'static Template> {
    [TEMPLATES, plan::TEMPLATES].into_iter().flatten().copied()
}
