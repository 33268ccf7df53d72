//! `haft tools`, `haft call` and `haft completions`, with and without a server.

use haft_testkit::{CommandOutput, HaftProcess, run};
use serde_json::{Value, json};

use crate::HAFT;

async fn haft(arguments: &[&str]) -> CommandOutput {
    run(HAFT, arguments, &[], "").await
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn tools_are_listed_and_printed() {
    let listed = haft(&["tools"]).await;
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    assert!(
        listed.stdout.contains("\ncalculator     builtin   Evaluates a mathematical"),
        "{}",
        listed.stdout
    );
    assert!(!listed.stdout.contains('\u{1b}'), "no colours without a terminal");
    assert_eq!(parsed(&haft(&["tools", "--json"]).await.stdout)[1]["name"], "calculator");

    let shown = haft(&["tools", "show", "stop_response"]).await;
    assert!(
        shown.stdout.contains("message  string, required  The final message for the user."),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("haft call stop_response message=…"));
    assert_eq!(parsed(&haft(&["tools", "show", "stop_response", "--json"]).await.stdout)["type"], "builtin");

    let missing = haft(&["tools", "show", "stop_respons"]).await;
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (3, "NotFound: there is no tool stop_respons; did you mean stop_response?\n")
    );
}

#[tokio::test]
async fn arguments_are_read_as_pairs_json_and_standard_input() {
    for arguments in [
        ["call", "stop_response", "message=hello=world"].as_slice(),
        &["call", "stop_response", "message:=\"hello=world\""],
        &["call", "stop_response", "--args", "{\"message\": \"hello=world\"}"],
    ] {
        let called = haft(arguments).await;
        assert_eq!(
            (called.code, parsed(&called.stdout)),
            (0, json!({"message": "hello=world", "control": "stop"})),
            "{}",
            called.stderr
        );
    }
    let piped = run(HAFT, &["call", "stop_response", "-"], &[], "{\"message\": \"天气 🌦\"}").await;
    assert_eq!(parsed(&piped.stdout), json!({"message": "天气 🌦", "control": "stop"}));
    let coerced = haft(&["call", "stop_response", "message:=3"]).await;
    assert_eq!(parsed(&coerced.stdout), json!({"message": "3", "control": "stop"}));
    assert_eq!(haft(&["call", "stop_response", "message:=3", "--strict"]).await.code, 2);
}

#[tokio::test]
async fn json_output_contains_the_whole_result() {
    let called = haft(&["call", "stop_response", "message=hi", "--json"]).await;
    let result = parsed(&called.stdout);
    assert_eq!(
        (&result["success"], &result["data"], &result["attempts"]),
        (&json!(true), &json!({"message": "hi", "control": "stop"}), &json!(1))
    );
    let failed = haft(&["call", "stop_response", "--json"]).await;
    let result = parsed(&failed.stdout);
    assert_eq!(
        (failed.code, &result["success"], &result["error"]["kind"]),
        (2, &json!(false), &json!("Validation"))
    );
    assert_eq!(failed.stderr, "");
    let dry = parsed(&haft(&["call", "stop_response", "message=hi", "--dry-run", "--json"]).await.stdout);
    assert_eq!(dry["data"], json!({"tool": "stop_response", "arguments": {"message": "hi"}}));
}

