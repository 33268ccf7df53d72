//! People who come in beside the admin: their passwords, tokens and sessions are canaries too.

use axum::http::Method;
use haft_testkit::Client;
use serde_json::{Value, json};

use super::Scene;

impl Scene {
    /// Those who may read: a token of less scope, and the session of another user.
    pub(super) async fn let_people_in(&self) -> Vec<Client> {
        let password = self.watch.make("password");
        let user = json!({"name": "bob", "password": password});
        assert_eq!(self.post("/api/users", &user).await.status, 201);
        // Shown this once: a canary from now on.
        let made = self.api.post("/api/tokens", &json!({"name": "reads", "scope": "read"})).await;
        let token = made.data()["token"].as_str().expect("a token").to_owned();
        assert_eq!(made.body.to_string().matches(&token).count(), 1, "{}", made.body);
        self.watch.add("token", &token);
        let anyone = Client::anonymous(&self.server.url);
        let session = self.enter(&anyone, &password).await;
        let own = self.send(&session, Method::GET, "/api/me", &Value::Null).await;
        let path = format!("/api/users/{}", own.data()["user"]["id"].as_str().expect("an id"));
        let next = self.watch.make("next-password");
        for (password, status) in [("short", 400), (next.as_str(), 200), (next.as_str(), 401)] {
            // The session ends with the password it began by.
            let changed = self.send(&session, Method::PATCH, &path, &json!({"password": password})).await;
            assert_eq!(changed.status, status, "{}", changed.body);
        }
        let refused = self.send(&anyone, Method::POST, "/api/login", &json!({"token": token})).await;
        assert_eq!(refused.status, 403, "a token that only reads makes no session");
        vec![Client::new(&self.server.url, &token), self.enter(&anyone, &next).await]
    }

    /// Begins a session, whose cookie is a canary from then on.
    async fn enter(&self, anyone: &Client, password: &str) -> Client {
        let entered = anyone.post("/api/login", &json!({"name": "bob", "password": password})).await;
        assert_eq!(entered.status, 200, "{}", entered.body);
        let cookie =
            entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
        self.watch.add("session", cookie.split_once('=').expect("a value").1);
        self.watch.look("the body of a login", &entered.body.to_string());
        anyone.with("cookie", cookie)
    }
}
