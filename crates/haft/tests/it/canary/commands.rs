//! Searches the output of the commands for canaries.

use haft_testkit::run;

use super::encodings::percent;
use super::{Scene, files};
use crate::HAFT;

impl Scene {
    pub(super) async fn run_commands(&self) {
        let settings = self.settings.clone().with("HAFT_URL", &self.server.url);
        let settings = settings.with("HAFT_TOKEN", self.settings.get("HAFT_ADMIN_TOKEN"));
        let home = std::env::temp_dir().join(format!("haft-canary-{}", std::process::id()));
        let home_text = home.to_str().expect("a path");
        for (arguments, works) in [
            (["tools"].as_slice(), true),
            (&["tools", "show", "header_0"], true),
            (&["tools", "show", "oauth_0", "--json"], true),
            (&["tools", "versions", "basic_0"], true),
            (&["tools", "rm", "nowhere"], false),
            (&["call", "header_0"], true),
            (&["call", "basic_2"], false),
            (&["call", "query_8", "--json"], false),
            (&["call", "refused_0"], false),
            (&["export"], true),
            (&["export", home_text], true),
            (&["secrets"], true),
            (&["secrets", "--me", "--json"], true),
            (&["secrets", "rotate-key"], false),
            (&["tokens"], true),
            (&["tokens", "--json"], true),
            (&["users"], true),
            (&["audit", "list"], true),
            (&["audit", "list", "--server", "--json"], true),
            (&["audit", "verify"], true),
            (&["agents", "show", "reader"], true),
            (&["spaces"], true),
            (&["serve", "--help"], true),
            (&["tools", "--help"], true),
            (&["no-such-command"], false),
        ] {
            let finished = settings.haft(arguments, "").await;
            self.watch.search_command(&format!("haft {}", arguments.join(" ")), &finished);
            assert_eq!(
                finished.code == 0,
                works,
                "haft {arguments:?}: {}{}",
                finished.stdout,
                finished.stderr
            );
        }
        for (name, text) in files(&home) {
            self.watch.search_bytes(&format!("the export {name}"), &text);
        }
        let _ = std::fs::remove_dir_all(home);
        let value = self.watch.new_canary("value-of-a-prompt");
        let set = settings.haft(&["secrets", "set", "by_command"], &value).await;
        assert_eq!(set.code, 0, "{}", set.stderr);
        self.watch.search_command("haft secrets set", &set);
        let wrong = self.watch.new_canary("password-of-a-database");
        let urls = [
            format!("postgres://u:{wrong}@127.0.0.1:1/none"),
            format!("postgres://u:{}@127.0.0.1:1/none", percent(&wrong)),
            format!("mysql://u:{wrong}@127.0.0.1:1/none"),
        ];
        for url in urls {
            let refused = settings.clone().with("HAFT_DATABASE_URL", &url).haft(&["serve"], "").await;
            assert_eq!(refused.code, 1, "{}", refused.stderr);
            self.watch.search_command("haft serve with an unavailable database", &refused);
        }
        let key = self.watch.new_canary("master-key-that-is-none");
        let environment = [("HAFT_MASTER_KEY", key.as_str()), ("HAFT_DATA_DIR", "/nowhere")];
        let refused = run(HAFT, &["serve"], &environment, "").await;
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        self.watch.search_command("haft serve with a bad key", &refused);
    }
}
