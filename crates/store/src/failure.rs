//! Maps database errors to call errors.
//!
//! Errors are classified by type and code, never by message text. No error contains an argument of a
//! statement.

use std::fmt::Display;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, Template};
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

haft_core::templates! {
    AWAY = "store.away",
        "The database is currently unavailable. Retry in a moment.",
        "数据库暂时无法读写；请重试";
    BROKEN = "store.broken",
        "Database error",
        "数据库未能执行请求";
    UNSTORABLE = "store.unstorable",
        "The text contains a character that cannot be stored.",
        "文本中含有无法存储的字符";
    TAKEN = "store.taken",
        "{name} exists already",
        "{name} 已存在";
    STALE = "store.stale",
        "{name} has been changed: its version is {actual}, not {expected}; read it again and repeat the change",
        "{name} 已被修改：当前版本是 {actual}，不是 {expected}；请重新读取后再修改";
    DUPLICATE = "store.duplicate",
        "A resource with this name or id already exists.",
        "相同名称或 id 的对象已存在";
    NOT_FOUND = "store.notFound",
        "there is no {what} {name}",
        "没有{what} {name}";
    USER = "store.user", "user", "用户";
    SPACE = "store.space", "space", "空间";
    MEMBER = "store.member", "member", "成员";
    TOKEN = "store.token", "token", "令牌";
    TOOL = "store.tool", "tool", "工具";
    TOOL_VERSION = "store.toolVersion", "version", "版本";
    AGENT = "store.agent", "agent", "智能体";
    PROVIDER = "store.provider", "provider", "模型服务";
    ALERT = "store.alert", "alert", "告警";
    SECRET = "store.secret", "secret", "密钥";
    ARTIFACT = "store.artifact", "artifact", "文件";
    TASK = "store.task", "task", "任务";
    APPROVAL = "store.approval", "approval", "审批";
    GONE = "store.gone",
        "A resource that this one refers to does not exist.",
        "所属对象不存在";
    UNREADABLE = "store.unreadable",
        "A stored value cannot be read.",
        "存储的值无法读取";
}

/// Suggested delay before a retry while the database is unavailable.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Maps an error of the database driver.
pub(crate) fn driver_error(error: sqlx::Error) -> CallError {
    if let Some(error) = error.as_database_error() {
        return database_error(error);
    }
    let is_unavailable = matches!(
        error,
        sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed
            | sqlx::Error::InvalidSavePointStatement
    );
    if is_unavailable { unavailable(error.to_string()) } else { internal(error.to_string()) }
}

/// Maps an error that occurred before a connection or transaction was established. No statement was sent, so
/// every error of a server or proxy means that it is unavailable.
pub(crate) fn connect_error(error: sqlx::Error) -> CallError {
    if matches!(error, sqlx::Error::Configuration(_)) {
        return driver_error(error);
    }
    match error.as_database_error() {
        Some(error) if error.try_downcast_ref::<SqliteError>().is_some() => database_error(error),
        Some(error) => unavailable(format!("PostgreSQL {}", error.code().unwrap_or_default())),
        None => unavailable(error.to_string()),
    }
}

fn database_error(error: &(dyn DatabaseError + 'static)) -> CallError {
    let code = error.code().unwrap_or_default().into_owned();
    if error.is_unique_violation() {
        return CallError::new(ErrorKind::Conflict, Message::new(&DUPLICATE));
    }
    if error.is_foreign_key_violation() {
        return CallError::new(ErrorKind::NotFound, Message::new(&GONE));
    }
    if error.try_downcast_ref::<SqliteError>().is_some() {
        // SQLite messages contain names of tables and files, but no values.
        let cause = format!("SQLite {code}: {}", error.message());
        return if is_sqlite_unavailable(&code) { unavailable(cause) } else { internal(cause) };
    }
    if is_postgres_unavailable(&code) {
        return unavailable(format!("PostgreSQL {code}: {}", error.message()));
    }
    // Other PostgreSQL messages may quote values, so only the code is included.
    if code == "22021" {
        return CallError::new(ErrorKind::Validation, Message::new(&UNSTORABLE));
    }
    internal(format!("PostgreSQL {code}"))
}

/// Low byte of the extended code: out of memory, busy, locked, read-only, I/O error, full, cannot open.
fn is_sqlite_unavailable(code: &str) -> bool {
    let primary = code.parse::<u32>().map_or(0, |code| code & 0xff);
    matches!(primary, 5..=8 | 10 | 13..=15)
}

/// Connection lost, out of resources, operator intervention or timeout, system error, serialization failure
/// or deadlock, read-only, transaction ended because it was idle or too long.
fn is_postgres_unavailable(code: &str) -> bool {
    let class = code.get(..2).unwrap_or_default();
    matches!(class, "08" | "53" | "57" | "58")
        || matches!(code, "40001" | "40P01" | "55P03" | "25006" | "25P03" | "25P04")
}

pub(crate) fn unavailable(cause: String) -> CallError {
    CallError::new(ErrorKind::Unavailable, Message::new(&AWAY)).retry_after(RETRY_DELAY).caused_by(cause)
}

pub(crate) fn internal(cause: String) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&BROKEN)).caused_by(cause)
}

/// The error for a stored value that cannot be read.
pub(crate) fn unreadable(cause: impl Display) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&UNREADABLE)).caused_by(cause.to_string())
}

pub(crate) fn name_taken(name: &str) -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&TAKEN).with("name", name)).detail("name", name)
}

/// The error for a resource that does not exist in this space.
pub(crate) fn not_found(what: &'static Template, name: impl Display) -> CallError {
    let message = Message::new(&NOT_FOUND).with_messages("what", vec![Message::new(what)]).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("what", what.en)
}

/// Fails with a conflict if the stored version differs from the version that the change is based on.
pub(crate) fn check_version(name: &str, actual: u64, expected: u64) -> Result<(), CallError> {
    if actual == expected {
        return Ok(());
    }
    let message = Message::new(&STALE).with("name", name).with("actual", actual).with("expected", expected);
    Err(CallError::new(ErrorKind::Conflict, message).detail("version", actual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_connections_mean_that_the_database_is_unavailable() {
        let cut = || sqlx::Error::Protocol("unexpected message".to_owned());
        assert_eq!(driver_error(cut()).kind(), ErrorKind::Unavailable);
        assert_eq!(connect_error(cut()).kind(), ErrorKind::Unavailable);
        assert_eq!(connect_error(sqlx::Error::PoolTimedOut).kind(), ErrorKind::Unavailable);
        assert_eq!(driver_error(sqlx::Error::RowNotFound).kind(), ErrorKind::Internal);
        let configured = sqlx::Error::Configuration("no such mode".into());
        assert_eq!(connect_error(configured).kind(), ErrorKind::Internal);
    }

    #[test]
    fn codes_distinguish_unavailable_databases_from_rejected_statements() {
        // Busy, busy snapshot, read-only, I/O error, full.
        for code in ["5", "517", "8", "266", "13"] {
            assert!(is_sqlite_unavailable(code), "{code}");
        }
        // Generic error, constraint, corrupt.
        for code in ["1", "2067", "11", "x"] {
            assert!(!is_sqlite_unavailable(code), "{code}");
        }
        for code in ["08006", "53100", "57014", "57P01", "40P01"] {
            assert!(is_postgres_unavailable(code), "{code}");
        }
        for code in ["42601", "23505", "22021", ""] {
            assert!(!is_postgres_unavailable(code), "{code}");
        }
    }
}
