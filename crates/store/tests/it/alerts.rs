//! Alerts: optimistic locking, and firing, resolving and notifying exactly once with several processes.

use futures_util::future::join_all;
use haft_core::alert::{Alert, AlertSpec, AlertState, AlertTransition, Metric};
use haft_core::{ErrorKind, SpaceId};
use haft_store::{Force, Page, Store};
use jiff::Timestamp;
use uuid::Uuid;

use crate::support::{KEY, TestDatabase, all, both, keys, kind, user};

/// An alert that fires above a number.
pub(crate) fn above(above: f64) -> AlertSpec {
    let (name, webhook) = (Some("slow".to_owned()), Some("https://hooks.example.com/key".to_owned()));
    AlertSpec { name, metric: Metric::P95, tool: None, above, for_seconds: 0, webhook }
}

pub(crate) fn instant(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).expect("an instant")
}

async fn read(store: &Store, space: SpaceId, alert: &Alert) -> Alert {
    store.get_alert(space, alert.id).await.expect("a result").expect("an alert")
}

async fn step(
    store: &Store,
    alert: &Alert,
    step: AlertTransition,
    value: Option<f64>,
    seconds: i64,
) -> Option<Alert> {
    store.step_alert(alert.space_id, alert, step, value, instant(seconds)).await.expect("a result")
}

/// Eight concurrent evaluators, in two processes if the database allows it.
async fn evaluators(db: &TestDatabase, store: &Store) -> Vec<Store> {
    let another = db.another(store).await;
    (0..8).map(|number| if number % 2 == 0 { store.clone() } else { another.clone() }).collect()
}

#[tokio::test]
async fn stale_alert_changes_are_rejected() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let alert = store.create_alert(home.id, Some(ada.id), above(10.5)).await.expect("an alert");
        assert_eq!((alert.version, alert.owner_id, alert.state()), (1, Some(ada.id), AlertState::Calm));
        assert_eq!(read(&store, home.id, &alert).await, alert);
        let second = store.create_alert(home.id, None, above(10.5)).await.expect("names may be the same");

        let changed = store.put_alert(home.id, alert.id, above(20.0), 1).await.expect("changed");
        assert_eq!((changed.version, changed.spec.above, changed.owner_id), (2, 20.0, Some(ada.id)));
        assert_eq!(kind(store.put_alert(home.id, alert.id, above(30.0), 1).await), ErrorKind::Conflict);
        let (first, next) = store.list_alerts(home.id, &Page::first(1)).await.expect("a page");
        let rest = Page { limit: 1, cursor: next };
        let (rest, end) = store.list_alerts(home.id, &rest).await.expect("a page");
        assert_eq!((first, rest, end), (vec![changed], vec![second], None), "the oldest first");

        assert_eq!(kind(store.delete_alert(home.id, alert.id, Some(1)).await), ErrorKind::Conflict);
        store.delete_alert(home.id, alert.id, Some(2)).await.expect("deleted");
        assert_eq!(kind(store.delete_alert(home.id, alert.id, None).await), ErrorKind::NotFound);
        assert_eq!(kind(store.put_alert(home.id, alert.id, above(1.0), 2).await), ErrorKind::NotFound);
        assert_eq!(
            step(&store, &alert, AlertTransition::Fire, None, 0).await,
            None,
            "a deleted alert does not fire"
        );
    })
    .await;
}

