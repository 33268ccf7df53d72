//! Options, response formats and ids of calls, against servers that enforce each dialect's rules.

use std::sync::Arc;

use haft_core::{ErrorKind, ModelOptions, ResponseFormat};
use haft_llm::{
    Call, Model, ModelRequest, ModelStream, ModelTool, ModelTurn, Parameters, ToolChoice, ToolResult,
};
use haft_testkit::{FakeDialect, ModelReply, ModelServer, RecordedModelRequest};
use serde_json::{Value, json};

use crate::support::{limits, wire_at};

fn options(given: Value) -> ModelOptions {
    let Value::Object(fields) = given else { panic!("{given}") };
    ModelOptions::read(fields).expect("good options")
}

fn request(model: &str, given: Value) -> ModelRequest {
    let options = options(given);
    let response_format = options.response_format();
    ModelRequest {
        response_format,
        options,
        ..ModelRequest::new(model, vec![ModelTurn::user("Say it as JSON.")])
    }
}

/// The last accepted request, and the options that were dropped from it.
async fn accepted(dialect: FakeDialect, request: &ModelRequest) -> (RecordedModelRequest, Vec<String>) {
    let server = ModelServer::start(async |_| ModelReply::says("{}")).await;
    let ModelStream { dropped, .. } = wire_at(dialect, &server)
        .ask(request, limits())
        .await
        .unwrap_or_else(|error| panic!("{dialect:?}: {error}"));
    (server.seen().pop().expect("a question"), dropped)
}

#[tokio::test]
async fn options_are_converted_for_each_dialect() {
    let common = json!({"top_p": 0.5, "stop": "END", "reasoning_effort": "low", "user": "u"});
    let sampling =
        json!({"top_p": 0.5, "stop": ["END"], "seed": 7, "presence_penalty": 0.5, "frequency_penalty": -0.5});
    for (dialect, model, given, at, expected) in [
        (
            FakeDialect::Openai,
            "gpt-5",
            json!({"logit_bias": {"1": 2}, "logprobs": true, "top_logprobs": 2, "verbosity": "low", "seed": 7}),
            "",
            json!({"logit_bias": {"1": 2}, "logprobs": true, "top_logprobs": 2, "verbosity": "low", "seed": 7}),
        ),
        (
            FakeDialect::Openai,
            "gpt-5",
            common.clone(),
            "",
            json!({"top_p": 0.5, "stop": "END", "reasoning_effort": "low", "user": "u"}),
        ),
        (
            FakeDialect::Anthropic,
            "claude-sonnet-5",
            common,
            "",
            json!({
                "top_p": 0.5, "stop_sequences": ["END"], "output_config": {"effort": "low"},
                "metadata": {"user_id": "u"},
            }),
        ),
        (
            FakeDialect::Anthropic,
            "claude-sonnet-5",
            json!({"thinking": {"type": "enabled", "budget_tokens": 10_000}, "top_k": 5}),
            "",
            json!({"thinking": {"type": "enabled", "budget_tokens": 10_000}, "top_k": 5, "max_tokens": 18_192}),
        ),
        (
            FakeDialect::Gemini,
            "gemini-2.5-flash",
            sampling.clone(),
            "/generationConfig",
            json!({
                "topP": 0.5, "stopSequences": ["END"], "seed": 7, "presencePenalty": 0.5,
                "frequencyPenalty": -0.5, "thinkingConfig": {"includeThoughts": true},
            }),
        ),
        (
            FakeDialect::Gemini,
            "gemini-2.5-flash",
            json!({"thinking": false}),
            "/generationConfig",
            json!({"thinkingConfig": {"thinkingBudget": 0}}),
        ),
        (
            FakeDialect::Gemini,
            "gemini-3-pro",
            json!({"reasoning_effort": "medium"}),
            "/generationConfig",
            json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "high"}}),
        ),
        (
            FakeDialect::Gemini,
            "gemini-3-pro",
            json!({"thinking": false}),
            "/generationConfig",
            json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "low"}}),
        ),
        (
            FakeDialect::Gemini,
            "gemini-3-flash",
            json!({"reasoning_effort": "medium"}),
            "/generationConfig",
            json!({"thinkingConfig": {"includeThoughts": true, "thinkingLevel": "medium"}}),
        ),
        (
            FakeDialect::Ollama,
            "qwen3",
            sampling,
            "/options",
            json!({"top_p": 0.5, "stop": ["END"], "seed": 7, "presence_penalty": 0.5, "frequency_penalty": -0.5}),
        ),
        (FakeDialect::Ollama, "qwen3", json!({"thinking": false}), "", json!({"think": false})),
        (
            FakeDialect::Ollama,
            "gpt-oss:20b",
            json!({"reasoning_effort": "high"}),
            "",
            json!({"think": "high"}),
        ),
        (
            FakeDialect::Ollama,
            "qwen3",
            json!({"logprobs": true, "top_logprobs": 2}),
            "",
            json!({"logprobs": true, "top_logprobs": 2}),
        ),
    ] {
        let (seen, dropped) = accepted(dialect, &request(model, given.clone())).await;
        let at = seen.body.pointer(at).expect("options");
        for (name, value) in expected.as_object().expect("an object") {
            assert_eq!(&at[name], value, "{dialect:?} {given}: {}", seen.body);
        }
        assert!(dropped.is_empty(), "{dialect:?}: {dropped:?}");
    }
}

