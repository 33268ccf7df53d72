//! What may go wrong with the database, as the call errors that callers see.
//!
//! Errors are classed by type and code, never by their words. No error carries a parameter of a statement.

use std::fmt::Display;
use std::time::Duration;

use haft_core::{CallError, ErrorKind, Message, Template};
use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;

haft_core::templates! {
    AWAY = "store.away",
        "the database cannot be read or written at the moment; try again",
        "数据库暂时无法读写；请重试";
    BROKEN = "store.broken",
        "the database did not do what was asked of it",
        "数据库未能执行请求";
    UNSTORABLE = "store.unstorable",
        "a text holds a character that cannot be stored",
        "文本中含有无法存储的字符";
    TAKEN = "store.taken",
        "{name} exists already",
        "{name} 已存在";
    STALE = "store.stale",
        "{name} was changed meanwhile: its version is {actual}, not {expected}; read it again and repeat the change",
        "{name} 已被修改：当前版本是 {actual}，不是 {expected}；请重新读取后再修改";
    DUPLICATE = "store.duplicate",
        "something of this name or id exists already",
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
        "what this belongs to is not there",
        "所属对象不存在";
    UNREADABLE = "store.unreadable",
        "a stored value cannot be read",
        "存储的值无法读取";
}

/// How long a caller should wait while the database is away.
const PAUSE: Duration = Duration::from_secs(1);

/// The call error for one of the driver's.
pub(crate) fn of(error: sqlx::Error) -> CallError {
    if let Some(refused) = error.as_database_error() {
        return of_database(refused);
    }
    let is_away = matches!(
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
    if is_away { away(error.to_string()) } else { broken(error.to_string()) }
}

/// The call error for what came up before there was a connection or a transaction. Nothing was asked
/// yet, so whatever a server or a proxy says then means that it is away.
pub(crate) fn of_start(error: sqlx::Error) -> CallError {
    if matches!(error, sqlx::Error::Configuration(_)) {
        return of(error);
    }
    match error.as_database_error() {
        Some(refused) if refused.try_downcast_ref::<SqliteError>().is_some() => of_database(refused),
        Some(refused) => away(format!("PostgreSQL {}", refused.code().unwrap_or_default())),
        None => away(error.to_string()),
    }
}

fn of_database(refused: &(dyn DatabaseError + 'static)) -> CallError {
    let code = refused.code().unwrap_or_default().into_owned();
    if refused.is_unique_violation() {
        return CallError::new(ErrorKind::Conflict, Message::new(&DUPLICATE));
    }
    if refused.is_foreign_key_violation() {
        return CallError::new(ErrorKind::NotFound, Message::new(&GONE));
    }
    if refused.try_downcast_ref::<SqliteError>().is_some() {
        // SQLite's own words name tables and files, never values.
        let cause = format!("SQLite {code}: {}", refused.message());
        return if is_sqlite_away(&code) { away(cause) } else { broken(cause) };
    }
    if is_postgres_away(&code) {
        return away(format!("PostgreSQL {code}: {}", refused.message()));
    }
    // Other words of PostgreSQL may quote a value, so only the code is kept.
    if code == "22021" {
        return CallError::new(ErrorKind::Validation, Message::new(&UNSTORABLE));
    }
    broken(format!("PostgreSQL {code}"))
}

/// The low byte of the extended code: no memory, locked, read-only, input or output, full, cannot open.
fn is_sqlite_away(code: &str) -> bool {
    let primary = code.parse::<u32>().map_or(0, |code| code & 0xff);
    matches!(primary, 5..=8 | 10 | 13..=15)
}

/// Connection lost, out of resources, stopped by an operator or a time-out, system error, collision,
/// read-only, a transaction that was ended for being idle or long.
fn is_postgres_away(code: &str) -> bool {
    let class = code.get(..2).unwrap_or_default();
    matches!(class, "08" | "53" | "57" | "58")
        || matches!(code, "40001" | "40P01" | "55P03" | "25006" | "25P03" | "25P04")
}

pub(crate) fn away(cause: String) -> CallError {
    CallError::new(ErrorKind::Unavailable, Message::new(&AWAY)).retry_after(PAUSE).caused_by(cause)
}

pub(crate) fn broken(cause: String) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&BROKEN)).caused_by(cause)
}

/// A row that does not hold what it should.
pub(crate) fn unreadable(cause: impl Display) -> CallError {
    CallError::new(ErrorKind::Internal, Message::new(&UNREADABLE)).caused_by(cause.to_string())
}

pub(crate) fn taken(name: &str) -> CallError {
    CallError::new(ErrorKind::Conflict, Message::new(&TAKEN).with("name", name)).detail("name", name)
}

/// There is no such thing, or not in this space, which is the same to a caller.
pub(crate) fn not_found(what: &'static Template, name: impl Display) -> CallError {
    let message = Message::new(&NOT_FOUND).with_messages("what", vec![Message::new(what)]).with("name", name);
    CallError::new(ErrorKind::NotFound, message).detail("what", what.en)
}

/// Says that a change builds upon another version than the one that is there.
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
    fn a_connection_that_is_cut_is_a_database_that_is_away() {
        let cut = || sqlx::Error::Protocol("unexpected message".to_owned());
        assert_eq!(of(cut()).kind(), ErrorKind::Unavailable);
        assert_eq!(of_start(cut()).kind(), ErrorKind::Unavailable);
        assert_eq!(of_start(sqlx::Error::PoolTimedOut).kind(), ErrorKind::Unavailable);
        assert_eq!(of(sqlx::Error::RowNotFound).kind(), ErrorKind::Internal);
        let configured = sqlx::Error::Configuration("no such mode".into());
        assert_eq!(of_start(configured).kind(), ErrorKind::Internal);
    }

    #[test]
    fn codes_tell_a_database_that_is_away_from_one_that_refuses() {
        // Busy, busy snapshot, read-only, disk input or output, full.
        for code in ["5", "517", "8", "266", "13"] {
            assert!(is_sqlite_away(code), "{code}");
        }
        // Error, constraint, corrupt.
        for code in ["1", "2067", "11", "x"] {
            assert!(!is_sqlite_away(code), "{code}");
        }
        for code in ["08006", "53100", "57014", "57P01", "40P01"] {
            assert!(is_postgres_away(code), "{code}");
        }
        for code in ["42601", "23505", "22021", ""] {
            assert!(!is_postgres_away(code), "{code}");
        }
    }
}
