//! The journal of runs: what is taken on is claimed by one, ends once, and is never lost.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{Effect, ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{
    About, DoneStep, Ended, Held, Journal as _, Lease, NewRun, Place, RunKey, RunStatus, Started, StepState,
    Suspended, Wait, WorkerId,
};
use haft_store::{Page, RunFilter, RunJournal, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{both, kind, user};

const LEASE: Duration = Duration::from_secs(30);
const MOST: u64 = 1000;

async fn journal(store: &Store) -> RunJournal {
    RunJournal::open(store, MOST).await.expect("a journal")
}

async fn user_with_space(store: &Store) -> (UserId, SpaceId) {
    let (user, space) = user(store, &format!("user-{}", Uuid::now_v7().simple())).await;
    (user.id, space.id)
}

fn worker() -> WorkerId {
    WorkerId(Uuid::now_v7())
}

fn new(space: SpaceId, user: UserId, lane: &str) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user: Some(user),
        program: "call",
        about: About { lane: lane.to_owned(), name: lane.to_owned(), ..About::default() },
        input: Arc::new(json!({"n": 1})),
        priority: 0,
        delay: Duration::ZERO,
        most_deaths: 3,
        key: None,
        parent: None,
        place: Place::Queue,
    }
}

async fn put(journal: &RunJournal, run: NewRun) -> RunId {
    let id = run.id;
    let started = journal.start(Arc::new(run), LEASE).await.expect("started");
    assert!(matches!(started, Started::Queued(_)), "{started:?}");
    id
}

async fn claim(journal: &RunJournal, most: usize) -> Vec<Held> {
    journal.claim(worker(), most, LEASE).await.expect("claimed").held
}

async fn one(journal: &RunJournal) -> Held {
    let mut held = claim(journal, 8).await;
    assert_eq!(held.len(), 1, "{held:?}");
    held.remove(0)
}

fn succeeded(output: Value) -> Ended {
    Ended { status: RunStatus::Succeeded, output, is_dead_letter: false }
}

async fn status(journal: &RunJournal, space: SpaceId, id: RunId) -> RunStatus {
    journal.get(space, id).await.expect("read").expect("a run").status
}

fn until(waits: Vec<Wait>) -> Suspended {
    Suspended { waits, ..Suspended::default() }
}

fn waiting(key: &str, at_most: Option<Duration>) -> Wait {
    Wait { key: key.to_owned(), for_what: "approval".to_owned(), shown: Some(json!({"why": 1})), at_most }
}

#[tokio::test]
async fn a_run_is_claimed_once_and_ends_once() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let (journal, stranger) = (journal(&store).await, SpaceId::from(Uuid::now_v7()));
        let id = put(&journal, new(space, user, "mail")).await;
        assert_eq!(status(&journal, space, id).await, RunStatus::Queued);
        let held = one(&journal).await;
        assert_eq!((held.run.id, held.lease.epoch), (id, 1));
        assert!(claim(&journal, 8).await.is_empty(), "nobody else gets it");
        assert!(journal.finish(held.lease, Arc::default(), succeeded(json!(7))).await.expect("kept"));
        // Nobody knew whether it was kept, so it is said again.
        assert!(journal.finish(held.lease, Arc::default(), succeeded(json!(7))).await.expect("kept"));
        let run = journal.get(space, id).await.expect("read").expect("a run");
        assert_eq!((run.status, run.output), (RunStatus::Succeeded, Some(json!(7))));
        assert!(run.ended_at.is_some());
        assert_eq!(journal.get(stranger, id).await.expect("read"), None, "a thing of another space");
        let (listed, _) = journal.list(space, &RunFilter::default(), &Page::first(10)).await.expect("a list");
        assert_eq!(listed.len(), 1);
        let failed = RunFilter { statuses: vec![RunStatus::Failed], ..RunFilter::default() };
        assert!(journal.list(space, &failed, &Page::first(10)).await.expect("a list").0.is_empty());
    })
    .await;
}

