//! Transcripts of every dialect, split at every byte.

mod deviations;
mod limits;

use std::sync::Arc;

use haft_core::{CallError, ErrorKind};
use serde_json::{Value, json};

use super::Reading;
use crate::delta::{EndReason, Usage};
use crate::dialect::Dialect;
use crate::failure::Asking;
use crate::reasoning::Reasoning;
use crate::request::{Call, ModelRequest, ModelTool, ModelTurn};
use crate::response::{ModelResponse, ResponseBuilder};

const TRANSCRIPTS: [(Dialect, &str); 4] = [
    (Dialect::OpenAi, include_str!("../../tests/golden/openai.stream")),
    (Dialect::Anthropic, include_str!("../../tests/golden/anthropic.stream")),
    (Dialect::Gemini, include_str!("../../tests/golden/gemini.stream")),
    (Dialect::Ollama, include_str!("../../tests/golden/ollama.stream")),
];

fn request() -> ModelRequest {
    let turns = vec![
        ModelTurn::user("hello"),
        ModelTurn::assistant("hello", None, Vec::new()),
        ModelTurn::user("the weather?"),
    ];
    let tool = ModelTool {
        name: "get_weather".to_owned(),
        description: String::new(),
        parameters: json!({}).into(),
        strict: None,
    };
    ModelRequest { tools: vec![Arc::new(tool)], ..ModelRequest::new("the-model", turns) }
}

/// Reads pieces to the end of the body, and builds the response.
fn read<'a>(
    dialect: Dialect,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<ModelResponse, CallError> {
    let asking = Asking { provider: "test".to_owned(), model: "the-model".to_owned(), key: None };
    let (mut reading, mut gathered) = (Reading::new(dialect, asking), ResponseBuilder::of(&request()));
    for piece in pieces {
        if !reading.is_over() {
            reading.feed(piece)?;
        }
    }
    if !reading.is_over() {
        reading.finish()?;
    }
    while let Some(delta) = reading.next() {
        gathered.add(&delta?);
    }
    Ok(gathered.finish())
}

fn read_text(dialect: Dialect, body: &str) -> Result<ModelResponse, CallError> {
    read(dialect, [body.as_bytes()])
}

fn expected(dialect: Dialect) -> ModelResponse {
    let has_ids = matches!(dialect, Dialect::OpenAi | Dialect::Anthropic);
    let ids = if has_ids { ["call_a", "call_b"] } else { ["haft_1_0", "haft_1_1"] };
    let signature = (dialect == Dialect::Gemini).then(|| "EqQB".to_owned());
    let call = |id: &str, city: &str, signature| Call {
        id: id.to_owned(),
        name: "get_weather".to_owned(),
        arguments: format!(r#"{{"city":"{city}"}}"#),
        signature,
        ..Call::default()
    };
    let (cached, reasoning) = match dialect {
        Dialect::OpenAi | Dialect::Gemini => (Some(64), Some(8)),
        Dialect::Anthropic => (Some(64), None),
        Dialect::Ollama => (None, None),
    };
    ModelResponse {
        text: "Ich schaue nach — 你好.".to_owned(),
        reasoning: Some(Reasoning {
            text: "Two cities.".to_owned(),
            signature: (dialect == Dialect::Anthropic).then(|| "EqQB".to_owned()),
            thoughts: Vec::new(),
        }),
        logprobs: Vec::new(),
        calls: vec![call(ids[0], "Köln", signature), call(ids[1], "巴黎", None)],
        usage: Some(Usage { input: 80, output: 40, cached, reasoning }),
        end: EndReason::ToolCalls,
    }
}

#[test]
fn a_response_does_not_depend_on_chunk_boundaries() {
    for (dialect, transcript) in TRANSCRIPTS {
        let bytes = transcript.as_bytes();
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            let answer =
                read(dialect, [first, second]).unwrap_or_else(|error| panic!("{dialect:?}, {cut}: {error}"));
            assert_eq!(answer, expected(dialect), "{dialect:?}, cut at {cut}");
        }
        assert_eq!(read(dialect, bytes.chunks(1)).expect("an answer"), expected(dialect), "{dialect:?}");
    }
}

#[test]
fn an_incomplete_response_is_an_error() {
    for (dialect, transcript) in TRANSCRIPTS {
        let (mut broken, expected) = (0, expected(dialect));
        for cut in 0..transcript.len() {
            match read(dialect, [&transcript.as_bytes()[..cut]]) {
                // Only data after the end may be missing.
                Ok(answer) => assert_eq!(
                    (answer.text, answer.reasoning, answer.calls, answer.end),
                    (expected.text.clone(), expected.reasoning.clone(), expected.calls.clone(), expected.end),
                    "{dialect:?}, broken at {cut}"
                ),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Network, "{dialect:?}, broken at {cut}: {error}");
                    broken += 1;
                }
            }
        }
        assert!(broken * 10 > transcript.len() * 7, "{dialect:?}: only {broken} cuts are errors");
    }
}

#[test]
fn a_server_may_respond_with_one_document() {
    let openai = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Ich schaue nach — 你好.", "reasoning": "Two cities.",
            "tool_calls": [
                {"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Köln\"}"}},
                {"id": "call_b", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "巴黎"}}},
            ],
        }}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 64},
            "completion_tokens_details": {"reasoning_tokens": 8}},
    });
    let anthropic = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "Two cities.", "signature": "EqQB"},
            {"type": "text", "text": "Ich schaue nach — 你好."},
            {"type": "tool_use", "id": "call_a", "name": "get_weather", "input": {"city": "Köln"}},
            {"type": "tool_use", "id": "call_b", "name": "get_weather", "input": {"city": "巴黎"}},
        ],
        "usage": {"input_tokens": 16, "cache_read_input_tokens": 64, "output_tokens": 40},
    });
    let pieces = TRANSCRIPTS[2].1.lines().filter_map(|line| line.strip_prefix("data: "));
    let gemini: Value = pieces.map(|piece| serde_json::from_str::<Value>(piece).expect("JSON")).collect();
    for (dialect, document) in
        [(Dialect::OpenAi, openai), (Dialect::Anthropic, anthropic), (Dialect::Gemini, gemini)]
    {
        let written = serde_json::to_string_pretty(&document).expect("JSON");
        assert_eq!(read_text(dialect, &written).expect("an answer"), expected(dialect), "{dialect:?}");
    }
}
