//! Runs that are carried on before they are kept: they are kept when whoever began them hears of them, are held on to
//! meanwhile, and leave nothing where they cannot be kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use haft_core::{BoxFuture, CallError, Effect, ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{
    About, Ended, Failpoints, GaveUp, Halt, NewRun, Place, Program, Programs, RunContext, RunStatus, Runs,
    Settings, StepState,
};
use haft_store::RunJournal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{both, kind, user};

const STEPS: usize = 3;

/// Takes a few steps, each as long and of such effect as its run says, and then waits for what is sent to it.
struct Walker {
    journal: RunJournal,
    /// Steps that were carried out.
    taken: AtomicUsize,
    /// How often it was told that a run is given up.
    given_up: AtomicUsize,
    /// How often a step was told to end.
    stopped: AtomicUsize,
}

impl Program for Walker {
    fn name(&self) -> &'static str {
        "walks"
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, context: &'a mut RunContext) -> BoxFuture<'a, Result<Ended, Halt>> {
        Box::pin(async move {
            let (space, id) = (context.run().space, context.run().id);
            let pause = Duration::from_millis(context.run().input["pause"].as_u64().unwrap_or_default());
            let effect = match context.run().input["writes"] == true {
                true => Effect::Write,
                false => Effect::Read,
            };
            let (cancel, is_deep) = (context.cancellation().clone(), context.run().input["deep"] == true);
            for step in 0..STEPS {
                let work = || async {
                    if effect == Effect::Write {
                        let kept = self.journal.get(space, id).await?;
                        assert_eq!(
                            kept.map(|run| run.status),
                            Some(RunStatus::Running),
                            "kept before a write"
                        );
                    }
                    tokio::select! {
                        () = sleep(pause) => {}
                        () = cancel.cancelled() => drop(self.stopped.fetch_add(1, Ordering::Relaxed)),
                    }
                    self.taken.fetch_add(1, Ordering::Relaxed);
                    Ok(if is_deep { deep() } else { json!(step) })
                };
                context.step(&format!("step:{step}"), effect, work).await?;
            }
            let heard = context.receive("0", None).await?;
            Ok(Ended { status: RunStatus::Succeeded, output: json!(heard), is_dead_letter: false })
        })
    }

    fn gave_up<'a>(&'a self, _: &'a RunContext, _: GaveUp) -> BoxFuture<'a, Ended> {
        self.given_up.fetch_add(1, Ordering::Relaxed);
        let ended = Ended { status: RunStatus::Failed, output: Value::Null, is_dead_letter: false };
        Box::pin(std::future::ready(ended))
    }
}

/// As deep as JSON may be that is kept.
fn deep() -> Value {
    (0..126).fold(json!(1), |inner, _| json!([inner]))
}

fn runs(journal: &RunJournal, lease: Duration) -> (Arc<Walker>, Runs) {
    let (taken, given_up, stopped) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let walker = Arc::new(Walker { journal: journal.clone(), taken, given_up, stopped });
    let programs = Programs::default().with(walker.clone());
    let settings = Settings { lease, ..Settings::default() };
    (walker, Runs::new(Arc::new(journal.clone()), programs, settings, Failpoints::default()))
}

fn walking(space: SpaceId, user: UserId, input: Value) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user: Some(user),
        program: "walks",
        about: About { lane: "w".to_owned(), name: "a walk".to_owned(), ..About::default() },
        input: Arc::new(input),
        priority: 0,
        delay: Duration::ZERO,
        most_deaths: 3,
        key: None,
        parent: None,
        place: Place::Queue,
    }
}

async fn waits(journal: &RunJournal, space: SpaceId, id: RunId) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let run = journal.get(space, id).await.expect("read").expect("a run");
        if run.status == RunStatus::Waiting {
            assert_eq!((run.waiting_for.as_deref(), run.epoch, run.due_at), (Some("inbox"), 1, None));
            break;
        }
        assert!(Instant::now() < deadline, "{id} is {:?}", run.status);
        sleep(Duration::from_millis(20)).await;
    }
    let steps = journal.steps(space, id).await.expect("steps");
    let stands: Vec<(&str, StepState)> = steps.iter().map(|step| (step.key.as_str(), step.state)).collect();
    let done = StepState::Done;
    let expected = [("step:0", done), ("step:1", done), ("step:2", done), ("inbox:0", StepState::Waiting)];
    // One that was kept as it waited is a row, and has no step for that.
    assert!(stands == expected || stands == expected[..STEPS], "{stands:?}");
    assert_eq!(steps.get(1).and_then(|step| step.output.as_deref()), Some(&json!(1)));
}

