//! Artifacts over REST: upload and download, access control, links, and quotas.

use axum::http::Method;
use haft_testkit::{Client, HaftProcess, TestResponse, TestStorage, eventually};
use serde_json::{Value, json};

use crate::agents::make;
use crate::http_tools::start;
use crate::openapi::check_response;

const FORM: &str = "multipart/form-data; boundary=frontier";
/// Maximum size of a file.
const MAX_FILE_BYTES: usize = 32 << 20;
const UNKNOWN_ID: &str = "0190b5a0-0000-7000-8000-000000000000";
const PASSWORD: &str = "correct horse battery";

/// Builds a part of a form. The name is escaped like in a browser.
fn part(field: &str, name: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "--frontier\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: {kind}\r\n\r\n"
    );
    [head.as_bytes(), content, b"\r\n"].concat()
}

fn form(name: &str, kind: &str, content: &[u8]) -> Vec<u8> {
    [part("file", name, kind, content), b"--frontier--\r\n".to_vec()].concat()
}

async fn send(client: &Client, form: Vec<u8>) -> TestResponse {
    client.with("content-type", FORM).send(Method::POST, "/api/artifacts", form).await
}

/// Uploads a file and returns its metadata.
pub(crate) async fn upload(client: &Client, name: &str, kind: &str, content: &[u8]) -> Value {
    let reply = send(client, form(name, kind, content)).await;
    assert_eq!(reply.status, 201, "{name}: {}", reply.body);
    reply.data().clone()
}

fn id(artifact: &Value) -> &str {
    artifact["id"].as_str().expect("an id")
}

fn path(artifact: &Value) -> String {
    format!("/api/artifacts/{}", id(artifact))
}

async fn count(client: &Client) -> usize {
    let reply = client.get("/api/artifacts?limit=200").await;
    reply.data()["items"].as_array().expect("a list").len()
}

/// Creates a token of a user for a space, using a session. Returns the token's client.
async fn token(server: &HaftProcess, name: &str, space: Option<&str>) -> Client {
    let anyone = Client::anonymous(&server.url);
    let session = anyone.post("/api/login", &json!({"name": name, "password": PASSWORD})).await;
    assert_eq!(session.status, 200, "{}", session.body);
    let cookie = session.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let mut body = json!({"name": "t"});
    if let Some(space) = space {
        body["spaceId"] = json!(space);
    }
    let created = make(&anyone.with("cookie", cookie), "/api/tokens", &body).await;
    Client::new(&server.url, created["token"].as_str().expect("a token"))
}

/// A space with two admins, one of whom is the operator of the server.
struct Team {
    server: HaftProcess,
    space: String,
    /// The operator in the default space.
    operator: Client,
    /// The operator in the team's space.
    chief: Client,
    /// Bob in the team's space.
    bob: Client,
    /// Bob in his default space.
    bob_at_home: Client,
}

async fn team() -> Team {
    let (server, operator) = start(&[]).await;
    let created = make(&operator, "/api/spaces", &json!({"name": "team"})).await;
    let space = created["id"].as_str().expect("an id").to_owned();
    make(&operator, "/api/users", &json!({"name": "bob", "password": PASSWORD})).await;
    let member = format!("/api/spaces/{space}/members/bob");
    assert_eq!(operator.put(&member, &json!({"role": "admin"})).await.status, 200);
    let body = json!({"name": "chief", "spaceId": space});
    let chief = make(&operator, "/api/tokens", &body).await;
    let chief = Client::new(&server.url, chief["token"].as_str().expect("a token"));
    let bob = token(&server, "bob", Some(space.as_str())).await;
    let bob_at_home = token(&server, "bob", None).await;
    Team { server, space, operator, chief, bob, bob_at_home }
}

