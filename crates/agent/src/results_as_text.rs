//! Requests without tools: calls and their results are written as text, for a model that calls although it may not.

use haft_core::{CallError, ErrorKind, Message};
use haft_llm::{Call, ModelRequest, ModelTurn, ToolChoice};

use crate::event::ChatEvent;
use crate::model_request::{ResponseSink, request_response};
use crate::stored_response::StoredResponse;

haft_core::templates! {
    CALLS_LEFT_OUT = "chat.callsLeftOut",
        "The model called a tool in its last answer; the call was not executed",
        "模型在最后的回答中调用了工具；该调用未执行";
}

/// The text between an answer with calls and the one that is requested after it.
const BETWEEN: &str = "\n\n";

/// The last message of the request for a last answer.
const RESPOND_NOW: &str = "[No tools can be called any more. Answer now, without a call, with the information in the results above.]";

/// Returns the answer to a request whose tools may not be called. A model that called anyway, or whose answer after
/// calls is empty, is asked once more with the results as text. Text that it wrote beside the calls stays: some clients
/// cannot take it back.
pub(crate) async fn final_response(
    question: &ModelRequest,
    mut answer: StoredResponse,
    sink: &ResponseSink<'_>,
) -> Result<StoredResponse, CallError> {
    let has_called = !std::mem::take(&mut answer.calls).is_empty();
    let is_after_calls =
        has_called || question.turns.iter().any(|turn| matches!(turn, ModelTurn::ToolResults { .. }));
    let has_text = !answer.text.trim().is_empty();
    if !is_after_calls || (has_text && !has_called) {
        return Ok(answer);
    }
    let (log, step) = (&sink.context.log, sink.step);
    // Under a response format, the text was not emitted.
    let is_emitted = has_text && question.response_format.is_none();
    if is_emitted {
        log.emit(ChatEvent::Text { step, text: BETWEEN.to_owned() });
    } else if answer.reasoning.is_some() && !log.is_irrevocable {
        log.emit(ChatEvent::MessageReset { step });
    }
    let mut request = with_results_as_text(question, &answer.dropped);
    if has_text {
        request.turns.push(ModelTurn::assistant(answer.text.as_str(), None, Vec::new()));
    }
    request.turns.push(ModelTurn::user(RESPOND_NOW));
    let again = request_response(&request, sink).await;
    let has_calls_left = again.as_ref().map_or(has_called, |again| !again.calls.is_empty());
    let mut answer = match again {
        Ok(again) => again.replacing(answer),
        Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
        // The first answer ends the turn, with a warning.
        Err(_) => answer,
    };
    if is_emitted {
        if let Some(text) = log.text_of(step) {
            answer.text = text;
        }
        // Some of the tokens are those of the other answer.
        answer.logprobs.clear();
    }
    if has_calls_left {
        answer.warnings.push(sink.context.render(&Message::new(&CALLS_LEFT_OUT)));
    }
    Ok(answer)
}

/// Returns the request without tools, and with every call and its result as text. Leaves out the options that the
/// provider refused.
pub(crate) fn with_results_as_text(request: &ModelRequest, refused: &[String]) -> ModelRequest {
    let mut turns = Vec::with_capacity(request.turns.len() + 2);
    let mut calls: &[Call] = &[];
    for turn in &request.turns {
        match turn {
            ModelTurn::System { .. } | ModelTurn::User { .. } => turns.push(turn.clone()),
            ModelTurn::Assistant { text, calls: made, name, .. } => {
                calls = made;
                if !text.trim().is_empty() {
                    let (text, calls, name) = (text.clone(), Vec::new(), name.clone());
                    turns.push(ModelTurn::Assistant { text, reasoning: None, calls, name });
                }
            }
            ModelTurn::ToolResults { results } => {
                let result = |(place, result): (usize, &haft_llm::ToolResult)| {
                    let arguments = calls.get(place).map(|call| call.arguments.as_str()).unwrap_or_default();
                    format!("[Result of {} {arguments}]\n{}", result.name, result.content)
                };
                let results: Vec<String> = results.iter().enumerate().map(result).collect();
                turns.push(ModelTurn::user(results.join("\n\n")));
            }
        }
    }
    let mut request =
        ModelRequest { turns, tools: Vec::new(), tool_choice: ToolChoice::None, ..request.clone() };
    refused.iter().for_each(|option| request.leave_out(option));
    request
}

#[cfg(test)]
mod tests {
    use haft_llm::ToolResult;

    use super::*;

    #[test]
    fn calls_and_their_results_become_text_and_refused_options_are_left_out() {
        let call = Call {
            id: "a".to_owned(),
            name: "look".to_owned(),
            arguments: r#"{"x":1}"#.to_owned(),
            ..Call::default()
        };
        let result = ToolResult {
            call_id: "a".to_owned(),
            name: "look".to_owned(),
            content: "four".to_owned(),
            is_error: false,
        };
        let turns = vec![
            ModelTurn::user("Look."),
            ModelTurn::assistant("", None, vec![call.clone()]),
            ModelTurn::ToolResults { results: vec![result.clone()] },
            ModelTurn::assistant("Again.", None, vec![call]),
            ModelTurn::ToolResults { results: vec![result] },
        ];
        let request = ModelRequest { temperature: Some(0.5), ..ModelRequest::new("m", turns) };
        let written = with_results_as_text(&request, &["temperature".to_owned()]);
        let shown = ModelTurn::user("[Result of look {\"x\":1}]\nfour");
        let again = ModelTurn::assistant("Again.", None, Vec::new());
        assert_eq!(written.turns, [ModelTurn::user("Look."), shown.clone(), again, shown]);
        assert_eq!((written.tools.len(), written.tool_choice), (0, ToolChoice::None));
        assert_eq!(written.temperature, None);
    }
}
