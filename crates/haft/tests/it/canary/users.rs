//! Users other than the admin: their passwords, tokens and sessions are canaries.

use axum::http::Method;
use haft_testkit::Client;
use serde_json::{Value, json};

use super::Scene;

impl Scene {
    /// Creates clients with read access: a token with scope `read`, and the session of another user.
    pub(super) async fn add_readers(&self) -> Vec<Client> {
        let password = self.watch.new_canary("password");
        let user = json!({"name": "bob", "password": password});
        assert_eq!(self.post("/api/users", &user).await.status, 201);
        // The token is returned only here and is a canary afterwards.
        let created = self.api.post("/api/tokens", &json!({"name": "reads", "scope": "read"})).await;
        let token = created.data()["token"].as_str().expect("a token").to_owned();
        assert_eq!(created.body.to_string().matches(&token).count(), 1, "{}", created.body);
        self.watch.add("token", &token);
        let anyone = Client::anonymous(&self.server.url);
        let session = self.log_in(&anyone, &password).await;
        let own = self.send(&session, Method::GET, "/api/me", &Value::Null).await;
        let path = format!("/api/users/{}", own.data()["user"]["id"].as_str().expect("an id"));
        let next = self.watch.new_canary("next-password");
        for (password, status) in [("short", 400), (next.as_str(), 200), (next.as_str(), 401)] {
            // Changing the password ends the session.
            let changed = self.send(&session, Method::PATCH, &path, &json!({"password": password})).await;
            assert_eq!(changed.status, status, "{}", changed.body);
        }
        let refused = self.send(&anyone, Method::POST, "/api/login", &json!({"token": token})).await;
        assert_eq!(refused.status, 403, "a token with scope `read` cannot create a session");
        vec![Client::new(&self.server.url, &token), self.log_in(&anyone, &next).await]
    }

    /// Starts a session. Its cookie is a canary afterwards.
    async fn log_in(&self, anyone: &Client, password: &str) -> Client {
        let login = anyone.post("/api/login", &json!({"name": "bob", "password": password})).await;
        assert_eq!(login.status, 200, "{}", login.body);
        let cookie =
            login.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
        self.watch.add("session", cookie.split_once('=').expect("a value").1);
        self.watch.search("the body of a login", &login.body.to_string());
        anyone.with("cookie", cookie)
    }
}