#[tokio::test]
async fn errors_have_a_message_and_an_exit_code() {
    for (arguments, code, message) in [
        (["call", "stop_response"].as_slice(), 2, "Validation: Invalid inputs: message: is required"),
        (&["call", "nothing"], 3, "NotFound: there is no tool nothing"),
        (&["call", "stop_response", "hello"], 2, "\"hello\" is not an argument; write key=value"),
        (&["call", "stop_response", "message=a", "message=b"], 2, "message is given twice"),
        (&["call", "stop_response", "n:=[1,"], 2, "the value of n is not JSON"),
        (&["call", "stop_response", "--args", "{"], 2, "--args is not JSON"),
        (&["call", "stop_response", "--args", "{\"a\":1,\"a\":2}"], 2, "the key \"a\" stands twice"),
        (&["call", "stop_response", "--args", "[]"], 2, "[] is not of type \"object\""),
        (
            &["call", "stop_response", "message=a", "--timeout", "0"],
            2,
            "options.timeout: 0 is not between 1 and 600000",
        ),
        (&["call"], 2, "required arguments were not provided"),
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (
            &["tools", "--url", "http://127.0.0.1:1", "--token", "x"],
            7,
            "cannot reach a server at http://127.0.0.1:1: is it running?",
        ),
        (
            &["tools", "--url", "http://127.0.0.1:1"],
            1,
            "a token is needed for http://127.0.0.1:1; set HAFT_TOKEN",
        ),
        (
            &["tools", "--url", "https://127.0.0.1:1", "--token", "x"],
            7,
            "cannot reach a server at https://127.0.0.1:1: is it running?",
        ),
        (&["tools", "--url", "nowhere", "--token", "x"], 1, "\"nowhere\" is not a URL"),
    ] {
        let ended = haft(arguments).await;
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
}

#[tokio::test]
async fn messages_use_the_language_of_the_terminal() {
    for environment in [("LANG", "zh_CN.UTF-8"), ("LC_ALL", "zh_TW")] {
        let ended = run(HAFT, &["call", "stop_response"], &[environment], "").await;
        assert_eq!(ended.stderr, "Validation: 输入无效：message: 是必填项\n");
    }
    let ended = run(HAFT, &["call", "stop_response", "--lang", "en"], &[("LANG", "zh_CN.UTF-8")], "").await;
    assert_eq!(ended.stderr, "Validation: Invalid inputs: message: is required\n");
    assert_eq!(haft(&["tools", "--lang", "fr"]).await.code, 2);
}

#[tokio::test]
async fn help_has_examples_and_completions_are_generated() {
    let help = haft(&["--help"]).await;
    assert!(help.stdout.contains("haft call calculator expression="), "{}", help.stdout);
    let help = haft(&["call", "--help"]).await;
    for part in ["days:=3", "Exit codes:", "130  cancelled"] {
        assert!(help.stdout.contains(part), "{part}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = haft(&["completions", shell]).await;
        assert!(script.code == 0 && script.stdout.contains("completions"), "{shell}");
    }
    assert!(haft(&["--version"]).await.stdout.starts_with("haft 0."));
}

#[tokio::test]
async fn commands_work_against_a_server() {
    let server =
        HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", "secret-1-of-the-operator")]).await;
    let api = haft_testkit::Client::new(&server.url, "secret-1-of-the-operator");
    let definition = json!({"name": "only_there", "description": "A mock.", "type": "mock", "config": {
        "answers": [{"error": {"kind": "Execution", "message": "it broke", "retryAfter": 5000}}]}});
    assert_eq!(api.post("/api/tools", &definition).await.status, 201);
    for n in 0..205 {
        let definition = json!({"name": format!("many_{n:03}"), "description": "A mock.", "type": "mock"});
        assert_eq!(api.post("/api/tools", &definition).await.status, 201);
    }
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", "secret-1-of-the-operator")];
    let listed = run(HAFT, &["tools", "--json"], &environment, "").await;
    assert_eq!(parsed(&listed.stdout).as_array().map(Vec::len), Some(214), "over several pages");
    let called = run(HAFT, &["call", "stop_response", "message=far"], &environment, "").await;
    assert_eq!((called.code, parsed(&called.stdout)), (0, json!({"message": "far", "control": "stop"})));
    let failed = run(HAFT, &["call", "only_there"], &environment, "").await;
    assert_eq!((failed.code, failed.stderr.as_str()), (1, "Execution: it broke\n  retryAfterMs: 5000\n"));
    let wrong = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", "wrong")];
    let refused = run(HAFT, &["call", "stop_response", "message=x", "--json"], &wrong, "").await;
    assert_eq!((refused.code, &parsed(&refused.stdout)["error"]["kind"]), (4, &json!("Unauthorized")));
    let admin = [("HAFT_URL", server.url.as_str()), ("HAFT_ADMIN_TOKEN", "secret-1-of-the-operator")];
    assert_eq!(run(HAFT, &["tools"], &admin, "").await.code, 0, "the admin's variable is used, too");
}

#[tokio::test]
async fn closed_pipes_and_control_characters_are_handled() {
    let piped = format!("{HAFT} tools | true; {HAFT} call stop_response message=x --json | true; echo done");
    let ended = run("/bin/sh", &["-c", &piped], &[("PATH", "/usr/bin:/bin")], "").await;
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("done\n", ""));

    let server = HaftProcess::start(HAFT, &["serve"], &[("HAFT_ADMIN_TOKEN", crate::TOKEN)]).await;
    let api = haft_testkit::Client::new(&server.url, crate::TOKEN);
    let definition = json!({"name": "evil", "description": "\u{1b}[2JGone.", "type": "mock", "config": {
        "answers": [{"error": {"kind": "Execution", "message": "\u{1b}]0;title\u{7} bad"}}]}});
    assert_eq!(api.post("/api/tools", &definition).await.status, 201);
    let environment = [("HAFT_URL", server.url.as_str()), ("HAFT_TOKEN", crate::TOKEN)];
    for arguments in [["tools"].as_slice(), &["tools", "show", "evil"], &["call", "evil"]] {
        let ended = run(HAFT, arguments, &environment, "").await;
        assert!(!ended.stdout.contains('\u{1b}') && !ended.stderr.contains('\u{1b}'), "{ended:?}");
    }
}
