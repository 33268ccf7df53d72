//! Checks of responses: each has to be complete and to contain the weather of the requested city.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::upstreams::degrees;

/// Checks a response of `POST /v1/chat/completions`.
pub(super) fn completion(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let response: Value = serde_json::from_slice(body)?;
    let choice = &response["choices"][0];
    ensure!(choice["finish_reason"] == "stop", "the response is incomplete: {response}");
    check_text(city, choice["message"]["content"].as_str().unwrap_or_default(), body)
}

/// Checks a response of `POST /v1/chat/completions` with `stream`.
pub(super) fn streamed_completion(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let (mut text, mut is_over, mut finish) = (String::new(), false, Value::Null);
    for data in lines(body)? {
        if data == "[DONE]" {
            is_over = true;
            continue;
        }
        let mut chunk: Value = serde_json::from_str(data)?;
        let choice = &mut chunk["choices"][0];
        text += choice["delta"]["content"].as_str().unwrap_or_default();
        if !choice["finish_reason"].is_null() {
            finish = choice["finish_reason"].take();
        }
    }
    ensure!(is_over && finish == "stop", "the response is incomplete: {}", String::from_utf8_lossy(body));
    check_text(city, &text, body)
}

/// Checks a response of `POST /api/chat`.
pub(super) fn chat(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let mut response: Value = serde_json::from_slice(body)?;
    let data = response["data"].take();
    ensure!(data["finishReason"] == "stop" && data["steps"] == 2, "the response is incomplete: {data}");
    check_text(city, data["message"]["content"].as_str().unwrap_or_default(), body)
}

/// Checks a response of `POST /api/chat` with `stream`: both the deltas and the final message.
pub(super) fn streamed_chat(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let (mut deltas, mut whole, mut finish) = (String::new(), String::new(), Value::Null);
    for data in lines(body)? {
        let mut event: Value = serde_json::from_str(data)?;
        if let Some(text) = event["text"].as_str() {
            deltas += text;
        }
        if let Some(text) = event["message"]["content"].as_str() {
            text.clone_into(&mut whole);
        }
        if !event["finishReason"].is_null() {
            finish = event["finishReason"].take();
        }
    }
    ensure!(finish == "stop", "the response is incomplete: {}", String::from_utf8_lossy(body));
    check_text(city, &deltas, body)?;
    check_text(city, &whole, body)
}

fn check_text(city: &str, text: &str, body: &[u8]) -> anyhow::Result<()> {
    let expected = format!("It is {} °C in {city}.", degrees(city)?);
    ensure!(text == expected, "{text:?} and not {expected:?}: {}", String::from_utf8_lossy(body));
    Ok(())
}

fn lines(body: &[u8]) -> anyhow::Result<impl Iterator<Item = &str>> {
    let text = std::str::from_utf8(body).context("a stream of text")?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("data: ")))
}
