//! Runs that go on with what was sent to them before that is kept: each letter is heard once, whoever else takes the run,
//! and what could not be kept leaves it as it was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use haft_core::{BoxFuture, Effect, ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{
    About, Ended, Failpoints, GaveUp, Halt, Journal as _, NewRun, Place, Program, Programs, Run, RunContext,
    RunStatus, Runs, Settings, StepState, WholeRun,
};
use haft_store::{RunJournal, Store};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::support::{both, kind, user};

/// Takes a step for each letter, as long and of such effect as the letter says, and waits for more.
struct Talker {
    journal: RunJournal,
    /// Steps that were carried out.
    taken: AtomicUsize,
    /// How often nothing counted that was done.
    forgone: AtomicUsize,
}

impl Program for Talker {
    fn name(&self) -> &'static str {
        "talks"
    }

    fn is_lasting(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, context: &'a mut RunContext) -> BoxFuture<'a, Result<Ended, Halt>> {
        Box::pin(async move {
            let (space, id) = (context.run().space, context.run().id);
            for turn in 0.. {
                for (place, letter) in context.receive(&turn.to_string(), None).await?.iter().enumerate() {
                    if letter["end"] == true {
                        return Ok(Ended {
                            status: RunStatus::Succeeded,
                            output: json!("over"),
                            is_dead_letter: false,
                        });
                    }
                    let pause = Duration::from_millis(letter["pause"].as_u64().unwrap_or_default());
                    let is_write = letter["writes"] == true;
                    let work = || async {
                        if is_write {
                            let kept = self.journal.get(space, id).await?.map(|run| run.status);
                            assert_eq!(kept, Some(RunStatus::Running), "kept before a write");
                        }
                        sleep(pause).await;
                        self.taken.fetch_add(1, Ordering::Relaxed);
                        Ok(json!({"heard": letter}))
                    };
                    let effect = if is_write { Effect::Write } else { Effect::Read };
                    context.step(&format!("{turn}.{place}"), effect, work).await?;
                }
            }
            Err(Halt::Undone)
        })
    }

    fn forgo(&self, _: &Run) {
        self.forgone.fetch_add(1, Ordering::Relaxed);
    }

    fn gave_up<'a>(&'a self, _: &'a RunContext, _: GaveUp) -> BoxFuture<'a, Ended> {
        let ended = Ended { status: RunStatus::Failed, output: Value::Null, is_dead_letter: false };
        Box::pin(std::future::ready(ended))
    }
}

/// One of those who carry runs on.
struct Talking {
    talker: Arc<Talker>,
    runs: Runs,
}

impl Talking {
    fn new(journal: &RunJournal) -> Self {
        let (taken, forgone) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let talker = Arc::new(Talker { journal: journal.clone(), taken, forgone });
        let programs = Programs::default().with(talker.clone());
        let runs = Runs::new(Arc::new(journal.clone()), programs, Settings::default(), Failpoints::default());
        Self { talker, runs }
    }

    fn taken(&self) -> usize {
        self.talker.taken.load(Ordering::Relaxed)
    }

    fn forgone(&self) -> usize {
        self.talker.forgone.load(Ordering::Relaxed)
    }

    async fn say(&self, space: SpaceId, id: RunId, letter: Value) -> bool {
        let whole = self.talker.journal.whole(space, id).await.expect("read").expect("a run");
        self.runs.go_on_here(whole, letter, None).await.expect("sent")
    }
}

struct Room {
    store: Store,
    journal: RunJournal,
    space: SpaceId,
    user: UserId,
}

async fn opened(store: Store) -> Room {
    let (user, space) = user(&store, &format!("user-{}", Uuid::now_v7().simple())).await;
    let journal = RunJournal::open(&store, 100).await.expect("a journal");
    Room { store, journal, space: space.id, user: user.id }
}

impl Room {
    fn talk(&self) -> NewRun {
        NewRun {
            id: RunId::from(Uuid::now_v7()),
            space: self.space,
            user: Some(self.user),
            program: "talks",
            about: About { lane: "t".to_owned(), name: "a talk".to_owned(), ..About::default() },
            input: Arc::new(json!({})),
            priority: 0,
            delay: Duration::ZERO,
            most_deaths: 3,
            key: None,
            parent: None,
            place: Place::Queue,
        }
    }

