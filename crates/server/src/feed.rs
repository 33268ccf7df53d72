//! Follows the changes in the store, made here or by other processes: renews tools, forgets cached people,
//! secrets and models, and tells listeners.
//!
//! Rights must be known at any time, so reading changes waits for nothing else: the tools of each space are
//! renewed beside it, and listeners of a space hear of a change when its tools are renewed.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use haft_core::{BoxFuture, CallError, SpaceId};
use haft_store::Changes;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// The truth is asked for this often; hints only make it quicker.
const POLL: Duration = Duration::from_secs(1);

/// A database that takes longer to tell is away.
const PATIENCE: Duration = Duration::from_secs(2);

/// Follows changes after `revision` until told to stop.
pub(crate) async fn follow(app: &App, revision: u64, stop: &CancellationToken) {
    let mut hints = app.store.changed();
    let mut revision = revision;
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut renewals = Renewals::new(|space| {
        let tools = app.tools.clone();
        Box::pin(async move { tools.renew(space).await })
    });
    loop {
        tokio::select! {
            hint = hints.changed() => if hint.is_err() { tokio::time::sleep(POLL).await },
            _ = poll.tick() => renewals.retry_failed(),
            Some((space, result)) = renewals.next() => {
                match result {
                    Ok(()) => app.listeners.tell(Changes { spaces: vec![space], ..nothing(revision) }),
                    Err(error) => tracing::warn!(
                        %error, space.id = %space, "The tools of a space cannot be refreshed; retrying"
                    ),
                }
                continue;
            }
            () = stop.cancelled() => return,
        }
        match read(app, revision).await {
            Ok(changes) => {
                revision = changes.revision;
                for space in &changes.spaces {
                    renewals.request(*space);
                }
                app.listeners.tell(Changes { spaces: Vec::new(), ..changes });
            }
            Err(error) => tracing::warn!(%error, "Changes cannot be read; retrying"),
        }
    }
}

/// Reads what changed, and forgets what is cached of it.
async fn read(app: &App, revision: u64) -> Result<Changes, CallError> {
    let asked = timeout(PATIENCE, app.store.changes_since(revision)).await;
    let changes = asked.unwrap_or_else(|_| {
        Err(CallError::text(haft_core::ErrorKind::Unavailable, "the database does not respond"))
    })?;
    if changes.identity {
        app.visitors.forget();
    }
    // Not those with news alone: no call depends on what there is to hear.
    for space in &changes.spaces {
        app.secrets.forget(*space);
        app.models.forget(*space);
    }
    app.visitors.followed();
    Ok(changes)
}

fn nothing(revision: u64) -> Changes {
    Changes { revision, spaces: Vec::new(), identity: false, news: Vec::new() }
}

type Renewal<'a> = BoxFuture<'a, Result<(), CallError>>;

/// Renewals of spaces under way, one of each space at a time.
struct Renewals<'a, F> {
    renew: F,
    running: FuturesUnordered<BoxFuture<'a, (SpaceId, Result<(), CallError>)>>,
    /// Spaces that are being renewed.
    busy: HashSet<SpaceId>,
    /// Those of them that changed once more meanwhile.
    again: HashSet<SpaceId>,
    failed: HashSet<SpaceId>,
}

impl<'a, F: Fn(SpaceId) -> Renewal<'a>> Renewals<'a, F> {
    fn new(renew: F) -> Self {
        let (busy, again, failed) = Default::default();
        Self { renew, running: FuturesUnordered::new(), busy, again, failed }
    }

    /// Renews a space now, or once more after the renewal that is under way.
    fn request(&mut self, space: SpaceId) {
        if !self.busy.insert(space) {
            self.again.insert(space);
            return;
        }
        self.failed.remove(&space);
        let renewal = (self.renew)(space);
        self.running.push(Box::pin(async move { (space, renewal.await) }));
    }

    fn retry_failed(&mut self) {
        for space in std::mem::take(&mut self.failed) {
            self.request(space);
        }
    }

    /// The next renewal that ends. Returns `None` if none is under way.
    async fn next(&mut self) -> Option<(SpaceId, Result<(), CallError>)> {
        let (space, result) = self.running.next().await?;
        self.busy.remove(&space);
        if result.is_err() {
            self.failed.insert(space);
        }
        if self.again.remove(&space) {
            self.request(space);
        }
        Some((space, result))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex};

    use haft_core::{ErrorKind, Message};
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;

    type End = oneshot::Sender<Result<(), CallError>>;

    /// Renewals that end when the test says so, by space in the order they began.
    #[derive(Clone, Default)]
    struct Held(Arc<Mutex<HashMap<SpaceId, Vec<End>>>>);

    impl Held {
        fn renewals(&self) -> Renewals<'static, impl Fn(SpaceId) -> Renewal<'static>> {
            let held = self.0.clone();
            Renewals::new(move |space| {
                let (sender, receiver) = oneshot::channel();
                held.lock().expect("a lock").entry(space).or_default().push(sender);
                Box::pin(async move { receiver.await.expect("an end") })
            })
        }

        fn begun(&self, space: SpaceId) -> usize {
            self.0.lock().expect("a lock").get(&space).map_or(0, Vec::len)
        }

        fn end(&self, space: SpaceId, result: Result<(), CallError>) {
            let mut held = self.0.lock().expect("a lock");
            let end = held.get_mut(&space).and_then(Vec::pop).expect("a renewal");
            end.send(result).expect("it is waited for");
        }
    }

    fn space(number: u128) -> SpaceId {
        Uuid::from_u128(number).into()
    }

    #[tokio::test]
    async fn a_slow_renewal_holds_up_no_other_space() {
        let held = Held::default();
        let mut renewals = held.renewals();
        renewals.request(space(1));
        renewals.request(space(2));
        held.end(space(2), Ok(()));
        let (renewed, result) = renewals.next().await.expect("the second");
        assert_eq!((renewed, result.is_ok()), (space(2), true));
        assert_eq!((held.begun(space(1)), held.begun(space(2))), (1, 0));
    }

    #[tokio::test]
    async fn a_space_that_changes_while_it_is_renewed_is_renewed_once_more() {
        let held = Held::default();
        let mut renewals = held.renewals();
        for _ in 0..5 {
            renewals.request(space(1));
        }
        assert_eq!(held.begun(space(1)), 1, "one at a time");
        held.end(space(1), Ok(()));
        assert!(renewals.next().await.is_some());
        assert_eq!(held.begun(space(1)), 1, "and once more for all that came meanwhile");
        held.end(space(1), Ok(()));
        assert!(renewals.next().await.is_some());
        assert!(renewals.next().await.is_none());
    }

    #[tokio::test]
    async fn a_renewal_that_fails_is_tried_again() {
        let held = Held::default();
        let mut renewals = held.renewals();
        renewals.request(space(1));
        let away = CallError::new(ErrorKind::Unavailable, Message::verbatim("away".to_owned()));
        held.end(space(1), Err(away));
        assert!(renewals.next().await.expect("it ends").1.is_err());
        assert_eq!(held.begun(space(1)), 0);
        renewals.retry_failed();
        assert_eq!(held.begun(space(1)), 1);
    }
}
