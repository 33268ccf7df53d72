//! The tools of an agent: `GET /api/agents/{id}/tools`, for people, or as the model sees them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::agent::AgentBinding;
use haft_core::mask::MASKED;
use haft_core::schema::take_out_binding_only;
use haft_core::text::TextPart;
use haft_core::tool::input::camel_case;
use haft_core::{Text, ToolConfig, ToolId, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::bind::Binder;
use super::find;
use crate::api::{Needs, Route};
use crate::app::AppState;
use crate::auth::Who;
use crate::envelope;
use crate::error::Failure;
use crate::query::{Named, Parameters};
use crate::request::Asked;

/// Words that stand before a credential and tell nothing of it.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/agents/{id}/tools", list)
            .needs(Needs::Read)
            .says("List the tools of an agent in order, as a plain array")
            .parameter("effective", "boolean", "Only enabled tools, with the parameters that the model sees")
            .answers(200, "AgentToolList"),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    #[serde(default)]
    effective: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    tool_id: ToolId,
    /// None when the tool is gone.
    name: Option<String>,
    description: Option<String>,
    endpoint: Option<String>,
    method: Option<String>,
    parameters: Option<Value>,
    headers: Option<Map<String, Value>>,
    sort_order: i64,
    /// Whether the binding is on.
    enabled: bool,
    /// Whether the tool is on.
    active: bool,
}

async fn list(
    State(state): State<AppState>,
    Who(visitor): Who,
    asked: Asked,
    Named(id): Named,
    Parameters(Which { effective }): Parameters<Which>,
) -> Result<Response, Failure> {
    let agent = find(&state, visitor.space, &id).await?;
    let binder = Binder::new(&state, &visitor, &agent.spec.bindings).await?;
    let mut rows = Vec::new();
    for binding in binder.sorted(binder.before()) {
        let Some(live) = binder.live(&binding.tool_id) else {
            rows.push(Row::of_gone(&binding));
            continue;
        };
        // A version that is no longer there cannot be called either.
        let pinned = binder.version(&live, binding.pinned_version).await?;
        let spec = pinned.as_ref().map_or(&live.spec, |version| &version.spec);
        let mut row = Row::of(&binding, spec);
        // Whatever version is called, it is found by the tool's name and stopped by its switch.
        row.name = Some(live.spec.name.to_string());
        row.active = live.spec.is_active;
        // The model reads it as it is defined.
        if !effective && live.space_id.is_none() {
            row.description = Some(live.spec.description_in(asked.locale).to_owned());
        }
        rows.push(row);
    }
    if effective {
        rows.retain(|row| row.enabled && row.active);
        hide_fixed(&mut rows, &agent.spec.bindings);
    }
    Ok(envelope::success(StatusCode::OK, rows))
}

impl Row {
    fn of_gone(binding: &AgentBinding) -> Self {
        Self {
            tool_id: binding.tool_id.clone(),
            name: None,
            description: None,
            endpoint: None,
            method: None,
            parameters: None,
            headers: None,
            sort_order: binding.sort_order,
            enabled: binding.is_enabled,
            active: false,
        }
    }

    fn of(binding: &AgentBinding, spec: &ToolSpec) -> Self {
        let request = Request::of(spec);
        Self {
            name: Some(spec.name.to_string()),
            description: Some(spec.description.clone()),
            endpoint: request.as_ref().and_then(Request::endpoint),
            method: request.as_ref().and_then(Request::method),
            parameters: spec.input_schema.clone(),
            headers: request.as_ref().and_then(Request::headers),
            active: spec.is_active,
            ..Self::of_gone(binding)
        }
    }
}

/// What an http tool sends, as its definition says in either spelling.
struct Request<'a>(&'a Map<String, Value>);

impl<'a> Request<'a> {
    fn of(spec: &'a ToolSpec) -> Option<Self> {
        (spec.kind.as_str() == "http").then_some(Self(&spec.config))
    }

