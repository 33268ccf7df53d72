//! Keeping a question within what a model can read: old results of tools are folded first, then old turns left out,
//! and at last the longest of the results that it needs now are cut.

use haft_llm::{Call, ContentPart, ModelRequest, ModelTurn, Reasoning};

use crate::result::head;

/// What is assumed of a model whose window is not known.
const USUAL_WINDOW: u32 = 128_000;

/// An answer needs so much room, where nothing else is said.
const ANSWER: u32 = 4_096;

/// An image counts as so many tokens.
const IMAGE: usize = 1_500;

/// Results shorter than this are not worth folding, in tokens.
const SHORT: usize = 100;

const FOLDED: &str =
    "[an older result, left out to keep the conversation short; call the tool again if it is needed]";

const CUT: &str = "\n[the rest of this result was left out, since it is more than can be read at once]";

/// How hard a question is made to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Squeeze {
    /// As the window says.
    Gently,
    /// The model itself said that it was too long.
    Hard,
}

/// Makes a question fit; whether something had to be left out.
pub(crate) fn fit(request: &mut ModelRequest, window: Option<u32>, squeeze: Squeeze) -> bool {
    let window = window.unwrap_or(USUAL_WINDOW);
    let room = window.saturating_sub(request.max_tokens.unwrap_or(ANSWER).min(window / 2));
    let mut size = size_of(request);
    let before = size;
    let room = match squeeze {
        // Counting is guessing, so some room stays free.
        Squeeze::Gently => (room / 10 * 9) as usize,
        Squeeze::Hard => size / 2,
    };
    if size <= room {
        return false;
    }
    // What came last is what the model needs now.
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
    // Whole exchanges, so that no result stands without its call.
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

/// Cuts the longest result, to a half at most; so many tokens were saved.
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

/// About how long a value is as text.
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
    // Every turn has some words around it.
    4 + match turn {
        ModelTurn::System { text, .. } => tokens(text),
        ModelTurn::User { parts, .. } => parts
            .iter()
            .map(|part| match part {
                ContentPart::Text { text } => tokens(text),
                ContentPart::Image(_) => IMAGE,
            })
            .sum(),
        ModelTurn::Assistant { text, reasoning, calls, .. } => answer_size(text, reasoning.as_ref(), calls),
        ModelTurn::ToolResults { results } => results.iter().map(|result| 8 + tokens(&result.content)).sum(),
    }
}

/// What a model says, thinks and calls.
pub(crate) fn answer_size(text: &str, reasoning: Option<&Reasoning>, calls: &[Call]) -> usize {
    let thought = reasoning.map(|thought| tokens(&thought.text)).unwrap_or_default();
    let calls: usize = calls.iter().map(|call| 8 + tokens(&call.name) + tokens(&call.arguments)).sum();
    tokens(text) + thought + calls
}

/// About how many tokens a text has: four letters of a Latin script make one, and every other character is one.
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
    fn what_fits_stays_as_it_is() {
        let mut request = conversation(&[10, 10]);
        let before = request.clone();
        assert!(!fit(&mut request, Some(8_000), Squeeze::Gently));
        assert_eq!(request, before);
    }

    #[test]
    fn the_oldest_results_are_folded_first_and_only_as_many_as_need_be() {
        let mut request = conversation(&[1000, 1000, 1000]);
        assert!(fit(&mut request, Some(3_500), Squeeze::Gently));
        assert_eq!(contents(&request), [true, false, false]);
    }

    #[test]
    fn then_old_turns_go_whole_and_the_last_stays() {
        let mut request = conversation(&[20, 20, 4000]);
        request.turns[0] = ModelTurn::user("words ".repeat(4000));
        assert!(fit(&mut request, Some(6_500), Squeeze::Gently));
        assert!(matches!(request.turns.first(), Some(ModelTurn::User { .. })), "no result without its call");
        assert_eq!(request.turns.len(), 6);
        assert_eq!(contents(&request), [false, false]);
    }

    #[test]
    fn what_the_model_needs_now_is_cut_where_it_is_too_long_by_itself() {
        let mut request = conversation(&[200, 12_000]);
        let Some(ModelTurn::ToolResults { results }) = request.turns.last_mut() else { panic!("results") };
        let more = (0..16).map(|place| ToolResult {
            call_id: format!("m{place}"),
            name: "look".into(),
            content: "天气 ".repeat(if place < 3 { 20 } else { 4_000 }),
            is_error: false,
        });
        results.extend(more);
        for (window, squeeze) in [(8_192, Squeeze::Gently), (128_000, Squeeze::Hard)] {
            let (mut request, before) = (request.clone(), size_of(&request));
            assert!(fit(&mut request, Some(window), squeeze));
            let most = if squeeze == Squeeze::Hard { before / 2 } else { window as usize };
            assert!(size_of(&request) <= most, "{} of {most}", size_of(&request));
            let Some(ModelTurn::ToolResults { results }) = request.turns.last() else { panic!("results") };
            assert!(results.iter().all(|result| tokens(&result.content) > 40), "each still says something");
            assert!(!results[1].content.ends_with(CUT) && results[0].content.ends_with(CUT));
            assert_eq!(results[0].content.matches(CUT).count(), 1);
        }
    }

    #[test]
    fn what_cannot_be_made_shorter_is_said_to_be_as_it_was() {
        let mut request = ModelRequest::new("m", vec![ModelTurn::user("words ".repeat(4000))]);
        let before = request.clone();
        assert!(!fit(&mut request, Some(2_000), Squeeze::Gently));
        assert!(!fit(&mut request, Some(2_000), Squeeze::Hard));
        assert_eq!(request, before);
    }

    #[test]
    fn a_chinese_character_counts_as_one() {
        assert_eq!(tokens("天气怎么样"), 6);
        assert_eq!(tokens("weather!"), 3);
    }
}
