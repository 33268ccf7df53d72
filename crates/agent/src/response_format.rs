//! Structured output: whether the last answer of a turn has the response format, with one repair attempt.

use std::sync::Arc;

use haft_core::model_options::RESPONSE_FORMAT;
use haft_core::{CallError, ErrorKind, Locale, Message, ModelOptions, ToolSchema, Violation, json as strict};
use haft_llm::{EndReason, ModelRequest, ModelTurn};
use serde_json::Value;

use crate::event::ChatEvent;
use crate::model_request::{ResponseSink, request_response};
use crate::results_as_text::with_results_as_text;
use crate::stored_response::{FormatCheck, StoredResponse};

haft_core::templates! {
    NOT_IN_FORM = "chat.notInForm",
        "The model's answer does not have the requested format, even after one retry: {reason}",
        "模型的回答不符合要求的格式，重试一次后仍不符合：{reason}";
    NOT_REPAIRED = "chat.formNotRepaired",
        "The model's answer does not have the requested format ({reason}), and the request for a corrected one failed: {error}",
        "模型的回答不符合要求的格式（{reason}），修正请求失败：{error}";
    REFUSED = "chat.formRefused",
        "The model or its provider refused to answer this.",
        "模型或其服务商拒绝回答";
    NOT_COMPILED = "chat.formNotCompiled",
        "could not be compiled",
        "无法编译";
}

/// Maximum number of violations in a reason.
const MAX_VIOLATIONS: usize = 8;

/// Returns the compiled schema of the response format. It is compiled off the async threads, and only once: the options
/// and their clones keep it.
pub async fn format_schema(options: &ModelOptions) -> Result<Option<Arc<ToolSchema>>, Vec<Violation>> {
    if options.get(RESPONSE_FORMAT).is_none() {
        return Ok(None);
    }
    let options = options.clone();
    let compiled = tokio::task::spawn_blocking(move || options.format_schema()).await;
    compiled.unwrap_or_else(|error| {
        tracing::error!(%error, "The schema of a response format could not be compiled");
        Err(vec![Violation::new(RESPONSE_FORMAT, Message::new(&NOT_COMPILED))])
    })
}

/// Checks a final response against the format, repairs it once, and emits its text. The text is not emitted before: text
/// that some clients received cannot be withdrawn, and text beside the JSON would break it.
pub(crate) async fn in_format(
    request: &ModelRequest,
    mut response: StoredResponse,
    sink: &ResponseSink<'_>,
) -> Result<StoredResponse, CallError> {
    if request.response_format.is_none() {
        return Ok(response);
    }
    if !response.calls.is_empty() {
        response.format = Some(FormatCheck::BesideCalls);
        response.logprobs.clear();
        return Ok(response);
    }
    let schema = format_schema(&request.options).await.map_err(CallError::invalid)?;
    let repair = FormatRepair { request, schema, sink };
    if let Err(reason) = check(&mut response, repair.schema.as_ref(), sink.context.caller.locale).await {
        response = repair.repair(response, &reason).await?;
    }
    emit(sink, &response);
    Ok(response)
}

/// The repair of a response that does not have the format.
struct FormatRepair<'a> {
    request: &'a ModelRequest,
    schema: Option<Arc<ToolSchema>>,
    sink: &'a ResponseSink<'a>,
}

impl FormatRepair<'_> {
    /// Sends one more request with the reason. A response that stays wrong becomes a refusal, and so does one whose repair
    /// request fails: the turn has a response, and a client that retries would run its tools again.
    async fn repair(&self, response: StoredResponse, reason: &str) -> Result<StoredResponse, CallError> {
        let locale = self.sink.context.caller.locale;
        let request = repair_request(self.request, &response, reason);
        let (mut response, message) = match request_response(&request, self.sink).await {
            Ok(again) => {
                let mut response = again.replacing(response);
                match check(&mut response, self.schema.as_ref(), locale).await {
                    Ok(()) => return Ok(response),
                    Err(reason) => (response, Message::new(&NOT_IN_FORM).with("reason", reason)),
                }
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(error) => {
                let message = Message::new(&NOT_REPAIRED).with("reason", reason);
                (response, message.with_messages("error", vec![error.message().clone()]))
            }
        };
        let refusal = message.render(locale);
        response.warnings.push(refusal.clone());
        response.format = Some(FormatCheck::Refused(refusal));
        response.logprobs.clear();
        Ok(response)
    }
}

