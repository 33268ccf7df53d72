//! A script instead of a model: one response for each turn, and an error after the last.

use haft_llm::{EndReason, ModelRequest, ModelTurn, Scripted};

use crate::support::ask;

const SCRIPT: &str = r#"[
    {"reasoning": "two of them", "toolCalls": [
        {"id": "a", "name": "weather", "arguments": {"city": "Paris"}},
        {"name": "weather", "arguments": "{\"city\":"},
        {"name": "now"}
    ]},
    {"text": "It is warm in Paris.", "usage": {"input": 7, "output": 5}}
]"#;

#[tokio::test]
async fn each_turn_has_its_response() {
    let model = Scripted::read(SCRIPT).expect("a script");
    let mut request = ModelRequest::new("any", vec![ModelTurn::user("the weather?")]);
    let first = ask(&model, &request).await.expect("an answer");
    let calls: Vec<(&str, &str)> =
        first.calls.iter().map(|call| (call.id.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("a", r#"{"city":"Paris"}"#), ("haft_0_1", r#"{"city":"#), ("haft_0_2", "{}")]);
    assert_eq!((first.text.as_str(), first.end), ("", EndReason::ToolCalls));
    assert_eq!(ask(&model, &request).await.expect("the same again"), first);
    request.turns.push(first.into_turn());
    let second = ask(&model, &request).await.expect("an answer");
    assert_eq!((second.text.as_str(), second.end), ("It is warm in Paris.", EndReason::Stop));
    assert_eq!(second.usage.map(|usage| (usage.input, usage.output)), Some((7, 5)));
    request.turns.push(second.into_turn());
    let error = ask(&model, &request).await.expect_err("the end");
    assert_eq!(error.message().to_string(), "The script has 2 responses and is exhausted");
}

#[test]
fn an_invalid_script_is_rejected() {
    for script in ["", "{}", "[1]", r#"[{"txt": "x"}]"#, r#"[{"toolCalls": [{"arguments": {}}]}]"#] {
        let error = Scripted::read(script).expect_err(script);
        assert_eq!(error.message().id(), "llm.script.bad", "{script}");
    }
}
