//! The bare loop without Haft's crates: hyper's client, and a parser for the stream of the model.
//!
//! It supports only the forms that the model of this benchmark sends.

use anyhow::{Context, ensure};
use axum::http::Request;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bare_loop::TIMEOUT;
use super::{INSTRUCTIONS, MODEL, schema};
use crate::http_tool::{PlainClient, client};

pub(super) struct HyperLoop {
    client: PlainClient,
    model: String,
    weather: String,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: DeltaPart,
}

#[derive(Deserialize)]
struct DeltaPart {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<CallPart>,
}

#[derive(Deserialize)]
struct CallPart {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    #[serde(default)]
    arguments: String,
}

/// The received part of a model's response: text, or one call.
#[derive(Default)]
struct ModelResponse {
    text: String,
    call_id: Option<String>,
    arguments: String,
}

impl HyperLoop {
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
            let response = tokio::time::timeout(TIMEOUT, self.ask_model(&body)).await??;
            let Some(id) = response.call_id else { return Ok(response.text) };
            let result = tokio::time::timeout(TIMEOUT, self.weather(&response.arguments)).await??;
            let function = json!({"name": "weather", "arguments": response.arguments});
            let calls = json!([{"id": id, "type": "function", "function": function}]);
            let messages = body["messages"].as_array_mut().context("messages")?;
            messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
            messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
        }
    }

    async fn ask_model(&self, body: &Value) -> anyhow::Result<ModelResponse> {
        let request = Request::post(&self.model)
            .header("user-agent", "bench")
            .header("accept", "text/event-stream")
            .header("authorization", "Bearer sk-bench")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let response = self.client.request(request).await?;
        ensure!(response.status().is_success(), "{}", response.status());
        let mut body = response.into_body();
        let (mut response, mut read) = (ModelResponse::default(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            read.extend_from_slice(&data);
            let mut start = 0;
            while let Some(length) = read.iter().skip(start).position(|byte| *byte == b'\n') {
                response.add(read.get(start..start + length).unwrap_or_default())?;
                start += length + 1;
            }
            read.drain(..start);
        }
        Ok(response)
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

impl ModelResponse {
    /// Adds one line of the stream.
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