#[tokio::test]
async fn an_unsupported_option_is_rejected_by_name_or_dropped() {
    for dialect in [FakeDialect::Anthropic, FakeDialect::Gemini, FakeDialect::Ollama] {
        let server = ModelServer::start(async |_| ModelReply::says("never")).await;
        let asked = request("m", json!({"logit_bias": {"1": 2}, "verbosity": "low"}));
        let error = wire_at(dialect, &server).ask(&asked, limits()).await.err().expect("refused");
        assert_eq!((error.kind(), error.did_nothing()), (ErrorKind::Validation, true), "{dialect:?}");
        assert!(error.to_string().contains("logit_bias"), "{dialect:?}: {error}");
        assert!(server.seen().is_empty());
        let asked = request("m", json!({"logit_bias": {"1": 2}, "verbosity": "low", "drop_params": true}));
        let (_, dropped) = accepted(dialect, &asked).await;
        assert_eq!(dropped, ["logit_bias", "verbosity"], "{dialect:?}");
        // A value that only compatible servers support is rejected too.
        let asked = request("m", json!({"reasoning_effort": "default"}));
        let error = wire_at(dialect, &server).ask(&asked, limits()).await.err().expect("refused");
        assert!(error.to_string().contains("reasoning_effort"), "{dialect:?}: {error}");
        let (_, dropped) =
            accepted(dialect, &request("m", json!({"reasoning_effort": "default", "drop_params": true})))
                .await;
        assert_eq!(dropped, ["reasoning_effort"], "{dialect:?}");
    }
}

#[tokio::test]
async fn a_rejected_temperature_is_dropped_and_the_request_retried() {
    for (dialect, model, given) in [
        (FakeDialect::Openai, "o3-mini", json!({})),
        (
            FakeDialect::Anthropic,
            "claude-sonnet-5",
            json!({"thinking": {"type": "enabled", "budget_tokens": 2_000}}),
        ),
    ] {
        let asked = ModelRequest { temperature: Some(0.2), ..request(model, given) };
        let (seen, dropped) = accepted(dialect, &asked).await;
        assert_eq!((seen.temperature, dropped), (None, vec!["temperature".to_owned()]), "{dialect:?}");
    }
    // Other options are dropped only with `drop_params`.
    let server = ModelServer::start(async |_| ModelReply::says("never")).await;
    let asked = request("o3-mini", json!({"verbosity": "low"}));
    let error = wire_at(FakeDialect::Openai, &server).ask(&asked, limits()).await.err().expect("refused");
    assert!(error.to_string().contains("verbosity"), "{error}");
    let (seen, dropped) =
        accepted(FakeDialect::Openai, &request("o3-mini", json!({"verbosity": "low", "drop_params": true})))
            .await;
    assert_eq!((seen.body.get("verbosity"), dropped), (None, vec!["verbosity".to_owned()]));
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}, "degrees": {"type": "integer"}},
        "required": ["city", "degrees"],
        "additionalProperties": false,
    })
}

