//! `haft chat`: one question, a prompt, and the server within the process itself.

mod streams;

use haft_testkit::{
    Client, Dialect, Finished, HaftProcess, ModelReply, ModelServer, Place, Role, eventually, run,
};
use serde_json::{Value, json};

use crate::HAFT;
use crate::agents::make;
use crate::survival::Settings;
use crate::tasks::mock;

/// A place whose servers and commands ask these models.
fn asking(place: &Place, models: &ModelServer) -> Settings {
    Settings::of(place)
        .with("OPENAI_API_KEY", "sk-test")
        .with("OPENAI_BASE_URL", &models.base(Dialect::Openai))
        .with("HAFT_DEFAULT_MODEL", "test-small")
}

/// A server with an agent that has these tools.
async fn served(models: &ModelServer, tools: &[Value]) -> (HaftProcess, Client, Place) {
    let place = Place::new();
    let (server, api) = asking(&place, models).start().await;
    let mut bindings = Vec::new();
    for tool in tools {
        let made = make(&api, "/api/tools", tool).await;
        bindings.push(json!({"toolId": made["id"]}));
    }
    make(&api, "/api/agents", &json!({"name": "helper", "systemPrompt": "Help.", "bindings": bindings}))
        .await;
    (server, api, place)
}

async fn chat(server: &HaftProcess, arguments: &[&str], input: &str) -> Finished {
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    run(HAFT, &[&["chat"], arguments].concat(), &environment, input).await
}

#[tokio::test]
async fn one_question_has_its_answer_on_standard_output() {
    let models = ModelServer::start(async |asked| {
        ModelReply::new().reasoning("Hm.").text(format!("You said: {}", asked.user_text())).usage(12, 7)
    })
    .await;
    let (server, _api, _place) = served(&models, &[]).await;
    let ended = chat(&server, &["helper", "Is it dry?"], "not read").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "You said: Is it dry?\n"), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("1 step, 12 + 7 tokens, "), "{}", ended.stderr);
    assert_eq!(models.seen()[0].system.as_deref(), Some("Help."));

    for arguments in [&["helper"][..], &["helper", "-"], &[]] {
        let ended = chat(&server, arguments, "Two\nlines\n").await;
        let said = ended.stdout.trim_end();
        assert_eq!((ended.code, said), (0, "You said: Two\nlines"), "{}", ended.stderr);
    }
    assert_eq!(
        models.seen().last().and_then(|asked| asked.system.clone()),
        None,
        "no agent, no instructions"
    );
    let ended = chat(&server, &["-m", "Hello"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "You said: Hello\n"), "{}", ended.stderr);
    assert_eq!(models.refused(), Vec::<String>::new());
}

#[tokio::test]
async fn programs_get_every_event() {
    let models = ModelServer::script([ModelReply::says("Yes, dry.").in_fragments_of(3)]).await;
    let (server, _api, _place) = served(&models, &[]).await;
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
    let refused = chat(&server, &["nobody", "Dry?", "--json"], "").await;
    let said: Value = serde_json::from_str(&refused.stdout).expect("JSON");
    assert_eq!((refused.code, &said["error"]["kind"]), (3, &json!("NotFound")));
}