/// The request for a repair has no tools. Some providers ignore `tool_choice: none`, and some cannot combine tools with
/// a response format. An empty answer is left out of its messages, since providers refuse an empty message.
fn repair_request(question: &ModelRequest, answer: &StoredResponse, reason: &str) -> ModelRequest {
    let mut request = with_results_as_text(question, &answer.dropped);
    if !answer.text.trim().is_empty() {
        request.turns.push(ModelTurn::assistant(answer.text.as_str(), None, Vec::new()));
    }
    request.turns.push(ModelTurn::user(format!(
        "[Your answer does not have the requested format: {reason}. Answer again with the corrected JSON alone.]"
    )));
    request
}

/// Checks an answer, and reduces its text to the JSON in it. Returns the reason for the model if it does not fit.
async fn check(
    answer: &mut StoredResponse,
    schema: Option<&Arc<ToolSchema>>,
    locale: Locale,
) -> Result<(), String> {
    match answer.end {
        EndReason::Refused => {
            let text = answer.text.trim();
            let refusal =
                if text.is_empty() { Message::new(&REFUSED).render(locale) } else { text.to_owned() };
            answer.warnings.push(refusal.clone());
            answer.format = Some(FormatCheck::Refused(refusal));
            answer.logprobs.clear();
            return Ok(());
        }
        // Not repaired: the finish reason says that the answer was cut, and why.
        EndReason::Length | EndReason::Filtered => {
            answer.format = Some(FormatCheck::Cut);
            return Ok(());
        }
        EndReason::Stop | EndReason::ToolCalls | EndReason::Malformed | EndReason::Other => {}
    }
    let json = fitting_json(answer.text.clone(), schema.cloned()).await?;
    if json != answer.text {
        // The tokens of a code fence are not in the content.
        answer.logprobs.clear();
    }
    answer.text = json;
    answer.format = Some(FormatCheck::Fits);
    Ok(())
}

/// Returns the JSON in a text if it fits the schema. Works off the async threads, since a large answer takes seconds.
async fn fitting_json(text: String, schema: Option<Arc<ToolSchema>>) -> Result<String, String> {
    let checked = tokio::task::spawn_blocking(move || {
        let (json, value) = json_within(&text)?;
        let violations = schema.map(|schema| schema.violations(&value)).unwrap_or_default();
        if violations.is_empty() {
            return Ok(json.to_owned());
        }
        let reasons = violations
            .iter()
            .take(MAX_VIOLATIONS)
            .map(|violation| format!("{}: {}", violation.path, violation.message.render(Locale::En)));
        Err(reasons.collect::<Vec<_>>().join("; "))
    });
    checked.await.unwrap_or_else(|error| Err(format!("it could not be checked ({error})")))
}

/// The JSON in a text, as text and as a value: all of the text, or the part within a code fence or between words.
fn json_within(text: &str) -> Result<(&str, Value), String> {
    let text = text.trim();
    let error = match strict::parse(text.as_bytes()) {
        Ok(value) => return Ok((text, value)),
        Err(error) => error,
    };
    let inner = match (text.find(['{', '[']), text.rfind(['}', ']'])) {
        (Some(begin), Some(end)) => text.get(begin..=end).filter(|inner| inner.len() < text.len()),
        (Some(_) | None, _) => None,
    };
    let value = inner.and_then(|inner| Some((inner, strict::parse(inner.as_bytes()).ok()?)));
    value.ok_or_else(|| format!("it is not JSON ({error})"))
}

