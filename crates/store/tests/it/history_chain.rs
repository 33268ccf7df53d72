//! The history chain reveals tampering, and retention leaves it intact.

use std::time::Duration;

use haft_store::{Fault, Store};
use jiff::Timestamp;

use crate::support::{TestDatabase, both, put_tool, user};

/// Runs a statement on a history of five entries, and returns the result of verification.
async fn fault_after(db: &TestDatabase, sql: &str) -> Option<(u64, u64, Fault)> {
    let store = db.open().await;
    let (ada, home) = user(&store, "ada").await;
    let store = store.acting_for(Some(ada.id));
    for name in ["one", "two", "three", "four"] {
        put_tool(&store, home.id, name).await;
    }
    let whole = store.verify_history().await.expect("verified");
    assert_eq!((whole.checked, whole.unchecked, &whole.fault), (5, 0, &None));
    db.raw(sql).await;
    let verification = store.verify_history().await.expect("verified");
    verification.fault.map(|found| (verification.checked, found.place, found.fault))
}

#[tokio::test]
async fn tampering_is_detected() {
    let columns = "space_id, at, user_id, what, action, thing_id, thing_name, version, details, chain";
    let copied = |seq: u64| {
        format!("INSERT INTO history (seq, {columns}) SELECT {seq}, {columns} FROM history WHERE seq = 5")
    };
    let (before, behind) = (copied(0), copied(6));
    for (sql, expected) in [
        ("SELECT 1", None),
        ("UPDATE history SET thing_name = 'other' WHERE seq = 3", Some((2, 3, Fault::Changed))),
        ("UPDATE history SET thing_id = 'other' WHERE seq = 3", Some((2, 3, Fault::Changed))),
        ("UPDATE history SET user_id = NULL WHERE seq = 2", Some((1, 2, Fault::Changed))),
        ("UPDATE history SET space_id = 'x' WHERE seq = 2", Some((1, 2, Fault::Changed))),
        ("UPDATE history SET what = 'agent' WHERE seq = 4", Some((3, 4, Fault::Changed))),
        ("UPDATE history SET action = 'nonsense' WHERE seq = 4", Some((3, 4, Fault::Changed))),
        ("UPDATE history SET at = at + 1 WHERE seq = 5", Some((4, 5, Fault::Changed))),
        ("UPDATE history SET version = NULL WHERE seq = 2", Some((1, 2, Fault::Changed))),
        ("UPDATE history SET details = '{ }' WHERE seq = 1", Some((0, 1, Fault::Changed))),
        ("UPDATE history SET seq = 9 WHERE seq = 5", Some((4, 5, Fault::Missing))),
        ("DELETE FROM history WHERE seq = 1", Some((0, 1, Fault::Missing))),
        ("DELETE FROM history WHERE seq = 3", Some((2, 3, Fault::Missing))),
        ("DELETE FROM history WHERE seq > 3", Some((3, 4, Fault::Missing))),
        ("DELETE FROM history", Some((0, 1, Fault::Missing))),
        ("UPDATE history_chain SET seq = 4", Some((5, 5, Fault::Added))),
        ("UPDATE history_chain SET anchor_seq = 2", Some((0, 2, Fault::Added))),
        (before.as_str(), Some((0, 0, Fault::Added))),
        (behind.as_str(), Some((5, 6, Fault::Changed))),
    ] {
        both(async |db| assert_eq!(fault_after(db, sql).await, expected, "{sql}")).await;
    }
}

async fn check_chain(store: &Store, entries: u64) {
    let verification = store.verify_history().await.expect("verified");
    assert_eq!((verification.checked, verification.fault), (entries, None));
}

#[tokio::test]
async fn old_entries_are_deleted_and_the_rest_stays_valid() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        put_tool(&store, home.id, "old").await;
        tokio::time::sleep(Duration::from_millis(2)).await;
        put_tool(&store, home.id, "new").await;
        let entries = store.history_since(home.id, 0, 10).await.expect("entries");
        assert_eq!(store.prune_history(Timestamp::MIN).await.expect("none"), 0);
        assert_eq!(store.prune_history(entries[1].at).await.expect("the old ones"), 2);
        check_chain(&store, 1).await;
        let kept = store.history_since(home.id, 0, 10).await.expect("entries");
        assert_eq!(kept, [entries[1].clone()]);

        put_tool(&store, home.id, "newer").await;
        check_chain(&store, 2).await;
        assert_eq!(store.prune_history(Timestamp::MAX).await.expect("all"), 2);
        check_chain(&store, 0).await;
        assert_eq!(store.last_history_seq(home.id).await.expect("a sequence number"), 0);
        put_tool(&store, home.id, "newest").await;
        let kept = store.history_since(home.id, 0, 10).await.expect("entries");
        assert_eq!(
            kept.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
            [5],
            "no sequence number is reused"
        );
        db.raw("DELETE FROM history").await;
        assert!(
            store.verify_history().await.expect("verified").fault.is_some(),
            "the deletion bypassed retention"
        );
    })
    .await;
}

#[tokio::test]
async fn at_most_a_million_entries_are_retained() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        for name in ["one", "two", "three"] {
            put_tool(&store, home.id, name).await;
        }
        // Renumber the entries as if enough others preceded them for all but the last to exceed the maximum.
        let entries = store.history_since(home.id, 0, 10).await.expect("entries");
        let head = entries[1].seq + 1_000_000;
        db.raw(&format!("UPDATE history_chain SET seq = {head}")).await;
        assert_eq!(store.prune_history(Timestamp::MIN).await.expect("some"), entries[1].seq);
        assert_eq!(store.prune_history(Timestamp::MIN).await.expect("none"), 0);
        let kept = store.history_since(home.id, 0, 10).await.expect("entries");
        assert_eq!(kept, [entries[2].clone()]);
    })
    .await;
}