#[tokio::test]
async fn one_of_several_processes_fires_or_resolves_an_alert() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let mut alert = store.create_alert(home.id, None, above(10.0)).await.expect("an alert");
        let evaluators = evaluators(db, &store).await;
        for (turn, to_take) in
            [(1_i64, AlertTransition::Fire), (2, AlertTransition::Resolve), (3, AlertTransition::Fire)]
        {
            let before = store.current_revision().await.expect("a revision");
            let steps = evaluators.iter().map(|store| step(store, &alert, to_take, Some(11.5), turn));
            let mut taken: Vec<Alert> = join_all(steps).await.into_iter().flatten().collect();
            assert_eq!(taken.len(), 1, "{to_take:?}");
            let revision = store.current_revision().await.expect("a revision");
            assert_eq!(revision, before + 1, "the losing steps changed nothing");
            alert = taken.remove(0);
            assert_eq!(read(&store, home.id, &alert).await, alert);
            assert_eq!((alert.standing.turns, alert.is_firing()), (turn.unsigned_abs(), turn != 2));
            assert_eq!(alert.standing.value, Some(11.5));
        }
        assert_eq!(
            (alert.standing.fired_at, alert.standing.resolved_at),
            (Some(instant(3)), Some(instant(2)))
        );
    })
    .await;
}

#[tokio::test]
async fn intermediate_steps_are_ordered_and_not_in_the_feed() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let calm = store.create_alert(home.id, None, above(10.0)).await.expect("an alert");
        let revision = store.current_revision().await.expect("a revision");
        let pending = step(&store, &calm, AlertTransition::Rise, Some(11.0), 0).await.expect("the first");
        assert_eq!((pending.state(), pending.since()), (AlertState::Pending, Some(instant(0))));
        assert_eq!(
            step(&store, &calm, AlertTransition::Fire, Some(11.0), 1).await,
            None,
            "the state is stale"
        );
        let held = step(&store, &pending, AlertTransition::Hold, Some(12.0), 2).await.expect("the first");
        assert_eq!(held.standing.seen_above_at, Some(instant(2)));
        assert_eq!(
            step(&store, &pending, AlertTransition::Fall, None, 3).await,
            None,
            "another step was applied since"
        );
        let fallen = step(&store, &held, AlertTransition::Fall, None, 4).await.expect("the first");
        assert_eq!((fallen.state(), fallen.standing.value), (AlertState::Calm, None));
        assert_eq!(read(&store, home.id, &calm).await, fallen);
        assert_eq!(store.current_revision().await.expect("a revision"), revision);
    })
    .await;
}

#[tokio::test]
async fn measurements_are_discarded_when_the_condition_changes() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let calm = store.create_alert(home.id, None, above(10.0)).await.expect("an alert");
        let pending = step(&store, &calm, AlertTransition::Rise, Some(11.0), 0).await.expect("the first");
        let later = AlertSpec { for_seconds: 60, ..above(10.0) };
        let later = store.put_alert(home.id, calm.id, later, 1).await.expect("changed");
        assert_eq!(later.standing.above_since, Some(instant(0)), "the condition is the same");
        assert_eq!(
            step(&store, &pending, AlertTransition::Fire, Some(11.0), 1).await,
            None,
            "the definition has changed"
        );
        let higher = store.put_alert(home.id, calm.id, above(20.0), 2).await.expect("changed");
        assert_eq!(higher.state(), AlertState::Calm);

        let fired = step(&store, &higher, AlertTransition::Fire, Some(21.0), 2).await.expect("the first");
        let lower = store.put_alert(home.id, calm.id, above(5.0), 3).await.expect("changed");
        assert_eq!((lower.state(), lower.since()), (AlertState::Firing, fired.since()), "it is still firing");
    })
    .await;
}

