//! SQLite databases: files in the data directory, each with one writer and several readers, and a lock on the
//! directory.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::ErrorKind as IoErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message};
use sqlx::Connection as _;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::failure;
use crate::readers::Readers;

haft_core::templates! {
    LOCKED = "store.directoryLocked",
        "the data directory {directory} is in use by another Haft; stop that one, or use another directory",
        "数据目录 {directory} 正被另一个 Haft 使用；请先停止它，或为当前实例指定其他目录";
    NO_DIRECTORY = "store.directory",
        "the data directory {directory} cannot be used",
        "数据目录 {directory} 无法使用";
    EMPTIED = "store.emptied",
        "{file} is missing or empty, but {log} beside it belongs to an existing installation. Restore {file} from a backup; to start a new installation, use another directory.",
        "{file} 缺失或为空，但同目录的 {log} 属于已有的安装。请从备份恢复 {file}；如要全新安装，请使用其他目录。";
    DAMAGED = "store.damaged",
        "The database file {file} is damaged. Restore it from a backup.",
        "数据库文件 {file} 已损坏。请从备份恢复。";
    BACKUP_EXISTS = "store.backupExists",
        "{path} already exists. A backup never overwrites a file.",
        "{path} 已存在；备份不会覆盖已有文件";
    NO_BACKUP = "store.backup",
        "The backup cannot be written to {path}.",
        "无法将备份写入 {path}";
}

pub(crate) const DATABASE_FILE: &str = "haft.db";
/// The database file of the call log.
pub(crate) const LOG_FILE: &str = "calls.db";
const LOCK: &str = "haft.lock";
const PAGE_SIZE: u32 = 4096;
/// Number of cached prepared statements. Bulk inserts have one statement per number of rows.
pub(crate) const STATEMENT_CACHE: usize = 256;
pub(crate) const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum size of a file whose pages are checked at startup, so that the check takes only a few seconds.
const MAX_CHECKED: u64 = 256 << 20;

/// Remembers that a database file is damaged.
#[derive(Clone, Default)]
pub(crate) struct Damage(Arc<AtomicBool>);

impl Damage {
    /// Records an error; SQLITE_CORRUPT and SQLITE_NOTADB mean damage.
    pub(crate) fn note(&self, error: &sqlx::Error) {
        let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
        if code.is_some_and(|code| matches!(code & 0xff, 11 | 26)) {
            self.set();
        }
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Fails if damage has been recorded.
    pub(crate) fn check(&self, file: &str) -> Result<(), CallError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(CallError::new(ErrorKind::Internal, Message::new(&DAMAGED).with("file", file)));
        }
        Ok(())
    }
}

pub(crate) struct SqliteDb {
    pub(crate) writer: SqlitePool,
    /// `None` for an in-memory database, where the writer also reads.
    pub(crate) readers: Option<Readers>,
    pub(crate) damage: Damage,
    /// The lock on the data directory. `None` in memory, and for the call log.
    _lock: Option<File>,
}

impl SqliteDb {
    pub(crate) async fn open(directory: &Path) -> Result<Self, CallError> {
        let lock = lock(directory)?;
        let size = |file: &str| std::fs::metadata(directory.join(file)).map_or(0, |data| data.len());
        let is_used = size(LOG_FILE) > 0;
        if is_used && size(DATABASE_FILE) == 0 {
            return Err(emptied(directory));
        }
        // Acknowledged writes survive a power failure: queued tasks, and their results.
        let synchronous = SqliteSynchronous::Full;
        let database = Self::beside(directory, DATABASE_FILE, PAGE_SIZE, synchronous).await?;
        let first = sqlx::query("SELECT 1 FROM sqlite_master LIMIT 1").fetch_optional(&database.writer).await;
        if is_used && first.map_err(failure::driver_error)?.is_none() {
            return Err(emptied(directory));
        }
        Ok(Self { _lock: Some(lock), ..database })
    }

    /// Opens one file in a directory that the store has locked.
    pub(crate) async fn beside(
        directory: &Path,
        file: &str,
        page_size: u32,
        synchronous: SqliteSynchronous,
    ) -> Result<Self, CallError> {
        let options = SqliteConnectOptions::new()
            .filename(directory.join(file))
            .foreign_keys(true)
            .busy_timeout(ACQUIRE_TIMEOUT)
            // Keeps statement journals in memory instead of temporary files.
            .pragma("temp_store", "memory")
            .statement_cache_capacity(STATEMENT_CACHE);
        let writing = options
            .clone()
            .create_if_missing(true)
            .page_size(page_size)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(synchronous);
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(None::<Duration>)
            .max_lifetime(None::<Duration>)
            // A file does not disconnect; testing the connection would wake another thread for each query.
            .test_before_acquire(false)
            // A full disk may end a transaction without the driver noticing. Such a connection is discarded.
            .after_release(|connection, _| {
                Box::pin(async move {
                    // Wait for a pending rollback.
                    if connection.is_in_transaction() {
                        connection.ping().await?;
                    }
                    Ok(!connection.is_in_transaction())
                })
            });
        let damage = Damage::default();
        Ok(Self {
            writer: writer.connect_with(writing).await.map_err(failure::driver_error)?,
            readers: Some(Readers::new(options.read_only(true), damage.clone())),
            damage,
            _lock: None,
        })
    }

