//! `haft login` and `haft logout`: by token, password and link, the login file, and token revocation.

use std::os::unix::fs::PermissionsExt;

use haft_testkit::{Client, run};
use serde_json::{Value, json};

use crate::HAFT;
use crate::cli_over_http::{Desk, parsed, refused, worked};

const PASSWORD: &str = "correct horse battery";

/// Reads the login file.
fn login(desk: &Desk) -> Value {
    let text = std::fs::read_to_string(desk.login_file()).expect("a login");
    toml::from_str(&text).expect("TOML")
}

fn token(desk: &Desk) -> String {
    login(desk)["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn login_by_token_is_stored_for_later_commands() {
    let desk = Desk::new("login-token").await;
    let url = desk.server.url.clone();
    let logged_in = worked(desk.at_home(&["login", &url, "--token", crate::TOKEN], "").await);
    assert!(logged_in.stderr.starts_with(&format!("logged in to {url} as ")), "{}", logged_in.stderr);
    assert_eq!(logged_in.stdout, "");
    let mode = |path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(desk.login_file()), 0o600, "readable by the user only");
    assert_eq!(mode(desk.home.join("haft")), 0o700);
    assert_eq!(token(&desk), crate::TOKEN);

    worked(desk.at_home(&["agents"], "").await);
    let slash = format!("{url}/");
    worked(desk.at_home(&["agents", "--url", &slash], "").await);
    let elsewhere = desk.at_home(&["agents", "--url", "http://127.0.0.1:1"], "").await;
    refused(&elsewhere, 1, "a token is needed for http://127.0.0.1:1; set HAFT_TOKEN");
    let home = desk.home.to_str().expect("a path");
    let wins = [("XDG_CONFIG_HOME", home), ("HAFT_URL", url.as_str()), ("HAFT_TOKEN", "wrong")];
    refused(&run(HAFT, &["agents"], &wins, "").await, 4, "Unauthorized");

    let out = worked(desk.at_home(&["logout"], "").await);
    assert!(out.stderr.contains("was given to haft login and stays valid"), "{}", out.stderr);
    assert!(!desk.login_file().exists());
    assert_eq!(desk.api.get("/api/me").await.status, 200, "the token is not revoked");
    assert_eq!(worked(desk.at_home(&["logout"], "").await).stderr, "there was no login\n");
}

#[tokio::test]
async fn token_is_read_from_standard_input() {
    let desk = Desk::new("login-stdin").await;
    let logged_in =
        worked(desk.at_home(&["login", &desk.server.url, "--json"], &format!("{}\n", crate::TOKEN)).await);
    let output = parsed(&logged_in);
    assert_eq!((&output["url"], &output["scope"]), (&json!(desk.server.url), &json!("admin")));
    assert_eq!(output.get("token"), None);
    refused(&desk.at_home(&["login", &desk.server.url], "").await, 2, "no token was given");
    assert_eq!(token(&desk), crate::TOKEN, "a failed login does not replace the old one");
}

#[tokio::test]
async fn login_by_password_creates_a_token() {
    let desk = Desk::new("login-password").await;
    desk.add_user("ada", PASSWORD).await;
    let login = ["login", desk.server.url.as_str(), "--name", "ada"];
    let logged_in = worked(desk.at_home(&login, &format!("{PASSWORD}\n")).await);
    assert!(logged_in.stderr.contains(" as ada, "), "{}", logged_in.stderr);
    let first = token(&desk);
    assert!(first.starts_with("haft_"), "{first}");
    let text = std::fs::read_to_string(desk.login_file()).expect("a login");
    assert!(!text.contains(PASSWORD) && !format!("{logged_in:?}").contains(&first), "{logged_in:?}");
    let ada = Client::new(&desk.server.url, &first);
    let tokens = ada.get("/api/tokens").await;
    let name = tokens.data()["items"][0]["name"].as_str().expect("a name").to_owned();
    assert!(name.starts_with("cli on "), "{name}");

    worked(desk.at_home(&login, PASSWORD).await);
    assert_ne!(token(&desk), first);
    assert_eq!(ada.get("/api/me").await.status, 401, "the token of the previous login is revoked");

    let ada = Client::new(&desk.server.url, &token(&desk));
    let out = worked(desk.at_home(&["logout", "--json"], "").await);
    assert_eq!(parsed(&out), json!({"url": desk.server.url, "tokenEnded": true}));
    assert_eq!(ada.get("/api/me").await.status, 401);
    assert!(!desk.login_file().exists());
}

