//! A separate database on the PostgreSQL of the tests, for tests that need PostgreSQL in every run.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use url::Url;

use super::skipped;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Deleted when dropped.
pub(crate) struct Database {
    server: Url,
    name: String,
}

impl Database {
    /// Creates a database. Returns `None` and reports a skipped test if no PostgreSQL is configured.
    pub(crate) fn new() -> Option<Self> {
        let Ok(server) = std::env::var("HAFT_TEST_POSTGRES") else {
            skipped("HAFT_TEST_POSTGRES is not set");
            return None;
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("haft_survival_{}_{number}", std::process::id());
        psql(&server, &format!("CREATE DATABASE {name}"));
        Some(Self { server: Url::parse(&server).expect("a URL"), name })
    }

    pub(crate) fn url(&self) -> String {
        let mut url = self.server.clone();
        url.set_path(&format!("/{}", self.name));
        url.to_string()
    }

    /// Returns the URL with another port of this machine.
    pub(crate) fn url_by(&self, port: u16) -> String {
        let mut url = Url::parse(&self.url()).expect("a URL");
        url.set_host(Some("127.0.0.1")).expect("a host");
        url.set_port(Some(port)).expect("a port");
        url.to_string()
    }

    /// Returns the address of the database server.
    pub(crate) fn address(&self) -> String {
        let host = self.server.host_str().expect("a host");
        format!("{host}:{}", self.server.port().unwrap_or(5432))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        psql(self.server.as_str(), &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs a statement.
pub(crate) fn psql(url: &str, sql: &str) {
    let done = Command::new("psql").args(["-q", "-X", url, "-c", sql]).status();
    assert!(done.expect("psql runs").success(), "{sql}");
}

/// Runs a query, and returns its result as text.
pub(crate) fn ask(url: &str, sql: &str) -> String {
    let output =
        Command::new("psql").args(["-q", "-A", "-t", "-X", url, "-c", sql]).output().expect("psql runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}
