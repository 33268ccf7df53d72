//! Imports: `POST /api/tools/import/{openapi,curl,postman,har}`. All tools of an import are stored, or none.

mod body;
mod example;
mod gate;
mod plan;
mod report;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::{CallError, ErrorKind, Message, Template, Violation};
use haft_egress::{Hosts, Limits, Request, RequestPolicy, ToolPolicy};
use haft_http::import::{self, CancelFlag, CurlOptions, ExampleOptions, Imported, OpenApiOptions};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::Parameters;
use crate::request::Asked;
use crate::routes::saving::Saving;
use crate::routes::schema_preview::address_warnings;
use crate::routes::tools::save_all;
use crate::visitors::Visitor;
pub(crate) use body::ImportBody;
pub(crate) use gate::ImportGate;
use gate::ImportSlot;
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
        "{host} returned {status} instead of a document.",
        "{host} 返回 {status}，而不是文档";
    NOTHING = "import.nothing",
        "Nothing in it can become a tool. See details.skipped for the reasons.",
        "其中没有可以成为工具的内容；原因见 details.skipped";
    NOTHING_ELSE = "import.nothingElse",
        "Nothing in it can become a tool: {operation}: {reason}",
        "其中没有可以成为工具的内容：{operation}：{reason}";
}

/// A document from a URL may be this large, and take this long.
const DOCUMENT_BYTES: usize = body::LARGEST;
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
            .says("Import tools from an OpenAPI document")
            .dry_run()
            .takes("OpenApiImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/curl", curl)
            .needs(Needs::Edit)
            .says("Import tools from cURL commands")
            .dry_run()
            .takes("CurlImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/postman", postman)
            .needs(Needs::Edit)
            .says("Import tools from a Postman collection")
            .dry_run()
            .takes("DocumentImport")
            .answers(201, "ImportReport"),
        Route::post("/tools/import/har", har)
            .needs(Needs::Edit)
            .says("Import tools from a HAR file, in which a browser recorded requests")
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
    body: ImportBody,
) -> Result<Response, Failure> {
    let (body, slot) = body.read::<OpenApiImport>().await?;
    let (reading, slot) = read_openapi(&state, &visitor, body, slot).await?;
    import(&state, &visitor, &asked, (reading, slot), &saving).await
}

/// `POST /api/tools/import/curl`
async fn curl(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    body: ImportBody,
) -> Result<Response, Failure> {
    let (body, slot) = body.read().await?;
    import(&state, &visitor, &asked, (read_curl(body), slot), &saving).await
}

/// `POST /api/tools/import/postman`
async fn postman(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    body: ImportBody,
) -> Result<Response, Failure> {
    let (body, slot) = body.read().await?;
    import(&state, &visitor, &asked, (read_document(body, import::postman), slot), &saving).await
}

/// `POST /api/tools/import/har`
async fn har(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Parameters(saving): Parameters<Saving>,
    body: ImportBody,
) -> Result<Response, Failure> {
    let (body, slot) = body.read().await?;
    import(&state, &visitor, &asked, (read_document(body, import::har), slot), &saving).await
}

type ReadImport = Box<dyn FnOnce(&CancelFlag) -> Result<Imported, Vec<Violation>> + Send>;

/// What was asked for, not read yet: large documents take long.
struct Reading {
    dry_run: bool,
    /// Tools may be called otherwise than the user calls those that are there.
    is_named: bool,
    /// All of a document was asked for, so what is missing in it is gone.
    is_whole: bool,
    read: ReadImport,
}

async fn read_openapi(
    state: &AppState,
    visitor: &Visitor,
    body: OpenApiImport,
    slot: ImportSlot,
) -> Result<(Reading, ImportSlot), CallError> {
    let (document, source, slot) = match (body.spec, body.url) {
        (Some(spec), None) => (Document::of(spec), None, slot),
        (None, Some(written)) => {
            // Not quoted: it may hold a credential.
            let bad = |_| CallError::invalid(vec![Violation::new("url", Message::new(&BAD_URL))]);
            let url = Url::parse(&written).map_err(bad)?;
            // The document may be large. Its slot is taken when it is here: another server may send it slowly.
            drop(slot);
            let admission = state.imports.admit(visitor.user.id).await?;
            let (text, from) = fetch(state, visitor, &url).await?;
            (Document::Text(text), Some(from), state.imports.large(admission).await?)
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(CallError::invalid(vec![Violation::new("spec", Message::new(&ONE_SOURCE))]));
        }
    };
    let (name, base_url, only) = (body.name, body.base_url, body.only);
    let reading = Reading {
        dry_run: body.dry_run,
        is_named: name.is_some(),
        is_whole: only.is_empty(),
        read: Box::new(move |cancel| {
            let options = OpenApiOptions { name, base_url, source, only, cancel: cancel.clone() };
            import::openapi(&document.read(cancel)?, &options)
        }),
    };
    Ok((reading, slot))
}