#[tokio::test]
async fn file_is_downloaded_unchanged() {
    let (server, api) = start(&[]).await;
    let document = api.get("/api/openapi.json").await.body;
    let me = api.get("/api/me").await;
    let content: Vec<u8> = (0..700_001_usize).map(|at| (at * 31 % 251) as u8).collect();
    for (written, name, encoded) in [
        ("notes.txt", "notes.txt", "notes.txt"),
        ("报告 1.txt", "报告 1.txt", "%E6%8A%A5%E5%91%8A%201.txt"),
        ("say %22hi%22; x='y'.txt", "say \"hi\"; x='y'.txt", "say%20%22hi%22%3B%20x%3D%27y%27.txt"),
        ("../../etc/passwd", "passwd", "passwd"),
        ("C:\\Users\\ada\\a.txt", "a.txt", "a.txt"),
        ("a%0D%0ASet-Cookie: b.txt", "aSet-Cookie: b.txt", "aSet-Cookie%3A%20b.txt"),
        ("", "file", "file"),
    ] {
        let artifact = send(&api, form(written, "text/plain; charset=utf-8", &content)).await;
        assert_eq!(artifact.status, 201, "{written}: {}", artifact.body);
        check_response(&document, "POST", "/api/artifacts", 201, &artifact.body);
        let artifact = artifact.data().clone();
        assert_eq!(
            (&artifact["name"], &artifact["size"]),
            (&json!(name), &json!(content.len())),
            "{written}"
        );
        assert_eq!(artifact["type"], "text/plain; charset=utf-8");
        assert_eq!(artifact["url"], format!("{}{}", server.url, path(&artifact)));
        assert_eq!(artifact["ownerId"], me.data()["user"]["id"]);

        let (status, headers, bytes) = api.download(&path(&artifact)).await;
        assert!((status, &bytes) == (200, &content), "{written}: {status}, {} bytes", bytes.len());
        let tag = format!("\"{}\"", artifact["sha256"].as_str().expect("a hash"));
        for (header, value) in [
            ("content-disposition", format!("attachment; filename*=UTF-8''{encoded}")),
            ("content-type", "text/plain; charset=utf-8".to_owned()),
            ("content-length", content.len().to_string()),
            ("x-content-type-options", "nosniff".to_owned()),
            ("content-security-policy", "sandbox; default-src 'none'".to_owned()),
            ("cache-control", "private, no-cache".to_owned()),
            ("etag", tag.clone()),
        ] {
            let sent = headers.get(header).and_then(|sent| sent.to_str().ok());
            assert_eq!(sent, Some(value.as_str()), "{written}: {header}");
        }
        let (status, _, bytes) = api.with("if-none-match", &tag).download(&path(&artifact)).await;
        assert_eq!((status, bytes.len()), (304, 0), "{written}");
        let (status, ..) = api.with("if-none-match", "\"other\"").download(&path(&artifact)).await;
        assert_eq!(status, 200, "{written}");
    }
    let empty = upload(&api, "empty", "", b"").await;
    assert_eq!((&empty["size"], &empty["type"]), (&json!(0), &json!("application/octet-stream")));
    let (status, _, bytes) = api.download(&path(&empty)).await;
    assert_eq!((status, bytes.len()), (200, 0));

    let listed = api.get("/api/artifacts?limit=5").await;
    check_response(&document, "GET", "/api/artifacts", 200, &listed.body);
    assert_eq!(listed.data()["items"][0], empty, "newest first");
    let cursor = listed.data()["nextCursor"].as_str().expect("another page");
    let rest = api.get(&format!("/api/artifacts?limit=5&cursor={cursor}")).await;
    assert_eq!(rest.data()["items"].as_array().map(Vec::len), Some(3), "{}", rest.body);
    assert_eq!(rest.data()["nextCursor"], Value::Null);

    let removed = api.delete(&path(&empty)).await;
    assert_eq!((removed.status, removed.data()), (200, &empty));
    for reply in [api.get(&path(&empty)).await, api.delete(&path(&empty)).await] {
        assert_eq!((reply.status, reply.kind()), (404, "NotFound"), "{}", reply.body);
    }
    assert_eq!(count(&api).await, 7);
}

#[tokio::test]
async fn urls_use_the_public_url() {
    let (_server, api) = start(&[("HAFT_PUBLIC_URL", "https://haft.example.com/tools/")]).await;
    let artifact = upload(&api, "a.txt", "text/plain", b"Words.").await;
    assert_eq!(artifact["url"], format!("https://haft.example.com/tools{}", path(&artifact)));
    let link = api.send(Method::POST, &format!("{}/link", path(&artifact)), Vec::new()).await;
    let start = format!("{}?sig=", artifact["url"].as_str().expect("a URL"));
    assert!(link.data()["url"].as_str().is_some_and(|url| url.starts_with(&start)), "{}", link.body);
    let read = json!({"arguments": {"url": artifact["url"]}});
    let read = api.post("/api/tools/url_reader/execute", &read).await;
    assert_eq!(read.data()["data"]["content"], "Words.", "{}", read.body);
}

