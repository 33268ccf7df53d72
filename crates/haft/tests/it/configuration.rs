//! Flags, environment variables and `haft.toml`: precedence and validation.

use haft_testkit::{Client, HaftProcess, run};

use crate::HAFT;

/// A configuration file that is removed on drop.
struct ConfigFile(std::path::PathBuf);

impl ConfigFile {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("haft-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).expect("written");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn flags_override_the_environment_which_overrides_the_file() {
    let file = ConfigFile::new("order", "admin_token = \"from-the-configuration\"\nlog = \"warn\"\n");
    let accepts = async |arguments: &[&str], environment: &[(&str, &str)], token: &str| {
        let server = HaftProcess::start(HAFT, arguments, environment).await;
        Client::new(&server.url, token).get("/api/tools").await.status == 200
    };
    let with_file = ["serve", "--config", file.path()];
    assert!(accepts(&with_file, &[], "from-the-configuration").await);
    assert!(accepts(&["serve"], &[("HAFT_CONFIG", file.path())], "from-the-configuration").await);
    assert!(
        accepts(&with_file, &[("HAFT_ADMIN_TOKEN", "from-the-environment")], "from-the-environment").await
    );
    let with_flag = ["serve", "--config", file.path(), "--admin-token", "from-the-command-line"];
    assert!(
        accepts(&with_flag, &[("HAFT_ADMIN_TOKEN", "from-the-environment")], "from-the-command-line").await
    );
}

#[tokio::test]
async fn configuration_errors_name_the_file_and_the_setting() {
    for (name, text, message) in [
        ("unknown", "adress = \"127.0.0.1:1\"\n", "unknown field `adress`"),
        ("value", "addr = \"nowhere\"\n", "invalid socket address"),
        ("syntax", "addr = \n", "TOML parse error"),
        ("format", "log_format = \"xml\"\n", "unknown variant `xml`"),
    ] {
        let file = ConfigFile::new(name, text);
        let ended = run(HAFT, &["serve", "--config", file.path()], &[], "").await;
        assert_eq!(ended.code, 1);
        assert!(ended.stderr.contains(message) && ended.stderr.contains(file.path()), "{}", ended.stderr);
    }
    let ended = run(HAFT, &["serve", "--config", "/nowhere/haft.toml"], &[], "").await;
    assert!(ended.stderr.contains("cannot read /nowhere/haft.toml"), "{}", ended.stderr);
    let ended = run(HAFT, &["serve"], &[("HAFT_LOG", "a=b=c")], "").await;
    assert!(ended.code == 1 && ended.stderr.contains("is not a log filter"), "{}", ended.stderr);
    let ended = run(HAFT, &["serve"], &[("HAFT_ADDR", "nowhere")], "").await;
    assert!(ended.code == 2 && ended.stderr.contains("invalid socket address"), "{}", ended.stderr);
    let ended = run(HAFT, &["serve"], &[("HAFT_ALERT_INTERVAL", "5")], "").await;
    assert!(ended.code == 1 && ended.stderr.contains("from 0.1s to 3600s"), "{}", ended.stderr);
}

#[tokio::test]
async fn call_log_limits_are_validated() {
    let days = "call_log_days must be from 1 to 3650, not";
    let bytes = "call_log_bytes must be at least 67108864";
    for (name, value, code, message) in [
        ("HAFT_CALL_LOG_DAYS", "0", 1, days),
        ("HAFT_CALL_LOG_DAYS", "3651", 1, days),
        ("HAFT_CALL_LOG_DAYS", "many", 2, "invalid digit"),
        ("HAFT_CALL_LOG_BYTES", "67108863", 1, bytes),
        ("HAFT_CALL_LOG_BYTES", "1GiB", 2, "invalid digit"),
    ] {
        let ended = run(HAFT, &["serve"], &[(name, value)], "").await;
        assert!(ended.code == code && ended.stderr.contains(message), "{name}={value}: {}", ended.stderr);
    }
    let file = ConfigFile::new("limits", "call_log_days = 4000\n");
    let with_file = ["serve", "--config", file.path()];
    let ended = run(HAFT, &with_file, &[], "").await;
    assert!(ended.code == 1 && ended.stderr.contains(days), "{}", ended.stderr);
    // A valid environment variable overrides an invalid value in the file.
    let server = HaftProcess::start(HAFT, &with_file, &[("HAFT_CALL_LOG_DAYS", "3650")]).await;
    assert_eq!(Client::anonymous(&server.url).get("/healthz").await.status, 200);
}
