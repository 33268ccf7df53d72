//! The change feed: one number for each change, in the order of the commits, for every process.

use std::time::Duration;

use haft_core::alert::Step;
use haft_store::Changes;

use crate::alerts::{above, at};
use crate::support::{both, put_tool, user};

#[tokio::test]
async fn each_change_is_told_with_its_space() {
    both(async |place| {
        let store = place.open().await;
        let start = store.current_revision().await.expect("a revision");
        let (_, home) = user(&store, "ada").await;
        let told = store.changes_since(start).await.expect("changes");
        let expected = |revision, spaces, identity| Changes { revision, spaces, identity, news: vec![] };
        assert_eq!(told, expected(start + 1, vec![home.id], true));

        put_tool(&store, home.id, "weather").await;
        let told = store.changes_since(start + 1).await.expect("changes");
        assert_eq!(told, expected(start + 2, vec![home.id], false));
        let told = store.changes_since(start + 2).await.expect("changes");
        assert_eq!(told, expected(start + 2, vec![], false));
    })
    .await;
}

#[tokio::test]
async fn what_alerts_do_is_told_to_listeners_alone() {
    both(async |place| {
        let store = place.open().await;
        let another = place.another(&store).await;
        let (_, home) = user(&store, "ada").await;
        let start = store.current_revision().await.expect("a revision");
        let alert = store.create_alert(home.id, None, above(1.0)).await.expect("an alert");
        let fired = store.step_alert(home.id, &alert, Step::Fire, Some(2.0), at(0)).await.expect("an answer");
        let news = vec![home.id];
        let told = another.changes_since(start).await.expect("changes");
        let expected = Changes { revision: start + 2, spaces: vec![], identity: false, news };
        assert_eq!((told, fired.is_some()), (expected.clone(), true));

        put_tool(&store, home.id, "weather").await;
        let told = another.changes_since(start + 1).await.expect("changes");
        assert_eq!(told, Changes { revision: start + 3, spaces: vec![home.id], ..expected });
        let told = another.changes_since(start + 2).await.expect("changes");
        assert_eq!((told.spaces, told.news), (vec![home.id], vec![]), "each is told once");
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