#[tokio::test]
async fn file_over_the_limit_or_quota_is_rejected_and_removed() {
    // The quota fits one file of maximum size and its overhead.
    let quota = (MAX_FILE_BYTES + 4096).to_string();
    let (_server, api) = start(&[("HAFT_ARTIFACT_QUOTA", quota.as_str())]).await;
    let refused = send(&api, form("large", "text/plain", &vec![b'x'; MAX_FILE_BYTES + 1])).await;
    assert_eq!((refused.status, refused.kind()), (413, "BadRequest"), "{}", refused.body);
    assert_eq!(refused.message(), "the file is larger than 33554432 bytes");
    assert_eq!(count(&api).await, 0);

    let artifact = upload(&api, "largest", "text/plain", &vec![b'x'; MAX_FILE_BYTES]).await;
    assert_eq!(artifact["size"], MAX_FILE_BYTES);
    let full = send(&api, form("one more", "text/plain", b"x")).await;
    assert_eq!((full.status, full.kind()), (409, "Conflict"), "{}", full.body);
    assert!(full.message().contains(&quota) && full.message().contains("delete some"), "{}", full.message());
    let chinese = send(&api.with("accept-language", "zh"), form("one more", "text/plain", b"x")).await;
    assert!(chinese.message().contains("请先删除一些文件"), "{}", chinese.message());
    assert_eq!(api.delete(&path(&artifact)).await.status, 200);

    // A file that exceeds the quota during the upload is rejected, and its space is released.
    upload(&api, "small", "text/plain", &vec![b'x'; 1 << 20]).await;
    let outgrown = send(&api, form("large", "text/plain", &vec![b'x'; MAX_FILE_BYTES - 5000])).await;
    assert_eq!(outgrown.status, 409, "{}", outgrown.body);
    upload(&api, "fits", "text/plain", &vec![b'x'; 30 << 20]).await;
    assert_eq!(count(&api).await, 2);
}

#[tokio::test]
async fn quota_of_a_user_spans_all_spaces() {
    let (server, api) = start(&[("HAFT_ARTIFACT_QUOTA", "1000000")]).await;
    let artifact = upload(&api, "a.txt", "text/plain", &[b'x'; 600_000]).await;
    let space = make(&api, "/api/spaces", &json!({"name": "second space"})).await["id"].clone();
    let second = make(&api, "/api/tokens", &json!({"name": "t", "spaceId": space})).await;
    let second = Client::new(&server.url, second["token"].as_str().expect("a token"));
    let full = send(&second, form("b.txt", "text/plain", &[b'x'; 600_000])).await;
    assert_eq!((full.status, full.kind()), (409, "Conflict"), "{}", full.body);
    let message = "your files in all spaces together would have more than 1000000 bytes; delete some first";
    assert_eq!(full.message(), message);
    assert_eq!(api.delete(&path(&artifact)).await.status, 200);
    upload(&second, "b.txt", "text/plain", &[b'x'; 600_000]).await;
    assert_eq!(send(&api, form("a.txt", "text/plain", &[b'x'; 600_000])).await.status, 409);
    // Deleting a space releases the quota of its files.
    let space = format!("/api/spaces/{}?force=true", space.as_str().expect("an id"));
    assert_eq!(api.delete(&space).await.status, 200);
    upload(&api, "a.txt", "text/plain", &[b'x'; 600_000]).await;
}

#[tokio::test]
async fn unreachable_files_are_deleted_at_the_next_start() {
    let place = TestStorage::new();
    let variables = place.variables();
    let mut settings: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    settings.push(("HAFT_ARTIFACT_QUOTA", "1000000"));
    let (server, api) = start(&settings).await;
    let space = make(&api, "/api/spaces", &json!({"name": "team"})).await["id"].clone();
    let chief = make(&api, "/api/tokens", &json!({"name": "chief", "spaceId": space})).await["token"].clone();
    let chief = async |server: &HaftProcess| {
        let chief = Client::new(&server.url, chief.as_str().expect("a token"));
        send(&chief, form("a.txt", "text/plain", &[b'x'; 600_000])).await.status
    };
    let space = space.as_str().expect("an id");
    make(&api, "/api/users", &json!({"name": "bob", "password": PASSWORD})).await;
    let member = format!("/api/spaces/{space}/members/bob");
    assert_eq!(api.put(&member, &json!({"role": "caller"})).await.status, 200);
    let bob = token(&server, "bob", Some(space)).await;
    upload(&bob, "b.txt", "text/plain", &[b'x'; 600_000]).await;
    assert_eq!(api.delete(&member).await.status, 200);
    assert_eq!(chief(&server).await, 409, "the unreachable file uses the quota");
    server.terminate();
    assert_eq!(server.ended().await, Some(0));

    let (server, _) = start(&settings).await;
    eventually("the quota is free again", async || chief(&server).await == 201).await;
}