    fn field(&self, wanted: &str) -> Option<&'a Value> {
        self.0.iter().find(|(name, _)| camel_case(name) == wanted).map(|(_, value)| value)
    }

    fn text(&self, wanted: &str) -> Option<&'a str> {
        self.field(wanted).and_then(Value::as_str)
    }

    fn endpoint(&self) -> Option<String> {
        match (self.text("url"), self.text("baseUrl")) {
            (Some(path), Some(base)) => Some(format!("{}{path}", base.trim_end_matches('/'))),
            (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
            (None, None) => None,
        }
    }

    /// None where the model says it.
    fn method(&self) -> Option<String> {
        self.text("url").map(|_| self.text("method").unwrap_or("GET").to_ascii_uppercase())
    }

    /// None where there are none.
    fn headers(&self) -> Option<Map<String, Value>> {
        let headers = self.field("headers").and_then(Value::as_object)?;
        let set = headers.iter().filter(|(_, value)| !value.is_null());
        let shown: Map<String, Value> =
            set.map(|(name, value)| (name.clone(), shown_header(name, value))).collect();
        (!shown.is_empty()).then_some(shown)
    }
}

/// A header as it may be seen: what tells no credential, and the name of a secret, but nothing that could be one.
fn shown_header(name: &str, value: &Value) -> Value {
    // Numbers and booleans are sent as text.
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if haft_http::is_harmless_header(name, &text) { text.into() } else { masked(&text).into() }
}

/// A header that may hold a credential: behind a scheme, the name of a secret is shown.
fn masked(text: &str) -> &str {
    let is_scheme = |plain: &str| SCHEMES.contains(&plain.trim_end().to_ascii_lowercase().as_str());
    let parsed = Text::parse(text).ok();
    match parsed.as_ref().map(Text::parts) {
        Some([TextPart::Secret(_)]) => text,
        Some([TextPart::Plain(plain), TextPart::Secret(_)]) if is_scheme(plain) => text,
        Some(_) | None => MASKED,
    }
}

/// Takes the arguments out that the model can neither see nor change.
fn hide_fixed(rows: &mut [Row], bindings: &[AgentBinding]) {
    for row in rows {
        let binding = bindings.iter().find(|binding| binding.tool_id == row.tool_id);
        let config = binding.and_then(|binding| ToolConfig::parse(binding.tool_config.clone()).ok());
        let Some(parameters) = &mut row.parameters else { continue };
        take_out_binding_only(parameters);
        if let Some(config) = config {
            config.hide_fixed(parameters);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_header_shows_the_name_of_a_secret_and_nothing_else() {
        for (value, shown) in [
            ("secret://key", "secret://key"),
            ("secret://me/key", "secret://me/key"),
            ("Bearer secret://key", "Bearer secret://key"),
            ("Bearer sk-123", "***"),
            ("sk-123 secret://key", "***"),
            ("secret://key sk-123", "***"),
            ("application/json", "***"),
            ("{{token}}", "***"),
            ("", "***"),
        ] {
            assert_eq!(masked(value), shown, "{value:?}");
            assert_eq!(shown_header("Authorization", &json!(value)), shown, "{value:?}");
        }
    }

    #[test]
    fn headers_that_tell_no_credential_are_shown() {
        for (name, value, shown) in [
            ("Accept", json!("application/json"), "application/json"),
            (
                "content-type",
                json!("application/vnd.api+json; charset=utf-8"),
                "application/vnd.api+json; charset=utf-8",
            ),
            ("User-Agent", json!("Haft/1.0 (+https://example.com)"), "Haft/1.0 (+https://example.com)"),
            ("X-Tenant", json!("acme"), "acme"),
            ("X-City", json!("{{city}}"), "{{city}}"),
            ("X-City", json!("city {{city}}"), "city {{city}}"),
            ("X-Api-Key", json!("acme"), "***"),
            ("X-Session-Token", json!("{{token}}"), "***"),
            ("Cookie", json!("a=b"), "***"),
            ("X-Account", json!("AKIA0123456789"), "***"),
            ("X-Account", json!(12_345_678), "***"),
            ("X-Custom", json!("sk-123"), "***"),
            ("X-Custom", json!("Bearer secret://key"), "Bearer secret://key"),
        ] {
            assert_eq!(shown_header(name, &value), shown, "{name}: {value}");
        }
    }

    #[test]
    fn a_request_without_headers_has_none_to_show() {
        for (config, headers) in [
            (json!({"url": "https://api.example.com"}), json!(null)),
            (json!({"url": "https://api.example.com", "headers": {}}), json!(null)),
            (json!({"url": "https://api.example.com", "headers": {"X-Gone": null}}), json!(null)),
            (
                json!({"url": "https://api.example.com", "headers": {"Accept": "a/b"}}),
                json!({"Accept": "a/b"}),
            ),
        ] {
            let fields = config.as_object().expect("fields");
            assert_eq!(json!(Request(fields).headers()), headers, "{config}");
        }
    }
}