#[tokio::test]
async fn a_prompt_takes_line_after_line() {
    let models = ModelServer::start(async |asked| {
        ModelReply::says(format!("{} after {} answers", asked.user_text(), asked.answers_before()))
    })
    .await;
    let (server, api, _place) = served(&models, &[]).await;
    let lines = "/help\nOne\n\nTwo\n/retry\n/nonsense\n/new\nThree\n/history\n/open 2\nFour\n/exit\nFive\n";
    let ended = chat(&server, &["helper", "-i"], lines).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let (out, err) = (ended.stdout, ended.stderr);
    let answers: Vec<&str> = out.lines().filter(|line| line.contains(" after ")).collect();
    let expected = [
        "One after 0 answers",
        "Two after 1 answers",
        "Two after 1 answers",
        "Three after 0 answers",
        "Four after 2 answers",
    ];
    assert_eq!(answers, expected, "{out}");
    assert!(err.contains("/history    the last conversations"), "{err}");
    assert!(err.contains("there is no /nonsense"), "{err}");
    assert!(err.contains("> One\nOne after 0 answers\n> Two\n"), "what was said before is shown: {err}");
    assert!(out.contains("1  Three"), "{out}");

    let listed = chat(&server, &["--list"], "").await.stdout;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let ended = chat(&server, &["--last", "helper", "Six"], "").await;
    assert_eq!(ended.stdout, "Six after 3 answers\n", "{}", ended.stderr);
    let list = api.get("/api/conversations?limit=2").await;
    let older = list.data()["items"][1]["id"].as_str().expect("an id").to_owned();
    let ended = chat(&server, &["--conversation", &older, "-m", "Seven"], "").await;
    assert_eq!(ended.stdout, "Seven after 1 answers\n", "{}", ended.stderr);
    let ended = chat(&server, &["--conversation", &uuid::Uuid::nil().to_string(), "-i"], "Hello\n").await;
    assert_eq!(ended.code, 3, "{}", ended.stderr);
}