#[tokio::test]
async fn form_with_anything_but_one_file_is_rejected() {
    let (_server, api) = start(&[]).await;
    let document = api.get("/api/openapi.json").await.body;
    let whole = form("a.txt", "text/plain", b"Words.");
    let two = |field: &str| {
        let first = part("file", "a.txt", "text/plain", b"Words.");
        [first, part(field, "b.txt", "text/plain", b"More."), b"--frontier--\r\n".to_vec()].concat()
    };
    let other = [part("other", "a.txt", "text/plain", b"x"), b"--frontier--\r\n".to_vec()].concat();
    for (kind, body, status, message) in [
        ("application/json", b"{}".to_vec(), 415, "multipart/form-data"),
        ("text/plain", whole.clone(), 415, "multipart/form-data"),
        ("multipart/form-data", whole.clone(), 400, "boundary"),
        (FORM, Vec::new(), 400, "ended before it was complete"),
        (FORM, b"--frontier--\r\n".to_vec(), 400, "file: is required"),
        (FORM, whole[..whole.len() - 8].to_vec(), 400, "ended before it was complete"),
        (FORM, other, 400, "other: is unknown"),
        (FORM, two("file"), 400, "file: occurs twice"),
        (FORM, two("note"), 400, "note: is unknown"),
        (FORM, form(&"长".repeat(256), "text/plain", b"x"), 400, "more than 255 characters"),
    ] {
        let reply = api.with("content-type", kind).send(Method::POST, "/api/artifacts", body).await;
        assert_eq!(reply.status, status, "{kind}: {}", reply.body);
        assert!(reply.message().contains(message), "{message}: {}", reply.message());
        check_response(&document, "POST", "/api/artifacts", status, &reply.body);
    }
    assert_eq!(count(&api).await, 0);
}

#[tokio::test]
async fn file_is_visible_to_its_owner_only() {
    let Team { server, operator, chief, bob, bob_at_home, .. } = team().await;
    let artifact = upload(&bob, "secret.txt", "text/plain", b"Of bob.").await;
    assert_eq!(bob.get(&path(&artifact)).await.status, 200);
    for (who, client) in [("chief", &chief), ("operator", &operator), ("bob at home", &bob_at_home)] {
        assert_eq!(count(client).await, 0, "{who}");
        for (method, end) in [(Method::GET, ""), (Method::DELETE, ""), (Method::POST, "/link")] {
            let ask = async |id: &str| {
                client.send(method.clone(), &format!("/api/artifacts/{id}{end}"), Vec::new()).await
            };
            let (foreign, missing) = (ask(id(&artifact)).await, ask(UNKNOWN_ID).await);
            assert_eq!((foreign.status, foreign.kind()), (404, "NotFound"), "{who} {method}{end}");
            assert_eq!(
                foreign.message().replace(id(&artifact), "ID"),
                missing.message().replace(UNKNOWN_ID, "ID")
            );
            assert_eq!(ask("nonsense").await.status, 404, "{who} {method}{end}");
        }
    }
    let anyone = Client::anonymous(&server.url);
    for path in [path(&artifact), format!("/api/artifacts/{UNKNOWN_ID}"), "/api/artifacts".to_owned()] {
        let refused = anyone.get(&path).await;
        assert_eq!((refused.status, refused.kind()), (401, "Unauthorized"), "{path}");
    }
    assert_eq!(bob.get(&path(&artifact)).await.body, json!("Of bob."), "the file still exists");
}

