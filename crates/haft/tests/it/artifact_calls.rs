//! Calls that read artifacts, by `artifact://ID` and by the server's URL: for the owner only, without the
//! network.

use haft_testkit::{Client, TestResponse, Upstream, json_reply};
use serde_json::{Value, json};

use crate::agents::{make, stranger};
use crate::artifacts::upload;
use crate::http_tools::start;
use crate::tool_calls::{mock, read as read_row};

async fn execute(client: &Client, tool: &str, arguments: Value) -> TestResponse {
    client.post(&format!("/api/tools/{tool}/execute"), &json!({"arguments": arguments})).await
}

async fn read(client: &Client, url: &str) -> TestResponse {
    execute(client, "url_reader", json!({"url": url})).await
}

fn reference(artifact: &Value) -> String {
    format!("artifact://{}", artifact["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn url_reader_reads_artifacts_of_its_caller() {
    let (server, api) = start(&[]).await;
    let bob = stranger(&server, &api).await;
    let text = upload(&api, "潮汐.txt", "text/plain", "两行\n文字".as_bytes()).await;
    let url = reference(&text);
    let expected = json!({
        "url": url, "title": "潮汐.txt", "description": "", "content": "两行\n文字", "contentLength": 5,
        "truncated": false,
    });
    let called = read(&api, &url).await;
    assert_eq!(called.data()["data"], expected, "{}", called.body);
    // The server never connects to itself: this is read from the store, too.
    let port = server.url.rsplit_once(':').expect("a port").1;
    let id = text["id"].as_str().expect("an id");
    let by_name = format!("http://localhost:{port}/api/artifacts/{id}");
    for own in [text["url"].as_str().expect("a URL"), by_name.as_str()] {
        let called = read(&api, own).await;
        assert_eq!((called.status, &called.data()["data"]["content"]), (200, &expected["content"]), "{own}");
    }
    let words = "A paragraph with words enough to be an article, and a few more after that. ".repeat(5);
    let page = format!("<title>Tides</title><nav>Menu</nav><article><p>{words}</p><p>{words}</p></article>");
    let page = upload(&api, "page.html", "text/html", page.as_bytes()).await;
    let called = read(&api, &reference(&page)).await;
    assert_eq!(called.data()["data"]["title"], "Tides", "{}", called.body);
    let content = called.data()["data"]["content"].as_str().expect("a text");
    assert!(content.contains("A paragraph") && !content.contains("Menu"), "{content}");

    // A missing media type is detected, and files that are not text are rejected.
    let unknown = upload(&api, "notes", "", b"Plain words.").await;
    assert_eq!(read(&api, &reference(&unknown)).await.data()["data"]["content"], "Plain words.");
    let image = upload(&api, "a.png", "image/png", b"\x89PNG").await;
    let refused = read(&api, &reference(&image)).await;
    assert_eq!((refused.status, refused.kind()), (422, "Execution"), "{}", refused.body);
    let large = upload(&api, "large.txt", "text/plain", &vec![b'x'; (5 << 20) + 1]).await;
    let refused = read(&api, &reference(&large)).await;
    assert_eq!((refused.status, refused.kind()), (422, "Execution"), "{}", refused.body);
    assert!(refused.message().starts_with("large.txt has 5242881 bytes"), "{}", refused.message());

    // Files of other users are not found, whatever the URL.
    for url in [url.as_str(), text["url"].as_str().expect("a URL"), "artifact://nonsense", "artifact://"] {
        let refused = read(&bob, url).await;
        assert_eq!((refused.status, refused.kind()), (404, "NotFound"), "{url}: {}", refused.body);
        assert!(refused.message().starts_with("there is no artifact "), "{url}: {}", refused.message());
    }
    // A link makes the file readable for bob.
    let link = api.post(&format!("/api/artifacts/{id}/link"), &json!({})).await;
    let called = read(&bob, link.data()["url"].as_str().expect("a URL")).await;
    assert_eq!(called.data()["data"]["content"], expected["content"], "{}", called.body);
}

#[tokio::test]
async fn cached_result_from_an_artifact_is_returned_to_its_owner_only() {
    let (server, api) = start(&[]).await;
    let space = make(&api, "/api/spaces", &json!({"name": "team"})).await;
    let space = space["id"].as_str().expect("an id");
    let password = "correct horse battery";
    make(&api, "/api/users", &json!({"name": "bob", "password": password})).await;
    let member = format!("/api/spaces/{space}/members/bob");
    assert_eq!(api.put(&member, &json!({"role": "caller"})).await.status, 200);
    let chief = make(&api, "/api/tokens", &json!({"name": "chief", "spaceId": space})).await;
    let chief = Client::new(&server.url, chief["token"].as_str().expect("a token"));
    let anyone = Client::anonymous(&server.url);
    let login = anyone.post("/api/login", &json!({"name": "bob", "password": password})).await;
    let cookie = login.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let bob = anyone.with("cookie", cookie).with("haft-space", space);

    let tool = json!({
        "name": "cached_reader", "description": "Reads.", "type": "builtin", "cacheTtl": 600,
        "config": {"tool": "url_reader"},
    });
    make(&chief, "/api/tools", &tool).await;
    let file = upload(&chief, "a.txt", "text/plain", b"Of the chief.").await;
    let own = file["url"].as_str().expect("a URL").to_owned();
    // Equivalent spellings of the URL.
    let backslashes = own.replace("/api/artifacts/", "\\api\\artifacts\\");
    let dots = own.replace("/artifacts/", "/x/../artif\tacts/");
    for url in [reference(&file), own, backslashes, dots] {
        for cached in [false, true] {
            let called = execute(&chief, "cached_reader", json!({"url": url})).await;
            assert_eq!(called.data()["data"]["content"], "Of the chief.", "{}", called.body);
            assert_eq!(called.data()["cached"], cached, "{url}: {}", called.body);
        }
        let refused = execute(&bob, "cached_reader", json!({"url": url})).await;
        assert_eq!((refused.status, refused.kind()), (404, "NotFound"), "{}", refused.body);
    }
}

#[tokio::test]
async fn link_in_arguments_is_masked_in_the_call_log() {
    let (_server, api) = start(&[]).await;
    mock(&api, "echo", json!([])).await;
    let file = upload(&api, "a.txt", "text/plain", b"Words.").await;
    let path = format!("/api/artifacts/{}/link", file["id"].as_str().expect("an id"));
    let link = api.post(&path, &json!({})).await.data()["url"].as_str().expect("a URL").to_owned();
    let (address, signature) = link.split_once("?sig=").expect("a signature");
    let masked = format!("{address}?sig=***");
    for (tool, arguments, status) in [
        ("url_reader", json!({"url": link}), 200),
        ("echo", json!({"text": [format!("Read {link}, please.")]}), 200),
        ("url_reader", json!({"url": link, "maxLength": link}), 400),
        ("url_readers", json!({"url": link}), 404),
    ] {
        let reply = execute(&api, tool, arguments).await;
        assert_eq!(reply.status, status, "{}", reply.body);
        let row = read_row(&api, &reply).await;
        assert!(!row.to_string().contains(signature), "{row}");
        assert!(row["arguments"].to_string().contains(&masked), "{row}");
        assert_eq!((&row["replayable"], &row["notReplayable"]), (&json!(false), &json!("masked")), "{row}");
    }
    let reply = read(&api, &link).await;
    assert_eq!(reply.data()["data"]["content"], "Words.", "the link works anyway: {}", reply.body);
}

#[tokio::test]
async fn http_tools_send_artifacts_of_their_caller() {
    let upstream = Upstream::start(|_| json_reply(200, &json!({"ok": true}))).await;
    let (server, api) = start(&[]).await;
    let bob = stranger(&server, &api).await;
    let bytes = b"\x89PNG\r\n--\0\xff";
    let file = upload(&api, "图 %22a%22.png", "image/png", bytes).await;
    let forms = json!({
        "name": "forms", "description": "Sends.", "url": upstream.url("/form"), "method": "POST",
        "config": {"bodyType": "multipart", "body": {
            "file": "{{file}}", "note": "{{note}}", "named": {"filename": "n.bin", "content": "{{file}}"},
        }},
    });
    let binary = json!({
        "name": "binary", "description": "Sends.", "url": upstream.url("/bytes"), "method": "PUT",
        "config": {"bodyType": "binary", "body": "{{file}}"},
    });
    let plain = json!({
        "name": "plain", "description": "Sends.", "url": upstream.url("/json"), "method": "POST",
        "body": {"file": "{{file}}"},
    });
    for client in [&api, &bob] {
        for tool in [&forms, &binary, &plain] {
            make(client, "/api/tools", tool).await;
        }
    }
    let named = reference(&file);
    let arguments = json!({"file": named, "note": "see artifact://x"});
    let sent = execute(&api, "forms", arguments.clone()).await;
    assert_eq!(sent.status, 200, "{}", sent.body);
    let body = String::from_utf8_lossy(&upstream.seen()[0].body).into_owned();
    let content = String::from_utf8_lossy(bytes);
    for part in [
        format!(
            "name=\"file\"; filename=\"图 %22a%22.png\"\r\nContent-Type: image/png\r\n\r\n{content}\r\n--"
        ),
        "name=\"note\"\r\n\r\nsee artifact://x\r\n--".to_owned(),
        format!("name=\"named\"; filename=\"n.bin\"\r\nContent-Type: image/png\r\n\r\n{content}\r\n--"),
    ] {
        assert!(body.contains(&part), "{part:?} is not in {body:?}");
    }
    let sent = execute(&api, "binary", json!({"file": named})).await;
    assert_eq!(sent.status, 200, "{}", sent.body);
    let seen = upstream.seen().pop().expect("a request");
    assert_eq!((seen.header("content-type"), seen.body.as_slice()), (Some("image/png"), &bytes[..]));
    // In a JSON body, the reference is plain text.
    assert_eq!(execute(&api, "plain", json!({"file": named})).await.status, 200);
    assert_eq!(upstream.seen().pop().expect("a request").json(), json!({"file": named}));

    // A dry run shows the reference without reading the file. Files of other users are not sent.
    let dry = json!({"arguments": arguments, "options": {"dryRun": true}});
    let dry_run = api.post("/api/tools/forms/execute", &dry).await;
    assert_eq!(dry_run.data()["data"]["body"]["file"], json!(named), "{}", dry_run.body);
    for (tool, arguments) in [("forms", arguments), ("binary", json!({"file": named}))] {
        let refused = execute(&bob, tool, arguments).await;
        assert_eq!((refused.status, refused.kind()), (404, "NotFound"), "{tool}: {}", refused.body);
    }
    assert_eq!(upstream.seen().len(), 3);
}
