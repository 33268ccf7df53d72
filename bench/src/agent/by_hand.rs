//! The same bare loop without anything of Haft's: hyper's client, and a stream that is read by hand.
//!
//! It understands what the model of this benchmark sends, and not much more.

use anyhow::{Context, ensure};
use axum::http::Request;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bare_loop::TIMEOUT;
use super::{INSTRUCTIONS, MODEL, schema};
use crate::http_tool::{Plain, client};

pub(super) struct ByHand {
    client: Plain,
    model: String,
    weather: String,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Piece,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallPiece>,
}

#[derive(Deserialize)]
struct CallPiece {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    arguments: String,
}

/// An answer, as far as it came: text, or one call.
#[derive(Default)]
struct Answer {
    text: String,
    call_id: Option<String>,
    arguments: String,
}

impl ByHand {
    pub(super) fn new(model: &str, weather: &str) -> Self {
        let model = format!("http://{model}/v1/chat/completions");
        Self { client: client(), model, weather: format!("http://{weather}/weather?city=") }
    }

    pub(super) async fn turn(&self, question: &str) -> anyhow::Result<String> {
        let function =
            json!({"name": "weather", "description": "The weather of a city.", "parameters": schema()});
        let mut body = json!({
            "model": MODEL,
            "messages": [
                {"role": "system", "content": INSTRUCTIONS},
                {"role": "user", "content": question},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": function}],
        });
        loop {
            let answer = tokio::time::timeout(TIMEOUT, self.ask(&body)).await??;
            let Some(id) = answer.call_id else { return Ok(answer.text) };
            let result = tokio::time::timeout(TIMEOUT, self.weather(&answer.arguments)).await??;
            let function = json!({"name": "weather", "arguments": answer.arguments});
            let calls = json!([{"id": id, "type": "function", "function": function}]);
            let messages = body["messages"].as_array_mut().context("messages")?;
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
    }

    async fn ask(&self, body: &Value) -> anyhow::Result<Answer> {
        let request = Request::post(&self.model)
            .header("user-agent", "bench")
            .header("accept", "text/event-stream")
            .header("authorization", "Bearer sk-bench")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let response = self.client.request(request).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        let mut body = response.into_body();
        let (mut answer, mut read) = (Answer::default(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            read.extend_from_slice(&data);
            let mut start = 0;
            while let Some(length) = read.iter().skip(start).position(|byte| *byte == b'\n') {
                answer.add(read.get(start..start + length).unwrap_or_default())?;
                start += length + 1;
            }
            read.drain(..start);
        }
        Ok(answer)
    }

    async fn weather(&self, arguments: &str) -> anyhow::Result<String> {
        let arguments: Value = serde_json::from_str(arguments)?;
        let city = arguments["city"].as_str().context("a city")?;
        let request = Request::get(format!("{}{city}", self.weather))
            .header("user-agent", "bench")
            .header("accept", "*/*")
            .body(Full::default())?;
        let response = self.client.request(request).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        Ok(String::from_utf8(response.into_body().collect().await?.to_bytes().to_vec())?)
    }
}

impl Answer {
    /// One line of the stream.
    fn add(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else {
            return Ok(());
        };
        let chunk: Chunk = serde_json::from_slice(data)?;
        for choice in chunk.choices {
            self.text += choice.delta.content.as_deref().unwrap_or_default();
            for call in choice.delta.tool_calls {
                self.call_id = self.call_id.take().or(call.id);
                self.arguments += &call.function.arguments;
            }
        }
        Ok(())
    }
}
