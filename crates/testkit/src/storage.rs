//! Storage for the server of one test: a temporary data directory and, for tests on PostgreSQL, a database.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A temporary data directory, and a database if `HAFT_TEST_DATABASE` is `postgres`. Deleted on drop.
pub struct TestStorage {
    pub directory: PathBuf,
    /// The URL of the PostgreSQL server, and the name of the test's database.
    database: Option<(String, String)>,
}

impl Default for TestStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl TestStorage {
    pub fn new() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("haft_it_{}_{number}", std::process::id());
        let wants_postgres = std::env::var("HAFT_TEST_DATABASE").is_ok_and(|kind| kind == "postgres");
        let server = wants_postgres.then(|| std::env::var("HAFT_TEST_POSTGRES").expect("a PostgreSQL"));
        let database = server.map(|server| (server, name.clone()));
        if let Some((server, name)) = &database {
            psql(server, &format!("CREATE DATABASE {name}"));
        }
        Self { directory: std::env::temp_dir().join(name), database }
    }

    /// Returns the environment variables that make a server use this storage.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![("HAFT_DATA_DIR", self.directory.display().to_string())];
        if let Some((server, name)) = &self.database {
            let (start, _) = server.rsplit_once('/').expect("a URL with a database");
            variables.push(("HAFT_DATABASE_URL", format!("{start}/{name}")));
        }
        variables
    }

    pub fn is_postgres(&self) -> bool {
        self.database.is_some()
    }
}

impl Drop for TestStorage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
        if let Some((server, name)) = &self.database {
            psql(server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        }
    }
}

fn psql(server: &str, sql: &str) {
    let status = Command::new("psql").args(["-q", "-X", server, "-c", sql]).status();
    assert!(status.expect("psql runs").success(), "{sql}");
}
