//! Who asks, remembered for as long as nothing about people changes: a plain call makes no query.
//!
//! Only hashes of tokens and sessions are kept. When changes can no longer be followed, nobody is let in.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use haft_core::id::TokenId;
use haft_core::space::Role;
use haft_core::user::{Scope, User};
use haft_core::{CallError, ErrorKind, ErrorReason, Message, SpaceId};
use haft_store::{CredentialHash, HistoryVisibility, Store, What};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::api::Needs;

haft_core::templates! {
    NOT_FOLLOWED = "auth.notFollowed",
        "The database is unavailable, so permissions cannot be checked. Retry in a moment.",
        "数据库不可用，无法确认权限；请稍后重试";
    NOT_IN_SPACE = "auth.notInSpace",
        "The space does not exist, or you are not a member of it. Choose another space.",
        "空间不存在，或您不是其成员；请选择其他空间";
}

/// When changes could not be read for so long, nobody's rights are certain any more.
const LOST: Duration = Duration::from_millis(3500);

/// The use of a token is noted at most so often.
const NOTED: Duration = Duration::from_secs(60);

/// Past so many all are looked up anew.
const MOST: usize = 10_000;

/// A person or program that is let in, and what it may do here.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) user: User,
    pub(crate) space: SpaceId,
    pub(crate) role: Role,
    pub(crate) scope: Scope,
    pub(crate) via: Via,
    /// Until then, where it ends by itself.
    pub(crate) until: Option<Timestamp>,
    /// The expiry of the token it came in by, also where a session was made from that.
    pub(crate) token_until: Option<Timestamp>,
    /// What it is looked up by.
    key: Key,
    /// When the use of its token was last noted.
    noted: AtomicU64,
}

/// How a visitor came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Via {
    Token(TokenId),
    Session(CredentialHash),
}

impl Visitor {
    /// What both the role and the scope allow.
    pub(crate) fn may(&self, needs: Needs) -> bool {
        let (role, scope) = match needs {
            Needs::Nothing | Needs::Identity => return true,
            Needs::Read | Needs::ReadOrLink => (Role::Viewer, Scope::Read),
            Needs::Call => (Role::Caller, Scope::Call),
            Needs::Edit | Needs::EditOrLink => (Role::Editor, Scope::Admin),
            Needs::SpaceAdmin => (Role::Admin, Scope::Admin),
            // There is no token that may not read.
            Needs::OperatorRead => return self.user.is_admin,
            Needs::Operator => return self.user.is_admin && self.scope == Scope::Admin,
        };
        self.role >= role && self.scope >= scope
    }

    /// Whether it may do in its user's other spaces what the user may: a token that may less stays in its own.
    pub(crate) fn may_act_for_itself(&self) -> bool {
        self.scope == Scope::Admin
    }

    /// The hash of its token or session.
    pub(crate) fn hash(&self) -> CredentialHash {
        self.key.0
    }

    /// What it may see of changes in its space. Who is in the space, with which tokens, is for its admins;
    /// the secrets of a user are for that user alone. Everyone sees what they did themselves.
    pub(crate) fn sight(&self) -> HistoryVisibility {
        let is_open = |what: &What| match what {
            What::Tool
            | What::Agent
            | What::Provider
            | What::Secret
            | What::Space
            | What::Alert
            | What::Task
            | What::Approval => true,
            What::Member | What::User | What::Token => self.may(Needs::SpaceAdmin),
            What::OwnSecret => false,
        };
        HistoryVisibility { whats: What::ALL.iter().copied().filter(is_open).collect(), own: self.user.id }
    }
}

/// The answer to a session that asks for a space in which its user is not.
pub(crate) fn not_in_space() -> CallError {
    CallError::new(ErrorKind::Permission, Message::new(&NOT_IN_SPACE))
        .with_reason(ErrorReason::NotInSpace)
        .detail("what", "space")
}

/// What a visitor is known by, and the space that a session asked for.
type Key = (CredentialHash, Option<SpaceId>);

/// Everyone who was let in lately.
pub(crate) struct Visitors {
    store: Store,
    known: RwLock<HashMap<Key, Arc<Visitor>>>,
    /// Grows when people change: what was read before it grew is not remembered after.
    generation: AtomicU64,
    /// When changes were last read, in milliseconds after the start.
    followed: AtomicU64,
    start: Instant,
    /// Whether anybody follows changes at all: a command alone with its data does not.
    is_followed: AtomicBool,
    /// This process itself.
    own: RwLock<Option<(CredentialHash, Arc<Visitor>)>>,
}

impl Visitors {
    pub(crate) fn new(store: Store) -> Self {
        Self {
            store,
            known: RwLock::default(),
            generation: AtomicU64::new(0),
            followed: AtomicU64::new(0),
            start: Instant::now(),
            is_followed: AtomicBool::new(false),
            own: RwLock::default(),
        }
    }

    /// Whose token it is, as far as that is remembered.
    pub(crate) fn known_token(&self, token: &str) -> Result<Option<Arc<Visitor>>, CallError> {
        let found = self.remembered(&(CredentialHash::of(token), None))?;
        Ok(found.inspect(|visitor| self.note_use(visitor)))
    }

    /// Whose token it is.
    pub(crate) async fn of_token(&self, token: &str) -> Result<Option<Arc<Visitor>>, CallError> {
        let found = self.by_token((CredentialHash::of(token), None)).await?;
        Ok(found.inspect(|visitor| self.note_use(visitor)))
    }

