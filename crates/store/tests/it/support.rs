//! A fresh database per test and database kind, and fixtures.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;
use haft_core::id::ProviderId;
use haft_core::provider::{ProviderKind, ProviderSpec};
use haft_core::space::Space;
use haft_core::user::User;
use haft_core::{CallError, ErrorKind, KindName, SpaceId, ToolId, ToolName, ToolSpec, ToolVersion};
use haft_store::{CallLog, Database, Key, MasterKeys, Page, PutTool, Store, VersionState};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use uuid::Uuid;

pub(crate) const KEY: &str = "0101010101010101010101010101010101010101010101010101010101010101";

/// A database that exists for one test.
pub(crate) struct TestDatabase {
    pub(crate) database: Database,
    directory: Option<PathBuf>,
}

/// Runs a test on every available database.
pub(crate) async fn both(test: impl AsyncFn(&TestDatabase)) {
    let db = TestDatabase::sqlite();
    test(&db).await;
    let Ok(server) = std::env::var("HAFT_TEST_POSTGRES") else { return };
    let name = format!("haft_test_{}", Uuid::now_v7().simple());
    command(&server, &format!("CREATE DATABASE {name}")).await;
    let options: PgConnectOptions = server.parse().expect("a URL");
    let url = options.database(&name).to_url_lossy().to_string();
    let db = TestDatabase { database: Database::Postgres(SecretString::from(url)), directory: None };
    let ended = AssertUnwindSafe(test(&db)).catch_unwind().await;
    command(&server, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

async fn command(server: &str, sql: &str) {
    let options: PgConnectOptions = server.parse().expect("a URL");
    let mut connection = options.connect().await.expect("PostgreSQL");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.expect("a statement");
}

impl TestDatabase {
    pub(crate) fn sqlite() -> Self {
        let directory = std::env::temp_dir().join(format!("haft-store-{}", Uuid::now_v7().simple()));
        Self { database: Database::Sqlite(directory.clone()), directory: Some(directory) }
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    pub(crate) async fn open(&self) -> Store {
        self.open_with(keys(&[KEY])).await
    }

    pub(crate) async fn open_with(&self, keys: MasterKeys) -> Store {
        Store::open(&self.database, keys).await.expect("a store")
    }

    /// Opens a second store, as another process would. SQLite allows only one, so the same store is returned.
    pub(crate) async fn another(&self, store: &Store) -> Store {
        match self.directory {
            Some(_) => store.clone(),
            None => self.open().await,
        }
    }

    /// Opens the call log without the store.
    pub(crate) async fn open_log(&self) -> CallLog {
        if let Some(directory) = &self.directory {
            std::fs::create_dir_all(directory).expect("a directory");
        }
        CallLog::open(&self.database).await.expect("a log")
    }

    /// Executes statements on the database of the store, bypassing the store.
    pub(crate) async fn raw(&self, sql: &str) {
        self.raw_in("haft.db", sql).await;
    }

    /// Executes statements on the database of the call log, bypassing the log.
    pub(crate) async fn raw_log(&self, sql: &str) {
        self.raw_in("calls.db", sql).await;
    }

    /// Returns the first value that a statement selects, bypassing the store.
    pub(crate) async fn text(&self, sql: &str) -> String {
        let found: Result<String, sqlx::Error> = match &self.database {
            Database::Postgres(url) => {
                let options: PgConnectOptions = url.expose_secret().parse().expect("a URL");
                let query = sqlx::query_scalar(AssertSqlSafe(sql));
                query.fetch_one(&mut options.connect().await.expect("PostgreSQL")).await
            }
            Database::Memory => panic!("only the store can reach an in-memory database"),
            Database::Sqlite(directory) => {
                let options = SqliteConnectOptions::new().filename(directory.join("haft.db"));
                let query = sqlx::query_scalar(AssertSqlSafe(sql));
                query.fetch_one(&mut options.connect().await.expect("SQLite")).await
            }
        };
        found.expect("a text")
    }

    async fn raw_in(&self, file: &str, sql: &str) {
        match &self.database {
            Database::Postgres(url) => command(url.expose_secret(), sql).await,
            Database::Memory => panic!("only the store can reach an in-memory database"),
            Database::Sqlite(directory) => {
                let options = SqliteConnectOptions::new().filename(directory.join(file));
                let mut connection = options.connect().await.expect("SQLite");
                let script = sqlx::raw_sql(AssertSqlSafe(sql));
                connection.execute(script).await.expect("a statement");
                // Closing moves the write-ahead log into the file: a test may read it next.
                connection.close().await.expect("closed");
            }
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// Master keys, the current one first.
pub(crate) fn keys(hex: &[&str]) -> MasterKeys {
    let mut keys = hex.iter().map(|hex| Key::parse(hex).expect("a key"));
    MasterKeys::new(keys.next().expect("one at least"), keys.collect())
}

pub(crate) async fn user(store: &Store, name: &str) -> (User, Space) {
    store.create_user(name, None, false).await.expect("a user")
}

pub(crate) fn tool(space: SpaceId, name: &'static str) -> PutTool {
    let now = Timestamp::from_millisecond(Timestamp::now().as_millisecond()).expect("now");
    let version = ToolVersion {
        id: ToolId::Uuid(Uuid::now_v7()),
        space_id: Some(space),
        owner_id: None,
        spec: ToolSpec::new(ToolName::constant(name), "A tool.", KindName::from("http")),
        version: 1,
        created_at: now,
        updated_at: now,
    };
    PutTool { version, expected: None, state: VersionState::Live, note: String::new() }
}

/// The next version of a tool.
pub(crate) fn next(of: &ToolVersion, description: &str, state: VersionState) -> PutTool {
    let mut version = of.clone();
    version.spec.description = description.to_owned();
    PutTool { version, expected: Some(of.version), state, note: "next".to_owned() }
}

pub(crate) async fn put_tool(store: &Store, space: SpaceId, name: &'static str) -> ToolVersion {
    let kept = store.put_tools(space, vec![tool(space, name)], &[], None).await.expect("a tool");
    kept.into_iter().next().expect("one")
}

pub(crate) fn provider(name: &str) -> ProviderSpec {
    ProviderSpec {
        name: name.to_owned(),
        kind: ProviderKind::Openai,
        base_url: None,
        api_key: Some("secret://OPENAI_API_KEY".to_owned()),
        models: vec!["gpt".to_owned()],
        script: None,
        text_tool_calls: false,
        by_operator: false,
    }
}

pub(crate) fn missing_provider() -> ProviderId {
    ProviderId::from(Uuid::now_v7())
}

pub(crate) fn all() -> Page {
    Page::first(100)
}

/// Returns the kind of an expected error.
#[track_caller]
pub(crate) fn kind<T>(result: Result<T, CallError>) -> ErrorKind {
    result.err().expect("an error").kind()
}