#[tokio::test]
async fn who_lost_its_lease_writes_nothing() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let id = put(&journal, new(space, user, "mail")).await;
        let late = one(&journal).await.lease;
        assert!(journal.release(late, Arc::default()).await.expect("given back"));
        let next = one(&journal).await;
        assert_eq!(next.lease, Lease { run: id, epoch: 2 });
        let done = [DoneStep { key: "x".to_owned(), effect: Effect::Read, output: Arc::new(json!(1)) }];
        let ended = succeeded(json!("late"));
        assert!(!journal.finish(late, Arc::default(), ended).await.expect("refused"));
        assert!(!journal.done(late, Arc::from(done)).await.expect("refused"));
        assert!(!journal.progress(late, json!(0.5)).await.expect("refused"));
        assert!(!journal.suspend(late, Suspended::default()).await.expect("refused"));
        let reserved = journal.reserve(late, "call".to_owned(), Effect::Write, Arc::default(), Vec::new());
        assert!(!reserved.await.expect("refused"));
        assert!(journal.steps(space, id).await.expect("steps").is_empty());
        let renewed = journal.renew(worker(), vec![late], LEASE).await.expect("renewed");
        assert_eq!(renewed.lost, [late]);
        assert!(journal.finish(next.lease, Arc::default(), succeeded(json!("in time"))).await.expect("kept"));
        let run = journal.get(space, id).await.expect("read").expect("a run");
        assert_eq!(run.output, Some(json!("in time")));
    })
    .await;
}

#[tokio::test]
async fn what_a_dead_worker_held_is_claimed_again() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let held = {
            let journal = journal(&store).await;
            put(&journal, new(space, user, "mail")).await;
            let short = Duration::from_millis(50);
            let held = journal.claim(worker(), 1, short).await.expect("claimed").held.remove(0);
            let reserved =
                journal.reserve(held.lease, "call".to_owned(), Effect::Write, Arc::default(), Vec::new());
            assert!(reserved.await.expect("kept"));
            held
        };
        tokio::time::sleep(Duration::from_millis(80)).await;
        // On SQLite whoever opens the journal is alone with it.
        let journal = journal(&store).await;
        let again = one(&journal).await;
        assert_eq!((again.run.id, again.lease.epoch, again.run.deaths), (held.run.id, 2, 1));
        let states: Vec<StepState> = again.steps.iter().map(|step| step.state).collect();
        assert_eq!(states, [StepState::Reserved], "it may have been sent");
    })
    .await;
}

#[tokio::test]
async fn the_same_key_is_the_same_run() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let keyed = |digest: &str| NewRun {
            key: Some(RunKey { key: "k".to_owned(), digest: digest.to_owned() }),
            place: Place::Here(worker()),
            ..new(space, user, "mail")
        };
        let started = journal.start(Arc::new(keyed("one")), LEASE).await.expect("started");
        let Started::Held(held) = started else { panic!("{started:?}") };
        assert!(claim(&journal, 8).await.is_empty(), "it is held from the first moment on");
        let Started::Before(before) = journal.start(Arc::new(keyed("one")), LEASE).await.expect("found")
        else {
            panic!("another run")
        };
        assert_eq!(before.id, held.run.id);
        assert_eq!(kind(journal.start(Arc::new(keyed("two")), LEASE).await), ErrorKind::Conflict);
        // Many at once make one.
        let many = (0..20).map(|_| {
            let key = Some(RunKey { key: "many".to_owned(), digest: "d".to_owned() });
            journal.start(Arc::new(NewRun { key, ..new(space, user, "mail") }), LEASE)
        });
        let started = futures_util::future::join_all(many).await;
        let fresh = started.iter().filter(|started| matches!(started, Ok(Started::Queued(_)))).count();
        assert_eq!(fresh, 1, "{started:?}");
    })
    .await;
}