#[tokio::test]
async fn link_gives_read_access_to_one_file() {
    let Team { server, space, chief, bob, .. } = team().await;
    let artifact = upload(&bob, "a.txt", "text/plain", b"Of bob.").await;
    let other = upload(&bob, "b.txt", "text/plain", b"Other.").await;
    let created = bob.send(Method::POST, &format!("{}/link", path(&artifact)), Vec::new()).await;
    assert_eq!(created.status, 200, "{}", created.body);
    let document = bob.get("/api/openapi.json").await.body;
    check_response(&document, "POST", "/api/artifacts/{id}/link", 200, &created.body);
    let url = created.data()["url"].as_str().expect("a URL");
    let link = url.strip_prefix(&server.url).expect("of this server");
    let (_, signature) = link.split_once("?sig=").expect("a signature");
    let anyone = Client::anonymous(&server.url);
    for client in [&anyone, &chief, &anyone.with("authorization", "Bearer haft_nobody")] {
        let (status, headers, bytes) = client.download(link).await;
        assert_eq!((status, bytes.as_slice()), (200, &b"Of bob."[..]));
        assert_eq!(headers["content-disposition"], "attachment; filename*=UTF-8''a.txt");
    }

    let nothing = anyone.get(&format!("/api/artifacts/{UNKNOWN_ID}?sig={signature}")).await;
    assert_eq!((nothing.status, nothing.kind()), (404, "NotFound"), "{}", nothing.body);
    let changed = if signature.starts_with('A') { "B" } else { "A" };
    let tampered = format!("{changed}{}", &signature[1..]);
    for (file, signature) in [
        (&artifact, tampered.as_str()),
        (&artifact, &signature[..signature.len() - 2]),
        (&artifact, ""),
        (&artifact, "nonsense"),
        (&other, signature),
    ] {
        let refused = anyone.get(&format!("{}?sig={signature}", path(file))).await;
        assert_eq!(refused.status, 404, "{signature}: {}", refused.body);
        assert_eq!(refused.message().replace(id(file), "ID"), nothing.message().replace(UNKNOWN_ID, "ID"));
    }
    // The link gives no access to other routes.
    for (method, path) in [
        (Method::DELETE, format!("{}?sig={signature}", path(&artifact))),
        (Method::POST, format!("{}/link?sig={signature}", path(&artifact))),
        (Method::GET, format!("/api/artifacts?sig={signature}")),
        (Method::GET, format!("/api/tools?sig={signature}")),
    ] {
        let refused = anyone.send(method.clone(), &path, Vec::new()).await;
        assert_eq!(refused.status, 401, "{method} {path}: {}", refused.body);
    }
    assert_eq!(bob.get(&format!("{}?sig=nonsense", path(&artifact))).await.status, 200, "bob needs no link");

    // A link is invalid after its file is deleted or its owner leaves the space.
    let second = bob.send(Method::POST, &format!("{}/link", path(&other)), Vec::new()).await;
    let second = second.data()["url"].as_str().expect("a URL").to_owned();
    let second = second.strip_prefix(&server.url).expect("of this server");
    assert_eq!(anyone.download(second).await.0, 200);
    assert_eq!(bob.delete(&path(&artifact)).await.status, 200);
    assert_eq!(anyone.get(link).await.status, 404);
    let member = format!("/api/spaces/{space}/members/bob");
    assert_eq!(chief.delete(&member).await.status, 200);
    assert_eq!(anyone.get(second).await.status, 404);
}

#[tokio::test]
async fn types_that_a_browser_might_execute_are_sent_as_bytes() {
    let (_server, api) = start(&[]).await;
    for (kind, sent) in [
        ("text/html", "application/octet-stream"),
        ("image/svg+xml", "application/octet-stream"),
        ("text/javascript", "application/octet-stream"),
        ("application/xhtml+xml", "application/octet-stream"),
        ("text/plain\u{7f}", "application/octet-stream"),
        ("nonsense", "application/octet-stream"),
        ("image/PNG", "image/png"),
        ("application/pdf", "application/pdf"),
        ("text/csv; charset=gbk; header=present", "text/csv; charset=gbk"),
    ] {
        let artifact = upload(&api, "page.html", kind, b"<script>alert(1)</script>").await;
        let (_, headers, bytes) = api.download(&path(&artifact)).await;
        assert_eq!(headers["content-type"], sent, "{kind}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{kind}");
        assert_eq!(headers["content-disposition"], "attachment; filename*=UTF-8''page.html", "{kind}");
        assert_eq!(headers["content-security-policy"], "sandbox; default-src 'none'", "{kind}");
        assert_eq!(bytes, b"<script>alert(1)</script>", "{kind}");
    }
}
