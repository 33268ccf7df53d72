//! Claims, leases and crashes: one worker executes a run, and a worker whose lease has ended writes nothing.

use super::*;

impl ContractJournal {
    pub(super) async fn run_is_claimed_and_ended_once(self) {
        let id = self.queue(self.new_run("mail")).await;
        assert_eq!(self.read(id).await.status, RunStatus::Queued);
        let claimed = self.claim_one().await;
        assert_eq!((claimed.run.id, claimed.lease.epoch, claimed.is_denied), (id, 1, false));
        assert!(self.claim(8).await.is_empty(), "no other worker gets it");
        assert!(self.finish(claimed.lease, json!(7)).await);
        let run = self.read(id).await;
        assert_eq!((run.status, run.output), (RunStatus::Succeeded, Some(json!(7))));
        assert!(run.ended_at.is_some() && self.claim(8).await.is_empty());
        let stranger = SpaceId::from(Uuid::now_v7());
        assert_eq!(self.journal.read(stranger, id).await.expect("read"), None, "a run of another space");
    }

    pub(super) async fn ended_lease_writes_nothing(self) {
        let id = self.queue(self.new_run("mail")).await;
        let old = self.claim_one().await.lease;
        let released = self.journal.release(old, Arc::default(), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        let next = self.claim_one().await;
        assert_eq!(next.lease, Lease { run: id, epoch: 2 });
        assert!(!self.finish(old, json!("late")).await);
        let journal = &self.journal;
        assert!(!journal.write(old, results(&[("x", json!(1))])).await.expect("refused"));
        assert!(!journal.progress(old, json!(0.5)).await.expect("refused"));
        assert!(!journal.suspend(old, Arc::default(), Suspension::default()).await.expect("refused"));
        let released = journal.release(old, Arc::default(), ReleaseReason::Unavailable);
        assert!(!released.await.expect("refused"));
        let renewal = journal.renew(worker(), vec![old], LEASE).await.expect("renewed");
        assert_eq!(renewal.lost, [old]);
        assert!(self.finish(next.lease, json!("in time")).await);
        assert_eq!(self.read(id).await.output, Some(json!("in time")));
    }

    pub(super) async fn expired_lease_counts_as_a_crash(self) {
        self.queue(self.new_run("mail")).await;
        let crashed = self.journal.claim(worker(), 1, SHORT).await.expect("claimed").runs.remove(0);
        self.write(crashed.lease, reserving("call", Vec::new())).await;
        let Some(again) = self.claim_after_lease(&crashed).await else { return };
        assert_eq!((again.run.id, again.lease.epoch, again.run.crashes), (crashed.run.id, 2, 1));
        let states: Vec<StepState> = again.steps.iter().map(|step| step.state).collect();
        assert_eq!(states, [StepState::Reserved], "it may have been sent");
        assert!(again.steps.iter().all(Step::is_unknown));
    }

    /// Claims a run after its lease expired. Returns `None` on a journal whose leases do not expire.
    async fn claim_after_lease(&self, crashed: &ClaimedRun) -> Option<ClaimedRun> {
        sleep(SHORT * 2).await;
        let claimed = self.claim(8).await.pop();
        if claimed.is_none() {
            assert_eq!(self.read(crashed.run.id).await.status, RunStatus::Running);
        }
        claimed
    }

    pub(super) async fn crash_count_starts_again_after_progress(self) {
        self.queue(self.new_run("mail")).await;
        for epoch in 1..=3_u32 {
            let claimed = self.claim_one().await;
            assert_eq!(claimed.run.crashes, epoch - 1, "without progress each crash counts");
            let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Panic);
            assert!(released.await.expect("released"));
        }
        let claimed = self.claim_one().await;
        let mut writes = StepWrites::clone(&results(&[("x", json!(1))]));
        writes.resets_crashes = true;
        self.write(claimed.lease, Arc::new(writes)).await;
        let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Panic);
        assert!(released.await.expect("released"));
        assert_eq!(self.claim_one().await.run.crashes, 1);
    }

    pub(super) async fn released_run_is_claimed_again_with_its_steps(self) {
        self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("b", json!(1)), ("a", json!({"x": [1, null]}))])).await;
        let writes = results(&[("c", Value::Null)]);
        let released = self.journal.release(claimed.lease, writes, ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        let again = self.claim_one().await;
        assert_eq!(keys_of(&again.steps), ["b", "a", "c"], "in the order in which they were written");
        assert_eq!(again.steps[1].output.as_deref(), Some(&json!({"x": [1, null]})));
        assert_eq!(again.run.crashes, 0);
    }

    pub(super) async fn key_finds_the_first_run(self) {
        let keyed = |user, digest: &str| NewRun {
            user,
            key: Some(RunKey { key: "k".to_owned(), digest: digest.to_owned() }),
            executor: Executor::ThisWorker(worker()),
            ..self.new_run("mail")
        };
        // A key also identifies a run without a user, such as the tick of a schedule.
        for user in [Some(self.user), None] {
            let started = self.journal.start(Arc::new(keyed(user, "one")), LEASE).await.expect("started");
            let StartedRun::Claimed(claimed) = started else { panic!("{started:?}") };
            assert!(self.claim(8).await.is_empty(), "it is claimed from the start");
            let second = self.journal.start(Arc::new(keyed(user, "one")), LEASE).await.expect("found");
            let StartedRun::Existing(existing) = second else { panic!("{second:?}") };
            assert_eq!(existing.id, claimed.run.id);
            let other = self.journal.start(Arc::new(keyed(user, "two")), LEASE).await;
            assert_eq!(other.expect_err("refused").kind(), ErrorKind::Conflict);
        }
    }

    pub(super) async fn lanes_have_limits_and_priorities(self) {
        let limited = || {
            let mut new = self.new_run("slow");
            new.labels.lane_limit = Some(2);
            new
        };
        for _ in 0..5 {
            self.queue(limited()).await;
        }
        let urgent = self.queue(NewRun { priority: 5, ..limited() }).await;
        let other = self.queue(self.new_run("quick")).await;
        let claims = self.journal.claim(worker(), 16, LEASE).await.expect("claimed");
        let ids: Vec<RunId> = claims.runs.iter().map(|claimed| claimed.run.id).collect();
        assert_eq!((ids.len(), claims.is_limited), (3, true), "two of the slow lane, and the quick one");
        assert!(ids.contains(&urgent) && ids.contains(&other), "{ids:?}");
        assert!(self.claim(16).await.is_empty());
        let slow = claims.runs.iter().find(|claimed| claimed.run.labels.lane == "slow").expect("one");
        assert!(self.finish(slow.lease, json!(1)).await);
        assert_eq!(self.claim(16).await.len(), 1, "as many as have ended");
    }

    pub(super) async fn delayed_run_is_claimed_when_it_is_due(self) {
        self.queue(NewRun { delay: SHORT * 2, ..self.new_run("mail") }).await;
        let claims = self.journal.claim(worker(), 8, LEASE).await.expect("claimed");
        assert!(claims.runs.is_empty());
        assert!(claims.next_due.is_some_and(|due| due <= SHORT * 2), "{claims:?}");
        sleep(SHORT * 3).await;
        self.claim_one().await;
    }

    pub(super) async fn repeated_writes_have_no_further_effect(self) {
        let id = self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        let writes = reserving("call", vec![wait("a", None)]);
        self.write(claimed.lease, writes.clone()).await;
        assert!(self.journal.deliver(id, "a".to_owned(), None, json!(1)).await.expect("delivered"));
        self.write(claimed.lease, writes).await;
        let steps = self.journal.read_steps(id, vec!["a".to_owned()]).await.expect("steps");
        assert_eq!(steps.first().map(|step| step.state), Some(StepState::Done), "its end remains");
        for _ in 0..2 {
            self.suspend(claimed.lease, results(&[("x", json!(1))]), &[wait("b", None)]).await;
        }
        assert!(self.journal.deliver(id, "b".to_owned(), None, json!(2)).await.expect("delivered"));
        let claimed = self.claim_one().await;
        for _ in 0..2 {
            assert!(self.finish(claimed.lease, json!(7)).await);
        }
        let (new, repeated) = (self.new_run("mail"), ReleaseReason::Unavailable);
        let new = Arc::new(new);
        for is_first in [true, false] {
            let started = self.journal.start(new.clone(), LEASE).await.expect("started");
            assert_eq!(matches!(started, StartedRun::Queued(_)), is_first, "{started:?}");
        }
        // A repeated start claims nothing: another worker may execute the run already.
        let here = Arc::new(NewRun { executor: Executor::ThisWorker(worker()), ..self.new_run("mail") });
        for is_first in [true, false] {
            let started = self.journal.start(here.clone(), LEASE).await.expect("started");
            assert_eq!(matches!(started, StartedRun::Claimed(_)), is_first, "{started:?}");
        }
        let claimed = self.claim_one().await;
        for _ in 0..2 {
            let released = self.journal.release(claimed.lease, Arc::default(), repeated);
            assert!(released.await.expect("released"));
        }
        self.claim_one().await;
    }
}
