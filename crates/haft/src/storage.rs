//! The configured storage of this installation: the database, the call log, and the master key of secrets.

use std::collections::HashMap;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::Context;
use haft_core::{Locale, Message};
use haft_engine::Supervisor;
use haft_store::{CallLog, Database, MasterKeys, Store};
use secrecy::{ExposeSecret, SecretString};

use crate::cli_error::{OrFail as _, failure};
use crate::messages;

/// The file of the master key in the data directory.
const KEY_FILE: &str = "master.key";

/// The settings that open the store and the call log.
#[derive(Clone)]
pub(crate) struct Storage {
    /// `None` if none is configured and there is no home directory.
    pub(crate) directory: Option<PathBuf>,
    /// The database instead of the SQLite database in `directory`.
    pub(crate) database_url: Option<SecretString>,
    /// The master key instead of the key file.
    pub(crate) master_key: Option<SecretString>,
    /// The values of `HAFT_SECRET_NAME` variables, by name in lower case.
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
        let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        Store::open_supervised(&database, self.keys(locale)?, supervisor).await.map_err(to_error)
    }

    /// Opens the call log. The store has to be opened first, since it locks the directory of both.
    pub(crate) async fn open_log(&self, locale: Locale) -> anyhow::Result<CallLog> {
        let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        CallLog::open(&self.database()?).await.map_err(to_error)
    }

    /// Opens a store and a call log in memory.
    pub(crate) async fn in_memory(locale: Locale) -> anyhow::Result<(Store, CallLog)> {
        let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        let key = haft_store::Key::generate().map_err(to_error)?;
        let keys = MasterKeys::new(key, Vec::new());
        let store = Store::open(&Database::Memory, keys).await.map_err(to_error)?;
        Ok((store, CallLog::open(&Database::Memory).await.map_err(to_error)?))
    }

    /// Returns true if a database is configured or the data directory contains one.
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

    /// Returns the file of the master keys. Returns `None` if a key is configured.
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
        let to_error = |error: haft_core::CallError| anyhow::anyhow!("{}", with_cause(&error, locale));
        match (&self.master_key, self.key_file()?) {
            (Some(key), _) => MasterKeys::parse(key).map_err(to_error).context("HAFT_MASTER_KEY"),
            (None, Some(file)) => {
                if let Some(directory) = file.parent() {
                    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
                    made.or_fail(|| {
                        Message::new(&messages::CANNOT_MAKE_DATA_DIRECTORY).with("path", directory.display())
                    })?;
                }
                MasterKeys::from_file(&file).map_err(to_error)
            }
            (None, None) => Err(failure(Message::new(&messages::NO_MASTER_KEY))),
        }
    }
}

/// Renders an error of the store with its cause.
pub(crate) fn with_cause(error: &haft_core::CallError, locale: Locale) -> String {
    let message = error.message().render(locale);
    match error.details(locale).get("cause").and_then(serde_json::Value::as_str) {
        Some(cause) => format!("{message} ({cause})"),
        None => message,
    }
}
