//! The change feed: one revision per change, in commit order, across processes.

use std::time::Duration;

use haft_core::alert::AlertTransition;
use haft_store::Changes;

use crate::alerts::{above, instant};
use crate::support::{both, put_tool, user};

#[tokio::test]
async fn changes_are_listed_with_their_space() {
    both(async |db| {
        let store = db.open().await;
        let start = store.current_revision().await.expect("a revision");
        let (_, home) = user(&store, "ada").await;
        let changes = store.changes_since(start).await.expect("changes");
        let expected = |revision, spaces, identity| Changes { revision, spaces, identity, news: vec![] };
        assert_eq!(changes, expected(start + 1, vec![home.id], true));

        put_tool(&store, home.id, "weather").await;
        let changes = store.changes_since(start + 1).await.expect("changes");
        assert_eq!(changes, expected(start + 2, vec![home.id], false));
        let changes = store.changes_since(start + 2).await.expect("changes");
        assert_eq!(changes, expected(start + 2, vec![], false));
    })
    .await;
}

#[tokio::test]
async fn alert_changes_are_news_for_subscribers_only() {
    both(async |db| {
        let store = db.open().await;
        let another = db.another(&store).await;
        let (_, home) = user(&store, "ada").await;
        let start = store.current_revision().await.expect("a revision");
        let alert = store.create_alert(home.id, None, above(1.0)).await.expect("an alert");
        let fired = store
            .step_alert(home.id, &alert, AlertTransition::Fire, Some(2.0), instant(0))
            .await
            .expect("a result");
        let news = vec![home.id];
        let changes = another.changes_since(start).await.expect("changes");
        let expected = Changes { revision: start + 2, spaces: vec![], identity: false, news };
        assert_eq!((changes, fired.is_some()), (expected.clone(), true));

        put_tool(&store, home.id, "weather").await;
        let changes = another.changes_since(start + 1).await.expect("changes");
        assert_eq!(changes, Changes { revision: start + 3, spaces: vec![home.id], ..expected });
        let changes = another.changes_since(start + 2).await.expect("changes");
        assert_eq!((changes.spaces, changes.news), (vec![home.id], vec![]), "each change is listed once");
    })
    .await;
}

#[tokio::test]
async fn concurrent_writers_are_serialized_and_no_change_is_missed() {
    both(async |db| {
        let store = db.open().await;
        let another = db.another(&store).await;
        let (ada, _) = user(&store, "ada").await;
        let start = store.current_revision().await.expect("a revision");
        let make = async |by: &haft_store::Store, name: &str| {
            let mut made = Vec::new();
            for number in 0..10 {
                let space = by.create_space(&format!("{name} {number}"), ada.id).await.expect("a space");
                made.push(space.id);
            }
            made
        };
        let watch = async {
            let (mut seen, mut revision) = (Vec::new(), start);
            while revision < start + 20 {
                let changes = store.changes_since(revision).await.expect("changes");
                assert!(changes.revision >= revision);
                revision = changes.revision;
                seen.extend(changes.spaces);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            seen
        };
        let (one, other, mut seen) = tokio::join!(make(&store, "one"), make(&another, "other"), watch);
        let mut made = [one, other].concat();
        made.sort();
        seen.sort();
        assert_eq!(seen, made);
        assert_eq!(store.current_revision().await.expect("a revision"), start + 20);
    })
    .await;
}

#[tokio::test]
async fn changes_wake_subscribers() {
    both(async |db| {
        let store = db.open().await;
        let another = db.another(&store).await;
        let (mut here, mut there) = (store.changed(), another.changed());
        here.mark_unchanged();
        // A listener may need a moment before it receives notifications.
        tokio::time::sleep(Duration::from_millis(200)).await;
        there.mark_unchanged();
        user(&store, "ada").await;
        assert!(here.has_changed().expect("alive"), "at once within the process");
        let notified = tokio::time::timeout(Duration::from_secs(5), there.changed()).await;
        notified.expect("in time").expect("alive");
        assert_eq!(*there.borrow(), store.current_revision().await.expect("a revision"));
    })
    .await;
}