#[tokio::test]
async fn login_may_select_a_shared_space() {
    let desk = Desk::new("login-space").await;
    desk.add_user("ada", PASSWORD).await;
    worked(desk.haft(&["spaces", "create", "research"]).await);
    worked(desk.haft(&["spaces", "add", "research", "ada", "caller"]).await);
    let login = ["login", desk.server.url.as_str(), "--name", "ada", "--space", "research", "--json"];
    let output = parsed(&worked(desk.at_home(&login, PASSWORD).await));
    assert_eq!((&output["space"], &output["role"]), (&json!("research"), &json!("caller")));
    let nowhere = ["login", desk.server.url.as_str(), "--name", "ada", "--space", "nowhere"];
    refused(&desk.at_home(&nowhere, PASSWORD).await, 3, "you are not a member of a space nowhere");
}

#[tokio::test]
async fn invalid_login_is_reported_and_not_stored() {
    let desk = Desk::new("login-wrong").await;
    desk.add_user("ada", PASSWORD).await;
    let url = desk.server.url.as_str();
    for (arguments, input, code, message) in [
        (["login", url, "--name", "ada"].as_slice(), "wrong\n", 4, "Unauthorized"),
        (&["login", url, "--name", "nobody"], "wrong\n", 4, "Unauthorized"),
        (&["login", url, "--name", "ada"], "", 2, "no password was given"),
        (&["login", url, "--token", "wrong"], "", 4, "Unauthorized"),
        (&["login", url, "--token", ""], "", 2, "no token was given"),
        (&["login", url, "--link", "wrong"], "", 4, "Unauthorized"),
        (&["login", url, "--token", crate::TOKEN, "--name", "ada"], "", 2, "cannot be used with"),
        (&["login", "nowhere", "--token", crate::TOKEN], "", 1, "\"nowhere\" is not a URL"),
        (
            &["login", "localhost:7420", "--token", crate::TOKEN],
            "",
            1,
            "is not a URL such as http://127.0.0.1:7420",
        ),
        (
            &["login", "http://127.0.0.1:1", "--token", crate::TOKEN],
            "",
            7,
            "cannot reach a server at http://127.0.0.1:1",
        ),
    ] {
        let ended = desk.at_home(arguments, input).await;
        refused(&ended, code, message);
        assert!(!desk.login_file().exists(), "{arguments:?}");
    }
    refused(
        &run(HAFT, &["login", url, "--token", crate::TOKEN], &[], "").await,
        1,
        "set HOME or XDG_CONFIG_HOME",
    );
}

#[tokio::test]
async fn unreadable_login_is_reported_without_its_token_and_can_be_removed() {
    let desk = Desk::new("login-broken").await;
    desk.write("haft/login.toml", "url = \"http://127.0.0.1:1\"\ntoken = \"haft_sesame\nnonsense");
    let ended = desk.at_home(&["tools"], "").await;
    refused(&ended, 1, "cannot be read; run haft login again");
    assert!(!ended.stderr.contains("sesame"), "{}", ended.stderr);
    assert_eq!(worked(desk.at_home(&["logout"], "").await).stderr, "logged out\n");
    worked(desk.at_home(&["tools"], "").await);
}

#[tokio::test]
async fn logout_works_if_the_server_is_unreachable() {
    let desk = Desk::new("logout-away").await;
    let text = "url = \"http://127.0.0.1:1\"\ntoken = \"haft_x\"\ntoken_id = \"0198\"\n";
    desk.write("haft/login.toml", text);
    let out = worked(desk.at_home(&["logout"], "").await);
    assert!(out.stderr.contains("stays valid until you run haft tokens rm 0198"), "{}", out.stderr);
    assert!(!desk.login_file().exists());
}
