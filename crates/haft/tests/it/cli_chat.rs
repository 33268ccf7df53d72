//! `haft chat`: single questions, the interactive prompt, and agents that run without a server.

mod interrupted;

use haft_testkit::{
    Client, CommandOutput, FakeDialect, HaftProcess, MessageRole, ModelReply, ModelServer, TestStorage,
    eventually, run,
};
use serde_json::{Value, json};

use crate::HAFT;
use crate::agents::make;
use crate::survival::Settings;
use crate::tasks::mock;

/// Returns settings whose provider is this model server.
fn model_settings(place: &TestStorage, models: &ModelServer) -> Settings {
    Settings::of(place)
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &models.base(FakeDialect::Openai))
        .with("HAFT_DEFAULT_MODEL", "test-small")
}

/// Starts a server and creates the agent `helper` with these tools.
async fn start_server(models: &ModelServer, tools: &[Value]) -> (HaftProcess, Client, TestStorage) {
    let place = TestStorage::new();
    let (server, api) = model_settings(&place, models).start().await;
    let mut bindings = Vec::new();
    for tool in tools {
        let created = make(&api, "/api/tools", tool).await;
        bindings.push(json!({"toolId": created["id"]}));
    }
    make(&api, "/api/agents", &json!({"name": "helper", "systemPrompt": "Help.", "bindings": bindings}))
        .await;
    (server, api, place)
}

async fn chat(server: &HaftProcess, arguments: &[&str], input: &str) -> CommandOutput {
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    run(HAFT, &[&["chat"], arguments].concat(), &environment, input).await
}

