//! The chain of the call log reveals changed, deleted and inserted rows.

use haft_core::ErrorKind;
use haft_store::Fault;

use crate::log::{call, calls, failed, space, today};
use crate::support::{TestDatabase, both};

/// The columns except the sequence number, the id and, on PostgreSQL, the words.
const OTHER_COLUMNS: &str = "space_id, call_id, tool_id, tool_version, tool_name, agent_id, conversation_id, user_id, \
    source, status, error_kind, error_message, error_details, attempts, is_cached, coerced, warnings, duration, \
    started_at, replay_of, arguments_cut, result_cut, is_replayable, chain";

/// Runs a statement on a log of ten calls, and returns the result of verification.
async fn fault_after(db: &TestDatabase, sql: &str) -> Option<(u64, u64, Fault)> {
    let log = db.open_log().await;
    let space = space();
    let mut written = calls(space, today(), 0..9);
    written.push(failed(call(space, today(), 9), ErrorKind::Server, "down"));
    log.insert(&written).await.expect("written");
    let whole = log.verify().await.expect("verified");
    assert_eq!((whole.checked, whole.unchecked, &whole.fault), (10, 0, &None));
    assert_eq!(whole.head.len(), 64);
    db.raw_log(sql).await;
    let verification = log.verify().await.expect("verified");
    verification.fault.map(|found| (verification.checked, found.place, found.fault))
}

#[tokio::test]
async fn tampering_is_detected() {
    let columns = format!("seq, id, {OTHER_COLUMNS}");
    let copied = format!(
        "INSERT INTO tool_call_log ({columns}WORDS) SELECT 11, substr(chain, 1, 16), {OTHER_COLUMNS}WORDS FROM tool_call_log WHERE seq = 10"
    );
    for (sql, expected) in [
        ("SELECT 1", None),
        ("UPDATE tool_call_log SET tool_name = 'other' WHERE seq = 5", Some((4, 5, Fault::Changed))),
        ("UPDATE tool_call_log SET status = 'success' WHERE seq = 10", Some((9, 10, Fault::Changed))),
        ("UPDATE tool_call_log SET error_kind = NULL WHERE seq = 10", Some((9, 10, Fault::Changed))),
        ("UPDATE tool_call_log SET source = 'nonsense' WHERE seq = 1", Some((0, 1, Fault::Changed))),
        ("UPDATE tool_call_log SET started_at = started_at + 1 WHERE seq = 3", Some((2, 3, Fault::Changed))),
        ("UPDATE tool_call_bodies SET result = '21' WHERE seq = 2", Some((1, 2, Fault::Changed))),
        ("UPDATE tool_call_bodies SET result = NULL WHERE seq = 2", Some((1, 2, Fault::Changed))),
        ("DELETE FROM tool_call_bodies WHERE seq = 4", Some((3, 4, Fault::Changed))),
        ("DELETE FROM tool_call_log WHERE seq = 1", Some((0, 1, Fault::Missing))),
        ("DELETE FROM tool_call_log WHERE seq = 5", Some((4, 5, Fault::Missing))),
        ("DELETE FROM tool_call_log WHERE seq > 8", Some((8, 9, Fault::Missing))),
        ("DELETE FROM tool_call_log", Some((0, 1, Fault::Missing))),
        ("UPDATE tool_call_chain SET seq = 9", Some((10, 10, Fault::Added))),
        ("UPDATE tool_call_chain SET anchor_seq = 3", Some((0, 4, Fault::Changed))),
        (copied.as_str(), Some((10, 11, Fault::Changed))),
    ] {
        both(async |db| {
            let words = if db.directory().is_some() { "" } else { ", words" };
            // On SQLite, no row may precede the start of the chain.
            let is_moved = sql.contains("anchor_seq") && db.directory().is_some();
            let expected = if is_moved { Some((0, 3, Fault::Added)) } else { expected };
            assert_eq!(fault_after(db, &sql.replace("WORDS", words)).await, expected, "{sql}");
        })
        .await;
    }
}