    /// What a run has heard, once it is at rest.
    async fn heard(&self, id: RunId) -> (u64, Vec<Value>) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let whole = self.journal.whole(self.space, id).await.expect("read").expect("a run");
            if whole.run.is_at_rest() {
                return (whole.run.epoch, letters(&whole));
            }
            assert!(Instant::now() < deadline, "{id} is {:?}", whole.run.status);
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The same, as somebody else read it.
fn again(whole: &WholeRun) -> WholeRun {
    WholeRun::read(whole.run.clone(), whole.steps.clone())
}

/// What its steps gave.
fn given(whole: &WholeRun) -> BTreeMap<&str, &Value> {
    let done = whole.steps.iter().filter(|step| step.state == StepState::Done);
    done.filter_map(|step| Some((step.key.as_str(), step.output.as_deref()?))).collect()
}

/// What a run has heard, in order, each with the step that it took for it.
fn letters(whole: &WholeRun) -> Vec<Value> {
    let given = |key: String| {
        let step = whole.steps.iter().rfind(|step| step.key == key)?;
        step.output.as_deref().cloned()
    };
    let mut letters = Vec::new();
    for turn in 0.. {
        let Some(inbox) = given(format!("inbox:{turn}")) else { break };
        for (place, letter) in inbox["messages"].as_array().expect("letters").iter().enumerate() {
            assert_eq!(given(format!("{turn}.{place}")), Some(json!({"heard": letter})));
            letters.push(letter.clone());
        }
    }
    letters
}

#[tokio::test]
async fn what_takes_no_time_is_one_write_and_is_heard_in_order() {
    both(async |place| {
        let place = opened(place.open().await).await;
        let here = Talking::new(&place.journal);
        let begun = join_all((0..40).map(|_| here.runs.begin_here(place.talk()))).await;
        let ids: Vec<RunId> = begun.into_iter().map(|id| id.expect("kept")).collect();
        for turn in 0..3 {
            let said = ids.iter().map(|id| here.say(place.space, *id, json!({"turn": turn})));
            assert!(join_all(said).await.into_iter().all(|is_there| is_there));
        }
        for id in &ids {
            // Kept when it was said, and claimed once for each.
            let (epoch, heard) = place.heard(*id).await;
            assert_eq!((epoch, heard), (4, vec![json!({"turn": 0}), json!({"turn": 1}), json!({"turn": 2})]));
        }
        assert_eq!((here.taken(), here.forgone()), (120, 0), "nothing is done again");
        // Where nobody else writes, it is still known how a run was left.
        let left = here.runs.at_rest(ids[0], |run| run.space == place.space);
        let whole = place.journal.whole(place.space, ids[0]).await.expect("read").expect("a run");
        assert_eq!(left.is_some(), !place.store.is_shared());
        if let Some(left) = left {
            assert_eq!((left.run.epoch, letters(&left)), (whole.run.epoch, letters(&whole)));
            assert!(here.runs.go_on_here(left, json!({"turn": 3}), None).await.expect("sent"));
            assert_eq!(place.heard(ids[0]).await.1.len(), 4);
        }
        assert!(here.say(place.space, ids[1], json!({"end": true})).await);
        let ended = here.runs.wait_for(place.space, ids[1], Duration::from_secs(30)).await.expect("read");
        assert_eq!(ended.and_then(|run| run.output), Some(json!("over")));
        assert!(!here.say(place.space, ids[1], json!({})).await, "nobody hears it");
    })
    .await;
}

#[tokio::test]
async fn what_takes_longer_or_writes_is_kept_meanwhile() {
    both(async |place| {
        let place = opened(place.open().await).await;
        let here = Talking::new(&place.journal);
        let id = here.runs.begin_here(place.talk()).await.expect("kept");
        assert!(here.say(place.space, id, json!({"writes": true})).await);
        assert_eq!(place.heard(id).await.1.len(), 1);
        let began = Instant::now();
        assert!(here.say(place.space, id, json!({"pause": 2000})).await);
        assert!(began.elapsed() < Duration::from_secs(2), "it is kept before its step is over");
        let run = place.journal.get(place.space, id).await.expect("read").expect("a run");
        assert_eq!((run.status, run.epoch), (RunStatus::Running, 3));
        assert_eq!(place.heard(id).await, (3, vec![json!({"writes": true}), json!({"pause": 2000})]));
        assert_eq!((here.taken(), here.forgone()), (2, 0));
        if place.store.is_shared() {
            return;
        }
        // How it was left is known also where it was kept in several writes, once it was let go of.
        let deadline = Instant::now() + Duration::from_secs(30);
        let left = loop {
            match here.runs.at_rest(id, |_| true) {
                Some(left) => break left,
                None if Instant::now() < deadline => sleep(Duration::from_millis(10)).await,
                None => panic!("it was not left at rest"),
            }
        };
        let whole = place.journal.whole(place.space, id).await.expect("read").expect("a run");
        assert_eq!(left.run.epoch, whole.run.epoch);
        assert_eq!(given(&left), given(&whole));
    })
    .await;
}

#[tokio::test]
async fn of_several_who_send_at_once_each_is_heard_once() {
    both(async |place| {
        let place = opened(place.open().await).await;
        // Two processes, as it were.
        let (here, there) = (Talking::new(&place.journal), Talking::new(&place.journal));
        let stop = CancellationToken::new();
        let talking = async {
            for round in 0..8 {
                let id = here.runs.begin_here(place.talk()).await.expect("kept");
                let whole = place.journal.whole(place.space, id).await.expect("read").expect("a run");
                let said = (0..6).map(|n| {
                    let by = if n % 2 == 0 { &here } else { &there };
                    let letter = json!({"n": n, "pause": if round % 2 == 0 { 0 } else { 3 * n }});
                    // All of them have read it before any of them went on.
                    by.runs.go_on_here(again(&whole), letter, None)
                });
                assert!(join_all(said).await.into_iter().all(|is_there| is_there.expect("sent")));
                let deadline = Instant::now() + Duration::from_secs(30);
                loop {
                    let (_, heard) = place.heard(id).await;
                    let mut numbers: Vec<u64> =
                        heard.iter().filter_map(|letter| letter["n"].as_u64()).collect();
                    numbers.sort_unstable();
                    if numbers == [0, 1, 2, 3, 4, 5] {
                        break;
                    }
                    assert!(numbers.len() < 6 && Instant::now() < deadline, "{numbers:?}");
                    sleep(Duration::from_millis(10)).await;
                }
            }
            stop.cancel();
        };
        let grace = Duration::from_secs(5);
        tokio::join!(here.runs.work(stop.clone(), grace), there.runs.work(stop.clone(), grace), talking);
        assert!(here.forgone() + there.forgone() > 0, "some were too late, and began anew");
    })
    .await;
}

#[tokio::test]
async fn what_was_kept_without_our_knowing_is_not_kept_twice() {
    both(async |place| {
        let place = opened(place.open().await).await;
        let here = Talking::new(&place.journal);
        let id = here.runs.begin_here(place.talk()).await.expect("kept");
        let whole = place.journal.whole(place.space, id).await.expect("read").expect("a run");
        let from = haft_runs::Lease { run: id, epoch: whole.run.epoch };
        let done = |what: &str| {
            let output = Arc::new(json!({"upTo": 0, "messages": [what]}));
            let step = haft_runs::DoneStep { key: "inbox:0".to_owned(), effect: Effect::Read, output };
            haft_runs::DoneSteps::of(&[step])
        };
        let take = |what| place.journal.take(place.space, from, None, done(what));
        assert!(take("a").await.expect("written"));
        assert!(take("a").await.expect("written"), "it is the same");
        assert!(!take("b").await.expect("refused"), "somebody else was first");
        let whole = place.journal.whole(place.space, id).await.expect("read").expect("a run");
        assert_eq!((whole.run.epoch, whole.steps.len()), (from.epoch + 1, 1));
        let elsewhere = place.journal.whole(SpaceId::from(Uuid::now_v7()), id).await.expect("read");
        assert!(elsewhere.is_none());
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_kept_is_told_however_long_it_would_take() {
    both(async |place| {
        let place = opened(place.open().await).await;
        let here = Talking::new(&place.journal);
        let id = here.runs.begin_here(place.talk()).await.expect("kept");
        let whole = place.journal.whole(place.space, id).await.expect("read").expect("a run");
        place.store.close().await;
        let began = Instant::now();
        for pause in [0, 60, 60_000] {
            let refused = here.runs.go_on_here(again(&whole), json!({"pause": pause}), None).await;
            assert_eq!(kind(refused), ErrorKind::Unavailable, "{pause}");
            assert!(!here.runs.holds(id));
        }
        assert_eq!((here.forgone(), here.taken()), (3, 2), "a step that takes long is not waited for");
        assert!(began.elapsed() < Duration::from_secs(30));
    })
    .await;
}