    /// Opens an in-memory database, which exists on a single connection.
    pub(crate) async fn in_memory() -> Result<Self, CallError> {
        let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(true);
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(None::<Duration>)
            .max_lifetime(None::<Duration>);
        let only = pool.connect_with(options).await.map_err(failure::driver_error)?;
        let damage = Damage::default();
        Ok(Self { writer: only, readers: None, damage, _lock: None })
    }

    /// Checks for damaged pages, unless the file is larger than [`MAX_CHECKED`]. The result is recorded in
    /// `damage`.
    pub(crate) async fn check_pages(&self) {
        let Some(readers) = &self.readers else { return };
        let file = readers.file();
        let size = std::fs::metadata(file).map_or(0, |data| data.len());
        if size > MAX_CHECKED {
            tracing::info!(file = %file.display(), size, "The database file is too large to check its pages");
            return;
        }
        // A separate connection, so that the others stay free for requests.
        let checked = async {
            let mut connection = readers.connect().await?;
            let check = sqlx::query_scalar::<_, String>("PRAGMA quick_check(1)");
            let result = check.fetch_one(&mut connection).await?;
            connection.close().await.map(|()| result)
        };
        match checked.await {
            Ok(result) if result == "ok" => {}
            Ok(result) => {
                self.damage.set();
                tracing::error!(file = %file.display(), %result, "The database file is damaged");
            }
            Err(error) => {
                self.damage.note(&error);
                tracing::error!(file = %file.display(), %error, "The database file cannot be checked");
            }
        }
    }

    /// Copies the database into a file beside it, `haft.db.SUFFIX`, which replaces an earlier copy. An interrupted copy
    /// leaves no file of that name. Does nothing for a database in memory.
    pub(crate) async fn copy_beside(&self, suffix: &str) -> Result<(), CallError> {
        let Some(readers) = &self.readers else { return Ok(()) };
        let named = |suffix: &str| {
            let mut path = readers.file().as_os_str().to_owned();
            path.push(format!(".{suffix}"));
            PathBuf::from(path)
        };
        let (partial, copy) = (named(&format!("{suffix}.partial")), named(suffix));
        let failed = |error: std::io::Error| {
            let message = Message::new(&NO_BACKUP).with("path", copy.display());
            CallError::new(ErrorKind::Conflict, message).caused_by(error.to_string())
        };
        match std::fs::remove_file(&partial) {
            Err(error) if error.kind() != IoErrorKind::NotFound => return Err(failed(error)),
            Ok(()) | Err(_) => {}
        }
        self.vacuum_into(&partial).await?;
        std::fs::rename(&partial, &copy).map_err(failed)?;
        tracing::info!(copy = %copy.display(), "The database was copied before its upgrade. The copy can be deleted when the new version works");
        Ok(())
    }

    /// Copies the database into a new file. The copy is consistent; writes may continue.
    pub(crate) async fn vacuum_into(&self, path: &Path) -> Result<(), CallError> {
        let failed = |message, cause: String| {
            let message = Message::new(message).with("path", path.display());
            CallError::new(ErrorKind::Conflict, message).caused_by(cause)
        };
        let Some(target) = path.to_str() else {
            return Err(failed(&NO_BACKUP, "the path is not UTF-8".to_owned()));
        };
        // SQLite fills an existing empty file and preserves its mode.
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match made {
            Ok(_) => {}
            Err(error) if error.kind() == IoErrorKind::AlreadyExists => {
                return Err(failed(&BACKUP_EXISTS, error.to_string()));
            }
            Err(error) => return Err(failed(&NO_BACKUP, error.to_string())),
        }
        let copy = sqlx::query("VACUUM INTO $1").bind(target.to_owned());
        let copied = match &self.readers {
            Some(readers) => {
                let mut reader = readers.take().await.map_err(failure::connect_error)?;
                let copied = copy.execute(reader.connection().map_err(failure::driver_error)?).await;
                reader.check(copied)
            }
            None => copy.execute(&self.writer).await,
        };
        copied.map(drop).map_err(failure::driver_error)
    }
}

/// The error for a missing or empty database whose call log shows that the directory was in use.
fn emptied(directory: &Path) -> CallError {
    let file = |name| directory.join(name).display().to_string();
    let message = Message::new(&EMPTIED).with("file", file(DATABASE_FILE)).with("log", file(LOG_FILE));
    CallError::new(ErrorKind::Conflict, message)
}

fn lock(directory: &Path) -> Result<File, CallError> {
    let unusable = |error: std::io::Error| {
        let message = Message::new(&NO_DIRECTORY).with("directory", directory.display());
        CallError::new(ErrorKind::Internal, message).caused_by(error.to_string())
    };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unusable)?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(directory.join(LOCK))
        .map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
        Err(TryLockError::WouldBlock) => {
            let message = Message::new(&LOCKED).with("directory", directory.display());
            Err(CallError::new(ErrorKind::Unavailable, message))
        }
    }
}