fn read_curl(body: CurlImport) -> Reading {
    let CurlImport { command, name, description, only, dry_run } = body;
    Reading {
        dry_run,
        is_named: name.is_some(),
        is_whole: false,
        read: Box::new(move |cancel| {
            let options = CurlOptions { name, description, only, cancel: cancel.clone() };
            import::curl(&command, &options)
        }),
    }
}

type Importer = fn(&Value, &ExampleOptions) -> Result<Imported, Vec<Violation>>;

fn read_document(body: DocumentImport, importer: Importer) -> Reading {
    let DocumentImport { document, name, base_url, only, dry_run } = body;
    let document = Document::of(document);
    Reading {
        dry_run,
        is_named: name.is_some(),
        is_whole: only.is_empty(),
        read: Box::new(move |cancel| {
            let options = ExampleOptions { name, only, base_url, cancel: cancel.clone() };
            importer(&document.read(cancel)?, &options)
        }),
    }
}

/// A document that was given: as text, or as JSON already.
enum Document {
    Text(String),
    Read(Value),
}

impl Document {
    fn of(given: Value) -> Self {
        if let Value::String(text) = given { Self::Text(text) } else { Self::Read(given) }
    }

    fn read(self, cancel: &CancelFlag) -> Result<Value, Vec<Violation>> {
        match self {
            Self::Text(text) => import::parse_document_until(&text, cancel),
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
    let answer = state.egress.send(RequestPolicy::Tool(visitor.space, &policy), request, limits).await?;
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
    (reading, slot): (Reading, ImportSlot),
    saving: &Saving,
) -> Result<Response, Failure> {
    let Reading { dry_run, is_named, is_whole, read } = reading;
    let dry_run = dry_run || saving.dry_run;
    state.tools.make_ready(visitor.space).await?;
    let (engine, owner) = (state.tools.clone(), visitor.clone());
    let planned = slot.run(move |cancel| {
        let imported = read(cancel).map_err(CallError::invalid)?;
        plan(&engine, &owner, Found { imported, is_named, is_whole, dry_run }, cancel)
    });
    let planned = planned.await;
    let Planned { mut report, changes, secrets } = planned?;
    if report.tools.is_empty() {
        let message = match report.skipped.as_slice() {
            [one] => Message::new(&NOTHING_ELSE)
                .with("operation", &one.operation)
                .with_messages("reason", vec![one.reason.clone()]),
            _ => Message::new(&NOTHING),
        };
        let skipped = left_out(report.skipped, asked.locale);
        let error = CallError::new(ErrorKind::Validation, message);
        return Err(error.detail("skipped", serde_json::to_value(skipped).unwrap_or_default()).into());
    }
    for (version, _) in &changes {
        for warning in address_warnings(state, &version.spec.config) {
            // Tools of one document share their host.
            if !report.notes.contains(&warning) {
                report.notes.push(warning);
            }
        }
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
    [TEMPLATES, body::TEMPLATES, gate::TEMPLATES, plan::TEMPLATES].into_iter().flatten().copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cancelled_imports_of_every_format_end_with_an_error() {
        let document = |document: Value| DocumentImport {
            document,
            name: None,
            base_url: None,
            only: Vec::new(),
            dry_run: false,
        };
        let readings = || {
            let command = "curl https://a.example/x".to_owned();
            let curl =
                CurlImport { command, name: None, description: None, only: Vec::new(), dry_run: false };
            let request = json!({"method": "GET", "url": "https://a.example/x"});
            let collection = json!({"item": [{"name": "x", "request": request}]});
            let recording = json!({"log": {"entries": [{"request": request}]}});
            [
                ("curl", read_curl(curl)),
                ("postman", read_document(document(collection), import::postman)),
                ("har", read_document(document(recording), import::har)),
            ]
        };
        let cancel = CancelFlag::default();
        for (format, reading) in readings() {
            assert_eq!((reading.read)(&cancel).expect(format).tools.len(), 1, "{format}");
        }
        cancel.cancel();
        for (format, reading) in readings() {
            let refused = (reading.read)(&cancel).expect_err(format);
            assert!(refused[0].message.to_string().contains("cancelled"), "{format}: {refused:?}");
        }
    }
}
