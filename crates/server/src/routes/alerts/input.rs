//! An alert as a body writes it: its form, the tool it names, and its webhook, which no message ever shows.

use std::sync::LazyLock;

use haft_core::alert::{AlertSpec, Metric};
use haft_core::duration::{self, Unit};
use haft_core::error::ROOT;
use haft_core::mask::MASKED;
use haft_core::tool::input::camel_keys;
use haft_core::{CallError, ErrorKind, Message, SpaceId, ToolId, Violation};
use serde_json::{Map, Value};
use url::Url;

use crate::app::AppState;
use crate::routes::saving::{Form, differing, form, misfits, refuse, take};
use crate::routes::tools::find;

haft_core::templates! {
    BAD_NAME = "alerts.badName",
        "must have 1 to {most} characters, none of them a control character",
        "长度必须为 1 到 {most} 个字符，不能包含控制字符";
    NOT_A_FRACTION = "alerts.notAFraction",
        "must be a fraction from 0 to 1, such as 0.05 for 5 %",
        "必须是 0 到 1 之间的小数，例如 0.05 表示 5 %";
    BAD_WEBHOOK = "alerts.badWebhook",
        "must be an absolute http or https URL of at most {most} characters, without a user name or password",
        "必须是最长 {most} 个字符的绝对 http 或 https URL，且不含用户名和密码";
    NOTHING_KEPT = "alerts.nothingKept",
        "is masked, but differs from the stored address; send the whole address",
        "是掩码，且与现有的不同；请提供完整地址";
}

static ALERT: Form = LazyLock::new(|| form(include_str!("alert.json")));

/// Fields the server sets. A body may carry them along, as they were read.
const KEPT_BY_SERVER: [&str; 6] = ["id", "spaceId", "ownerId", "version", "createdAt", "updatedAt"];

/// Fields that change by themselves. A body may carry them along, whatever they said.
const TOLD_BY_SERVER: [&str; 7] =
    ["toolName", "state", "value", "since", "lastFiredAt", "lastResolvedAt", "webhookError"];

const LONGEST_NAME: usize = 100;
const LONGEST_WEBHOOK: usize = 2048;

/// Reads a body, or returns all that is wrong with it. Tools that come in the same request are known by id.
pub(crate) async fn read(
    state: &AppState,
    space: SpaceId,
    body: Value,
    before: Option<&AlertSpec>,
    kept: &Value,
    coming: &[ToolId],
) -> Result<AlertSpec, CallError> {
    let mut body = camel_keys(body);
    if let Value::Object(fields) = &mut body {
        fields.retain(|_, value| !value.is_null());
        duration::read_fields(fields, &[("forSeconds", Unit::Seconds)]);
    }
    let mut violations = misfits(&ALERT, &body);
    let Value::Object(mut fields) = body else { return Err(CallError::invalid(violations)) };
    take(&mut fields, &TOLD_BY_SERVER);
    violations.extend(differing(&take(&mut fields, &KEPT_BY_SERVER), kept));
    let name = fields.get("name").and_then(Value::as_str).map(|name| name.trim().to_owned());
    if name.as_deref().is_some_and(|name| !is_name(name)) {
        violations.push(Violation::new("name", Message::new(&BAD_NAME).with("most", LONGEST_NAME)));
    }
    let above = fields.get("above").and_then(Value::as_f64).unwrap_or_default();
    if above > 1.0 && fields.get("metric").is_some_and(|metric| *metric == Metric::ErrorRate.as_str()) {
        violations.push(Violation::new("above", Message::new(&NOT_A_FRACTION)));
    }
    let webhook = webhook(fields.get("webhook"), before).unwrap_or_else(|message| {
        violations.push(Violation::new("webhook", message));
        None
    });
    let kept_tool = before.and_then(|before| before.tool.as_ref());
    let tool = match fields.get("tool").and_then(Value::as_str) {
        // As it was, even if the tool is gone meanwhile.
        Some(tool) if kept_tool.is_some_and(|kept| kept.to_string() == tool) => kept_tool.cloned(),
        Some(tool) if coming.iter().any(|coming| coming.to_string() == tool) => {
            coming.iter().find(|coming| coming.to_string() == tool).cloned()
        }
        Some(tool) if !violations.iter().any(|violation| violation.path == "tool") => {
            tool_of(state, space, tool).await?.unwrap_or_else(|message| {
                violations.push(Violation::new("tool", message));
                None
            })
        }
        Some(_) | None => None,
    };
    refuse(violations)?;
    Ok(AlertSpec { name, metric: metric(&fields)?, tool, above, for_seconds: for_seconds(&fields), webhook })
}