fn in_schema() -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": schema(), "strict": true}}})
}

fn tool() -> Arc<ModelTool> {
    let parameters = Parameters::from(json!({"type": "object", "properties": {"city": {"type": "string"}}}));
    Arc::new(ModelTool { name: "look".to_owned(), description: String::new(), parameters, strict: None })
}

#[tokio::test]
async fn a_response_format_uses_the_field_or_the_instructions() {
    for (dialect, model, has_tools, by_field) in [
        (FakeDialect::Openai, "gpt-5", false, true),
        (FakeDialect::Openai, "gpt-5", true, true),
        (FakeDialect::Anthropic, "claude-sonnet-5", false, true),
        (FakeDialect::Anthropic, "claude-sonnet-5", true, true),
        // The model rejects the field.
        (FakeDialect::Anthropic, "claude-3-haiku", false, false),
        (FakeDialect::Gemini, "gemini-2.5-flash", false, true),
        (FakeDialect::Gemini, "gemini-2.5-flash", true, false),
        (FakeDialect::Gemini, "gemini-3-pro", true, true),
        (FakeDialect::Ollama, "qwen3", false, true),
        (FakeDialect::Ollama, "qwen3", true, false),
    ] {
        let mut asked = request(model, in_schema());
        asked.system = Some("Be brief.".to_owned());
        if has_tools {
            asked.tools.push(tool());
        }
        let (seen, _) = accepted(dialect, &asked).await;
        let case = format!("{dialect:?} {model} tools: {has_tools}: {}", seen.body);
        assert_eq!(seen.format.is_some(), by_field, "{case}");
        let is_in_words = seen.system.as_deref().is_some_and(|system| system.contains("\"degrees\""));
        // Ollama does not show its field to the model.
        assert_eq!(is_in_words, !by_field || dialect == FakeDialect::Ollama, "{case}");
        assert!(seen.system.as_deref().is_some_and(|system| system.starts_with("Be brief.")), "{case}");
        assert_eq!(seen.tools.len(), usize::from(has_tools), "{case}");
        // Without calls, every dialect can enforce the response format.
        asked.tool_choice = ToolChoice::None;
        let (seen, _) = accepted(dialect, &asked).await;
        assert_eq!(seen.format.is_some(), model != "claude-3-haiku", "{case}");
    }
}

#[tokio::test]
async fn a_format_of_any_json_object_is_supported() {
    for dialect in FakeDialect::ALL {
        let asked = request("gemini-2.5-flash", json!({"response_format": {"type": "json_object"}}));
        assert_eq!(asked.response_format, Some(ResponseFormat::JsonObject));
        let (seen, _) = accepted(dialect, &asked).await;
        // Anthropic has no field for it, and Ollama does not show its field to the model.
        let expected = (dialect != FakeDialect::Anthropic).then(|| json!("json"));
        assert_eq!(seen.format, expected, "{dialect:?}");
        let is_in_words = matches!(dialect, FakeDialect::Anthropic | FakeDialect::Ollama);
        assert_eq!(seen.system.is_some(), is_in_words, "{dialect:?}: {:?}", seen.system);
    }
}