#[tokio::test]
async fn one_of_several_processes_claims_the_notification() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let calm = store.create_alert(home.id, None, above(10.0)).await.expect("an alert");
        assert!(!calm.needs_notification());
        let fired = step(&store, &calm, AlertTransition::Fire, Some(11.0), 0).await.expect("the first");
        let claims = evaluators(db, &store).await;
        let claims = join_all(claims.iter().map(|store| store.claim_notification(home.id, &fired))).await;
        let claimed = claims.into_iter().filter(|claim| *claim.as_ref().expect("a result")).count();
        assert_eq!(claimed, 1);
        let note = async |turn, error: Option<&str>| {
            store
                .record_notification(home.id, calm.id, turn, error.map(str::to_owned))
                .await
                .expect("recorded");
            read(&store, home.id, &calm).await.standing.webhook_error
        };
        assert_eq!(note(1, Some("it was not there")).await.as_deref(), Some("it was not there"));

        let told = read(&store, home.id, &calm).await;
        let resolved = step(&store, &told, AlertTransition::Resolve, None, 1).await.expect("the first");
        let again = step(&store, &resolved, AlertTransition::Fire, Some(11.0), 2).await.expect("the first");
        assert!(!store.claim_notification(home.id, &resolved).await.expect("a result"), "it fires again");
        assert!(store.claim_notification(home.id, &again).await.expect("a result"));
        let late = note(1, Some("late")).await;
        assert_eq!(late.as_deref(), Some("it was not there"), "a later notification was claimed");
        assert_eq!(note(3, None).await, None);

        note(3, Some("refused")).await;
        let elsewhere = AlertSpec { webhook: None, ..above(10.0) };
        let moved = store.put_alert(home.id, calm.id, elsewhere, 1).await.expect("changed");
        assert_eq!(moved.standing.webhook_error, None, "the error belonged to the previous URL");
    })
    .await;
}

#[tokio::test]
async fn unreadable_alerts_are_skipped_when_all_spaces_are_listed() {
    both(async |db| {
        let store = db.open().await;
        let ((_, home), (_, away)) = (user(&store, "ada").await, user(&store, "bob").await);
        let here = store.create_alert(home.id, None, above(1.0)).await.expect("an alert");
        let there = store.create_alert(away.id, None, above(2.0)).await.expect("an alert");
        let broken = store.create_alert(away.id, None, above(3.0)).await.expect("an alert");
        db.raw(&format!("UPDATE alerts SET doc = 'x' WHERE id = '{}'", broken.id)).await;
        let mut seen = store.list_all_alerts().await.expect("a list");
        seen.sort_by_key(|alert| alert.id);
        assert_eq!(seen, [here, there]);
    })
    .await;
}

#[tokio::test]
async fn alerts_are_limited_and_deleted_with_their_space() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let team = store.create_space("team", ada.id).await.expect("a space");
        for _ in 0..100 {
            store.create_alert(team.id, None, above(1.0)).await.expect("an alert");
        }
        assert_eq!(kind(store.create_alert(team.id, None, above(1.0)).await), ErrorKind::Conflict);
        assert_eq!(kind(store.check_alert_limit(team.id).await), ErrorKind::Conflict);
        store.check_alert_limit(home.id).await.expect("room");
        assert_eq!(kind(store.delete_space(team.id, Force::No).await), ErrorKind::Conflict);
        store.delete_space(team.id, Force::Yes).await.expect("deleted");
        assert!(store.list_all_alerts().await.expect("a list").is_empty());
        assert!(store.list_alerts(team.id, &all()).await.expect("a list").0.is_empty());
        let nowhere = SpaceId::from(Uuid::now_v7());
        assert_eq!(kind(store.create_alert(nowhere, None, above(1.0)).await), ErrorKind::NotFound);
    })
    .await;
}

const WEBHOOK: &str = "https://hooks.example.com/services/T0/plain-credential";

