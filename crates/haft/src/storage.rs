//! Where this installation keeps its things: the database and the key of its secrets, as configured.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::Context;
use haft_core::{Locale, Message};
use haft_engine::Supervisor;
use haft_store::{CallLog, Database, MasterKeys, Store};
use secrecy::{ExposeSecret, SecretString};

use crate::messages;
use crate::refusal::{OrFail as _, failure};

/// The key's file in the data directory.
const KEY_FILE: &str = "master.key";

/// What a store needs to be opened.
#[derive(Clone)]
pub(crate) struct Storage {
    /// None where no directory can be told.
    pub(crate) directory: Option<PathBuf>,
    /// In place of a SQLite database in that directory.
    pub(crate) database_url: Option<SecretString>,
    /// In place of the key's file.
    pub(crate) master_key: Option<SecretString>,
    /// `HAFT_SECRET_NAME`, by lower-case name.
    pub(crate) environment: HashMap<String, SecretString>,
}

impl Storage {
    /// Opens the store for a command.
    pub(crate) async fn open(&self, locale: Locale) -> anyhow::Result<Store> {
        self.open_supervised(locale, Supervisor::default()).await
    }

    /// Opens the store for a process whose background tasks are supervised.
    pub(crate) async fn open_supervised(
        &self,
        locale: Locale,
        supervisor: Supervisor,
    ) -> anyhow::Result<Store> {
        let database = self.database()?;
        let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, locale));
        Store::open_supervised(&database, self.keys(locale)?, supervisor).await.map_err(said)
    }

    /// The call log beside the store, which is opened first and holds the directory of both.
    pub(crate) async fn open_log(&self, locale: Locale) -> anyhow::Result<CallLog> {
        let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, locale));
        CallLog::open(&self.database()?).await.map_err(said)
    }

    /// A store and a call log that are gone with the process.
    pub(crate) async fn in_memory(locale: Locale) -> anyhow::Result<(Store, CallLog)> {
        let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, locale));
        let key = haft_store::Key::generate().map_err(said)?;
        let keys = MasterKeys::new(key, Vec::new());
        let store = Store::open(&Database::Memory, keys).await.map_err(said)?;
        Ok((store, CallLog::open(&Database::Memory).await.map_err(said)?))
    }

    /// Whether somebody has kept something here.
    pub(crate) fn exists(&self) -> bool {
        self.database_url.is_some()
            || self.directory.as_ref().is_some_and(|path| path.join("haft.db").exists())
    }

    fn database(&self) -> anyhow::Result<Database> {
        let Some(url) = &self.database_url else {
            return Ok(Database::Sqlite(self.directory()?.clone()));
        };
        let text = url.expose_secret();
        if let Some(path) = text.strip_prefix("sqlite:") {
            return Ok(Database::Sqlite(PathBuf::from(path.trim_start_matches("//"))));
        }
        if text.starts_with("postgres:") || text.starts_with("postgresql:") {
            return Ok(Database::Postgres(url.clone()));
        }
        Err(failure(Message::new(&messages::BAD_DATABASE_URL)))
    }

    fn directory(&self) -> anyhow::Result<&PathBuf> {
        self.directory.as_ref().or_fail(|| Message::new(&messages::NO_DATA_DIRECTORY))
    }

    /// The file that holds the keys, unless one was given.
    pub(crate) fn key_file(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.master_key.is_some() {
            return Ok(None);
        }
        let directory = match self.database()? {
            Database::Sqlite(directory) => directory,
            Database::Postgres(_) | Database::Memory => self.directory()?.clone(),
        };
        Ok(Some(directory.join(KEY_FILE)))
    }

    fn keys(&self, locale: Locale) -> anyhow::Result<MasterKeys> {
        let said = |error: haft_core::CallError| anyhow::anyhow!("{}", told(&error, locale));
        match (&self.master_key, self.key_file()?) {
            (Some(key), _) => MasterKeys::parse(key).map_err(said).context("HAFT_MASTER_KEY"),
            (None, Some(file)) => {
                if let Some(directory) = file.parent() {
                    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
                    made.or_fail(|| {
                        Message::new(&messages::CANNOT_MAKE_DATA_DIRECTORY).with("path", directory.display())
                    })?;
                }
                MasterKeys::from_file(&file).map_err(said)
            }
            (None, None) => Err(failure(Message::new(&messages::NO_MASTER_KEY))),
        }
    }
}

/// An error of the store with its cause.
pub(crate) fn told(error: &haft_core::CallError, locale: Locale) -> String {
    let message = error.message().render(locale);
    match error.details(locale).get("cause").and_then(serde_json::Value::as_str) {
        Some(cause) => format!("{message} ({cause})"),
        None => message,
    }
}