#[tokio::test]
async fn a_schema_unsupported_by_the_field_is_in_the_instructions() {
    let scores = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let schema = json!({"type": "object", "properties": {"scores": scores}, "required": ["scores"]});
    // A schema of any value, for which Gemini uses an object without properties.
    let any = json!({"type": "object", "properties": {"scores": {}}, "required": ["scores"]});
    // Gemini would merge the alternatives of a root into one object.
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let listed = json!({"type": "object", "properties": {"scores": list}, "required": ["scores"]});
    let none =
        json!({"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]});
    let either = json!({"anyOf": [listed, none]});
    let named = json!({"$ref": "#/$defs/either", "$defs": {"either": either}});
    for (dialect, schema, expected) in [
        (FakeDialect::Openai, &schema, Some(&schema)),
        (FakeDialect::Ollama, &schema, Some(&schema)),
        (FakeDialect::Anthropic, &schema, None),
        (FakeDialect::Gemini, &schema, Some(&json!("json"))),
        (FakeDialect::Gemini, &any, Some(&json!("json"))),
        (FakeDialect::Gemini, &either, Some(&json!("json"))),
        (FakeDialect::Gemini, &named, Some(&json!("json"))),
    ] {
        let format = json!({"type": "json_schema", "json_schema": {"name": "s", "schema": schema}});
        let (seen, dropped) =
            accepted(dialect, &request("gemini-2.5-flash", json!({"response_format": format}))).await;
        assert_eq!((seen.format.as_ref(), dropped), (expected, vec![]), "{dialect:?}");
        let is_in_words = seen.system.as_deref().is_some_and(|system| system.contains("\"scores\""));
        let has_field_alone = expected == Some(schema) && dialect != FakeDialect::Ollama;
        assert_eq!(is_in_words, !has_field_alone, "{dialect:?}: {:?}", seen.system);
    }
}

#[tokio::test]
async fn log_probabilities_of_ollama_are_converted_to_openais_form() {
    let lines = [
        json!({"message": {"thinking": "Hm."}, "logprobs": [{"token": "Hm.", "logprob": -1.0}], "done": false}),
        json!({"message": {"content": "{}"}, "logprobs": [{"token": "{}", "logprob": -0.5, "bytes": [123, 125]}], "done": false}),
        json!({"message": {"content": ""}, "done": true, "done_reason": "stop"}),
    ];
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let server =
        haft_testkit::Upstream::start(move |_| haft_testkit::http_response(200, &[], body.clone())).await;
    let asked = request("qwen3", json!({"logprobs": true}));
    let answer = crate::support::ask(&crate::support::wire(haft_llm::Dialect::Ollama, &server), &asked).await;
    let expected = json!({"token": "{}", "logprob": -0.5, "bytes": [123, 125], "top_logprobs": []});
    assert_eq!(answer.expect("an answer").logprobs, [expected]);
}

#[tokio::test]
async fn log_probabilities_are_rejected_for_gemini() {
    let server = ModelServer::start(async |_| ModelReply::says("never")).await;
    let asked = request("gemini-2.5-flash", json!({"logprobs": true}));
    let error = wire_at(FakeDialect::Gemini, &server).ask(&asked, limits()).await.err().expect("refused");
    assert!(error.to_string().contains("logprobs"), "{error}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn log_probabilities_are_returned() {
    let chunk = json!({"choices": [{
        "index": 0, "delta": {"content": "{}"}, "finish_reason": "stop",
        "logprobs": {"content": [{"token": "{}", "logprob": -0.5, "bytes": null, "top_logprobs": []}]},
    }]});
    let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let server =
        haft_testkit::Upstream::start(move |_| haft_testkit::http_response(200, &[], body.clone())).await;
    let asked = request("gpt-5", json!({"logprobs": true}));
    let answer = crate::support::ask(&crate::support::wire(haft_llm::Dialect::OpenAi, &server), &asked).await;
    assert_eq!(answer.expect("an answer").logprobs[0]["logprob"], json!(-0.5));
}

/// A call as the agent loop stores it, with the provider's id.
fn call(id: &str, provider_id: Option<&str>) -> Call {
    let mut call = Call { id: provider_id.unwrap_or_default().to_owned(), ..Call::default() };
    (call.name, call.arguments) = ("look".to_owned(), "{}".to_owned());
    call.rename(id.to_owned());
    assert_eq!(call.provider_id.as_deref(), provider_id);
    call
}

fn with_calls(model: &str, calls: Vec<Call>) -> ModelRequest {
    let result = |call: &Call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: "dry".to_owned(),
        is_error: false,
    };
    let results = calls.iter().map(result).collect();
    let answer = ModelTurn::assistant("", None, calls);
    let turns = vec![ModelTurn::user("Look."), answer, ModelTurn::ToolResults { results }];
    ModelRequest { tools: vec![tool()], ..ModelRequest::new(model, turns) }
}

const HAFT_IDS: [&str; 2] = ["0199a1b2-0000-7000-8000-000000000001", "0199a1b2-0000-7000-8000-000000000002"];

#[tokio::test]
async fn a_providers_id_is_returned_unchanged() {
    for (dialect, model, ids) in [
        (FakeDialect::Openai, "gpt-5", ["call_abc123", "call_def456"]),
        (FakeDialect::Openai, "mistral-large", ["D681PevKs", "9Fk2mQw3x"]),
        (FakeDialect::Openai, "kimi-k2", ["functions.look:0", "functions.look:1"]),
        (
            FakeDialect::Openai,
            "vllm",
            [
                "chatcmpl-tool-0123456789abcdef0123456789abcdef",
                "chatcmpl-tool-fedcba9876543210fedcba9876543210",
            ],
        ),
        (
            FakeDialect::Openai,
            "sglang",
            ["4f9c1f43-2b1e-4c7e-9a55-0d1c5a1b2c3d", "5f9c1f43-2b1e-4c7e-9a55-0d1c5a1b2c3d"],
        ),
        (FakeDialect::Anthropic, "claude-sonnet-5", ["toolu_01A09q90qw90lq917835lq9", "toolu_02"]),
        (FakeDialect::Gemini, "gemini-2.5-flash", ["fc-1", "fc-2"]),
        (FakeDialect::Ollama, "qwen3", ["call_1", "call_2"]),
    ] {
        let calls = HAFT_IDS.iter().zip(ids).map(|(ours, id)| call(ours, Some(id))).collect();
        let (seen, _) = accepted(dialect, &with_calls(model, calls)).await;
        let sent: Vec<&str> = seen.messages[1].calls.iter().map(|call| call.id.as_str()).collect();
        let answered: Vec<&str> = seen.results().iter().map(|result| result.call_id.as_str()).collect();
        assert_eq!((sent, answered), (ids.to_vec(), ids.to_vec()), "{model}");
    }
}

#[tokio::test]
async fn foreign_ids_are_accepted_by_every_provider_and_stable() {
    for (dialect, model) in [
        (FakeDialect::Openai, "gpt-5"),
        (FakeDialect::Openai, "mistral-large"),
        (FakeDialect::Anthropic, "claude-sonnet-5"),
        (FakeDialect::Gemini, "gemini-2.5-flash"),
        (FakeDialect::Ollama, "qwen3"),
    ] {
        let asked = with_calls(model, HAFT_IDS.iter().map(|ours| call(ours, None)).collect());
        let sent = |seen: &RecordedModelRequest| -> Vec<String> {
            seen.messages[1].calls.iter().map(|call| call.id.clone()).collect()
        };
        let (one, other) = (accepted(dialect, &asked).await.0, accepted(dialect, &asked).await.0);
        assert_eq!(sent(&one), sent(&other), "{model}");
        let answered: Vec<String> = one.results().iter().map(|result| result.call_id.clone()).collect();
        assert_eq!(sent(&one), answered, "{model}");
    }
}