#[tokio::test]
async fn lanes_have_limits_and_priorities() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let limited = || {
            let mut run = new(space, user, "slow");
            run.about.lane_limit = Some(2);
            run
        };
        for _ in 0..5 {
            put(&journal, limited()).await;
        }
        let urgent = put(&journal, NewRun { priority: 5, ..limited() }).await;
        let other = put(&journal, new(space, user, "quick")).await;
        let held = claim(&journal, 16).await;
        let ids: Vec<RunId> = held.iter().map(|held| held.run.id).collect();
        assert_eq!(held.len(), 3, "two of the slow lane, and the quick one");
        assert!(ids.contains(&urgent) && ids.contains(&other), "{ids:?}");
        assert!(claim(&journal, 16).await.is_empty());
        let slow = held.iter().find(|held| held.run.about.lane == "slow").expect("one");
        assert!(journal.finish(slow.lease, Arc::default(), succeeded(json!(1))).await.expect("kept"));
        assert_eq!(claim(&journal, 16).await.len(), 1, "as many as have ended");
    })
    .await;
}

#[tokio::test]
async fn a_flood_of_one_space_leaves_room_for_others() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let (quiet_user, quiet) = user_with_space(&store).await;
        let journal = journal(&store).await;
        for _ in 0..40 {
            put(&journal, new(space, user, "flood")).await;
        }
        let first = claim(&journal, 16).await;
        assert_eq!(first.len(), 12, "a part of the places is for others");
        let late = put(&journal, new(quiet, quiet_user, "mail")).await;
        let next = claim(&journal, 4).await;
        assert_eq!(next.first().map(|held| held.run.id), Some(late), "{next:?}");
        // Both wait: each gets its share.
        for _ in 0..40 {
            put(&journal, new(quiet, quiet_user, "mail")).await;
        }
        let both = claim(&journal, 32).await;
        let of_quiet = both.iter().filter(|held| held.run.space == quiet).count();
        assert!((16..=26).contains(&of_quiet), "{of_quiet} of {}", both.len());
    })
    .await;
}

#[tokio::test]
async fn a_wait_ends_by_an_answer_or_by_its_time() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let id = put(&journal, new(space, user, "mail")).await;
        let lease = one(&journal).await.lease;
        assert!(journal.suspend(lease, until(vec![waiting("a", None)])).await.expect("kept"));
        let run = journal.get(space, id).await.expect("read").expect("a run");
        assert_eq!((run.status, run.waiting_for.as_deref()), (RunStatus::Waiting, Some("approval")));
        assert!(claim(&journal, 8).await.is_empty());
        let (listed, _) = journal.approvals(space, &Page::first(10)).await.expect("a list");
        assert_eq!(listed.first().and_then(|found| found.step.shown.clone()), Some(json!({"why": 1})));
        assert!(journal.deliver(id, "a".to_owned(), None, json!("yes")).await.expect("told"));
        assert!(!journal.deliver(id, "a".to_owned(), None, json!("no")).await.expect("told"), "once");
        let held = one(&journal).await;
        assert_eq!(held.steps.first().and_then(|step| step.output.as_deref()), Some(&json!("yes")));
        // Answered before it began to wait.
        let ahead = vec![waiting("b", None)];
        let reserved =
            journal.reserve(held.lease, "call".to_owned(), Effect::Read, Arc::default(), ahead.clone());
        assert!(reserved.await.expect("kept"));
        assert!(journal.deliver(id, "b".to_owned(), None, json!("early")).await.expect("told"));
        assert!(journal.suspend(held.lease, until(ahead)).await.expect("kept"));
        let held = one(&journal).await;
        // Nobody answers.
        let short = vec![waiting("c", Some(Duration::from_millis(30)))];
        assert!(journal.suspend(held.lease, until(short)).await.expect("kept"));
        tokio::time::sleep(Duration::from_millis(50)).await;
        let held = one(&journal).await;
        let last = held.steps.iter().find(|step| step.key == "c").expect("a step");
        assert!(last.is_expired && last.state == StepState::Done);
        assert_eq!(held.run.deaths, 0, "nobody died");
    })
    .await;
}

#[tokio::test]
async fn what_is_for_later_comes_later() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let later = NewRun { delay: Duration::from_millis(60), ..new(space, user, "mail") };
        put(&journal, later).await;
        let claimed = journal.claim(worker(), 8, LEASE).await.expect("claimed");
        assert!(claimed.held.is_empty());
        assert!(claimed.next_due.is_some_and(|due| due <= Duration::from_millis(60)), "{claimed:?}");
        tokio::time::sleep(Duration::from_millis(80)).await;
        one(&journal).await;
    })
    .await;
}

