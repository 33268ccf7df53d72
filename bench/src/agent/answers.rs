//! Each answer is read, and has to tell the weather of the very city that was asked for.

use anyhow::{Context, ensure};
use serde_json::Value;

use super::upstreams::degrees;

/// `POST /v1/chat/completions`.
pub(super) fn completion(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let answer: Value = serde_json::from_slice(body)?;
    let choice = &answer["choices"][0];
    ensure!(choice["finish_reason"] == "stop", "not to its end: {answer}");
    told(city, choice["message"]["content"].as_str().unwrap_or_default(), body)
}

/// The same, with `stream`.
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
    ensure!(is_over && finish == "stop", "not to its end: {}", String::from_utf8_lossy(body));
    told(city, &text, body)
}

/// `POST /api/chat`.
pub(super) fn chat(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let mut answer: Value = serde_json::from_slice(body)?;
    let data = answer["data"].take();
    ensure!(data["finishReason"] == "stop" && data["steps"] == 2, "not to its end: {data}");
    told(city, data["message"]["content"].as_str().unwrap_or_default(), body)
}

/// The same, with `stream`: in its pieces and as a whole.
pub(super) fn streamed_chat(city: &str, body: &[u8]) -> anyhow::Result<()> {
    let (mut pieces, mut whole, mut finish) = (String::new(), String::new(), Value::Null);
    for data in lines(body)? {
        let mut event: Value = serde_json::from_str(data)?;
        if let Some(text) = event["text"].as_str() {
            pieces += text;
        }
        if let Some(text) = event["message"]["content"].as_str() {
            text.clone_into(&mut whole);
        }
        if !event["finishReason"].is_null() {
            finish = event["finishReason"].take();
        }
    }
    ensure!(finish == "stop", "not to its end: {}", String::from_utf8_lossy(body));
    told(city, &pieces, body)?;
    told(city, &whole, body)
}

fn told(city: &str, text: &str, body: &[u8]) -> anyhow::Result<()> {
    let expected = format!("It is {} °C in {city}.", degrees(city)?);
    ensure!(text == expected, "{text:?} and not {expected:?}: {}", String::from_utf8_lossy(body));
    Ok(())
}

fn lines(body: &[u8]) -> anyhow::Result<impl Iterator<Item = &str>> {
    let text = std::str::from_utf8(body).context("a stream of text")?;
    Ok(text.lines().filter_map(|line| line.strip_prefix("data: ")))
}