    /// The same visitor with the rights of now. Returns `None` if the token or the session has ended, or the user is
    /// no longer in the space.
    pub(crate) async fn again(&self, visitor: &Visitor) -> Result<Option<Arc<Visitor>>, CallError> {
        let found = match visitor.via {
            Via::Token(_) => self.by_token(visitor.key).await,
            Via::Session(_) => self.by_session(visitor.key).await,
        };
        match found {
            Err(error) if error.kind() == ErrorKind::Permission => Ok(None),
            found => found,
        }
    }

    async fn by_token(&self, key: Key) -> Result<Option<Arc<Visitor>>, CallError> {
        if let Some((hash, visitor)) = &*self.own.read().unwrap_or_else(PoisonError::into_inner)
            && *hash == key.0
        {
            return Ok(Some(visitor.clone()));
        }
        if let Some(visitor) = self.remembered(&key)? {
            return Ok(Some(visitor));
        }
        let generation = self.generation.load(Ordering::Acquire);
        let Some(found) = self.store.find_token(&key.0).await? else { return Ok(None) };
        let visitor = Visitor {
            space: found.token.space_id,
            role: found.role,
            scope: found.token.scope,
            via: Via::Token(found.token.id),
            until: found.token.expires_at,
            token_until: found.token.expires_at,
            user: found.user,
            key,
            noted: AtomicU64::new(0),
        };
        Ok(Some(self.remember(visitor, generation)))
    }

    /// Notes the use of a token, for its owner to see. Nobody waits for it.
    fn note_use(&self, visitor: &Arc<Visitor>) {
        let Via::Token(id) = visitor.via else { return };
        let now = self.start.elapsed().as_millis() as u64 + 1;
        let last = visitor.noted.load(Ordering::Relaxed);
        let is_due = last == 0 || now.saturating_sub(last) >= NOTED.as_millis() as u64;
        let is_ours =
            || visitor.noted.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_due && is_ours() {
            let (store, space) = (self.store.clone(), visitor.space);
            #[expect(clippy::disallowed_methods, reason = "it is short, and may be lost")]
            tokio::spawn(async move {
                if let Err(error) = store.touch_token(space, id).await {
                    tracing::debug!(%error, "The last use of a token was not stored");
                }
            });
        }
    }

    /// The user of a session, in the space it asks for. A space that its user is not in is a `Permission` error.
    pub(crate) async fn of_session(
        &self,
        session: &str,
        space: Option<SpaceId>,
    ) -> Result<Option<Arc<Visitor>>, CallError> {
        self.by_session((CredentialHash::of(session), space)).await
    }

    async fn by_session(&self, key: Key) -> Result<Option<Arc<Visitor>>, CallError> {
        if let Some(visitor) = self.remembered(&key)? {
            return Ok(Some(visitor));
        }
        let generation = self.generation.load(Ordering::Acquire);
        let Some(session) = self.store.find_session(&key.0).await? else { return Ok(None) };
        let user = session.user;
        let place = match key.1 {
            Some(space) => self.store.role_of(space, user.id).await?.map(|role| (space, role)),
            None => self.store.personal_space(user.id).await?,
        };
        let (space, role) = place.ok_or_else(not_in_space)?;
        let via = Via::Session(key.0);
        let visitor = Visitor {
            user,
            space,
            role,
            scope: Scope::Admin,
            via,
            until: Some(session.expires_at),
            token_until: session.token_expires_at,
            key,
            noted: AtomicU64::new(0),
        };
        Ok(Some(self.remember(visitor, generation)))
    }

    fn remembered(&self, key: &Key) -> Result<Option<Arc<Visitor>>, CallError> {
        if self.is_lost() {
            let error = CallError::new(ErrorKind::Unavailable, Message::new(&NOT_FOLLOWED));
            return Err(error.retry_after(Duration::from_secs(1)));
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let is_current = |visitor: &&Arc<Visitor>| visitor.until.is_none_or(|until| until > Timestamp::now());
        Ok(known.get(key).filter(is_current).cloned())
    }

    fn remember(&self, visitor: Visitor, generation: u64) -> Arc<Visitor> {
        let visitor = Arc::new(visitor);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if self.generation.load(Ordering::Acquire) == generation {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(visitor.key, visitor.clone());
        }
        visitor
    }

    /// Lets this process in by a token that nobody else knows and no change takes back.
    pub(crate) fn let_in(&self, user: User, space: SpaceId) -> SecretString {
        let id = Uuid::new_v4();
        let token = SecretString::from(format!("haft_{}{}", id.simple(), Uuid::new_v4().simple()));
        let hash = CredentialHash::of(token.expose_secret());
        let visitor = Visitor {
            user,
            space,
            role: Role::Admin,
            scope: Scope::Admin,
            via: Via::Token(id.into()),
            until: None,
            token_until: None,
            key: (hash, None),
            // Nobody has it but this process.
            noted: AtomicU64::new(u64::MAX),
        };
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = Some((hash, Arc::new(visitor)));
        token
    }

    /// Something about people changed: all are looked up anew.
    pub(crate) fn forget(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::AcqRel);
        known.clear();
    }

    /// Changes were read just now.
    pub(crate) fn followed(&self) {
        let now = self.start.elapsed().as_millis() as u64;
        // Who was let in before changes were lost may have lost the right to it since.
        if self.is_lost() {
            self.forget();
        }
        self.followed.store(now, Ordering::Release);
        self.is_followed.store(true, Ordering::Release);
    }

    /// While changes cannot be followed, nobody is let in.
    fn is_lost(&self) -> bool {
        let last = Duration::from_millis(self.followed.load(Ordering::Acquire));
        self.is_followed.load(Ordering::Acquire) && self.start.elapsed().saturating_sub(last) > LOST
    }
}