#[tokio::test]
async fn people_end_runs_try_them_again_and_say_what_became_of_them() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let ended = |status| Ended { status, output: json!(status), is_dead_letter: false };
        let cancelled = || ended(RunStatus::Cancelled);
        let id = put(&journal, new(space, user, "mail")).await;
        let run = journal.cancel(space, id, Some(user), cancelled()).await.expect("cancelled");
        assert_eq!(run.status, RunStatus::Cancelled);
        assert_eq!(kind(journal.cancel(space, id, Some(user), cancelled()).await), ErrorKind::Conflict);
        let other = SpaceId::from(Uuid::now_v7());
        assert_eq!(kind(journal.cancel(other, id, Some(user), cancelled()).await), ErrorKind::NotFound);
        assert_eq!(
            journal.retry(space, id, user, &json!({}), &[]).await.expect("again").status,
            RunStatus::Queued
        );
        let held = one(&journal).await;
        assert_eq!(kind(journal.retry(space, id, user, &json!({}), &[]).await), ErrorKind::Conflict);
        let run = journal.cancel(space, id, Some(user), cancelled()).await.expect("told");
        assert_eq!((run.status, run.is_cancel_asked), (RunStatus::Running, true));
        assert!(journal.finish(held.lease, Arc::default(), ended(RunStatus::Unknown)).await.expect("kept"));
        let run = journal.resolve(space, id, Some(user), succeeded(json!("it did"))).await.expect("resolved");
        assert_eq!((run.status, run.output), (RunStatus::Succeeded, Some(json!("it did"))));
        assert_eq!(kind(journal.resolve(space, id, Some(user), cancelled()).await), ErrorKind::Conflict);
    })
    .await;
}

#[tokio::test]
async fn a_child_tells_its_parent_and_a_full_queue_says_so() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = RunJournal::open(&store, 3).await.expect("a journal");
        let parent = put(&journal, new(space, user, "flow")).await;
        let lease = one(&journal).await.lease;
        let child = NewRun { parent: Some((parent, "child".to_owned())), ..new(space, user, "mail") };
        put(&journal, child).await;
        let wait = Wait { for_what: "run".to_owned(), ..waiting("child", None) };
        assert!(journal.suspend(lease, until(vec![wait])).await.expect("kept"));
        let held = one(&journal).await;
        assert!(journal.finish(held.lease, Arc::default(), succeeded(json!("done"))).await.expect("kept"));
        let held = one(&journal).await;
        assert_eq!(held.run.id, parent);
        assert_eq!(held.steps.first().and_then(|step| step.output.as_deref()), Some(&json!("done")));
        assert!(journal.finish(held.lease, Arc::default(), succeeded(json!(1))).await.expect("kept"));
        for _ in 0..3 {
            put(&journal, new(space, user, "mail")).await;
        }
        assert_eq!(
            kind(journal.start(Arc::new(new(space, user, "mail")), LEASE).await),
            ErrorKind::RateLimit
        );
        claim(&journal, 1).await;
        put(&journal, new(space, user, "mail")).await;
        let counts = journal.counts().await.expect("counts");
        let mail = counts.iter().find(|counts| counts.lane == "mail").expect("counted");
        assert_eq!((mail.queued, mail.running), (3, 1));
    })
    .await;
}

#[tokio::test]
async fn what_ended_long_ago_goes() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user_with_space(&store).await;
        let journal = journal(&store).await;
        let id = put(&journal, new(space, user, "mail")).await;
        let open = put(&journal, new(space, user, "mail")).await;
        let held = claim(&journal, 1).await.remove(0);
        assert!(journal.finish(held.lease, Arc::default(), succeeded(json!(1))).await.expect("kept"));
        assert!(!journal.tidy(Duration::from_secs(60)).await.expect("tidied"));
        assert!(journal.get(space, id).await.expect("read").is_some());
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(!journal.tidy(Duration::ZERO).await.expect("tidied"));
        assert!(journal.get(space, id).await.expect("read").is_none());
        assert!(journal.get(space, open).await.expect("read").is_some(), "what is open stays");
    })
    .await;
}
