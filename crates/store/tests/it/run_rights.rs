//! Rights of a run's user at claim time, encryption of run arguments, and claims after an upgrade.

use std::sync::Arc;
use std::time::Duration;

use haft_core::space::Role;
use haft_core::{ErrorKind, RunId, SpaceId, UserId};
use haft_runs::{
    ClaimedRun, Executor, Journal as _, NewRun, ReleaseReason, RunLabels, StepWrites, Suspension, Wait,
    WorkerId,
};
use haft_store::{RunJournal, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{both, kind, user};

const LEASE: Duration = Duration::from_secs(30);

async fn journal(store: &Store) -> RunJournal {
    RunJournal::open(store, 100).await.expect("a journal")
}

fn new(space: SpaceId, user: Option<UserId>, input: Value) -> NewRun {
    NewRun {
        id: RunId::from(Uuid::now_v7()),
        space,
        user,
        program: "call",
        labels: RunLabels { lane: "mail".to_owned(), name: "mail".to_owned(), ..RunLabels::default() },
        input: Arc::new(input),
        priority: 0,
        delay: Duration::ZERO,
        max_crashes: 3,
        key: None,
        parent: None,
        executor: Executor::AnyWorker,
    }
}

async fn claim(journal: &RunJournal) -> ClaimedRun {
    let claimed = journal.claim(WorkerId(Uuid::now_v7()), 8, LEASE).await.expect("claimed");
    let [held] = <[ClaimedRun; 1]>::try_from(claimed.runs).expect("one run");
    held
}

#[tokio::test]
async fn claims_report_whether_the_user_may_call() {
    both(async |db| {
        let store = db.open().await;
        let (ada, _) = user(&store, "ada").await;
        let (bob, _) = user(&store, "bob").await;
        let team = store.create_space("team", ada.id).await.expect("a space").id;
        let journal = journal(&store).await;
        let claim_denied = async |user: Option<UserId>| {
            journal.start(Arc::new(new(team, user, json!({}))), LEASE).await.expect("started");
            let held = claim(&journal).await;
            journal.release(held.lease, Arc::default(), ReleaseReason::Unavailable).await.expect("released");
            let again = claim(&journal).await;
            assert_eq!(held.is_denied, again.is_denied);
            let ended = haft_runs::RunEnd {
                status: haft_runs::RunStatus::Failed,
                output: Value::Null,
                is_dead_letter: false,
            };
            journal.finish(again.lease, Arc::default(), ended).await.expect("ended");
            again.is_denied
        };
        assert!(claim_denied(Some(bob.id)).await, "not a member");
        for (role, is_denied) in
            [(Role::Viewer, true), (Role::Caller, false), (Role::Editor, false), (Role::Admin, false)]
        {
            store.put_member(team, bob.id, role).await.expect("a member");
            assert_eq!(claim_denied(Some(bob.id)).await, is_denied, "{role:?}");
        }
        store.set_user_rights(bob.id, false, false).await.expect("deactivated");
        assert!(claim_denied(Some(bob.id)).await);
        assert_eq!(store.role_of(team, bob.id).await.expect("read"), None);
        assert_eq!(store.role_of_member(team, bob.id).await.expect("read"), Some(Role::Admin));
        store.set_user_rights(bob.id, true, false).await.expect("activated");
        assert!(!claim_denied(Some(bob.id)).await);
        assert!(claim_denied(Some(UserId::from(Uuid::now_v7()))).await, "a deleted user");
        assert!(!claim_denied(None).await, "a run without a user");
    })
    .await;
}

#[tokio::test]
async fn redacted_arguments_are_encrypted_and_decrypted_for_the_worker() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let journal = journal(&store).await;
        let secret = json!({"text": "hunter22-and-more"});
        let input = json!({"arguments": secret, "shown": {"text": "***"}, "name": "mail"});
        let started = new(home.id, Some(ada.id), input.clone());
        let id = started.id;
        journal.start(Arc::new(started), LEASE).await.expect("started");
        let held = claim(&journal).await;
        assert_eq!(*held.run.input, input);
        let wait =
            Wait { key: "approval:1".to_owned(), kind: "approval".to_owned(), details: None, timeout: None };
        let writes = StepWrites { waits: vec![wait.clone()], ..StepWrites::default() };
        let suspension = Suspension { waits: vec![wait], ..Suspension::default() };
        assert!(journal.suspend(held.lease, Arc::new(writes), suspension).await.expect("suspended"));
        let decision = json!({"isApproved": true, "arguments": secret, "shown": {"text": "***"}});
        journal
            .decide(home.id, id, Some(ada.id), true, ("approval:1", decision.clone()))
            .await
            .expect("decided");
        let stored =
            db.text("SELECT r.input || s.output FROM runs r JOIN run_steps s ON s.run_id = r.id").await;
        assert!(stored.contains("sealedArguments") && !stored.contains("hunter22"), "{stored}");
        let listed = journal.list(home.id, &haft_store::RunFilter::default(), &crate::support::all()).await;
        assert_eq!(listed.expect("a list").0[0].input["shown"], json!({"text": "***"}));
        let again = claim(&journal).await;
        assert_eq!(*again.run.input, input);
        assert_eq!(again.steps[0].output.as_deref(), Some(&decision));
        assert_eq!(*journal.get(home.id, id).await.expect("read").expect("a run").input, input);
        // Arguments that need no redaction are stored in plain text.
        let plain = new(home.id, Some(ada.id), json!({"arguments": {"n": 1}, "name": "mail"}));
        journal.start(Arc::new(plain), LEASE).await.expect("started");
        assert_eq!(claim(&journal).await.run.input["arguments"], json!({"n": 1}));
    })
    .await;
}

#[tokio::test]
async fn no_run_is_claimed_under_a_newer_schema_of_a_shared_database() {
    both(async |db| {
        let store = db.open().await;
        let (ada, home) = user(&store, "ada").await;
        let journal = journal(&store).await;
        journal.start(Arc::new(new(home.id, Some(ada.id), json!({}))), LEASE).await.expect("started");
        assert!(store.check_schema().await.is_ok());
        db.raw("INSERT INTO schema_version (version) VALUES (1000)").await;
        let claimed = journal.claim(WorkerId(Uuid::now_v7()), 8, LEASE).await;
        if store.is_shared() {
            assert_eq!(kind(claimed), ErrorKind::Conflict);
            assert_eq!(kind(store.check_schema().await), ErrorKind::Conflict);
        } else {
            // The directory is locked, so no other process can upgrade the database.
            assert_eq!(claimed.expect("claimed").runs.len(), 1);
        }
    })
    .await;
}
