//! The upstreams of an agent: a fake model, and an API with the weather of a city.
//!
//! The model calls the tool for the city in the question, and then returns the tool's result as text. It
//! streams both responses in fragments, as real models do, after a latency that may be zero.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use futures_util::stream;
use tokio::net::TcpListener;

use crate::load::FRESH_KEY;

pub(crate) async fn serve_model(listener: TcpListener, latency: Duration) -> anyhow::Result<()> {
    let respond = async move |body: String| {
        if !latency.is_zero() {
            tokio::time::sleep(latency).await;
        }
        model(&body)
    };
    let router = Router::new().route("/v1/chat/completions", post(respond));
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
    Ok(())
}

pub(crate) async fn serve_weather(listener: TcpListener) -> anyhow::Result<()> {
    let router = Router::new().route("/weather", get(async |RawQuery(query): RawQuery| weather(query)));
    axum::serve(listener.tap_io(|stream| drop(stream.set_nodelay(true))), router).await?;
    Ok(())
}

/// Returns the temperature of a city. The name of a city contains a number, which determines the temperature.
pub(super) fn degrees(city: &str) -> anyhow::Result<u64> {
    let number = city.strip_prefix("key-").and_then(|number| number.parse::<u64>().ok());
    Ok(number.with_context(|| format!("there is no city {city:?}"))? % 40)
}

fn weather(query: Option<String>) -> Response {
    let query = query.unwrap_or_default();
    let city = query.strip_prefix("city=").unwrap_or_default();
    match degrees(city) {
        Ok(degrees) => {
            let response =
                format!(r#"{{"city":"{city}","celsius":{degrees},"sky":"clear","wind":{{"kmh":12}}}}"#);
            ([(CONTENT_TYPE, "application/json")], response).into_response()
        }
        Err(error) => (StatusCode::NOT_FOUND, error.to_string()).into_response(),
    }
}

fn model(body: &str) -> Response {
    // The last message is a question or the result of the tool.
    let last = |role: &str| body.rsplit_once(role).map(|(_, rest)| rest);
    let (question, result) = (last(r#""role":"user""#), last(r#""role":"tool""#));
    let result = result.filter(|result| question.is_none_or(|question| result.len() < question.len()));
    let response = match result {
        None => question.and_then(city).map(call),
        Some(result) => celsius(result).zip(city(result)).map(|(celsius, city)| text(celsius, city)),
    };
    let Some(response) = response else {
        return (StatusCode::BAD_REQUEST, format!("unexpected request: {body}")).into_response();
    };
    let response = stream::iter(response.into_iter().map(Ok::<_, Infallible>));
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(response)).into_response()
}

/// Returns the first city in a text.
fn city(text: &str) -> Option<&str> {
    let start = text.find("key-")?;
    text.get(start..start + FRESH_KEY.len())
}

/// Returns the temperature in the result of the tool.
fn celsius(result: &str) -> Option<&str> {
    let (_, rest) = result.split_once("celsius")?;
    let rest = rest.trim_start_matches(|character: char| !character.is_ascii_digit());
    rest.split(|character: char| !character.is_ascii_digit()).next()
}

fn call(city: &str) -> Vec<String> {
    let more = |arguments: &str| {
        let piece = format!(r#""tool_calls":[{{"index":0,"function":{{"arguments":"{arguments}"}}}}]"#);
        chunk(&piece, "null")
    };
    vec![
        chunk(
            r#""role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]"#,
            "null",
        ),
        more(r#"{\"ci"#),
        more(r#"ty\":"#),
        more(&format!(r#"\"{city}\"}}"#)),
        chunk("", r#""tool_calls""#),
        end(),
    ]
}

fn text(celsius: &str, city: &str) -> Vec<String> {
    let more = |text: &str| chunk(&format!(r#""content":"{text}""#), "null");
    vec![
        chunk(r#""role":"assistant","content":"""#, "null"),
        more("It is"),
        more(&format!(" {celsius} °C")),
        more(" in "),
        more(city),
        more("."),
        chunk("", r#""stop""#),
        end(),
    ]
}

fn chunk(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test-model\",\"choices\":[{{\"index\":0,\"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n"
    )
}

fn end() -> String {
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"test-model\",\"choices\":[],\"usage\":{\"prompt_tokens\":87,\"completion_tokens\":12,\"total_tokens\":99}}\n\ndata: [DONE]\n\n".to_owned()
}
