//! The change feed: one number for each change, in the order of the commits, for every process.

use std::time::Duration;

use haft_store::Changes;

use crate::support::{both, put_tool, user};

#[tokio::test]
async fn each_change_is_told_with_its_space() {
    both(async |place| {
        let store = place.open().await;
        let start = store.current_revision().await.expect("a revision");
        let (_, home) = user(&store, "ada").await;
        let told = store.changes_since(start).await.expect("changes");
        assert_eq!(told, Changes { revision: start + 1, spaces: vec![home.id], identity: true });

        put_tool(&store, home.id, "weather").await;
        let told = store.changes_since(start + 1).await.expect("changes");
        assert_eq!(told, Changes { revision: start + 2, spaces: vec![home.id], identity: false });
        let told = store.changes_since(start + 2).await.expect("changes");
        assert_eq!(told, Changes { revision: start + 2, spaces: vec![], identity: false });
    })
    .await;
}

#[tokio::test]
async fn two_writers_take_turns_and_nobody_misses_a_change() {
    both(async |place| {
        let store = place.open().await;
        let another = place.another(&store).await;
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
                let told = store.changes_since(revision).await.expect("changes");
                assert!(told.revision >= revision);
                revision = told.revision;
                seen.extend(told.spaces);
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
async fn a_change_wakes_who_waits() {
    both(async |place| {
        let store = place.open().await;
        let another = place.another(&store).await;
        let (mut here, mut there) = (store.changed(), another.changed());
        here.mark_unchanged();
        // A listener may need a moment before it hears.
        tokio::time::sleep(Duration::from_millis(200)).await;
        there.mark_unchanged();
        user(&store, "ada").await;
        assert!(here.has_changed().expect("alive"), "at once within the process");
        let heard = tokio::time::timeout(Duration::from_secs(5), there.changed()).await;
        heard.expect("in time").expect("alive");
        assert_eq!(*there.borrow(), store.current_revision().await.expect("a revision"));
    })
    .await;
}