/// Its form was checked.
fn metric(fields: &Map<String, Value>) -> Result<Metric, CallError> {
    let metric = fields.get("metric").cloned().unwrap_or_default();
    serde_json::from_value(metric)
        .map_err(|error| CallError::invalid(vec![Violation::new(ROOT, Message::verbatim(error.to_string()))]))
}

/// Its form was checked: a whole number, which may have been written as `60.0`.
fn for_seconds(fields: &Map<String, Value>) -> u32 {
    fields.get("forSeconds").and_then(Value::as_f64).unwrap_or_default() as u32
}

/// The id of a tool that the space sees, or why there is none.
async fn tool_of(
    state: &AppState,
    space: SpaceId,
    named: &str,
) -> Result<Result<Option<ToolId>, Message>, CallError> {
    match find(state, space, named).await {
        Ok(tool) => Ok(Ok(Some(tool.id.clone()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Err(error.message().clone())),
        Err(error) => Err(error),
    }
}

/// No message shows a value here: it may be a credential.
fn webhook(given: Option<&Value>, before: Option<&AlertSpec>) -> Result<Option<String>, Message> {
    let bad = || Message::new(&BAD_WEBHOOK).with("most", LONGEST_WEBHOOK);
    let Some(given) = given else { return Ok(None) };
    let text = given.as_str().map(str::trim).ok_or_else(bad)?;
    if text.contains(MASKED) {
        let shown = before.and_then(AlertSpec::masked_webhook);
        let is_kept = shown.is_some_and(|shown| text == MASKED || text == shown);
        let kept = before.filter(|_| is_kept).and_then(|before| before.webhook.clone());
        return kept.map(Some).ok_or_else(|| Message::new(&NOTHING_KEPT));
    }
    let mut url = Url::parse(text).map_err(|_| bad())?;
    // It is not sent.
    url.set_fragment(None);
    let is_open = url.username().is_empty() && url.password().is_none();
    let is_good = matches!(url.scheme(), "http" | "https") && url.has_host() && is_open;
    if is_good && url.as_str().len() <= LONGEST_WEBHOOK { Ok(Some(url.into())) } else { Err(bad()) }
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(webhook: Option<&str>) -> AlertSpec {
        AlertSpec {
            name: None,
            metric: Metric::P95,
            tool: None,
            above: 1.0,
            for_seconds: 0,
            webhook: webhook.map(str::to_owned),
        }
    }

    #[test]
    fn the_form_is_good() {
        assert!(ALERT.is_ok());
    }

    #[test]
    fn a_webhook_is_an_address_without_a_password() {
        for (given, kept) in [
            ("https://hooks.example.com/services/T0/key", "https://hooks.example.com/services/T0/key"),
            (" http://127.0.0.1:9000/a?b=c#d ", "http://127.0.0.1:9000/a?b=c"),
            ("https://hooks.example.com", "https://hooks.example.com/"),
        ] {
            assert_eq!(webhook(Some(&json!(given)), None), Ok(Some(kept.to_owned())), "{given}");
        }
        assert_eq!(webhook(None, Some(&spec(Some("https://a.example/")))), Ok(None));
        let long = format!("https://a.example/{}", "x".repeat(LONGEST_WEBHOOK));
        for bad in [
            json!(""),
            json!("a.example/x"),
            json!("/x"),
            json!("ftp://a.example/x"),
            json!("https://u:p@a.example/x"),
            json!("https://u@a.example/x"),
            json!("http://"),
            json!("mailto:a@a.example"),
            json!(long),
            json!(7),
            json!({}),
        ] {
            assert_eq!(webhook(Some(&bad), None).map_err(|message| message.id()), Err("alerts.badWebhook"));
        }
    }

    #[test]
    fn a_masked_webhook_keeps_the_one_that_is_there() {
        let stored = "https://hooks.example.com/services/T0/key";
        let before = spec(Some(stored));
        for masked in ["***", "https://hooks.example.com/***"] {
            assert_eq!(webhook(Some(&json!(masked)), Some(&before)), Ok(Some(stored.to_owned())), "{masked}");
            for other in [None, Some(&spec(None))] {
                let refused = webhook(Some(&json!(masked)), other).map_err(|message| message.id());
                assert_eq!(refused, Err("alerts.nothingKept"), "{masked}");
            }
        }
        let elsewhere = webhook(Some(&json!("https://other.example/***")), Some(&before));
        assert_eq!(elsewhere.map_err(|message| message.id()), Err("alerts.nothingKept"));
    }
}