/// Returns the content of all SQLite files of a database. Returns `None` on PostgreSQL.
fn bytes_on_disk(db: &TestDatabase) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(db.directory()?).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            bytes.extend(std::fs::read(path).expect("a file"));
        }
    }
    Some(bytes)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn webhooks_are_encrypted_at_rest_and_bound_to_their_alert() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let spec = |name: &str, webhook: &str| AlertSpec {
            name: Some(name.to_owned()),
            webhook: Some(webhook.to_owned()),
            ..above(1.0)
        };
        let made = store.create_alert(home.id, None, spec("one", WEBHOOK)).await.expect("made");
        let other = store.create_alert(home.id, None, spec("two", "https://two.example.com/key")).await;
        let other = other.expect("made");
        let changed = spec("one", "https://hooks.example.com/second-credential");
        let changed = store.put_alert(home.id, made.id, changed, 1).await.expect("changed");
        assert_eq!(read(&store, home.id, &made).await, changed);
        store.close().await;
        drop(store);
        if let Some(bytes) = bytes_on_disk(db) {
            for credential in ["second-credential", "two.example.com"] {
                assert!(!contains(&bytes, credential), "{credential} is on disk");
            }
        }

        db.raw(&format!(
            "UPDATE alerts SET webhook = (SELECT webhook FROM alerts WHERE id = '{}') WHERE id = '{}'",
            other.id, made.id
        ))
        .await;
        let store = db.open().await;
        let masked = read(&store, home.id, &made).await;
        assert_eq!(masked.spec.webhook.as_deref(), Some("***"), "the ciphertext was moved to another alert");
        let (listed, _) = store.list_alerts(home.id, &all()).await.expect("all of them");
        assert_eq!(listed, [masked.clone(), other], "the other alert can be read");
        let readable = async || store.list_all_alerts().await.expect("a list").len();
        assert_eq!(readable().await, 1, "its webhook is not called");

        let changed = AlertSpec { above: 2.0, ..masked.spec };
        let changed = store.put_alert(home.id, made.id, changed, 2).await.expect("changed");
        assert_eq!((changed.spec.above, changed.spec.webhook.as_deref()), (2.0, Some("***")));
        assert_eq!(readable().await, 1, "the stored webhook is not replaced by the mask");
        let whole = store.put_alert(home.id, made.id, spec("one", WEBHOOK), 3).await.expect("changed");
        assert_eq!(whole.spec.webhook.as_deref(), Some(WEBHOOK));
        assert_eq!(readable().await, 2);
        store.delete_alert(home.id, made.id, Some(4)).await.expect("deleted");
    })
    .await;
}

#[tokio::test]
async fn plain_webhooks_are_encrypted_when_the_store_is_opened() {
    both(async |db| {
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let spec = AlertSpec { webhook: Some(WEBHOOK.to_owned()), ..above(1.0) };
        let made = store.create_alert(home.id, None, spec.clone()).await.expect("made");
        store.close().await;
        drop(store);
        let old = serde_json::to_string(&spec).expect("JSON");
        db.raw(&format!("UPDATE alerts SET doc = '{old}', webhook_key = NULL, webhook = NULL")).await;
        if let Some(bytes) = bytes_on_disk(db) {
            assert!(contains(&bytes, "plain-credential"), "an older version stored plain text");
        }

        let store = db.open().await;
        assert_eq!(read(&store, home.id, &made).await, made);
        store.close().await;
        drop(store);
        if let Some(bytes) = bytes_on_disk(db) {
            assert!(!contains(&bytes, "plain-credential"), "it is still on disk");
        }
    })
    .await;
}

#[tokio::test]
async fn key_rotation_includes_webhooks() {
    both(async |db| {
        let new = "0202020202020202020202020202020202020202020202020202020202020202";
        let store = db.open().await;
        let (_, home) = user(&store, "ada").await;
        let made = store.create_alert(home.id, None, above(1.0)).await.expect("made");
        store.close().await;
        drop(store);

        let missing = Store::open(&db.database, keys(&[new])).await.err().expect("refused");
        assert_eq!(missing.kind(), ErrorKind::Internal, "the key of the webhook is missing");
        let store = db.open_with(keys(&[new, KEY])).await;
        assert_eq!(store.rotate_keys().await.expect("rotated"), 1);
        assert_eq!(store.rotate_keys().await.expect("nothing more"), 0);
        store.close().await;
        drop(store);
        let store = db.open_with(keys(&[new])).await;
        assert_eq!(read(&store, home.id, &made).await, made);
    })
    .await;
}