#[tokio::test]
async fn what_takes_no_time_is_kept_as_it_waits_and_goes_on_with_what_is_sent() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (walker, runs) = runs(&journal, Settings::default().lease);
        let begun = (0..150).map(|n| runs.begin_here(walking(space.id, user.id, json!({"n": n}))));
        let ids = join_all(begun).await.into_iter().collect::<Result<Vec<RunId>, CallError>>().expect("kept");
        for id in &ids {
            waits(&journal, space.id, *id).await;
        }
        assert_eq!(walker.taken.load(Ordering::Relaxed), ids.len() * STEPS, "nothing is done again");
        let deeply = walking(space.id, user.id, json!({"deep": true}));
        let id = runs.begin_here(deeply).await.expect("kept");
        let steps = journal.steps(space.id, id).await.expect("readable");
        assert_eq!(steps.iter().filter(|step| step.output.as_deref() == Some(&deep())).count(), STEPS);
        let run = journal.get(space.id, ids[7]).await.expect("read").expect("a run");
        assert_eq!(
            (&run.input["n"], run.about.name.as_str(), run.user),
            (&json!(7), "a walk", Some(user.id))
        );
        assert!(runs.send(space.id, ids[7], json!("home"), None).await.expect("sent"));
        let ended = runs.wait_for(space.id, ids[7], Duration::from_secs(30)).await.expect("read");
        assert_eq!(ended.and_then(|run| run.output), Some(json!(["home"])));
        assert_eq!(walker.taken.load(Ordering::Relaxed), (ids.len() + 1) * STEPS);
    })
    .await;
}

#[tokio::test]
async fn what_writes_is_kept_before_it_does() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (walker, runs) = runs(&journal, Settings::default().lease);
        let id = runs.begin_here(walking(space.id, user.id, json!({"writes": true}))).await.expect("kept");
        waits(&journal, space.id, id).await;
        assert_eq!(walker.given_up.load(Ordering::Relaxed), 0);
    })
    .await;
}

#[tokio::test]
async fn what_takes_longer_is_kept_meanwhile_and_is_held_on_to() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (walker, runs) = runs(&journal, Duration::from_secs(2));
        let stop = CancellationToken::new();
        let began = Instant::now();
        let id = runs.begin_here(walking(space.id, user.id, json!({"pause": 2000}))).await.expect("kept");
        assert!(began.elapsed() < Duration::from_secs(2), "it is kept before its first step is over");
        let run = journal.get(space.id, id).await.expect("read").expect("a run");
        assert_eq!((run.status, run.epoch), (RunStatus::Running, 1));
        // Leases are renewed twice a second, and there is always one that is not kept yet.
        let beginning = async {
            let mut ids = vec![id];
            while began.elapsed() < Duration::from_millis(1600) {
                let several = (0..4).map(|_| async {
                    runs.begin_here(walking(space.id, user.id, json!({"pause": 7}))).await.expect("kept")
                });
                ids.extend(join_all(several).await);
            }
            for id in &ids {
                waits(&journal, space.id, *id).await;
            }
            stop.cancel();
            ids.len()
        };
        let ((), count) = tokio::join!(runs.work(stop.clone(), Duration::from_secs(5)), beginning);
        assert!(count > 20, "{count}");
        assert_eq!(walker.taken.load(Ordering::Relaxed), count * STEPS, "nothing was taken for lost");
    })
    .await;
}

#[tokio::test]
async fn who_does_not_wait_until_it_is_kept_wants_it_to_end() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (walker, runs) = runs(&journal, Settings::default().lease);
        let new = walking(space.id, user.id, json!({"pause": 20_000}));
        let id = new.id;
        let left = tokio::time::timeout(Duration::from_millis(2), runs.begin_here(new)).await;
        assert!(left.is_err(), "it is not kept yet");
        // What was begun is kept all the same, as it stands then.
        let deadline = Instant::now() + Duration::from_secs(30);
        while journal
            .get(space.id, id)
            .await
            .expect("read")
            .is_none_or(|run| run.status != RunStatus::Waiting)
        {
            assert!(Instant::now() < deadline, "it goes on");
            sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(walker.stopped.load(Ordering::Relaxed), STEPS);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_given_up() {
    both(async |place| {
        let store = place.open().await;
        let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
        let journal = RunJournal::open(&store, 100).await.expect("a journal");
        let (walker, runs) = runs(&journal, Settings::default().lease);
        // Nobody's run: it is refused, and takes none of those with it that come at the same time.
        let stranger = SpaceId::from(Uuid::now_v7());
        let strange = walking(stranger, user.id, json!({}));
        let own = (0..5).map(|_| runs.begin_here(walking(space.id, user.id, json!({}))));
        let (refused, kept) = tokio::join!(runs.begin_here(strange.clone()), join_all(own));
        assert_eq!(kind(refused), ErrorKind::NotFound);
        for id in kept {
            waits(&journal, space.id, id.expect("kept")).await;
        }
        assert_eq!((walker.given_up.load(Ordering::Relaxed), runs.holds(strange.id)), (1, false));
        assert_eq!(journal.get(stranger, strange.id).await.expect("read"), None);
        store.close().await;
        for pause in [0, 60] {
            let new = walking(space.id, user.id, json!({"pause": pause}));
            let id = new.id;
            assert_eq!(kind(runs.begin_here(new).await), ErrorKind::Unavailable, "{pause}");
            assert!(!runs.holds(id));
        }
        assert!(walker.given_up.load(Ordering::Relaxed) >= 3);
    })
    .await;
}