#[tokio::test]
async fn response_to_one_question_is_printed_on_standard_output() {
    let models = ModelServer::start(async |request| {
        ModelReply::new().reasoning("Hm.").text(format!("You said: {}", request.user_text())).usage(12, 7)
    })
    .await;
    let (server, _api, _place) = start_server(&models, &[]).await;
    let ended = chat(&server, &["helper", "Is it dry?"], "not read").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "You said: Is it dry?\n"), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("1 step, 12 + 7 tokens, "), "{}", ended.stderr);
    assert_eq!(models.seen()[0].system.as_deref(), Some("Help."));

    for arguments in [&["helper"][..], &["helper", "-"], &[]] {
        let ended = chat(&server, arguments, "Two\nlines\n").await;
        let text = ended.stdout.trim_end();
        assert_eq!((ended.code, text), (0, "You said: Two\nlines"), "{}", ended.stderr);
    }
    assert_eq!(
        models.seen().last().and_then(|request| request.system.clone()),
        None,
        "no instructions without an agent"
    );
    let ended = chat(&server, &["-m", "Hello"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "You said: Hello\n"), "{}", ended.stderr);
    assert_eq!(models.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn json_output_contains_every_event() {
    let models = ModelServer::script([ModelReply::says("Yes, dry.").in_fragments_of(3)]).await;
    let (server, _api, _place) = start_server(&models, &[]).await;
    let ended = chat(&server, &["helper", "Dry?", "--json"], "").await;
    let events: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let deltas = events.iter().filter(|event| event["event"] == "message.delta");
    let text: String = deltas.map(|event| event["data"]["text"].as_str().expect("text")).collect();
    assert_eq!((ended.code, text.as_str(), ended.stderr.as_str()), (0, "Yes, dry.", ""));
    assert_eq!(events[0]["event"], "turn.start");
    let last = events.last().expect("events");
    assert_eq!((&last["event"], &last["data"]["finishReason"]), (&json!("done"), &json!("stop")));
    assert!(events.iter().all(|event| event["id"].is_string()), "{events:?}");
    let refused = chat(&server, &["unknown", "Dry?", "--json"], "").await;
    let text: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!((refused.code, &text["error"]["kind"]), (3, &json!("NotFound")));
}

#[tokio::test]
async fn prompt_reads_messages_and_commands() {
    let models = ModelServer::start(async |request| {
        ModelReply::says(format!("{} after {} responses", request.user_text(), request.previous_responses()))
    })
    .await;
    let (server, api, _place) = start_server(&models, &[]).await;
    let lines = "/help\nOne\n\nTwo\n/retry\n/nonsense\n/new\nThree\n/history\n/open 2\nFour\n/exit\nFive\n";
    let ended = chat(&server, &["helper", "-i"], lines).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (out, err) = (ended.stdout, ended.stderr);
    let responses: Vec<&str> = out.lines().filter(|line| line.contains(" after ")).collect();
    let expected = [
        "One after 0 responses",
        "Two after 1 responses",
        "Two after 1 responses",
        "Three after 0 responses",
        "Four after 2 responses",
    ];
    assert_eq!(responses, expected, "{out}");
    assert!(err.contains("/history    list the last conversations"), "{err}");
    assert!(err.contains("unknown command /nonsense"), "{err}");
    assert!(err.contains("> One\nOne after 0 responses\n> Two\n"), "the history is printed: {err}");
    assert!(out.contains("1  Three"), "{out}");

    let listed = chat(&server, &["--list"], "").await.stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let ended = chat(&server, &["--last", "helper", "Six"], "").await;
    assert_eq!(ended.stdout, "Six after 3 responses\n", "{}", ended.stderr);
    let list = api.get("/api/conversations?limit=2").await;
    let older = list.data()["items"][1]["id"].as_str().expect("an id").to_owned();
    let ended = chat(&server, &["--conversation", &older, "-m", "Seven"], "").await;
    assert_eq!(ended.stdout, "Seven after 1 responses\n", "{}", ended.stderr);
    let ended = chat(&server, &["--conversation", &uuid::Uuid::nil().to_string(), "-i"], "Hello\n").await;
    assert_eq!(ended.code, 3, "{}", ended.stderr);
}

#[tokio::test]
async fn calls_are_printed_and_tools_and_images_are_sent() {
    let call = || ModelReply::calls([("weather", json!({"city": "Paris"})), ("broken", json!({}))]);
    let models = ModelServer::script([call(), ModelReply::says("Dry."), ModelReply::says("Red.")]).await;
    let broken = mock(
        "broken",
        json!({"config": {"answers": [{"error": {"kind": "Execution", "message": "It broke."}}]}}),
    );
    let (server, api, _place) = start_server(&models, &[mock("weather", json!({})), broken]).await;
    make(&api, "/api/tools", &mock("extra", json!({}))).await;
    let ended = chat(&server, &["helper", "Dry?", "--tools", "extra,calculator"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Dry.\n"), "{}", ended.stderr);
    let text = ended.stderr;
    assert!(text.contains("⚙ weather {\"city\":\"Paris\"}\n"), "{text}");
    assert!(text.contains("✓ weather ") && text.contains(" ms\n"), "{text}");
    assert!(text.contains("✗ broken Execution: "), "{text}");
    let offered = models.seen()[0].tool_names().join(" ");
    assert!(
        offered.contains("extra") && offered.contains("calculator") && offered.contains("weather"),
        "{offered}"
    );

    let path = format!("{}.PNG", unused_path());
    std::fs::write(&path, b"\x89PNG\r\n\x1a\n").expect("a file");
    let ended = chat(&server, &["helper", "Which colour?", "--image", &path], "").await;
    std::fs::remove_file(&path).expect("the file exists");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Red.\n"), "{}", ended.stderr);
    let last = models.seen().pop().expect("a request").messages.pop().expect("a message");
    assert_eq!((last.role, last.images, last.text.as_str()), (MessageRole::User, 1, "Which colour?"));
    let ended = chat(&server, &["helper", "Well?", "--image", "/etc/hosts"], "").await;
    assert!(
        ended.code == 1 && ended.stderr.contains("is not an image that models support"),
        "{}",
        ended.stderr
    );
    let ended = chat(&server, &["helper", "Well?", "--tools", "nonesuch"], "").await;
    assert!(ended.code == 2 && ended.stderr.contains("there is no tool nonesuch"), "{}", ended.stderr);
}

#[tokio::test]
async fn prompt_requests_an_approval() {
    for (line, expected) in [("y", "✓ pay "), ("", "✗ pay Denied: ")] {
        let call = ModelReply::calls([("pay", json!({}))]);
        let models = ModelServer::script([call, ModelReply::says("Well.")]).await;
        let (server, _api, _place) = start_server(&models, &[mock("pay", json!({"policy": "ask"}))]).await;
        let ended = chat(&server, &["helper", "-i"], &format!("Pay it.\n{line}\n")).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "Well.\n"), "{}", ended.stderr);
        assert!(ended.stderr.contains("… pay waits for approval: haft approvals approve "));
        assert!(ended.stderr.contains("approve it? y/N "), "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn turn_continues_after_an_approval_by_another_user() {
    let call = ModelReply::calls([("pay", json!({}))]);
    let models = ModelServer::script([call, ModelReply::says("Paid.")]).await;
    let (server, api, _place) = start_server(&models, &[mock("pay", json!({"policy": "ask"}))]).await;
    let waiting = chat(&server, &["helper", "Pay it."], "");
    let decided = async {
        eventually("an approval waits", async || {
            api.get("/api/approvals").await.data()["items"].as_array().is_some_and(|items| !items.is_empty())
        })
        .await;
        let id = api.get("/api/approvals").await.data()["items"][0]["id"].as_str().expect("an id").to_owned();
        api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await
    };
    let (ended, decided) = tokio::join!(waiting, decided);
    assert_eq!(decided.status, 200, "{}", decided.body);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Paid.\n"), "{}", ended.stderr);
}

#[tokio::test]
async fn exit_code_depends_on_the_error() {
    let models = ModelServer::start(async |_| ModelReply::refused(401, "no such key", None)).await;
    let (server, api, _place) = start_server(&models, &[]).await;
    let ended = chat(&server, &["helper", "Hello"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (5, ""), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("Authentication: "), "{}", ended.stderr);
    for arguments in [&["unknown", "Hello"][..], &["unknown", "-i"]] {
        let ended = chat(&server, arguments, "Hello\n").await;
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("there is no agent unknown"), "{}", ended.stderr);
    }
    let ended = chat(&server, &["helper"], " \n").await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let ended = chat(&server, &["--last", "-m", "Hello", "helper"], "").await;
    assert_eq!(ended.code, 5, "the failed conversation is continued: {}", ended.stderr);
    make(&api, "/api/agents", &json!({"name": "other"})).await;
    let ended = chat(&server, &["--last", "other", "Hello"], "").await;
    assert!(
        ended.code == 3 && ended.stderr.contains("there is no conversation to continue"),
        "{}",
        ended.stderr
    );
    let away = [("HAFT_URL", "http://127.0.0.1:9"), ("HAFT_TOKEN", crate::TOKEN)];
    let ended = run(HAFT, &["chat", "helper", "Hello"], &away, "").await;
    assert!(ended.code == 7 && ended.stderr.contains("cannot reach a server"), "{}", ended.stderr);
}

#[tokio::test]
async fn agent_runs_in_the_process_without_a_server() {
    let models = ModelServer::start(async |request| match request.results().len() {
        0 => ModelReply::calls([("calculator", json!({"expression": "6*7"}))]),
        _ => ModelReply::says(format!("42 after {} responses", request.previous_responses())),
    })
    .await;
    let place = TestStorage::new();
    let settings = model_settings(&place, &models);
    let (server, api) = settings.start().await;
    let calculator = json!([{"toolId": "calculator"}]);
    make(&api, "/api/agents", &json!({"name": "helper", "bindings": calculator})).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    // Without a token, the command does not use a server.
    let settings = settings.with("HAFT_ADMIN_TOKEN", "");
    let ended = settings.haft(&["chat", "helper", "6*7?"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "42 after 1 responses\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("✓ calculator "), "{}", ended.stderr);
    let ended = settings.haft(&["chat", "--last", "-i"], "And again?\n").await;
    assert_eq!(ended.stdout, "42 after 3 responses\n", "the conversation is stored: {}", ended.stderr);
    assert!(ended.stderr.contains("> 6*7?"), "{}", ended.stderr);
}

#[tokio::test]
async fn chat_needs_nothing_but_a_model() {
    let models = ModelServer::script([ModelReply::says("Hello.")]).await;
    let place = unused_path();
    let base = models.base(FakeDialect::Openai);
    let model =
        [("OPENAI_API_KEY", "sk-test"), ("OPENAI_BASE_URL", &base), ("HAFT_DEFAULT_MODEL", "test-small")];
    let home = [("HAFT_DATA_DIR", place.as_str())];
    let ended = run(HAFT, &["chat", "-m", "Hi"], &[&model[..], &home].concat(), "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Hello.\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("is not saved"), "{}", ended.stderr);
    let ended = run(HAFT, &["chat", "-m", "Hi"], &home, "").await;
    assert!(ended.code != 0 && ended.stdout.is_empty(), "{}", ended.stdout);
    assert!(ended.stderr.contains("provider"), "{}", ended.stderr);
    assert!(!std::path::Path::new(&place).exists(), "the data directory is not created");
}

/// Returns a path that does not exist.
fn unused_path() -> String {
    let name = format!("haft-chat-{}", uuid::Uuid::new_v4());
    std::env::temp_dir().join(name).to_str().expect("a path").to_owned()
}
