//! Fits a request into the context window of a model: old results of tools are replaced first, then old turns are left
//! out, and finally the longest of the current results are truncated.

use haft_llm::{Call, ContentPart, ModelRequest, ModelTurn, Reasoning};

use crate::call_result::head;

/// The context window of a model whose provider does not report one.
const USUAL_WINDOW: u32 = 128_000;

/// Tokens that are reserved for a response without `max_tokens`.
const RESPONSE: u32 = 4_096;

/// The assumed number of tokens of an image.
const IMAGE: usize = 1_500;

/// Minimum number of tokens of a result that is replaced.
const SHORT: usize = 100;

const FOLDED: &str =
    "[an older result, left out to keep the conversation short; call the tool again if it is needed]";

const CUT: &str = "\n[the rest of this result was left out, since it is more than can be read at once]";

/// How far a request is reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FitMode {
    /// To the size of the context window.
    Window,
    /// To half of its size, because the model rejected it as too long.
    Half,
}

/// Reduces a request until it fits. Returns true if a part was left out.
pub(crate) fn fit_request(request: &mut ModelRequest, window: Option<u32>, squeeze: FitMode) -> bool {
    let window = window.unwrap_or(USUAL_WINDOW);
    let room = window.saturating_sub(request.max_tokens.unwrap_or(RESPONSE).min(window / 2));
    let mut size = size_of(request);
    let before = size;
    let room = match squeeze {
        // Token counts are estimates, so a tenth stays free.
        FitMode::Window => (room / 10 * 9) as usize,
        FitMode::Half => size / 2,
    };
    if size <= room {
        return false;
    }
    // The model responds to the last exchange.
    let keep =
        request.turns.iter().rposition(|turn| matches!(turn, ModelTurn::User { .. })).unwrap_or_default();
    let last = request.turns.len().saturating_sub(2);
    for (place, turn) in request.turns.iter_mut().enumerate() {
        let ModelTurn::ToolResults { results } = turn else { continue };
        if place >= last {
            break;
        }
        for result in results {
            let length = tokens(&result.content);
            if size <= room {
                return true;
            }
            if length > SHORT {
                result.content = FOLDED.to_owned();
                size = size.saturating_sub(length - tokens(FOLDED));
            }
        }
    }
    // Whole exchanges are left out, so that no result is without its call.
    let mut cut = 0;
    while size > room && cut < keep {
        let next = request.turns.iter().enumerate().skip(cut + 1);
        let next =
            next.filter(|(_, turn)| matches!(turn, ModelTurn::User { .. })).map(|(place, _)| place).next();
        let Some(next) = next.filter(|next| *next <= keep) else { break };
        size = size.saturating_sub(request.turns[cut..next].iter().map(turn_size).sum());
        cut = next;
    }
    request.turns.drain(..cut);
    while size > room {
        let Some(saved) = cut_longest(&mut request.turns, size - room) else { break };
        size = size.saturating_sub(saved);
    }
    size < before
}

/// Truncates the longest result to no less than half of it. Returns the number of saved tokens.
fn cut_longest(turns: &mut [ModelTurn], excess: usize) -> Option<usize> {
    let results = turns.iter_mut().filter_map(|turn| match turn {
        ModelTurn::ToolResults { results } => Some(results),
        ModelTurn::System { .. } | ModelTurn::User { .. } | ModelTurn::Assistant { .. } => None,
    });
    let longest = results.flatten().max_by_key(|result| result.content.len())?;
    let length = tokens(&longest.content);
    if length <= 2 * SHORT {
        return None;
    }
    let whole = longest.content.strip_suffix(CUT).unwrap_or(&longest.content);
    let keep = (length / 2).max(length.saturating_sub(excess + tokens(CUT)));
    let most = whole.len() / length * keep;
    longest.content = format!("{}{CUT}", head(whole, most));
    length.checked_sub(tokens(&longest.content)).filter(|saved| *saved > 0)
}

pub(crate) fn size_of(request: &ModelRequest) -> usize {
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tokens(&tool.description) + tokens(&tool.name) + json_size(&tool.parameters) / 4)
        .sum();
    let named = request.named_system.iter().map(|named| tokens(&named.text)).sum::<usize>();
    let system = request.system.as_deref().map(tokens).unwrap_or_default() + named;
    system + tools + request.turns.iter().map(turn_size).sum::<usize>()
}

/// The approximate length of a value as text.
fn json_size(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 5,
        serde_json::Value::String(text) => text.len() + 2,
        serde_json::Value::Array(items) => 2 + items.iter().map(json_size).sum::<usize>(),
        serde_json::Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + json_size(value)).sum::<usize>()
        }
    }
}

fn turn_size(turn: &ModelTurn) -> usize {
    // Every turn has some framing.
    4 + match turn {
        ModelTurn::System { text, .. } => tokens(text),
        ModelTurn::User { parts, .. } => parts
            .iter()
            .map(|part| match part {
                ContentPart::Text { text } => tokens(text),
                ContentPart::Image(_) => IMAGE,
            })
            .sum(),
        ModelTurn::Assistant { text, reasoning, calls, .. } => response_size(text, reasoning.as_ref(), calls),
        ModelTurn::ToolResults { results } => results.iter().map(|result| 8 + tokens(&result.content)).sum(),
    }
}

