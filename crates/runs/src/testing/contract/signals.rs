//! Deliveries, messages and requests that reach a run from outside.

use super::*;

impl ContractJournal {
    pub(super) async fn delivery_to_an_executed_run_is_signaled(self) {
        let id = self.queue(self.new_run("mail")).await;
        let claimed = self.claim_one().await;
        self.write(claimed.lease, reserving("call", vec![wait("a", None), wait("b", Some(SHORT))])).await;
        let signaled = async || {
            let signal = timeout(Duration::from_secs(10), self.journal.signal());
            assert_eq!(signal.await.expect("a signal"), RunSignal::Changed(id));
        };
        assert!(self.journal.deliver(id, "a".to_owned(), None, json!(1)).await.expect("delivered"));
        signaled().await;
        assert!(matches!(self.send(id, json!("hello"), None).await, Delivery::Delivered));
        signaled().await;
        sleep(SHORT * 2).await;
        let keys = ["a", "b", "missing"].map(str::to_owned).to_vec();
        let steps = self.journal.read_steps(id, keys).await.expect("steps");
        let found: Vec<(&str, StepState, bool)> =
            steps.iter().map(|step| (step.key.as_str(), step.state, step.is_expired)).collect();
        assert_eq!(found, [("a", StepState::Done, false), ("b", StepState::Done, true)]);
        assert_eq!(self.read(id).await.status, RunStatus::Running, "its worker continues");
    }

    pub(super) async fn messages_are_received_in_order(self) {
        let id = self.queue(self.new_run("chat")).await;
        assert!(matches!(self.send(id, json!(0), None).await, Delivery::Delivered), "before its first claim");
        let claimed = self.claim_one().await;
        assert_eq!(self.journal.inbox(id, 0).await.expect("read"), [(1, json!(0))]);
        // A message that arrives before the run suspends queues it again.
        assert!(matches!(self.send(id, json!(1), None).await, Delivery::Delivered));
        self.suspend(claimed.lease, results(&[("inbox:0", json!({"upTo": 1}))]), &[message_wait(1)]).await;
        let claimed = self.claim_one().await;
        self.suspend(claimed.lease, Arc::default(), &[message_wait(2)]).await;
        assert!(self.read(id).await.is_idle());
        assert!(matches!(self.send(id, json!("x"), Some("k")).await, Delivery::Delivered));
        assert!(matches!(self.send(id, json!("x"), Some("k")).await, Delivery::Duplicate));
        let other = RunKey { key: "k".to_owned(), digest: "another".to_owned() };
        let other = NewMessage {
            space: self.space,
            run: id,
            message: json!("y"),
            key: Some(other),
            executor: Executor::AnyWorker,
        };
        assert_eq!(
            self.journal.send(other.clone(), LEASE).await.expect_err("refused").kind(),
            ErrorKind::Conflict
        );
        let received = self.journal.inbox(id, 1).await.expect("read");
        assert_eq!(received, [(2, json!(1)), (3, json!("x"))]);
        // The sender may execute an idle run at once.
        let claimed = self.claim_one().await;
        self.suspend(claimed.lease, Arc::default(), &[message_wait(3)]).await;
        let here = NewMessage { key: None, executor: Executor::ThisWorker(worker()), ..other.clone() };
        let delivery = self.journal.send(here.clone(), LEASE).await.expect("sent");
        let Delivery::Claimed(claimed) = delivery else { panic!("{delivery:?}") };
        assert_eq!((claimed.run.id, claimed.run.status), (id, RunStatus::Running));
        assert_eq!(keys_of(&claimed.steps), ["inbox:0"]);
        assert!(matches!(self.journal.send(here, LEASE).await.expect("sent"), Delivery::Delivered));
        let stranger = NewMessage { space: SpaceId::from(Uuid::now_v7()), key: None, ..other };
        assert!(matches!(self.journal.send(stranger, LEASE).await.expect("sent"), Delivery::Ended));
        assert!(self.finish(claimed.lease, json!(1)).await);
        assert!(matches!(self.send(id, json!("late"), None).await, Delivery::Ended));
    }

    pub(super) async fn end_of_a_child_is_delivered_to_its_parent(self) {
        let parent = self.queue(self.new_run("flow")).await;
        let lease = self.claim_one().await.lease;
        let child = |step: &str| NewRun { parent: Some((parent, step.to_owned())), ..self.new_run("mail") };
        self.write(lease, reserving("call", vec![wait("child", None)])).await;
        self.queue(child("child")).await;
        self.suspend(lease, Arc::default(), &[wait("child", None)]).await;
        let claimed = self.claim_one().await;
        assert!(self.finish(claimed.lease, json!("done")).await);
        let claimed = self.claim_one().await;
        assert_eq!(claimed.run.id, parent);
        let step = claimed.steps.iter().find(|step| step.key == "child").expect("a step");
        assert_eq!(step.output.as_deref(), Some(&json!("done")));
        // A child whose end is a message.
        let other = self.queue(child("inbox:name")).await;
        let of_other = self.claim_one().await;
        assert!(self.finish(of_other.lease, json!(2)).await);
        let message = json!({"ended": {"run": other, "name": "name", "status": "succeeded", "output": 2}});
        assert_eq!(self.journal.inbox(parent, 0).await.expect("read"), [(1, message)]);
    }

    pub(super) async fn request_to_cancel_reaches_every_status(self) {
        let id = self.queue(NewRun { delay: LEASE, ..self.new_run("mail") }).await;
        assert!(self.journal.request_cancel(id).await.expect("requested"), "scheduled");
        let claimed = self.claim_one().await;
        assert!(claimed.run.is_cancel_requested);
        // Its program handles the request, and it continues.
        let suspension = Suspension { waits: vec![message_wait(0)], is_cancel_handled: true };
        assert!(self.journal.suspend(claimed.lease, Arc::default(), suspension).await.expect("suspended"));
        assert!(self.read(id).await.is_idle());
        assert!(self.journal.request_cancel(id).await.expect("requested"), "suspended");
        let claimed = self.claim_one().await;
        assert!(self.journal.request_cancel(id).await.expect("requested"), "executed");
        let signal = timeout(Duration::from_secs(10), self.journal.signal()).await;
        assert_eq!(signal.expect("a signal"), RunSignal::Cancel(claimed.lease));
        assert!(self.finish(claimed.lease, json!(1)).await);
        assert!(!self.journal.request_cancel(id).await.expect("refused"), "ended");
    }
}