fn emit(sink: &ResponseSink<'_>, answer: &StoredResponse) {
    let text = answer.user_text();
    if !text.is_empty() {
        sink.context.log.emit(ChatEvent::Text { step: sink.step, text: text.to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use haft_llm::{Call, ToolResult};
    use serde_json::json;

    use super::*;

    fn response_with(text: &str) -> StoredResponse {
        let kept =
            json!({"text": text, "end": "stop", "model": "test/m", "at": "2026-01-01T00:00:00Z", "ms": 0});
        serde_json::from_value(kept).expect("an answer")
    }

    #[test]
    fn json_is_found_within_a_fence_and_text() {
        for (text, json) in [
            (" {\"a\": 1}\n", Some("{\"a\": 1}")),
            ("```json\n{\"a\": 1}\n```", Some("{\"a\": 1}")),
            ("Here you are:\n[1, 2]", Some("[1, 2]")),
            ("7", Some("7")),
            ("No {braces} here", None),
            ("{\"a\": 1} and {\"b\": 2}", None),
            ("} {", None),
            ("", None),
        ] {
            assert_eq!(json_within(text).ok().map(|(json, _)| json), json, "{text}");
        }
    }

    #[tokio::test]
    async fn log_probabilities_are_dropped_if_the_content_is_not_what_the_model_wrote() {
        for (text, end, expected) in [
            ("{\"a\": 1}", EndReason::Stop, 1),
            ("{\"a\": 1", EndReason::Length, 1),
            ("```json\n{\"a\": 1}\n```", EndReason::Stop, 0),
            ("{\"a\": 1", EndReason::Filtered, 1),
            ("I will not.", EndReason::Refused, 0),
        ] {
            let logprobs = vec![json!({"token": text, "logprob": -0.5})];
            let mut answer = StoredResponse { end, logprobs, ..response_with(text) };
            check(&mut answer, None, Locale::En).await.expect("it fits");
            assert_eq!(answer.logprobs.len(), expected, "{text}");
        }
    }

    #[tokio::test]
    async fn refusal_of_the_model_is_a_warning_and_a_filtered_text_is_cut() {
        for (text, end, refusal) in [
            ("I will not.", EndReason::Refused, Some("I will not.")),
            (" ", EndReason::Refused, Some("The model or its provider refused to answer this.")),
            ("{\"a\": 1", EndReason::Filtered, None),
            ("", EndReason::Filtered, None),
        ] {
            let mut answer = StoredResponse { end, ..response_with(text) };
            check(&mut answer, None, Locale::En).await.expect("it is not repaired");
            assert_eq!(answer.refusal(), refusal, "{text}");
            let warnings: Vec<&str> = answer.warnings.iter().map(String::as_str).collect();
            assert_eq!(warnings, Vec::from_iter(refusal), "{text}");
            assert_eq!(answer.user_text(), if refusal.is_some() { "" } else { text });
        }
    }

    #[tokio::test]
    async fn large_response_is_checked_off_the_async_thread() {
        let schema = Arc::new(ToolSchema::of_output(&json!({"type": "array"})).expect("valid"));
        let text = format!("[{}1]", "1,".repeat(1_000_000));
        let checked = fitting_json(text.clone(), Some(schema));
        tokio::pin!(checked);
        tokio::select! {
            biased;
            _ = &mut checked => panic!("the first poll did all of the work"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(checked.await, Ok(text));
    }

    #[tokio::test]
    async fn schema_is_compiled_off_the_async_thread() {
        let patterns = (0..500)
            .map(|n| (format!("field_{n}"), json!({"pattern": format!("^[a-z]{{1,{}}}$", n % 20 + 1)})));
        let schema = json!({"properties": patterns.collect::<serde_json::Map<_, _>>()});
        let format = json!({"type": "json_schema", "json_schema": {"name": "wide", "schema": schema}});
        let options = ModelOptions::read(serde_json::Map::from_iter([(RESPONSE_FORMAT.to_owned(), format)]));
        let options = options.expect("good options");
        {
            let compiled = format_schema(&options);
            tokio::pin!(compiled);
            tokio::select! {
                biased;
                _ = &mut compiled => panic!("the first poll did all of the work"),
                () = std::future::ready(()) => {}
            }
            assert!(compiled.await.expect("valid").is_some());
        }
        let again = format_schema(&options).await.expect("valid").expect("a schema");
        let kept = options.format_schema().expect("valid").expect("a schema");
        assert!(Arc::ptr_eq(&again, &kept), "it is compiled once");
    }

    #[test]
    fn repair_request_has_results_as_text_and_no_empty_message() {
        let call = Call { id: "a".to_owned(), name: "look".to_owned(), ..Call::default() };
        let result = ToolResult {
            call_id: "a".to_owned(),
            name: "look".to_owned(),
            content: "four".to_owned(),
            is_error: false,
        };
        let turns = vec![
            ModelTurn::user("Look."),
            ModelTurn::assistant("", None, vec![call]),
            ModelTurn::ToolResults { results: vec![result] },
        ];
        let question = ModelRequest::new("m", turns);
        let shown = ModelTurn::user("[Result of look ]\nfour");
        let repair = ModelTurn::user(
            "[Your answer does not have the requested format: it is short. Answer again with the corrected JSON alone.]",
        );
        let request = repair_request(&question, &response_with(" \n"), "it is short");
        assert_eq!(request.turns, [ModelTurn::user("Look."), shown.clone(), repair.clone()]);
        let request = repair_request(&question, &response_with("{}"), "it is short");
        let wrong = ModelTurn::assistant("{}", None, Vec::new());
        assert_eq!(request.turns, [ModelTurn::user("Look."), shown, wrong, repair]);
    }
}