/// The size of a response: its text, reasoning and calls.
pub(crate) fn response_size(text: &str, reasoning: Option<&Reasoning>, calls: &[Call]) -> usize {
    let thought = reasoning.map(|thought| tokens(&thought.text)).unwrap_or_default();
    let calls: usize = calls.iter().map(|call| 8 + tokens(&call.name) + tokens(&call.arguments)).sum();
    tokens(text) + thought + calls
}

/// Estimates the tokens of a text: four ASCII characters are one token, every other character is one token.
fn tokens(text: &str) -> usize {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - plain;
    plain / 4 + others + 1
}

#[cfg(test)]
mod tests {
    use haft_llm::ToolResult;

    use super::*;

    fn conversation(results: &[usize]) -> ModelRequest {
        let mut turns = Vec::new();
        for (place, length) in results.iter().enumerate() {
            let call = Call {
                id: format!("c{place}"),
                name: "look".into(),
                arguments: "{}".into(),
                ..Call::default()
            };
            turns.push(ModelTurn::user(format!("question {place}")));
            turns.push(ModelTurn::assistant("", None, vec![call]));
            let (call_id, name) = (format!("c{place}"), "look".to_owned());
            let content = "word ".repeat(*length);
            turns.push(ModelTurn::ToolResults {
                results: vec![ToolResult { call_id, name, content, is_error: false }],
            });
        }
        ModelRequest { max_tokens: Some(100), ..ModelRequest::new("m", turns) }
    }

    fn contents(request: &ModelRequest) -> Vec<bool> {
        let results = request.turns.iter().filter_map(|turn| match turn {
            ModelTurn::ToolResults { results } => Some(results),
            ModelTurn::System { .. } | ModelTurn::User { .. } | ModelTurn::Assistant { .. } => None,
        });
        results.flatten().map(|result| result.content == FOLDED).collect()
    }

    #[test]
    fn request_that_fits_is_unchanged() {
        let mut request = conversation(&[10, 10]);
        let before = request.clone();
        assert!(!fit_request(&mut request, Some(8_000), FitMode::Window));
        assert_eq!(request, before);
    }

    #[test]
    fn oldest_results_are_replaced_first_and_no_more_than_needed() {
        let mut request = conversation(&[1000, 1000, 1000]);
        assert!(fit_request(&mut request, Some(3_500), FitMode::Window));
        assert_eq!(contents(&request), [true, false, false]);
    }

    #[test]
    fn old_turns_are_left_out_whole_and_the_last_one_stays() {
        let mut request = conversation(&[20, 20, 4000]);
        request.turns[0] = ModelTurn::user("words ".repeat(4000));
        assert!(fit_request(&mut request, Some(6_500), FitMode::Window));
        assert!(matches!(request.turns.first(), Some(ModelTurn::User { .. })), "no result without its call");
        assert_eq!(request.turns.len(), 6);
        assert_eq!(contents(&request), [false, false]);
    }

    #[test]
    fn current_results_are_truncated_if_they_are_too_long() {
        let mut request = conversation(&[200, 12_000]);
        let Some(ModelTurn::ToolResults { results }) = request.turns.last_mut() else { panic!("results") };
        let more = (0..16).map(|place| ToolResult {
            call_id: format!("m{place}"),
            name: "look".into(),
            content: "天气 ".repeat(if place < 3 { 20 } else { 4_000 }),
            is_error: false,
        });
        results.extend(more);
        for (window, squeeze) in [(8_192, FitMode::Window), (128_000, FitMode::Half)] {
            let (mut request, before) = (request.clone(), size_of(&request));
            assert!(fit_request(&mut request, Some(window), squeeze));
            let most = if squeeze == FitMode::Half { before / 2 } else { window as usize };
            assert!(size_of(&request) <= most, "{} of {most}", size_of(&request));
            let Some(ModelTurn::ToolResults { results }) = request.turns.last() else { panic!("results") };
            assert!(results.iter().all(|result| tokens(&result.content) > 40), "each still says something");
            assert!(!results[1].content.ends_with(CUT) && results[0].content.ends_with(CUT));
            assert_eq!(results[0].content.matches(CUT).count(), 1);
        }
    }

    #[test]
    fn request_that_cannot_be_reduced_is_unchanged() {
        let mut request = ModelRequest::new("m", vec![ModelTurn::user("words ".repeat(4000))]);
        let before = request.clone();
        assert!(!fit_request(&mut request, Some(2_000), FitMode::Window));
        assert!(!fit_request(&mut request, Some(2_000), FitMode::Half));
        assert_eq!(request, before);
    }

    #[test]
    fn a_chinese_character_counts_as_one() {
        assert_eq!(tokens("天气怎么样"), 6);
        assert_eq!(tokens("weather!"), 3);
    }
}
