//! Waits and other changes of steps.

use super::*;

impl ContractJournal {
    pub(super) async fn wait_ends_by_delivery_or_timeout(self) {
        let id = self.queue(self.new_run("mail")).await;
        let lease = self.claim_one().await.lease;
        self.suspend(lease, results(&[("x", json!(1))]), &[wait("a", None)]).await;
        let run = self.read(id).await;
        assert_eq!((run.status, run.waiting_for.as_deref()), (RunStatus::Waiting, Some("approval")));
        assert!(self.claim(8).await.is_empty());
        let deliver = async |key: &str, expected: Option<Value>, output: Value| {
            self.journal.deliver(id, key.to_owned(), expected, output).await.expect("delivered")
        };
        assert!(!deliver("a", Some(json!({"why": 2})), json!("no")).await, "other details");
        assert!(deliver("a", Some(json!({"why": 1})), json!("yes")).await);
        assert!(!deliver("a", None, json!("no")).await, "once");
        let claimed = self.claim_one().await;
        assert_eq!(keys_of(&claimed.steps), ["x", "a"]);
        assert_eq!(claimed.steps[1].output.as_deref(), Some(&json!("yes")));
        // Delivered before the run suspends.
        self.write(claimed.lease, reserving("call", vec![wait("b", None)])).await;
        assert!(deliver("b", None, json!("early")).await);
        self.suspend(claimed.lease, Arc::default(), &[wait("b", None)]).await;
        let claimed = self.claim_one().await;
        // Nothing is delivered in time.
        self.suspend(claimed.lease, Arc::default(), &[wait("c", Some(SHORT))]).await;
        sleep(SHORT * 2).await;
        let claimed = self.claim_one().await;
        let last = claimed.steps.iter().find(|step| step.key == "c").expect("a step");
        assert!(last.is_expired && last.state == StepState::Done);
        assert_eq!(claimed.run.crashes, 0, "a timeout is no crash");
        assert!(!deliver("c", None, json!("late")).await);
    }

    pub(super) async fn removed_wait_retains_its_deadline(self) {
        self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, reserving("call", vec![wait("callback", Some(SHORT))])).await;
        // Repeats the wait without a timeout.
        let writes = StepWrites { removed: vec!["callback".to_owned()], ..StepWrites::default() };
        self.suspend(claimed.lease, Arc::new(writes), &[wait("callback", None)]).await;
        sleep(SHORT * 2).await;
        let claimed = self.claim_one().await;
        let callback = claimed.steps.iter().find(|step| step.key == "callback").expect("a step");
        assert!(callback.is_expired);
        // Removes the step without repeating it.
        let writes = StepWrites { removed: vec!["callback".to_owned()], ..StepWrites::default() };
        let released = self.journal.release(claimed.lease, Arc::new(writes), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        assert_eq!(keys_of(&self.claim_one().await.steps), ["call"]);
    }

    pub(super) async fn steps_of_another_run_are_adopted(self) {
        let old = self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("a", json!(1)), ("b", json!(2)), ("c", json!(3))])).await;
        self.write(claimed.lease, reserving("open", Vec::new())).await;
        assert!(self.finish(claimed.lease, json!("old")).await);
        let new = self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, results(&[("b", json!("own"))])).await;
        let keys = ["a", "b", "open", "missing"].map(str::to_owned).to_vec();
        let adopted = vec![Adoption { from: old, keys: keys.clone() }];
        for _ in 0..2 {
            let writes = StepWrites { adopted: adopted.clone(), ..StepWrites::default() };
            self.write(claimed.lease, Arc::new(writes)).await;
        }
        let mut steps = self.journal.read_steps(new, keys).await.expect("steps");
        steps.sort_by(|left, right| left.key.cmp(&right.key));
        let found: Vec<(&str, Option<&Value>)> =
            steps.iter().map(|step| (step.key.as_str(), step.output.as_deref())).collect();
        assert_eq!(found, [("a", Some(&json!(1))), ("b", Some(&json!("own")))], "only done and missing ones");
    }

    pub(super) async fn scope_is_folded_into_one_step(self) {
        self.queue(self.new_run("flow")).await;
        let claimed = self.claim_one().await;
        let items = [("map/1", json!(1)), ("map/2", json!(2)), ("mapped", json!(3)), ("ma%/1", json!(4))];
        self.write(claimed.lease, results(&items)).await;
        let mut writes = StepWrites::clone(&results(&[("map", json!([1, 2]))]));
        writes.removed_scopes = vec!["map/".to_owned(), "ma%/".to_owned()];
        self.write(claimed.lease, Arc::new(writes)).await;
        let released = self.journal.release(claimed.lease, Arc::default(), ReleaseReason::Unavailable);
        assert!(released.await.expect("released"));
        assert_eq!(keys_of(&self.claim_one().await.steps), ["mapped", "map"]);
    }
}