#[tokio::test]
async fn calls_are_seen_and_tools_and_pictures_sent_along() {
    let call = || ModelReply::calls([("weather", json!({"city": "Paris"})), ("broken", json!({}))]);
    let models = ModelServer::script([call(), ModelReply::says("Dry."), ModelReply::says("Red.")]).await;
    let broken = mock(
        "broken",
        json!({"config": {"answers": [{"error": {"kind": "Execution", "message": "It broke."}}]}}),
    );
    let (server, api, _place) = served(&models, &[mock("weather", json!({})), broken]).await;
    make(&api, "/api/tools", &mock("extra", json!({}))).await;
    let ended = chat(&server, &["helper", "Dry?", "--tools", "extra,calculator"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Dry.\n"), "{}", ended.stderr);
    let said = ended.stderr;
    assert!(said.contains("⚙ weather {\"city\":\"Paris\"}\n"), "{said}");
    assert!(said.contains("✓ weather ") && said.contains(" ms\n"), "{said}");
    assert!(said.contains("✗ broken Execution: "), "{said}");
    let offered = models.seen()[0].tool_names().join(" ");
    assert!(
        offered.contains("extra") && offered.contains("calculator") && offered.contains("weather"),
        "{offered}"
    );

    let path = format!("{}.PNG", unused_path());
    std::fs::write(&path, b"\x89PNG\r\n\x1a\n").expect("a file");
    let ended = chat(&server, &["helper", "Which colour?", "--image", &path], "").await;
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Red.\n"), "{}", ended.stderr);
    let last = models.seen().pop().expect("a question").messages.pop().expect("a message");
    assert_eq!((last.role, last.images, last.text.as_str()), (Role::User, 1, "Which colour?"));
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
async fn an_approval_is_asked_for_right_there() {
    for (line, came) in [("y", "✓ pay "), ("", "✗ pay Denied: ")] {
        let call = ModelReply::calls([("pay", json!({}))]);
        let models = ModelServer::script([call, ModelReply::says("Well.")]).await;
        let (server, _api, _place) = served(&models, &[mock("pay", json!({"policy": "ask"}))]).await;
        let ended = chat(&server, &["helper", "-i"], &format!("Pay it.\n{line}\n")).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "Well.\n"), "{}", ended.stderr);
        assert!(ended.stderr.contains("… pay waits for somebody to approve it: haft approvals approve "));
        assert!(ended.stderr.contains("approve it? y/N "), "{}", ended.stderr);
        assert!(ended.stderr.contains(came), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn what_somebody_else_approves_goes_on() {
    let call = ModelReply::calls([("pay", json!({}))]);
    let models = ModelServer::script([call, ModelReply::says("Paid.")]).await;
    let (server, api, _place) = served(&models, &[mock("pay", json!({"policy": "ask"}))]).await;
    let asked = chat(&server, &["helper", "Pay it."], "");
    let decided = async {
        eventually("it is asked for", async || {
            api.get("/api/approvals").await.data()["items"].as_array().is_some_and(|items| !items.is_empty())
        })
        .await;
        let id = api.get("/api/approvals").await.data()["items"][0]["id"].as_str().expect("an id").to_owned();
        api.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await
    };
    let (ended, decided) = tokio::join!(asked, decided);
    assert_eq!(decided.status, 200, "{}", decided.body);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Paid.\n"), "{}", ended.stderr);
}

#[tokio::test]
async fn how_it_ended_is_told_by_the_code() {
    let models = ModelServer::start(async |_| ModelReply::refused(401, "no such key", None)).await;
    let (server, api, _place) = served(&models, &[]).await;
    let ended = chat(&server, &["helper", "Hello"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (5, ""), "{}", ended.stderr);
    assert!(ended.stderr.starts_with("Authentication: "), "{}", ended.stderr);
    for arguments in [&["nobody", "Hello"][..], &["nobody", "-i"]] {
        let ended = chat(&server, arguments, "Hello\n").await;
        assert_eq!((ended.code, ended.stdout.as_str()), (3, ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("there is no agent nobody"), "{}", ended.stderr);
    }
    let ended = chat(&server, &["helper"], " \n").await;
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let ended = chat(&server, &["--last", "-m", "Hello", "helper"], "").await;
    assert_eq!(ended.code, 5, "it goes on with what failed: {}", ended.stderr);
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
async fn without_a_server_the_agent_works_in_the_process() {
    let models = ModelServer::start(async |asked| match asked.results().len() {
        0 => ModelReply::calls([("calculator", json!({"expression": "6*7"}))]),
        _ => ModelReply::says(format!("42 after {} answers", asked.answers_before())),
    })
    .await;
    let place = Place::new();
    let settings = asking(&place, &models);
    let (server, api) = settings.start().await;
    let calculator = json!([{"toolId": "calculator"}]);
    make(&api, "/api/agents", &json!({"name": "helper", "bindings": calculator})).await;
    server.terminate();
    assert_eq!(server.ended().await, Some(0));
    // No token, so no server is meant.
    let settings = settings.with("HAFT_ADMIN_TOKEN", "");
    let ended = settings.haft(&["chat", "helper", "6*7?"], "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "42 after 1 answers\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("✓ calculator "), "{}", ended.stderr);
    let ended = settings.haft(&["chat", "--last", "-i"], "And again?\n").await;
    assert_eq!(ended.stdout, "42 after 3 answers\n", "it is kept: {}", ended.stderr);
    assert!(ended.stderr.contains("> 6*7?"), "{}", ended.stderr);
}

#[tokio::test]
async fn nothing_at_all_is_needed_but_a_model() {
    let models = ModelServer::script([ModelReply::says("Hello.")]).await;
    let place = unused_path();
    let base = models.base(Dialect::Openai);
    let model =
        [("OPENAI_API_KEY", "sk-test"), ("OPENAI_BASE_URL", &base), ("HAFT_DEFAULT_MODEL", "test-small")];
    let home = [("HAFT_DATA_DIR", place.as_str())];
    let ended = run(HAFT, &["chat", "-m", "Hi"], &[&model[..], &home].concat(), "").await;
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Hello.\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("is not saved"), "{}", ended.stderr);
    let ended = run(HAFT, &["chat", "-m", "Hi"], &home, "").await;
    assert!(ended.code != 0 && ended.stdout.is_empty(), "{}", ended.stdout);
    assert!(ended.stderr.contains("provider"), "{}", ended.stderr);
    assert!(!std::path::Path::new(&place).exists(), "a question makes no data");
}

/// A path at which there is nothing.
fn unused_path() -> String {
    let name = format!("haft-chat-{}", uuid::Uuid::new_v4());
    std::env::temp_dir().join(name).to_str().expect("a path").to_owned()
}
